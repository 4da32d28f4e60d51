#include "core/check/known_damage.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/record/damage_record.h"
#include "core/record/keys.h"

namespace hexad::core {

namespace {

constexpr std::size_t kWrittenAtOnce = 100;  // records of one commit

bool names(std::span<const ObjectName> objects, const Damage& damage) {
  return std::any_of(objects.begin(), objects.end(), [&](const ObjectName& object) {
    return object.collection == damage.collection && object.name == damage.name;
  });
}

}  // namespace

Status KnownDamage::load() {
  HEXAD_TRY_ASSIGN(const ReadState state, parts_.search.reads.read_state());
  HEXAD_TRY_ASSIGN(MetaView::Cursor cursor, state.view->cursor_over(damage_prefix()));
  while (cursor.valid()) {
    const Result<DamagedBlob> blob = parse_damage_key(cursor.key());
    Result<DamageRecord> record = decode_damage(cursor.value());
    // A hint that cannot be read is none; fsck names it.
    if (blob.ok() && record.ok()) list_.load(*blob, std::move(record).value());
    HEXAD_TRY(cursor.next());
  }
  return {};
}

void KnownDamage::note(const Blob& blob, const Error& why) {
  DamageRecord record;
  record.first_seen = parts_.executor.clock().wall_time();
  record.problem = why.message.substr(0, kMaxDamageProblem);
  if (list_.note(damaged_blob(blob), std::move(record))) parts_.wake_job();
}

Result<bool> KnownDamage::write() {
  if (list_.count().unwritten == 0) return false;
  std::vector<DamageList::Change> changes;
  // Taken under the sequencer's lock: of two who write, the later one has what is newer.
  const InternalCommits::FillRecord fill = [&](LogRecord& record) -> Status {
    changes = list_.changes(kWrittenAtOnce);
    for (const DamageList::Change& change : changes) {
      std::optional<std::string> value;
      if (change.record.has_value()) value = encode_damage(*change.record);
      record.images.push_back({damage_key(change.blob), std::move(value)});
    }
    return {};
  };
  HEXAD_TRY(parts_.commits->commit_internal(fill).status());
  list_.note_written(changes);
  return true;
}

void KnownDamage::await_written(const std::function<bool()>& in_vain) {
  constexpr io::Nanos kNap = 1'000'000;
  constexpr int kMostNaps = 1000;
  for (int i = 0; i < kMostNaps && list_.count().unwritten > 0; ++i) {
    if (in_vain()) return;
    parts_.executor.sleep_for(kNap);
  }
}

Result<std::vector<DamageSearch::Found>> KnownDamage::search(const std::function<bool()>& go_on) {
  DamageSearch search(parts_.search, list_.entries(),
                      [&] { return !parts_.closed() && (!go_on || go_on()); });
  HEXAD_TRY_ASSIGN(DamageSearch::Outcome outcome, search.run());
  if (list_.drop(outcome.over)) parts_.wake_job();
  return std::move(outcome.found);
}

Result<std::vector<Damage>> KnownDamage::find(const std::function<bool()>& go_on) {
  HEXAD_TRY_ASSIGN(std::vector<DamageSearch::Found> found, search(go_on));
  std::vector<Damage> damage;
  for (DamageSearch::Found& one : found) damage.push_back(std::move(one.damage));
  return damage;
}

Result<std::vector<Damage>> KnownDamage::acknowledge(
    std::optional<std::span<const ObjectName>> objects, const std::function<bool()>& go_on) {
  HEXAD_TRY(parts_.writable());
  HEXAD_TRY_ASSIGN(std::vector<DamageSearch::Found> found, search(go_on));
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
  list_.acknowledge(list);
  for (bool more = true; more;) {
    HEXAD_TRY_ASSIGN(more, write());
  }
  std::vector<Damage> acknowledged;
  for (DamageSearch::Found& one : found) {
    if (blobs.count(one.blob) == 0 || one.damage.acknowledged) continue;
    one.damage.acknowledged = true;
    acknowledged.push_back(std::move(one.damage));
  }
  return acknowledged;
}

void KnownDamage::show(StoreStatus& status) const {
  const DamageList::Count count = list_.count();
  status.damaged_blobs = count.open;
  if (count.open > 0 && status.health != Health::kUnavailable) status.health = Health::kDamaged;
  if (parts_.commits == nullptr && count.unwritten > 0) {
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
