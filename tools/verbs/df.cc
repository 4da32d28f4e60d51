// hexad df: where the bytes are, from the allocator and the records.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "base/bytes.h"
#include "base/units.h"
#include "io/lines/process_info.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/progress.h"
#include "tools/verbs/drain_text.h"
#include "tools/verbs/layers.h"
#include "tools/verbs/look.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

// The reserve is large when it is such a part of all there is.
constexpr std::uint64_t kLargeReserve = 10;

// What is said of devices beside how full they are. A status without them says nothing.
DeviceStatus status_of(const StoreStatus& status, DeviceId id) {
  return find_device(status, id).value_or(DeviceStatus{});
}

Json as_json(const ObjectRoom& room) {
  return Json{
      {"object_size", room.object_size}, {"usable", room.usable}, {"available", room.available}};
}

Json as_json(const std::optional<std::uint64_t>& bytes) {
  return bytes.has_value() ? Json(*bytes) : Json(nullptr);
}

// What nobody has counted is null, and not 0.
Json as_json(const SpaceUsage& space, const StoreStatus& status) {
  const auto counted = [&space](std::uint64_t bytes) {
    return space.broken_down ? Json(bytes) : Json(nullptr);
  };
  Json object{{"broken_down", space.broken_down},
              {"capacity", space.capacity},
              {"available", space.available},
              {"reclaimable", space.reclaimable},
              {"usable_for_mix", as_json(space.usable_for_mix)},
              {"available_for_mix", as_json(space.available_for_mix)},
              {"least", as_json(space.least)},
              {"internally_reserved", space.internally_reserved},
              {"used", space.used},
              {"user_bytes", space.user_bytes},
              {"omap_bytes", counted(space.omap_bytes)},
              {"allocated", space.allocated},
              {"compressed_original", counted(space.compressed_original)},
              {"compressed", counted(space.compressed)},
              {"compressed_allocated", counted(space.compressed_allocated)},
              {"metadata", space.metadata},
              {"internal_metadata", space.internal_metadata},
              {"objects", space.objects},
              {"dead", space.dead},
              {"promised", space.promised},
              {"waiting", space.waiting},
              {"held_by_readers", space.held_by_readers},
              {"readers", Json::array()},
              {"fragmentation", space.fragmentation},
              {"granted_of_wanted", space.granted_of_wanted},
              {"free_runs", Json::array()},
              {"per_device", Json::array()}};
  for (const FreeRuns& kind : space.free_runs) {
    object["free_runs"].push_back(
        Json{{"from", kind.from}, {"runs", kind.runs}, {"bytes", kind.bytes}});
  }
  for (const HeldByReader& reader : space.readers) {
    Json one{{"opened", reader.opened}, {"held", reader.held}};
    set_name(one, "bucket", reader.collection);
    set_name(one, "name", reader.name);
    object["readers"].push_back(std::move(one));
  }
  for (const DeviceSpace& device : space.per_device) {
    const DeviceStatus state = status_of(status, device.id);
    object["per_device"].push_back(Json{{"id", device.id},
                                        {"path", device.path},
                                        {"capacity", device.capacity},
                                        {"used", device.used},
                                        {"state", state.state},
                                        {"slabs", state.slabs},
                                        {"slabs_used", state.slabs_used}});
  }
  add_layers(object, status);
  return object;
}

std::string line(const char* label, std::uint64_t bytes, const char* meaning) {
  return fmt::format("{:<22}{:>12}  {}\n", label, format_size(bytes), meaning);
}

