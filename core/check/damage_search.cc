// What of the store is lost: reads and scrubs note the blobs of which bytes cannot be had
// (core/check/damage_list.h), a job writes that down, and who asks is told of all objects that show
// such bytes now.
//
//   DM1  a blob is named by its place and its checksums. Who shows it is looked for in one state of
//        the metadata when somebody asks: clones and new names are found, what was removed or
//        written again is not
//   DM2  an entry goes when, in a state that is no older than it, nobody shows bytes of the blob
//        that cannot be read. Where a device does not answer that is not known, and it stays
//   DM3  nothing waits for it but who asks: a note that cannot be written stays in memory
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/engine/engine.h"
#include "core/record/damage_record.h"
#include "core/record/keys.h"

namespace hexad::core {

namespace {

constexpr std::size_t kWrittenAtOnce = 100;  // records of one commit

// A list of extents shows a part of a blob.
struct Shown {
  std::uint64_t offset = 0;  // in the object
  std::uint64_t length = 0;
  std::uint64_t blob_offset = 0;
  DamagedBlob blob;
};

// The part of it that lies in `lost`, a range of the blob, in the object.
std::optional<ByteRange> common(const Shown& shown, const ByteRange& lost) {
  const std::uint64_t from = std::max(shown.blob_offset, lost.offset);
  const std::uint64_t to = std::min(shown.blob_offset + shown.length, lost.offset + lost.length);
  if (from >= to) return std::nullopt;
  return ByteRange{shown.offset + (from - shown.blob_offset), to - from};
}

bool order(const Damage& a, const Damage& b) {
  return std::tie(a.collection, a.name, a.omap_key, a.offset) <
         std::tie(b.collection, b.name, b.omap_key, b.offset);
}

bool names(std::span<const ObjectName> objects, const Damage& damage) {
  return std::any_of(objects.begin(), objects.end(), [&](const ObjectName& object) {
    return object.collection == damage.collection && object.name == damage.name;
  });
}

}  // namespace

// One look for all who show what is noted.
class Engine::DamageSearch {
 public:
  // One range, and whose.
  struct Found {
    Damage damage;
    DamagedBlob blob;
  };

  DamageSearch(Engine& engine, const std::function<bool()>& go_on)
      : engine_(engine), go_on_(go_on) {}

  // By object and offset; what is no damage any more leaves the list.
  Result<std::vector<Found>> run() {
    for (DamageList::Entry& entry : engine_.damage_.entries()) noted_.insert(std::move(entry));
    if (noted_.empty()) return std::move(found_);
    // Behind the entries, so that nothing is missed that was noted by then (DM2).
    HEXAD_TRY_ASSIGN(ReadState state, engine_.reads_->read_state());
    HEXAD_TRY(look_at_collections(*state.view));
    HEXAD_TRY(look_at_pages(*state.view));
    HEXAD_TRY(look_at_entries(*state.view));
    HEXAD_TRY(look_at_objects(*state.view));
    state.view.reset();  // the pin stays: places of blobs do not change hands
    HEXAD_TRY(judge());
    std::sort(found_.begin(), found_.end(),
              [](const Found& a, const Found& b) { return order(a.damage, b.damage); });
    return std::move(found_);
  }

 private:
  // Of an object or a value.
  struct Owner {
    std::string collection;
    std::string name;
    std::optional<std::string> omap_key;
    std::vector<Shown> shown;
  };

  Status step() {
    constexpr std::uint64_t kSteps = 1024;
    if (++steps_ % kSteps != 0) return {};
    if (engine_.closing_.is_closed() || (go_on_ && !go_on_())) {
      return Error{ErrorCode::kClosed, "damage was being looked for, and the store was closed", ""};
    }
    return {};
  }

  std::vector<Shown> shown_in(const ExtentList& extents) {
    std::vector<Shown> shown;
    for (const Extent& extent : engine_.parts_.log_blobs->resolve(extents)) {
      if (extent.is_inline() || extent.blob.placement == Placement::kLog) continue;
      const DamagedBlob blob = damaged_blob(extent.blob);
      if (noted_.count(blob) == 0) continue;
      blobs_.emplace(blob, extent.blob);
      shown.push_back({extent.offset, extent.length, extent.blob_offset, blob});
    }
    return shown;
  }

