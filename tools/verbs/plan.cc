// hexad plan: what a pool of given devices would be like, before any of them is touched.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "alloc/root.h"
#include "base/units.h"
#include "core/opening/pool_plan.h"
#include "tools/cli/names.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

using core::PlannedDevice;
using core::PoolPlan;

struct Sizes {
  std::vector<std::uint64_t> bytes;
  std::vector<std::string> domains;  // one for each, or none at all
};

// "4TiB" is one size, "6x4TiB" are six, "shelf-1=6x4TiB" are six in one failure domain.
Result<Sizes> parse_sizes(const std::vector<std::string>& words) {
  constexpr std::size_t kMost = alloc::kMaxDevices;
  Sizes sizes;
  for (const std::string& given : words) {
    const std::size_t name = given.find('=');
    const bool named = name != std::string::npos;
    if (named ? sizes.domains.size() < sizes.bytes.size() : !sizes.domains.empty()) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("'{}': some sizes are in a failure domain, and some in none",
                               printable(given)),
                   "Name one before each, as in shelf-1=6x4TiB, or before none."};
    }
    const std::string word = named ? given.substr(name + 1) : given;
    std::uint64_t count = 1;
    std::string_view size = word;
    if (const std::size_t at = word.find('x'); at != std::string::npos) {
      const auto [end, error] = std::from_chars(word.data(), word.data() + at, count);
      if (error != std::errc() || end != word.data() + at || count == 0) {
        return Error{ErrorCode::kInvalidArgument,
                     fmt::format("'{}' does not begin with a number of devices", printable(word)),
                     "Write 6x4TiB for six devices of 4 TiB each."};
      }
      size.remove_prefix(at + 1);
    }
    HEXAD_TRY_ASSIGN(const std::uint64_t bytes, parse_size(size));
    if (count > kMost - std::min(kMost, sizes.bytes.size())) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("these are more than {} devices", kMost), "No pool has more."};
    }
    sizes.bytes.insert(sizes.bytes.end(), count, bytes);
    if (named) sizes.domains.insert(sizes.domains.end(), count, given.substr(0, name));
  }
  return sizes;
}

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string duration(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{:.1f} h", seconds / 3600);
  return fmt::format("{:.1f} days", seconds / 86400);
}

// Devices of one size of which as much is of use are one kind.
struct Kind {
  std::size_t count = 0;
  PlannedDevice one;
};

std::vector<Kind> kinds_of(const PoolPlan& plan) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, Kind> kinds;
  for (const PlannedDevice& device : plan.devices) {
    Kind& kind = kinds[{device.size, device.used}];
    ++kind.count;
    kind.one = device;
  }
  std::vector<Kind> sorted;
  for (const auto& [size_and_use, kind] : kinds) sorted.push_back(kind);
  return sorted;
}

