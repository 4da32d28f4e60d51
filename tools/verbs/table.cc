#include <array>

#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

constexpr std::array kVerbs = {
    VerbEntry{"mkfs", PoolUse::kNone, "Make a new pool",
              "hexad mkfs /pool --device /dev/sd[b-g] --fast /nvme/pool --profile 4+2", make_mkfs},
    VerbEntry{"status", PoolUse::kRequired, "Health, devices, and what recovery did",
              "hexad status /pool --json", make_status},
    VerbEntry{"put", PoolUse::kRequired, "Store a file, or standard input, as one object",
              "tar c project | hexad put /pool backup/project.tar - --if-absent", make_put},
    VerbEntry{"get", PoolUse::kRequired, "Write an object to a file, or to standard output",
              "hexad get /pool backup/project.tar project.tar", make_get},
    VerbEntry{"cat", PoolUse::kRequired, "Write an object to standard output",
              "hexad cat /pool notes/today --range 0:4KiB | less", make_cat},
    VerbEntry{"stat", PoolUse::kRequired, "Size, version, time, placement, hints and attributes",
              "hexad stat /pool notes/today", make_stat},
    VerbEntry{"checksum", PoolUse::kRequired, "Checksum of an object's bytes, or of some of them",
              "hexad checksum /pool disk.img --range 1GiB:1MiB --type xxh3", make_checksum},
    VerbEntry{"attr ls", PoolUse::kRequired, "List the attributes of an object",
              "hexad attr ls /pool notes/today", make_attr_ls},
    VerbEntry{"attr get", PoolUse::kRequired, "Write the value of an attribute to standard output",
              "hexad attr get /pool notes/today author", make_attr_get},
    VerbEntry{"attr set", PoolUse::kRequired, "Set an attribute of an object",
              "hexad attr set /pool notes/today author Mary", make_attr_set},
    VerbEntry{"attr rm", PoolUse::kRequired, "Remove attributes of an object",
              "hexad attr rm /pool notes/today author reviewer", make_attr_rm},
    VerbEntry{"ls", PoolUse::kRequired, "List objects in order of their names",
              "hexad ls /pool backup/ --delimiter / -l", make_ls},
    VerbEntry{"rm", PoolUse::kRequired, "Remove objects by name, or all below a prefix",
              "hexad rm /pool --prefix backup/2023-", make_rm},
    VerbEntry{"mv", PoolUse::kRequired, "Rename an object, also into another collection",
              "hexad mv /pool draft final", make_mv},
    VerbEntry{"cp", PoolUse::kRequired, "Copy an object, also into another collection",
              "hexad cp /pool final final-2024", make_cp},
    VerbEntry{"import", PoolUse::kRequired, "Store a directory tree",
              "hexad import /pool ~/photos --prefix photos/", make_import},
    VerbEntry{"export", PoolUse::kRequired, "Write objects below a directory",
              "hexad export /pool /restore --prefix photos/", make_export},
    VerbEntry{"bucket create", PoolUse::kRequired, "Make a collection",
              "hexad bucket create /pool logs --compression aggressive --quota-bytes 100GiB",
              make_bucket_create},
    VerbEntry{"bucket rm", PoolUse::kRequired, "Remove an empty collection",
              "hexad bucket rm /pool logs --recursive", make_bucket_rm},
    VerbEntry{"bucket ls", PoolUse::kRequired, "List the collections", "hexad bucket ls /pool",
              make_bucket_ls},
    VerbEntry{"bucket policy", PoolUse::kRequired,
              "Show or change how a collection compresses and what it may hold",
              "hexad bucket policy /pool logs --algorithm zstd --quota-objects none",
              make_bucket_policy},
    VerbEntry{"bucket stat", PoolUse::kRequired,
              "What a collection holds, counted object by object", "hexad bucket stat /pool logs",
              make_bucket_stat},
    VerbEntry{"df", PoolUse::kRequired, "Space: capacity, used, stored, saved by compression",
              "hexad df /pool", make_df},
    VerbEntry{"fsck", PoolUse::kRequired, "Check metadata; --deep also every checksum and parity",
              "hexad fsck /pool --deep", make_fsck},
    VerbEntry{"scrub", PoolUse::kRequired, "Read every cell, write back those that are damaged",
              "hexad scrub /pool --rate 100MiB", make_scrub},
    VerbEntry{"perf dump", PoolUse::kRequired, "All counters as JSON",
              "hexad perf dump /pool | jq .counters", make_perf_dump},
    VerbEntry{"bench run", PoolUse::kRequired,
              "Measure this pool: puts, gets, reads, writes, lists and so on",
              "hexad bench run /pool --rw put --bs 64KiB --threads 2 --iodepth 32 --runtime 10",
              make_bench_run},
    VerbEntry{"bench compare", PoolUse::kNone,
              "What changed beyond noise between two sets of figures",
              "hexad bench compare before/bench.json out/bench.json", make_bench_compare},
    VerbEntry{"ec encode", PoolUse::kNone, "Cut a file into k data files and m parity files",
              "hexad ec encode --profile 4+2 disk.img disk.ec", make_ec_encode},
    VerbEntry{"ec decode", PoolUse::kNone, "Put a file together from any k of its k+m files",
              "hexad ec decode --profile 4+2 disk.img disk.ec", make_ec_decode},
};

}  // namespace

std::span<const VerbEntry> verb_table() { return kVerbs; }

}  // namespace hexad::tools