  Status look_at_collections(MetaView& view) {
    HEXAD_TRY_ASSIGN(MetaView::Cursor cursor, view.cursor_over(kCollectionKeys));
    while (cursor.valid()) {
      HEXAD_TRY_ASSIGN(CollectionRecord record, decode_collection(cursor.value()));
      HEXAD_TRY_ASSIGN(const std::string_view name, parse_collection_key(cursor.key()));
      collections_.emplace_back(name, std::move(record));
      HEXAD_TRY(cursor.next());
    }
    return {};
  }

  // Nothing: it is there for nobody.
  std::optional<std::string> collection_of(const ObjectKey& key) const {
    for (const auto& [name, record] : collections_) {
      if (record.space_of(key.name) == key.space) return name;
    }
    return std::nullopt;
  }

  Status look_at_pages(MetaView& view) {
    HEXAD_TRY_ASSIGN(MetaView::Cursor cursor, view.cursor_over(kPageKeys));
    while (cursor.valid()) {
      HEXAD_TRY_ASSIGN(const PageKey key, parse_page_key(cursor.key()));
      HEXAD_TRY_ASSIGN(const ExtentList extents,
                       decode_page(cursor.value(), key.page, engine_.shape().record));
      std::vector<Shown> shown = shown_in(extents);
      if (!shown.empty()) pages_[key.body][key.page] = std::move(shown);
      HEXAD_TRY(step());
      HEXAD_TRY(cursor.next());
    }
    return {};
  }

  // All that an object or a value shows.
  std::vector<Shown> shown_by(const ObjectRecord& record) {
    if (record.body == 0) return shown_in(record.extents);
    std::vector<Shown> shown;
    const auto pages = pages_.find(record.body);
    if (pages == pages_.end()) return shown;
    for (const auto& [page, of_page] : pages->second) {
      if (is_cut(record.cuts, page)) continue;
      shown.insert(shown.end(), of_page.begin(), of_page.end());
    }
    return shown;
  }

  Status look_at_entries(MetaView& view) {
    HEXAD_TRY_ASSIGN(MetaView::Cursor cursor, view.cursor_over(kOmapKeys));
    while (cursor.valid()) {
      if (!is_hidden_entry(cursor.value())) {
        HEXAD_TRY_ASSIGN(const OmapKey key, parse_omap_key(cursor.key()));
        HEXAD_TRY_ASSIGN(const ObjectRecord record,
                         decode_object(cursor.value(), engine_.shape().record));
        std::vector<Shown> shown = shown_by(record);
        if (!shown.empty()) values_[key.omap][std::string(key.key)] = std::move(shown);
      }
      HEXAD_TRY(step());
      HEXAD_TRY(cursor.next());
    }
    return {};
  }

  Status look_at_objects(MetaView& view) {
    HEXAD_TRY_ASSIGN(MetaView::Cursor cursor, view.cursor_over(kObjectKeys));
    while (cursor.valid()) {
      HEXAD_TRY_ASSIGN(const ObjectKey key, parse_object_key(cursor.key()));
      HEXAD_TRY_ASSIGN(const ObjectRecord record,
                       decode_object(cursor.value(), engine_.shape().record));
      std::vector<Shown> shown = shown_by(record);
      if (!shown.empty() || may_have_values(record)) {
        const std::optional<std::string> collection = collection_of(key);
        if (collection.has_value()) {
          HEXAD_TRY(add_values(view, record, {*collection, std::string(key.name), {}, {}}));
          add({*collection, std::string(key.name), {}, std::move(shown)});
        }
      }
      HEXAD_TRY(step());
      HEXAD_TRY(cursor.next());
    }
    return {};
  }

