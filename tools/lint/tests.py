#!/usr/bin/env python3
"""Checks that every header has a test of its name.

  alloc/bitmap.h         tests/alloc/bitmap_test.cc
  core/space/reserve.h   tests/core/space/reserve_test.cc
  tools/cli/names.h      tests/tools/names_test.cc
  tools/demo/workload.h  tests/demo/workload_test.cc

What has nothing of its own to be tested stands below, with the reason.
"""

import os
import sys

FOLDERS = ["base", "io", "alloc", "ec", "compression", "kv", "core", "tools"]

WITHOUT = {
    "base/crc32c_folding.h": "instructions; checksum_test.cc, summing_kernel_test.cc",
    "base/crc32c_moved.h": "a part of checksum.h",
    "base/crc32c_polynomials.h": "constants of checksum.h and crc32c_folding.h",
    "ec/gfni_matrices.h": "constants; gfni_test.cc, summing_kernel_test.cc",
    "base/os_mutex.h": "std::mutex, annotated; every test of an I/O queue",
    "base/thread_annotations.h": "macros that make no code",
    "alloc/run_map.h": "two templates; deferred_runs_test.cc, stripe_births_test.cc",
    "core/api/commit_callback.h": "a type",
    "core/api/commit_options.h": "an aggregate",
    "core/api/damage.h": "aggregates; damage_list_test.cc of faults",
    "core/api/object_room.h": "an aggregate; room_for_test.cc",
    "core/blob/asked_again.h": "a constant",
    "core/blob/blob_job.h": "a part of blob_read.h",
    "core/blob/blob_words.h": "a part of blob_read.h",
    "core/engine/engine_parts.h": "aggregates",
    "core/engine/reports.h": "an aggregate",
    "core/check/check_parts.h": "an aggregate; scrub_test.cc, fsck_beside_test.cc",
    "core/check/damage_search.h": "damage_list_test.cc of faults",
    "core/check/fsck.h": "fsck_beside_test.cc; every test that looks for findings",
    "core/check/known_damage.h": "damage_list_test.cc of faults",
    "core/check/pack_scrub.h": "as scrubber.h",
    "core/check/pool_headers.h": "device_ends_test.cc",
    "core/check/record_walk.h": "damage_list_test.cc of faults, space_churn_test.cc",
    "core/check/scrub_pass.h": "as scrubber.h",
    "core/check/scrub_run.h": "as scrubber.h",
    "core/check/scrubber.h": "scrub_test.cc, scrub_sim_test.cc",
    "core/check/stripe_scrub.h": "as scrubber.h",
    "core/report/counter_report.h": "latency_counters_test.cc; every test that compares counters",
    "core/report/effective_options.h": "usage_test.cc",
    "core/report/layer_report.h": "layers_test.cc",
    "core/report/space_report.h": "space_churn_test.cc, owned_space_test.cc, room_for_test.cc",
    "core/report/status_report.h": "absent_devices_test.cc, silent_device_test.cc; every test of what status says",
    "core/job/errands.h": "called_back_test.cc (tests/core/faults)",
    "core/transact/commit_path.h": "puts the others of the room together",
    "core/transact/committer.h": "warm_plans_test.cc, commit_rules_test.cc, empty_pool_test.cc",
    "core/transact/layer_merger.h": "clone_test.cc",
    "core/transact/log_trimmer.h": "full_store_test.cc",
    "core/transact/op_preparer.h": "store_test.cc, hints_test.cc",
    "core/transact/order.h": "two members; newest_state_test.cc, sequencer_test.cc",
    "core/transact/own_commits.h": "waiting_zones_test.cc, plan_totals_test.cc, cut_pages_test.cc",
    "core/transact/packer.h": "device_failure_test.cc, full_store_test.cc",
    "core/transact/page_copier.h": "cut_pages_test.cc",
    "core/transact/plan_basis.h": "fills in PlanContext",
    "core/transact/plan_rehearsal.h": "warm_plans_test.cc",
    "core/transact/reclaimer.h": "space_waits_test.cc, commit_rules_test.cc, stream_reader_test.cc",
    "core/transact/room_maker.h": "full_store_test.cc, called_back_test.cc",
    "core/transact/space_finder.h": "full_store_test.cc, short_reads_test.cc",
    "core/transact/stream_room.h": "stream_writer_test.cc",
    "core/transact/submitter.h": "buffered_commit_test.cc, commit_rules_test.cc",
    "core/transact/transaction_placer.h": "every commit; commit_rules_test.cc, empty_pool_test.cc",
    "core/transact/zone_maker.h": "waiting_zones_test.cc",
    "core/engine/engine.h": "all that Store does; every test of a store is one of it",
    "core/record/group_part.h": "log_record_test.cc",
    "core/commit/commit_group.h": "aggregates",
    "core/commit/commit_rounds.h": "commit_pipeline_test.cc, commit_pipeline_membership_test.cc, commit_pipeline_recall_test.cc",
    "core/commit/group_records.h": "stripe_placer_test.cc, commit_pipeline_test.cc",
    "core/commit/pipeline_tasks.h": "counts; commit_pipeline_recall_test.cc",
    "core/commit/log_room.h": "an enumeration",
    "core/commit/internal_commits.h": "an interface; the engine, and tests/core/jobs/metadata_in_memory.h",
    "core/membership/membership.h": "device_failure_test.cc, commit_rules_test.cc, refused_requests_test.cc",
    "core/jobs/checkpointer.h": "recovery_rules_test.cc, commit_rules_test.cc, background_test.cc, background_merge_test.cc",
    "core/control/control_client.h": "control_server_test.cc",
    "core/membership/silent_devices.h": "silent_device_test.cc, hanging_device_test.cc, redundant_changes_test.cc (tests/core/faults)",
    "core/devices/catch_ups.h": "coming_back_test.cc (tests/core/faults)",
    "core/devices/device_changes.h": "devices_added_test.cc, redundant_changes_test.cc (tests/core/faults)",
    "core/devices/device_drains.h": "devices_added_test.cc, lost_for_long_test.cc (tests/core/faults)",
    "core/devices/device_facts.h": "messages, and looks at members; devices_added_test.cc (tests/core/faults)",
    "core/devices/device_parts.h": "an aggregate",
    "core/devices/device_replacement.h": "replace_open_test.cc, replace_beside_test.cc (tests/core/faults)",
    "core/devices/device_returns.h": "rejoin_test.cc, return_by_itself_test.cc (tests/core/faults)",
    "core/devices/devices.h": "nothing but members",
    "core/devices/fast_directories.h": "fast_devices_test.cc (tests/core/faults)",
    "core/devices/room_elsewhere.h": "failure_domains_test.cc, devices_added_test.cc (tests/core/faults)",
    "core/devices/slab_moves.h": "slab_moves_test.cc (tests/core/faults)",
    "kv/run/resident_file.h": "a part of resident_pieces.h",
    "kv/run/run_leaf.h": "run_merge_test.cc, which looks at every key and byte of leaves",
    "core/hexad.h": "includes the public headers",
    "core/api/pinned_bytes.h": "a value; cached_read_test.cc",
    "core/opening/replacement.h": "replace_test.cc",
    "core/opening/take_over.h": "opening_test.cc, refused_opening_test.cc, device_failure_test.cc",
    "core/opening/store_parts.h": "an aggregate; opening_test.cc",
    "core/job/job.h": "an interface; job_scheduler_test.cc, and every job",
    "core/read/store_reader.h": "what Store reads with: tests/core/store, cached_read_test.cc first of all",
    "core/space/stripe_map.h": "an interface; core/space/space.h implements it",
    "core/clean/clean_parts.h": "nothing but members",
    "core/clean/slab_mover.h": "slab_moves_test.cc (tests/core/faults), hard_life_test.cc",
    "core/clean/cleaner.h": "cleaning_test.cc, cleaning_crash_test.cc, full_store_test.cc",
    "core/clean/compactor.h": "compaction_test.cc, cleaning_crash_test.cc",
    "core/check/torn_cells.h": "recovery_test.cc, recovery_rules_test.cc (tests/core/faults)",
    "core/check/stripe_check.h": "damage_test.cc, scrub_test.cc, fsck_check_test.cc",
    "core/api/types.h": "aggregates",
    "core/cache/read_cache_shard.h": "a part of read_cache.h",
    "core/record/object_head.h": "a part of record.h; record_test.cc, plain_object_test.cc",
    "io/clock.h": "an interface; executors implement it",
    "io/lines/private_socket.h": "line_service_test.cc",
    "io/os/reservation.h": "reserved_disks_test.cc (tests/core/faults)",
    "io/os/uring_parts.h": "parts of uring_queue.h",
    "io/rbd/rbd_cluster.h": "tests/ceph/rbd_device_test.cc",
    "io/rbd/rbd_device.h": "tests/ceph/rbd_device_test.cc",
    "io/rbd/rbd_patience.h": "tests/ceph/rbd_failures_test.py",
    "io/rbd/rbd_group.h": "tests/ceph/rbd_group_test.cc",
    "io/rbd/rbd_group_members.h": "tests/ceph/rbd_group_test.cc",
    "io/rbd/rbd_image.h": "tests/ceph/rbd_group_test.cc",
    "io/rbd/rbd_images.h": "tests/ceph/rbd_group_test.cc",
    "io/rbd/rbd_settings.h": "tests/ceph/rbd_lock_test.cc",
    "io/rbd/rbd_holder.h": "tests/ceph/rbd_lock_test.cc",
    "io/starter.h": "an interface; starter_queue_test.cc",
    "kv/index.h": "an interface; tests/kv/index_contract.h holds for all that implement it",
    "kv/run/run_cache.h": "an interface; run_pieces_test.cc, and tests/kv/run_model.h implements it",
    "kv/run/run_file.h": "an interface; tests/kv/run_model.h implements it",
    "kv/walk.h": "an enumeration and an aggregate",
    # What a user sees of these is looked at with the whole program.
    "tools/cli/wrong_reads.h": "damage_test.py",
    "tools/verbs/layers.h": "tests/tools/cli_pool_test.py",
    "tools/bench/cpu_time.h": "tests/tools/cli_test.py",
    "tools/bench/load.h": "tests/tools/cli_test.py",
    "tools/build/fuzz_seeds.h": "a declaration; every fuzz target that has seeds",
    "tools/cli/command_line.h": "tests/tools/cli_test.py",
    "tools/cli/pool_view.h": "tests/tools/control_test.py",
    "tools/erasure/chunk_files.h": "tests/tools/ec_test.py",
    "tools/import_export/export_delete.h": "tests/tools/backup_test.py",
    "tools/import_export/exporter.h": "tests/tools/tree_test.py",
    "tools/import_export/importer.h": "tests/tools/tree_test.py",
    "tools/import_export/transfer_options.h": "an aggregate",
    "tools/verbs/from_to.h": "tests/tools/object_test.py",
    "tools/verbs/look.h": "tests/tools/cli_pool_test.py",
    "tools/verbs/verbs.h": "tests/tools/cli_test.py",
}