std::string as_text(const SpaceUsage& space, const StoreStatus& status) {
  std::string text = fmt::format("{:<22}{:>12}\n", "objects", space.objects);
  text += line("capacity", space.capacity, "user bytes that fit");
  text += line("available", space.available, "of them still free");
  if (space.available_for_mix.has_value()) {
    text += line("usable, for this mix", space.usable_for_mix.value_or(space.capacity),
                 "that the empty pool holds of objects of the sizes here");
    text += line("  available", *space.available_for_mix, "of them, with what is reclaimable");
  }
  if (space.least.object_size > 0) {  // a pool that an older version has open says nothing of it
    text += line("usable, at least", space.least.usable,
                 fmt::format("of objects of {}", format_size(space.least.object_size)).c_str());
    text += line("  available", space.least.available, "of them, with what is reclaimable");
  }
  text += line("internally reserved", space.internally_reserved,
               "kept back for checkpoints, merges and moves, so that a full store can delete");
  if (space.internally_reserved * kLargeReserve > space.capacity) {
    text +=
        "  That is much of so small a pool: two checkpoints, each as long as the log. A pool "
        "made with a\n  smaller --log-size keeps back less.\n";
  }
  text += line("user bytes", space.user_bytes, "sizes of all objects, as their owners see them");
  if (space.omap_bytes > 0) {
    text += line("omap bytes", space.omap_bytes, "values of their omaps, beside that");
  }
  text += line("allocated", space.allocated, "units they take, without parity");
  text += line("dead", space.dead,
               space.broken_down ? "of those, shown by no object: removed, overwritten, padding"
                                 : "of those, shown by no object, in stripes that several share");
  text += line("  reclaimable", space.reclaimable, "of that, by moving what lives beside it");
  text += line("waiting", space.waiting, "freed, and soon to be used again");
  if (space.held_by_readers > 0) {
    text += line("held by readers", space.held_by_readers, "freed, but still being read");
    for (const HeldByReader& reader : space.readers) {
      text += fmt::format("  {:<20}{:>12}  open since {}\n",
                          printable(reader.collection) + "/" + printable(reader.name),
                          format_size(reader.held), io::format_utc(reader.opened));
    }
  }
  text += line("used", space.used, "on all devices, parity included");
  text += line("metadata", space.metadata, "index on the fast tier");
  text += line("internal metadata", space.internal_metadata, "the same on the data devices");
  if (space.compressed_original > 0) {
    text += line("compressed original", space.compressed_original, "bytes that compression took");
    text += line("compressed", space.compressed, "what it made of them");
    text += line("compressed allocated", space.compressed_allocated, "units that these take");
  }
  if (space.user_bytes > 0) {
    text += fmt::format("{:<22}{:>12.3f}  on devices per user byte\n", "amplification",
                        static_cast<double>(space.used) / static_cast<double>(space.user_bytes));
  }
  text += "devices\n";
  for (const DeviceSpace& device : space.per_device) {
    const double part = device.capacity == 0 ? 0
                                             : 100 * static_cast<double>(device.used) /
                                                   static_cast<double>(device.capacity);
    const std::string drain = describe_drain(status_of(status, device.id));
    text += fmt::format("  {:>3} {:>12} of {:>12} {:5.1f} %  {}{}\n", device.id,
                        format_size(device.used), format_size(device.capacity), part, device.path,
                        drain.empty() ? "" : "; " + drain);
  }
  text += layers_text(status) + fill_text(status.fill);
  if (!space.broken_down) {
    text +=
        "What compression saves, and what is dead in stripes of single objects: df --breakdown, "
        "which\nreads the record of every object.\n";
  }
  return text;
}

std::string as_text(const ObjectRoom& room) {
  const auto objects = [&](std::uint64_t bytes) {
    return fmt::format("{} objects", bytes / room.object_size);
  };
  return fmt::format("objects of {}\n", format_size(room.object_size)) +
         line("  usable", room.usable, objects(room.usable).c_str()) +
         line("  available", room.available, (objects(room.available) + " more").c_str());
}

class Df final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments_ = &arguments;
    arguments.size("--object-size", object_size_,
                   "Say how much there is room for of objects of so many bytes, written whole");
    arguments.flag("--breakdown", breakdown_,
                   "Also what only a walk over all objects tells: what compression saves, what is "
                   "dead, room for the mix of sizes that is there");
  }

  Result<int> run(Session& session) override {
    return session.with_view([&](PoolView& pool) -> Result<int> {
      std::optional<ObjectRoom> room;
      if (arguments_->given("--object-size")) {
        HEXAD_TRY_ASSIGN(room, pool.room_for(object_size_));
      }
      HEXAD_TRY_ASSIGN(const SpaceUsage space, count(session, pool));
      HEXAD_TRY_ASSIGN(const StoreStatus status, pool.status());
      if (session.out().json()) {
        Json object = as_json(space, status);
        if (room.has_value()) object["room"] = as_json(*room);
        session.out().object(object);
      } else {
        session.out().write(as_text(space, status));
        if (room.has_value()) session.out().write(as_text(*room));
      }
      return kExitOk;
    });
  }

 private:
  // The breakdown is a walk over all objects, which does not say how far it is.
  Result<SpaceUsage> count(Session& session, PoolView& pool) const {
    if (!breakdown_) return pool.space();
    if (interrupted()) return interrupted_error();
    Progress progress(session.out(), session.clock(), "df", 0);
    const Ticking ticking(progress, session.executor());
    return pool.space(SpaceDetail::kBreakdown);
  }

  Arguments* arguments_ = nullptr;
  std::uint64_t object_size_ = 0;
  bool breakdown_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_df() { return std::make_unique<Df>(); }

}  // namespace hexad::tools