  bool may_have_values(const ObjectRecord& record) const {
    if (record.omap != 0 && values_.count(record.omap) != 0) return true;
    return std::any_of(record.layers.begin(), record.layers.end(),
                       [this](OmapId layer) { return values_.count(layer) != 0; });
  }

  // Those of a layer that no newer one hides or has otherwise.
  Status add_values(MetaView& view, const ObjectRecord& record, const Owner& object) {
    std::vector<OmapId> newer;
    std::vector<OmapId> layers = record.layers;
    if (record.omap != 0) layers.insert(layers.begin(), record.omap);
    for (const OmapId layer : layers) {
      const auto values = values_.find(layer);
      if (values != values_.end()) {
        for (const auto& [key, shown] : values->second) {
          HEXAD_TRY_ASSIGN(const bool hidden, any_has(view, newer, key));
          if (!hidden) add({object.collection, object.name, key, shown});
        }
      }
      newer.push_back(layer);
    }
    return {};
  }

  static Result<bool> any_has(MetaView& view, const std::vector<OmapId>& omaps,
                              const std::string& key) {
    for (const OmapId omap : omaps) {
      HEXAD_TRY_ASSIGN(const auto value, view.get(omap_key(omap, key)));
      if (value.has_value()) return true;
    }
    return false;
  }

  void add(Owner owner) {
    if (!owner.shown.empty()) owners_.push_back(std::move(owner));
  }

  // Reads what is shown again.
  Status judge() {
    std::map<DamagedBlob, std::vector<ByteRange>> lost;
    std::set<DamagedBlob> unknown;
    for (const auto& [name, blob] : blobs_) {
      HEXAD_TRY(step());
      Result<std::vector<ByteRange>> ranges = engine_.reader_->find_lost(blob);
      if (!ranges.ok()) unknown.insert(name);
      lost[name] = ranges.ok() ? std::move(ranges).value() : std::vector<ByteRange>{{0, blob.raw}};
    }
    std::set<DamagedBlob> still = unknown;
    for (const Owner& owner : owners_) {
      for (const Shown& shown : owner.shown) {
        for (const ByteRange& range : lost[shown.blob]) {
          const std::optional<ByteRange> part = common(shown, range);
          if (!part.has_value()) continue;
          still.insert(shown.blob);
          const DamageRecord& record = noted_.at(shown.blob);
          found_.push_back({{owner.collection, owner.name, owner.omap_key, part->offset,
                             part->length, record.first_seen, record.problem, record.acknowledged},
                            shown.blob});
        }
      }
    }
    std::vector<DamagedBlob> gone;
    for (const auto& [name, record] : noted_) {
      if (still.count(name) == 0) gone.push_back(name);
    }
    if (engine_.damage_.drop(gone)) engine_.wake_damage_job();
    return {};
  }

