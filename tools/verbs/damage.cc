// hexad damage ls, ack: which ranges of objects are lost, and that somebody knows. `ls` ends with
// code 3 while there are some that nobody has acknowledged.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/units.h"
#include "io/lines/process_info.h"
#include "tools/cli/names.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

Json as_json(const std::vector<Damage>& damage) {
  Json list = Json::array();
  for (const Damage& one : damage) {
    Json object = Json::object();
    set_name(object, "collection", one.collection);
    set_name(object, "name", one.name);
    if (one.omap_key.has_value()) set_name(object, "omap_key", *one.omap_key);
    object["offset"] = one.offset;
    object["length"] = one.length;
    object["first_seen"] = one.first_seen;
    object["problem"] = one.problem;
    object["acknowledged"] = one.acknowledged;
    list.push_back(std::move(object));
  }
  return list;
}

void print(Output& out, const std::vector<Damage>& damage) {
  for (const Damage& one : damage) {
    std::string what = display_name(one.collection) + "/" + display_name(one.name);
    if (one.omap_key.has_value()) {
      what += one.omap_key->empty() ? ", header of its omap"
                                    : ", omap key " + display_name(*one.omap_key);
    }
    out.write(fmt::format("{}: {} lost from byte {} on, first seen {}{}: {}\n", what,
                          format_size(one.length), one.offset, io::format_utc(one.first_seen),
                          one.acknowledged ? ", acknowledged" : "", one.problem));
  }
}

std::uint64_t bytes_of(const std::vector<Damage>& damage) {
  std::uint64_t bytes = 0;
  for (const Damage& one : damage) bytes += one.length;
  return bytes;
}

// Those of objects and omaps; what several show counts for each of them.
std::string count(const std::vector<Damage>& damage) {
  return fmt::format("{} range{}, {}", damage.size(), damage.size() == 1 ? "" : "s",
                     format_size(bytes_of(damage)));
}

class DamageLs final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.flag("--all", all_, "Also what has been acknowledged");
  }

  Result<int> run(Session& session) override {
    return session.with_view([&](PoolView& view) -> Result<int> {
      HEXAD_TRY_ASSIGN(std::vector<Damage> damage, view.damage());
      const auto known = std::stable_partition(damage.begin(), damage.end(),
                                               [](const Damage& one) { return !one.acknowledged; });
      const auto open = static_cast<std::size_t>(known - damage.begin());
      const std::size_t acknowledged = damage.size() - open;
      if (!all_) damage.resize(open);
      Output& out = session.out();
      if (out.json()) {
        out.object(Json{{"damage", as_json(damage)}, {"acknowledged", acknowledged}});
      } else {
        print(out, damage);
        if (open == 0) {
          out.note("nothing is known to be lost" +
                   std::string(acknowledged > 0 ? " but what has been acknowledged (--all)" : ""));
        } else {
          damage.resize(open);
          out.note(fmt::format(
              "{} lost. Write or remove them; to say that it is known: hexad damage ack {} --all",
              count(damage), session.pool().word()));
        }
      }
      return open > 0 ? kExitDamaged : kExitOk;
    });
  }

 private:
  bool all_ = false;
};

class DamageAck final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.positionals("NAME", names_, "Names of the objects", Need::kOptional);
    arguments.flag("--all", all_, "Everything that damage ls shows, of all collections");
  }

  Result<int> run(Session& session) override {
    if (names_.empty() != all_) {
      return Error{ErrorCode::kInvalidArgument,
                   "damage ack takes names, or --all, and only one of them",
                   "See: hexad damage ack --help"};
    }
    std::vector<ObjectName> objects;
    for (const std::string& typed : names_) {
      HEXAD_TRY_ASSIGN(std::string name, session.name(typed));
      objects.push_back({session.collection(), std::move(name)});
    }
    const Result<core::ControlClient> holder = session.find_holder();
    if (holder.ok()) {
      HEXAD_TRY_ASSIGN(const std::vector<Damage> known, all_ ? holder->acknowledge_all_damage()
                                                             : holder->acknowledge_damage(objects));
      return say(session.out(), known);
    }
    return session.with_store(Access::kReadWrite, [&](Store& store) -> Result<int> {
      HEXAD_TRY_ASSIGN(const std::vector<Damage> known,
                       all_ ? store.acknowledge_all_damage() : store.acknowledge_damage(objects));
      return say(session.out(), known);
    });
  }

 private:
  static int say(Output& out, const std::vector<Damage>& known) {
    if (out.json()) {
      out.object(Json{{"damage", as_json(known)}});
    } else {
      print(out, known);
      out.note(known.empty() ? "nothing was new" : count(known) + " acknowledged");
    }
    return kExitOk;
  }

  std::vector<std::string> names_;
  bool all_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_damage_ls() { return std::make_unique<DamageLs>(); }
std::unique_ptr<Verb> make_damage_ack() { return std::make_unique<DamageAck>(); }

}  // namespace hexad::tools
