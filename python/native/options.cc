#include "python/native/options.h"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "python/native/arguments.h"
#include "python/native/errors.h"

namespace hexad::python {

namespace nb = nanobind;

namespace {

using Setter = std::function<void(nb::handle)>;
using Setters = std::map<std::string, Setter, std::less<>>;

Setter size(std::uint64_t& into, const char* name) {
  return [&into, name](nb::handle value) {
    if (!PyUnicode_Check(value.ptr())) {
      into = to_number(value, name);
      return;
    }
    const Result<std::uint64_t> parsed = parse_size(Text(value, name).view());
    if (!parsed.ok()) fail(parsed.error().with_context(name));
    into = *parsed;
  };
}

template <typename T>
Setter word(T& into, const char* name, Result<T> (*parse)(std::string_view)) {
  return [&into, name, parse](nb::handle value) { into = take(parse(Text(value, name).view())); };
}

Setter policy(compression::Policy& into) {
  return [&into](nb::handle value) { into = to_policy(value); };
}

// None leaves the default.
void set_options(const Setters& setters, const nb::dict& given) {
  for (const auto& [key, value] : given) {
    const Text name(key, "option");
    const auto found = setters.find(name.view());
    if (found == setters.end()) {
      std::string known;
      for (const auto& [one, setter] : setters) known += (known.empty() ? "" : ", ") + one;
      fail({ErrorCode::kInvalidArgument, "there is no option '" + printable(name.view()) + "'",
            "The options are: " + known + "."});
    }
    if (!value.is_none()) found->second(value);
  }
}

void to_list(std::vector<std::string>& into, nb::handle value, const char* name) {
  for (const nb::handle one : nb::cast<nb::sequence>(value)) {
    into.emplace_back(Text(one, name).view());
  }
}

// The shape and the code come apart and are judged together.
class ProfileWords {
 public:
  void declare(Setters& setters) {
    setters["profile"] = [this](nb::handle value) { shape_ = Text(value, "profile").view(); };
    setters["codec"] = [this](nb::handle value) { codec_ = Text(value, "codec").view(); };
  }
  void apply_to(ec::Profile& profile) const {
    if (shape_.empty() && codec_.empty()) return;
    profile = take(ec::parse_profile(shape_.empty() ? ec::to_string(profile) : shape_, codec_));
  }