  Engine& engine_;
  const std::function<bool()>& go_on_;
  std::uint64_t steps_ = 0;
  std::map<DamagedBlob, DamageRecord> noted_;
  std::map<DamagedBlob, Blob> blobs_;  // those of them that something shows
  std::vector<std::pair<std::string, CollectionRecord>> collections_;
  std::map<BodyId, std::map<std::uint32_t, std::vector<Shown>>> pages_;
  std::map<OmapId, std::map<std::string, std::vector<Shown>>> values_;
  std::vector<Owner> owners_;
  std::vector<Found> found_;
};

Status Engine::load_damage() {
  HEXAD_TRY_ASSIGN(const ReadState state, reads_->read_state());
  HEXAD_TRY_ASSIGN(MetaView::Cursor cursor, state.view->cursor_over(damage_prefix()));
  while (cursor.valid()) {
    const Result<DamagedBlob> blob = parse_damage_key(cursor.key());
    Result<DamageRecord> record = decode_damage(cursor.value());
    // A hint that cannot be read is none; fsck names it.
    if (blob.ok() && record.ok()) damage_.load(*blob, std::move(record).value());
    HEXAD_TRY(cursor.next());
  }
  return {};
}

void Engine::note_damage(const Blob& blob, const Error& why) {
  DamageRecord record;
  record.first_seen = parts_.system->clock().wall_time();
  record.problem = why.message.substr(0, kMaxDamageProblem);
  if (damage_.note(damaged_blob(blob), std::move(record))) wake_damage_job();
}

void Engine::wake_damage_job() {
  if (jobs_ == nullptr) return;
  damage_job_->want();
  jobs_->wake(*damage_job_);
}

Result<bool> Engine::write_damage() {
  if (damage_.count().unwritten == 0) return false;
  std::vector<DamageList::Change> changes;
  // Taken under the sequencer's lock: of two who write, the later one has what is newer.
  HEXAD_TRY(commit_internal([&](LogRecord& record) -> Status {
              changes = damage_.changes(kWrittenAtOnce);
              for (const DamageList::Change& change : changes) {
                std::optional<std::string> value;
                if (change.record.has_value()) value = encode_damage(*change.record);
                record.images.push_back({damage_key(change.blob), std::move(value)});
              }
              return {};
            }).status());
  damage_.note_written(changes);
  return true;
}

void Engine::await_damage_written() {
  constexpr io::Nanos kNap = 1'000'000;
  constexpr int kMostNaps = 1000;
  for (int i = 0; i < kMostNaps && damage_.count().unwritten > 0; ++i) {
    if (!writable().ok() || silent_->find(kSilence) != nullptr) return;
    executor().sleep_for(kNap);
  }
}

Result<std::vector<Damage>> Engine::damage(const std::function<bool()>& go_on) {
  HEXAD_TRY_ASSIGN(std::vector<DamageSearch::Found> found, DamageSearch(*this, go_on).run());
  std::vector<Damage> damage;
  for (DamageSearch::Found& one : found) damage.push_back(std::move(one.damage));
  return damage;
}

Result<std::vector<Damage>> Engine::acknowledge_damage(
    std::optional<std::span<const ObjectName>> objects, const std::function<bool()>& go_on) {
  HEXAD_TRY(writable());
  HEXAD_TRY_ASSIGN(std::vector<DamageSearch::Found> found, DamageSearch(*this, go_on).run());
  if (objects.has_value()) {
    for (const ObjectName& object : *objects) {
      const auto is_it = [&](const DamageSearch::Found& one) {
        return names({&object, 1}, one.damage);
      };
      if (std::any_of(found.begin(), found.end(), is_it)) continue;
      return Error{ErrorCode::kNotFound,
                   "no damage is known of object " + printable(object.collection) + "/" +
                       printable(object.name),
                   "hexad damage ls POOL shows what is known."};
    }
  }
  std::set<DamagedBlob> blobs;
  for (const DamageSearch::Found& one : found) {
    if (!objects.has_value() || names(*objects, one.damage)) blobs.insert(one.blob);
  }
  // What shows the same bytes is lost with them.
  const std::vector<DamagedBlob> list(blobs.begin(), blobs.end());
  damage_.acknowledge(list);
  for (bool more = true; more;) {
    HEXAD_TRY_ASSIGN(more, write_damage());
  }
  std::vector<Damage> acknowledged;
  for (DamageSearch::Found& one : found) {
    if (blobs.count(one.blob) == 0 || one.damage.acknowledged) continue;
    one.damage.acknowledged = true;
    acknowledged.push_back(std::move(one.damage));
  }
  return acknowledged;
}

void Engine::show_damage(StoreStatus& status) {
  const DamageList::Count count = damage_.count();
  status.damaged_blobs = count.open;
  if (count.open > 0 && status.health != Health::kUnavailable) status.health = Health::kDamaged;
  if (lane_ == nullptr && count.unwritten > 0) {
    status.notes.push_back(
        "what this opening has found out about damage is not kept: it reads only");
  }
  if (count.dropped > 0) {
    status.notes.push_back("more damage was met " + std::to_string(count.dropped) +
                           " times than the " + std::to_string(kMostDamage) +
                           " blobs that are listed: a scrub finds it again when there are fewer");
  }
}

}  // namespace hexad::core
