// The verbs' factories, one per file of this folder; tools/verbs/table.cc lists them.
#pragma once

#include <memory>
#include <span>

#include "tools/cli/verb.h"

namespace hexad::tools {

std::unique_ptr<Verb> make_mkfs();
std::unique_ptr<Verb> make_plan();
std::unique_ptr<Verb> make_status();
std::unique_ptr<Verb> make_doctor();
std::unique_ptr<Verb> make_put();
std::unique_ptr<Verb> make_get();
std::unique_ptr<Verb> make_cat();
std::unique_ptr<Verb> make_stat();
std::unique_ptr<Verb> make_checksum();
std::unique_ptr<Verb> make_attr_ls();
std::unique_ptr<Verb> make_attr_get();
std::unique_ptr<Verb> make_attr_set();
std::unique_ptr<Verb> make_attr_rm();
std::unique_ptr<Verb> make_ls();
std::unique_ptr<Verb> make_rm();
std::unique_ptr<Verb> make_mv();
std::unique_ptr<Verb> make_cp();
std::unique_ptr<Verb> make_import();
std::unique_ptr<Verb> make_export();
std::unique_ptr<Verb> make_bucket_create();
std::unique_ptr<Verb> make_bucket_rm();
std::unique_ptr<Verb> make_bucket_ls();
std::unique_ptr<Verb> make_bucket_policy();
std::unique_ptr<Verb> make_bucket_stat();
std::unique_ptr<Verb> make_df();
std::unique_ptr<Verb> make_cache_size();
std::unique_ptr<Verb> make_fsck();
std::unique_ptr<Verb> make_scrub();
std::unique_ptr<Verb> make_scrub_start();
std::unique_ptr<Verb> make_scrub_pause();
std::unique_ptr<Verb> make_scrub_resume();
std::unique_ptr<Verb> make_scrub_stop();
std::unique_ptr<Verb> make_scrub_status();
std::unique_ptr<Verb> make_wait();
std::unique_ptr<Verb> make_damage_ls();
std::unique_ptr<Verb> make_damage_ack();
std::unique_ptr<Verb> make_device_ls();
std::unique_ptr<Verb> make_device_can();
std::unique_ptr<Verb> make_device_add();
std::unique_ptr<Verb> make_device_add_fast();
std::unique_ptr<Verb> make_device_drain();
std::unique_ptr<Verb> make_device_undrain();
std::unique_ptr<Verb> make_device_move();
std::unique_ptr<Verb> make_device_remove();
std::unique_ptr<Verb> make_device_catch_up();
std::unique_ptr<Verb> make_device_online();
std::unique_ptr<Verb> make_device_clear_errors();
std::unique_ptr<Verb> make_device_replace();
std::unique_ptr<Verb> make_takeover();
std::unique_ptr<Verb> make_snapshot_group_create();
std::unique_ptr<Verb> make_snapshot_group_ls();
std::unique_ptr<Verb> make_snapshot_group_rm();
std::unique_ptr<Verb> make_perf_dump();
std::unique_ptr<Verb> make_bench_run();
std::unique_ptr<Verb> make_bench_scale();
std::unique_ptr<Verb> make_bench_compare();
std::unique_ptr<Verb> make_ec_encode();
std::unique_ptr<Verb> make_ec_decode();

// Every verb, in the order in which help shows them.
std::span<const VerbEntry> verb_table();

}  // namespace hexad::tools