def headers():
    for top in FOLDERS:
        for folder, _, names in os.walk(top):
            for name in sorted(names):
                if name.endswith(".h"):
                    yield os.path.join(folder, name)


def places(header):
    """Where the test of a header may stand."""
    *folders, name = header[: -len(".h")].split("/")
    # A room has a folder for its tests. A part of the tools has a folder of tests of its own, or shares that of all tools.
    for folder in dict.fromkeys(["/".join(folders), folders[-1], folders[0]]):
        yield f"tests/{folder}/{name}_test.cc"


def main():
    found = 0
    present = list(headers())
    for header in present:
        tests = list(places(header))
        tested = any(os.path.isfile(test) for test in tests)
        if not tested and header not in WITHOUT:
            print(f"{header}: has no test; write {tests[-1]}, or say in {sys.argv[0]} why not")
            found += 1
        if tested and header in WITHOUT:
            print(f"{header}: has a test; take it out of the list in {sys.argv[0]}")
            found += 1
    for header, reason in sorted(WITHOUT.items()):
        if header not in present:
            print(f"{header}: is gone; take it out of the list in {sys.argv[0]}")
            found += 1
        if reason.startswith("tests/") and not os.path.isfile(reason):
            print(f"{header}: {reason} is gone, which was its test according to {sys.argv[0]}")
            found += 1
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
