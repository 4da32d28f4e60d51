#include "core/api/options.h"

#include <algorithm>
#include <set>

#include "alloc/failure_domains.h"
#include "alloc/root.h"
#include "base/bytes.h"

namespace hexad {
namespace {

constexpr std::uint64_t kSector = 512;
constexpr std::uint64_t kMaxMinAlloc = 1_MiB;
constexpr std::uint64_t kLeastAway = 10;       // s
constexpr std::uint64_t kYear = 365 * 86'400;  // s
constexpr std::uint64_t kMinDeviceSize = 8_MiB;
constexpr std::uint64_t kMaxDeviceSize = 1024_TiB;
constexpr std::uint64_t kMinLogSize = 1_MiB;
constexpr std::uint64_t kMaxLogSize = 64_GiB;
constexpr std::uint64_t kMinSlabUnits = 8;
constexpr std::uint64_t kMaxSlabSize = 16_GiB;
constexpr std::uint64_t kMinMemoryCapacity = 1_MiB;
constexpr std::uint64_t kMaxMemoryCapacity = 64_TiB;

// One problem per line, each with its hint.
class Problems {
 public:
  void add(std::string_view problem) {
    if (!text_.empty()) text_ += '\n';
    text_ += problem;
  }
  void add(const Status& status, std::string_view context) {
    if (status.ok()) return;
    const Error error = status.error().with_context(context);
    add(error.hint.empty() ? error.message : error.message + ". " + error.hint);
  }
  // Both bounds are legal.
  void require_size(std::string_view name, std::uint64_t value, std::uint64_t low,
                    std::uint64_t high) {
    if (value >= low && value <= high) return;
    add(std::string(name) + " is " + format_size(value) + ", not between " + format_size(low) +
        " and " + format_size(high));
  }
  Status status() const {
    if (text_.empty()) return ok_status();
    return Error{ErrorCode::kInvalidArgument, text_};
  }