 private:
  std::string shape_;
  std::string codec_;
};

// The preset is what the other options start from, wherever it stands among them.
template <typename Options>
void start_from_preset(Options& options, const nb::dict& given) {
  if (!given.contains("preset")) return;
  const nb::object value = given["preset"];
  if (!value.is_none()) options = Options(take(parse_preset(Text(value, "preset").view())));
}

Result<SplitRisk> parse_split_risk(std::string_view text) {
  if (text == "refuse") return SplitRisk::kRefuse;
  if (text == "take") return SplitRisk::kTake;
  return Error{ErrorCode::kInvalidArgument, "split_risk '" + printable(text) + "' is not known",
               "It is refuse or take."};
}

Result<CatchUp> parse_catch_up(std::string_view text) {
  if (text == "background") return CatchUp::kInBackground;
  if (text == "asked") return CatchUp::kWhenAsked;
  return Error{ErrorCode::kInvalidArgument, "catch_up '" + printable(text) + "' is not known",
               "It is background or asked."};
}

Result<Returns> parse_returns(std::string_view text) {
  if (text == "by-themselves") return Returns::kByThemselves;
  if (text == "when-asked") return Returns::kWhenAsked;
  return Error{ErrorCode::kInvalidArgument, "returns '" + printable(text) + "' is not known",
               "It is by-themselves or when-asked."};
}

Result<BusErrors> parse_bus_errors(std::string_view text) {
  if (text == "leave") return BusErrors::kLeave;
  if (text == "explain") return BusErrors::kExplain;
  return Error{ErrorCode::kInvalidArgument, "bus_errors '" + printable(text) + "' is not known",
               "It is leave or explain."};
}

Result<FlushSharing> parse_flush_sharing(std::string_view text) {
  if (text == "where-safe") return FlushSharing::kWhereSafe;
  if (text == "never") return FlushSharing::kNever;
  return Error{ErrorCode::kInvalidArgument, "flush_sharing '" + printable(text) + "' is not known",
               "It is where-safe or never."};
}

Result<Unwritable> parse_unwritable(std::string_view text) {
  if (text == "refuse") return Unwritable::kRefuse;
  if (text == "lose") return Unwritable::kLose;
  return Error{ErrorCode::kInvalidArgument,
               "unwritable_devices '" + printable(text) + "' is not known",
               "It is refuse or lose."};
}

}  // namespace

FormatOptions to_format_options(const nb::dict& given) {
  FormatOptions options;
  start_from_preset(options, given);
  ProfileWords profile;
  Setters setters = {
      {"preset", [](nb::handle) {}},
      {"devices", [&](nb::handle value) { to_list(options.devices, value, "device"); }},
      {"failure_domains",
       [&](nb::handle value) { to_list(options.failure_domains, value, "failure_domains"); }},
      {"fast", [&](nb::handle value) { to_list(options.fast_directories, value, "fast"); }},
      {"size", size(options.device_size, "size")},
      {"force", [&](nb::handle value) { options.force = nb::cast<bool>(value); }},
      {"redundant_devices",
       [&](nb::handle value) { options.redundant_devices = nb::cast<bool>(value); }},
      {"min_alloc", size(options.min_alloc, "min_alloc")},
      {"checksum", word(options.checksum, "checksum", &parse_checksum_type)},
      {"checksum_block", size(options.checksum_block, "checksum_block")},
      {"compression", policy(options.compression)},
      {"log_size", size(options.log_size, "log_size")},
      {"slab_size", size(options.slab_size, "slab_size")},
  };
  profile.declare(setters);
  set_options(setters, given);
  profile.apply_to(options.profile);
  return options;
}

MemoryStoreOptions to_memory_options(const nb::dict& given) {
  MemoryStoreOptions options;
  ProfileWords profile;
  Setters setters = {
      {"capacity", size(options.capacity, "capacity")},
      {"compression", policy(options.compression)},
  };
  profile.declare(setters);
  set_options(setters, given);
  profile.apply_to(options.profile);
  return options;
}

RuntimeOptions to_runtime_options(const nb::dict& given) {
  RuntimeOptions options;
  start_from_preset(options, given);
  const Setters setters = {
      {"preset", [](nb::handle) {}},
      {"read_only",
       [&](nb::handle value) {
         if (nb::cast<bool>(value)) options.access = Access::kReadOnly;
       }},
      {"memtable_size", size(options.memtable_size, "memtable_size")},
      {"max_transaction", size(options.max_transaction, "max_transaction")},
      {"max_in_flight", size(options.max_in_flight, "max_in_flight")},
      {"stream_buffer", size(options.stream_buffer, "stream_buffer")},
      {"cache_size", size(options.cache_size, "cache_size")},
      {"flush_sharing", word(options.flush_sharing, "flush_sharing", &parse_flush_sharing)},
      {"log_durability", word(options.log_durability, "log_durability", &parse_log_durability)},
      {"unwritable_devices",
       word(options.unwritable_devices, "unwritable_devices", &parse_unwritable)},
      {"split_risk", word(options.split_risk, "split_risk", &parse_split_risk)},
      {"bus_errors", word(options.bus_errors, "bus_errors", &parse_bus_errors)},
      {"catch_up", word(options.catch_up, "catch_up", &parse_catch_up)},
      {"returns", word(options.returns, "returns", &parse_returns)},
      {"hedged_reads", word(options.hedged_reads, "hedged_reads", &parse_hedged_reads)},
      {"device_patience",
       [&](nb::handle value) { options.device_patience = to_number(value, "device_patience"); }},
      {"drain_lost_after",
       [&](nb::handle value) { options.drain_lost_after = to_number(value, "drain_lost_after"); }},
  };
  set_options(setters, given);
  return options;
}

compression::Policy to_policy(nb::handle text) {
  return take(compression::parse_policy(Text(text, "compression").view()));
}

}  // namespace hexad::python
