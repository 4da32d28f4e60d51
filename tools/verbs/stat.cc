// hexad stat: everything the store knows about one object.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/units.h"
#include "tools/cli/hints.h"
#include "tools/cli/names.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;  // nanoseconds

std::string format_time(std::int64_t nanoseconds) {
  const std::time_t seconds = static_cast<std::time_t>(nanoseconds / kSecond);
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(seconds));
}

class Stat final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("NAME", name_, "Name of the object");
    arguments.flag("--extents", with_ranges_,
                   "Also which of its bytes hold data; the rest is holes");
  }

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(name_, session.name(name_));
    return session.with_view([&](PoolView& pool) { return show(session, pool); });
  }

 private:
  Result<int> show(Session& session, PoolView& pool) {
    HEXAD_TRY_ASSIGN(
        const core::ObjectLook look,
        pool.look(session.collection(), name_,
                  with_ranges_ ? core::LookFor::kStatAndRanges : core::LookFor::kStat));
    if (session.out().json()) {
      session.out().object(as_json(look.stat, look.attributes, look.ranges));
    } else {
      session.out().write(as_text(session.out(), look.stat, look.attributes, look.ranges));
    }
    return kExitOk;
  }

  Json as_json(const ObjectStat& stat, const Attributes& attributes,
               const std::vector<ByteRange>& ranges) const {
    Json object;
    set_name(object, "name", name_);
    object["size"] = stat.size;
    object["version"] = stat.version;
    object["mtime"] = stat.mtime;
    object["stored"] = stat.stored;
    object["placement"] = stat.placement;
    object["extents"] = stat.extents;
    object["hints"] = hint_names(stat.hint);
    object["attributes"] = Json::array();
    for (const auto& [key, value] : attributes) {
      Json attribute;
      set_name(attribute, "name", key);
      set_name(attribute, "value", value);
      object["attributes"].push_back(std::move(attribute));
    }
    if (!with_ranges_) return object;
    object["data_ranges"] = Json::array();
    for (const ByteRange& range : ranges) {
      object["data_ranges"].push_back(Json{{"offset", range.offset}, {"length", range.length}});
    }
    return object;
  }

  std::string as_text(const Output& out, const ObjectStat& stat, const Attributes& attributes,
                      const std::vector<ByteRange>& ranges) const {
    std::string text;
    text += fmt::format("name       {}\n", shown_name(out, name_));
    text += fmt::format("size       {} ({})\n", stat.size, format_size(stat.size));
    text += fmt::format("stored     {} ({})\n", stat.stored, format_size(stat.stored));
    text += fmt::format("version    {}\n", stat.version);
    text += fmt::format("modified   {}\n", format_time(stat.mtime));
    text += fmt::format("placement  {}, {} extents\n", stat.placement, stat.extents);
    if (stat.hint != Hint::kNone) {
      text += fmt::format("hints      {}\n", fmt::join(hint_names(stat.hint), ", "));
    }
    for (const auto& [key, value] : attributes) {
      text += fmt::format("attribute  {} = {}\n", display_name(key), display_name(value));
    }
    for (const ByteRange& range : ranges) {
      text += fmt::format("data       {}:{}\n", range.offset, range.length);
    }
    return text;
  }

  std::string name_;
  bool with_ranges_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_stat() { return std::make_unique<Stat>(); }

}  // namespace hexad::tools