 private:
  std::string text_;
};

void check_paths(Problems& problems, std::string_view what, const std::vector<std::string>& paths) {
  std::set<std::string_view> seen;
  for (const std::string& path : paths) {
    if (path.empty()) {
      problems.add(std::string(what) + " path is empty");
    } else if (path.find('\0') != std::string::npos) {
      problems.add(std::string(what) + " path " + printable(path) + " holds a zero byte");
    } else if (!seen.insert(path).second) {
      problems.add(std::string(what) + " " + printable(path) + " is given twice");
    }
  }
}

// `least_m`: 0 where devices may be redundant themselves.
void check_profile(Problems& problems, const ec::Profile& profile, std::uint32_t least_m) {
  bool in_range = true;
  if (profile.k < 1 || profile.k > ec::kMaxDataShards) {
    in_range = false;
    problems.add("k is " + std::to_string(profile.k) + ", not between 1 and " +
                 std::to_string(ec::kMaxDataShards));
  }
  if (profile.m < least_m || profile.m > ec::kMaxParityShards) {
    in_range = false;
    problems.add("m is " + std::to_string(profile.m) + ", not between " + std::to_string(least_m) +
                 " and " + std::to_string(ec::kMaxParityShards));
  }
  // With a shape that cannot be, what the codec says about it helps nobody.
  if (in_range) problems.add(ec::validate_for_store(profile), "profile");
}

void check_domains(Problems& problems, const FormatOptions& options) {
  const std::vector<std::string>& domains = options.failure_domains;
  if (domains.empty()) return;
  if (domains.size() != options.devices.size()) {
    problems.add(std::to_string(domains.size()) + " failure domains are given for " +
                 std::to_string(options.devices.size()) + " devices: one for each, or none");
    return;
  }
  std::set<std::string> distinct;
  for (const std::string& name : domains) {
    if (distinct.insert(name).second)
      problems.add(alloc::check_domain_name(name), "failure domain");
  }
  const std::uint32_t cells = alloc::least_domain_cells(domains, options.profile.shards());
  if (cells <= options.profile.m) return;
  problems.add(
      "of a stripe of " + ec::to_string(options.profile) + " " + std::to_string(cells) +
      (cells == 1 ? " cell" : " cells") + " would be in one of the " +
      std::to_string(distinct.size()) + " failure domains, and the profile survives the loss of " +
      std::to_string(options.profile.m) + ": name more domains, or a profile with more parity");
}

}  // namespace

Result<Preset> parse_preset(std::string_view text) {
  for (const Preset preset : {Preset::kNvme, Preset::kHddWithFastMeta, Preset::kTiny}) {
    if (text == to_string(preset)) return preset;
  }
  return Error{ErrorCode::kInvalidArgument, "no preset is called \"" + printable(text, 32) + "\"",
               "Presets are nvme, hdd and tiny."};
}

Result<HedgedReads> parse_hedged_reads(std::string_view text) {
  for (const HedgedReads mode : {HedgedReads::kOff, HedgedReads::kBudgeted, HedgedReads::kAlways}) {
    if (text == to_string(mode)) return mode;
  }
  return Error{ErrorCode::kInvalidArgument,
               "hedged reads cannot be \"" + printable(text, 32) + "\"",
               "One of: off, budgeted, always"};
}

std::string_view to_string(HedgedReads mode) {
  switch (mode) {
    case HedgedReads::kOff:
      return "off";
    case HedgedReads::kBudgeted:
      return "budgeted";
    case HedgedReads::kAlways:
      return "always";
  }
  return "unknown";
}

Result<LogDurability> parse_log_durability(std::string_view text) {
  for (const LogDurability durability :
       {LogDurability::kFull, LogDurability::kFast, LogDurability::kDataFirst}) {
    if (text == to_string(durability)) return durability;
  }
  return Error{ErrorCode::kInvalidArgument,
               "no log durability is called \"" + printable(text, 32) + "\"",
               "One of: full, fast, data-first"};
}

std::string_view to_string(LogDurability durability) {
  switch (durability) {
    case LogDurability::kFull:
      return "full";
    case LogDurability::kFast:
      return "fast";
    case LogDurability::kDataFirst:
      return "data-first";
  }
  return "unknown";
}

std::string_view to_string(Preset preset) {
  switch (preset) {
    case Preset::kNvme:
      return "nvme";
    case Preset::kHddWithFastMeta:
      return "hdd";
    case Preset::kTiny:
      return "tiny";
  }
  return "unknown";
}

FormatOptions::FormatOptions(Preset preset) {
  switch (preset) {
    case Preset::kNvme:
      break;  // the defaults
    case Preset::kHddWithFastMeta:
      // A seek costs as much as reading a megabyte: fewer, longer pieces.
      min_alloc = 16_KiB;
      checksum_block = 64_KiB;
      break;
    case Preset::kTiny:
      device_size = 64_MiB;
      log_size = 4_MiB;
      slab_size = 2_MiB;
      break;
  }
}

RuntimeOptions::RuntimeOptions(Preset preset) {
  switch (preset) {
    case Preset::kNvme:
      break;  // the defaults
    case Preset::kHddWithFastMeta:
      stream_buffer = 64_MiB;  // keeps all spindles streaming
      break;
    case Preset::kTiny:
      memtable_size = 4_MiB;
      max_transaction = 8_MiB;
      max_in_flight = 16_MiB;
      stream_buffer = 4_MiB;
      cache_size = 4_MiB;
      break;
  }
}

Status FormatOptions::validate() const {
  Problems problems;
  check_profile(problems, profile, 0);
  if (devices.size() < profile.shards()) {
    problems.add(std::to_string(devices.size()) + " devices are given, profile " +
                 ec::to_string(profile) + " needs at least " + std::to_string(profile.shards()));
  }
  if (const std::size_t all = devices.size() + fast_directories.size(); all > alloc::kMaxDevices) {
    problems.add(std::to_string(all) + " devices are given, fast ones included, at most " +
                 std::to_string(alloc::kMaxDevices) + " are possible");
  }
  check_paths(problems, "device", devices);
  check_domains(problems, *this);
  check_paths(problems, "fast directory", fast_directories);
  problems.require_size("device_size", device_size, kMinDeviceSize, kMaxDeviceSize);
  if (min_alloc != 0) problems.require_size("min_alloc", min_alloc, kSector, kMaxMinAlloc);
  if (!is_multiple(min_alloc, kSector)) {
    const std::uint64_t below = std::max(round_down(min_alloc, kSector), kSector);
    problems.add("min_alloc is " + std::to_string(min_alloc) + " bytes, no multiple of " +
                 std::to_string(kSector) + "; the nearest are " + std::to_string(below) + " and " +
                 std::to_string(below + kSector));
  }
  if (checksum != ChecksumType::kCrc32c && checksum != ChecksumType::kXxh3) {
    problems.add("checksum is neither crc32c nor xxh3");
  }
  if (checksum_block != 4_KiB && checksum_block != 16_KiB && checksum_block != 64_KiB) {
    problems.add("checksum_block is " + format_size(checksum_block) +
                 ", not 4 KiB, 16 KiB or 64 KiB");
  }
  problems.add(compression::validate(compression), "compression");
  if (log_size != 0) problems.require_size("log_size", log_size, kMinLogSize, kMaxLogSize);
  if (slab_size != 0) {
    const std::uint64_t unit = min_alloc == 0 ? kDefaultMinAlloc : min_alloc;
    if (!is_multiple(slab_size, unit)) {
      problems.add("slab_size is " + format_size(slab_size) + ", no multiple of min_alloc, " +
                   format_size(unit));
    }
    // Bounded first: a product with a min_alloc out of range has no meaning.
    if (unit <= kMaxMinAlloc) {
      problems.require_size("slab_size", slab_size, kMinSlabUnits * unit, kMaxSlabSize);
    }
    if (slab_size > device_size) {
      problems.add("slab_size is " + format_size(slab_size) + ", more than device_size, " +
                   format_size(device_size));
    }
  }
  return problems.status();
}

Status MemoryStoreOptions::validate() const {
  Problems problems;
  check_profile(problems, profile, 1);
  problems.require_size("capacity", capacity, kMinMemoryCapacity, kMaxMemoryCapacity);
  problems.add(compression::validate(compression), "compression");
  return problems.status();
}

Status RuntimeOptions::validate() const {
  Problems problems;
  if (access != Access::kReadWrite && access != Access::kReadOnly) {
    problems.add("access is neither read-write nor read-only");
  }
  problems.require_size("memtable_size", memtable_size, 64_KiB, 64_GiB);
  problems.require_size("max_transaction", max_transaction, 64_KiB, 1_GiB);
  problems.require_size("max_in_flight", max_in_flight, 64_KiB, 64_GiB);
  if (max_in_flight < max_transaction) {
    problems.add("max_in_flight is " + format_size(max_in_flight) +
                 ", less than one transaction may have, " + format_size(max_transaction));
  }
  problems.require_size("stream_buffer", stream_buffer, 1_MiB, 4_GiB);
  if (cache_size != 0) problems.require_size("cache_size", cache_size, 1_MiB, 1024_TiB);
  if (flush_sharing != FlushSharing::kWhereSafe && flush_sharing != FlushSharing::kNever) {
    problems.add("flush_sharing is neither where-safe nor never");
  }
  if (unwritable_devices != Unwritable::kRefuse && unwritable_devices != Unwritable::kLose) {
    problems.add("unwritable_devices is neither refuse nor lose");
  }
  if (log_durability > LogDurability::kDataFirst) {
    problems.add("log_durability is none of full, fast, data-first");
  }
  if (bus_errors != BusErrors::kLeave && bus_errors != BusErrors::kExplain) {
    problems.add("bus_errors is neither leave nor explain");
  }
  if (hedged_reads > HedgedReads::kAlways) {
    problems.add("hedged_reads is none of off, budgeted, always");
  }
  if (device_patience > 3600) {
    problems.add("device_patience is " + std::to_string(device_patience) +
                 " s: it is 1 to 3600 s, or 0 for ever");
  }
  if (drain_lost_after > kYear || (drain_lost_after > 0 && drain_lost_after < kLeastAway)) {
    problems.add("drain_lost_after is " + std::to_string(drain_lost_after) + " s: it is " +
                 std::to_string(kLeastAway) + " to " + std::to_string(kYear) +
                 " s, a year, or 0: only when it is asked for");
  }
  if (split_risk != SplitRisk::kRefuse && split_risk != SplitRisk::kTake) {
    problems.add("split_risk is neither refuse nor take");
  }
  if (catch_up != CatchUp::kInBackground && catch_up != CatchUp::kWhenAsked) {
    problems.add("catch_up is neither background nor asked");
  }
  if (returns != Returns::kByThemselves && returns != Returns::kWhenAsked) {
    problems.add("returns is neither by-themselves nor when-asked");
  }
  return problems.status();
}

}  // namespace hexad