class Plan final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments_ = &arguments;
    arguments.positionals("SIZE", sizes_,
                          "Size of a data device, or of several: 6x4TiB. In powers of 1024: a disk "
                          "sold as 4 TB has 3.64TiB. In a failure domain, as mkfs names it: "
                          "shelf-1=6x4TiB");
    arguments.option("--preset", preset_, "nvme, hdd or tiny: defaults of the rest [nvme]");
    arguments.option("--profile", profile_, "Data and parity cells per stripe [4+2]");
    arguments.option("--codec", codec_, "As mkfs takes it [by profile]");
    arguments.size("--min-alloc", min_alloc_, "Allocation unit [4KiB]");
    arguments.size("--checksum-block", checksum_block_, "Bytes under one checksum [16KiB]");
    arguments.size("--log-size", log_size_, "Bytes of each log copy [by capacity]");
    arguments.size("--rate", rate_, "Bytes read per second, to say how long a rebuild takes");
  }

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(FormatOptions options, format_options());
    HEXAD_TRY_ASSIGN(const Sizes sizes, parse_sizes(sizes_));
    options.failure_domains = sizes.domains;
    HEXAD_TRY_ASSIGN(const PoolPlan plan, core::plan_pool(options, sizes.bytes));
    if (session.out().json()) {
      session.out().object(as_json(options, plan));
    } else {
      session.out().write(as_text(options, plan));
    }
    return kExitOk;
  }

 private:
  Result<FormatOptions> format_options() const {
    FormatOptions options;
    if (!preset_.empty()) {
      HEXAD_TRY_ASSIGN(const Preset preset, parse_preset(preset_));
      options = FormatOptions(preset);
    }
    if (arguments_->given("--min-alloc")) options.min_alloc = min_alloc_;
    if (arguments_->given("--checksum-block")) options.checksum_block = checksum_block_;
    if (arguments_->given("--log-size")) options.log_size = log_size_;
    if (arguments_->given("--profile") || arguments_->given("--codec")) {
      HEXAD_TRY_ASSIGN(options.profile, ec::parse_profile(profile_, codec_));
    }
    return options;
  }

  static Json as_json(const FormatOptions& options, const PoolPlan& plan) {
    Json object{{"profile", ec::to_string(options.profile)},
                {"codec", ec::codec_to_string(options.profile)},
                {"min_alloc", plan.min_alloc},
                {"raw", plan.raw},
                {"capacity", plan.capacity},
                {"internally_reserved", plan.kept_back},
                {"usable", plan.usable},
                {"log_size", plan.log_size},
                {"slab_size", plan.slab_size},
                {"faults_tolerated", plan.faults_tolerated},
                {"domain_cells", plan.domain_cells},
                {"domains_tolerated", plan.domains_tolerated},
                {"devices", Json::array()}};
    for (const PlannedDevice& device : plan.devices) {
      object["devices"].push_back(Json{{"size", device.size},
                                       {"used", device.used},
                                       {"unused", device.unused},
                                       {"rebuild_written", device.rebuild_written},
                                       {"rebuild_read", device.rebuild_read}});
    }
    return object;
  }

  std::string as_text(const FormatOptions& options, const PoolPlan& plan) const {
    std::string text = fmt::format(
        "{} devices, {} in all; {} {}, units of {}, a log of {}\n", plan.devices.size(),
        format_size(plan.raw), ec::to_string(options.profile), ec::codec_to_string(options.profile),
        format_size(plan.min_alloc), format_size(plan.log_size));
    text += fmt::format("usable    {:>10}  {:.1f} % of it, for user data in large objects\n",
                        format_size(plan.usable), percent(plan.usable, plan.raw));
    text += fmt::format("kept back {:>10}  for checkpoints, merges and moves\n",
                        format_size(plan.kept_back));
    if (plan.usable == 0) {
      text += "Nothing fits into so small a pool. A smaller --log-size keeps back less.\n";
    }
    if (plan.faults_tolerated == 0) {
      text +=
          "survives  the loss of no device: without parity each has to be redundant itself, as "
          "mkfs "
          "is told by --redundant-devices\n";
    } else {
      text += fmt::format("survives  the loss of any {} device{} at once\n", plan.faults_tolerated,
                          plan.faults_tolerated == 1 ? "" : "s");
      if (plan.domain_cells > 0) {
        text += fmt::format(
            "          or of {} whole failure domain{}: a stripe has at most {} of its {} cells in "
            "one\n",
            plan.domains_tolerated, plan.domains_tolerated == 1 ? "" : "s", plan.domain_cells,
            options.profile.shards());
      }
      text += "a rebuild, when the pool is full, of one device\n";
    }
    const std::vector<Kind> kinds = kinds_of(plan);
    for (const Kind& kind : kinds) {
      if (plan.faults_tolerated == 0) break;
      text += fmt::format("  of {:>10}  writes {} to the new one, reads {} from the {} others",
                          format_size(kind.one.size), format_size(kind.one.rebuild_written),
                          format_size(kind.one.rebuild_read), plan.devices.size() - 1);
      if (rate_ > 0) {
        text += fmt::format(
            "; {} at {} per second",
            duration(static_cast<double>(kind.one.rebuild_read) / static_cast<double>(rate_)),
            format_size(rate_));
      }
      text += "\n";
    }
    for (const Kind& kind : kinds) {
      if (kind.one.unused == 0) continue;
      text += fmt::format("{} of each device of {} can never be used ({} such): {}\n",
                          format_size(kind.one.unused), format_size(kind.one.size), kind.count,
                          plan.domain_cells == 0
                              ? "too few others are as large"
                              : "too few others are as large, or in other failure domains");
    }
    return text;
  }

  const Arguments* arguments_ = nullptr;
  std::vector<std::string> sizes_;
  std::string preset_;
  std::string profile_ = "4+2";
  std::string codec_;
  std::uint64_t min_alloc_ = 0;
  std::uint64_t checksum_block_ = 0;
  std::uint64_t log_size_ = 0;
  std::uint64_t rate_ = 0;
};

}  // namespace

std::unique_ptr<Verb> make_plan() { return std::make_unique<Plan>(); }

}  // namespace hexad::tools
