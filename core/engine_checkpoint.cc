// Checkpoints: what the memtable holds goes into the index, the root says so, the log is trimmed.
//
// Order (R4), and why a crash between the steps loses nothing:
//   0  pack       what rides in the log gets a place in a stripe, by records of the engine's own; a
//                 crash here leaves it in the log and, perhaps, in a stripe, whichever the log says
//   1  freeze     everything assigned is durable and published; LSN c is the last of it
//   2  index      the changes up to c, zone images as of c, and c itself, in one LMDB commit (or
//                 several, c in the last). A crash here: the index has the old LSN, replay starts
//                 there; the log still has everything, because only step 4 trims.
//   3  root       names c and the trim point, on all live devices. A crash here: the index is ahead
//                 of the root; replay starts behind c all the same, since the index says c.
//   4  trim       in memory only: blocks before the trim point may be overwritten from now on.
// Until runs exist the index is the only copy of what is trimmed: the index's LSN bounds the trim.
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "core/engine.h"
#include "core/keys.h"

namespace hexad::core {

namespace {

class PayloadPause {
 public:
  explicit PayloadPause(Lane& lane) : lane_(lane) { lane_.allow_payloads(false); }
  ~PayloadPause() { lane_.allow_payloads(true); }
  PayloadPause(const PayloadPause&) = delete;
  PayloadPause& operator=(const PayloadPause&) = delete;

 private:
  Lane& lane_;
};

}  // namespace

Status Engine::checkpoint() {
  HEXAD_TRY(writable());
  const io::Lock lock(checkpoint_mutex_);
  return checkpoint_locked(false);
}

Status Engine::checkpoint_locked(bool clean_close) {
  // From here to the freeze nothing new rides in the log, so that everything up to the checkpoint
  // has a place.
  std::optional<PayloadPause> no_payloads(*lane_);
  HEXAD_TRY(pack_payloads());
  std::shared_ptr<const kv::Memtable> frozen;
  std::vector<alloc::ZoneImage> images;
  kv::LogPoint point;
  Lsn lsn = 0;
  {
    const io::Lock lock(sequencer_);
    HEXAD_TRY(lane_->drain());
    lsn = lane_->next_lsn() - 1;
    if (lsn > checkpoint_lsn_) {
      frozen = parts_.metadata->freeze(lsn);
      Result<std::vector<alloc::ZoneImage>> dirty = parts_.space->dirty_images(lsn);
      if (!dirty.ok()) {
        parts_.metadata->unfreeze();
        return dirty.error();
      }
      images = std::move(dirty).value();
    }
    point = lane_->point_at(lsn);
    no_payloads.reset();
  }
  if (frozen != nullptr) {
    const Status applied = apply_to_index(*frozen, lsn, images);
    if (!applied.ok()) {
      parts_.metadata->unfreeze();
      return applied.error().with_context("checkpoint at LSN " + std::to_string(lsn));
    }
    parts_.metadata->drop_frozen();
    parts_.log_blobs->retire(lsn, lane_->visible());
    parts_.space->images_written();
  } else if (!clean_close) {
    return {};
  }

  std::set<DeviceId> failed;
  {
    const io::Lock lock(membership_mutex_);
    alloc::Root next = alloc::next_root(root_);
    next.checkpoint_lsn = lsn;
    next.recorded_watermark = lsn;
    next.log_trim = {point.position, point.end, point.crc, point.epoch, point.lsn};
    next.clean_close = clean_close;
    HEXAD_TRY(write_root(next, failed));
    if (failed.empty()) {
      checkpoint_lsn_ = lsn;
      lane_->note_recorded(lsn);
      // Under this lock: a change of membership copies the log from the trim point on.
      lane_->trim(point);
    }
  }
  if (!failed.empty()) {
    // R13: without these devices first, then the root again.
    HEXAD_TRY(lose_devices(failed));
    return checkpoint_locked(clean_close);
  }
  reclaim();
  return {};
}

// The record with the places of its young blobs, all of which have one by now.
Result<std::string> Engine::resolve_record(std::string_view key, std::string_view value) const {
  const RecordShape& shape = parts_.shape->record;
  std::string resolved;
  if (const Result<PageKey> page = parse_page_key(key); page.ok()) {
    HEXAD_TRY_ASSIGN(ExtentList extents, decode_page(value, page->page, shape));
    resolved = encode_page(parts_.log_blobs->resolve(std::move(extents)), shape);
  } else {
    HEXAD_TRY_ASSIGN(ObjectRecord record, decode_object(value, shape));
    record.extents = parts_.log_blobs->resolve(std::move(record.extents));
    resolved = encode_object(record, shape);
  }
  if (has_young_blob(resolved)) {
    return Error{ErrorCode::kCorruption,
                 "metadata key " + printable(key, 64) + " has a blob without a place",
                 "The log still has everything: close the store, open it again, run hexad fsck."};
  }
  return resolved;
}

Status Engine::apply_to_index(const kv::Memtable& frozen, Lsn lsn,
                              const std::vector<alloc::ZoneImage>& images) {
  std::map<std::string, std::string> extras;  // not in the memtable, sorted in between
  for (const alloc::ZoneImage& image : images) {
    extras.emplace(zone_key(image.zone), alloc::encode_zone_image(image));
  }
  // The totals count this checkpoint, too.
  std::uint64_t bytes = 0;
  for (const auto& [key, value] : extras) bytes += key.size() + value.size();
  kv::Memtable::Iterator it = frozen.iterate();
  for (it.seek_to_first(); it.valid(); it.next()) {
    bytes += it.key().size() + (it.value().has_value() ? it.value()->size() : 0);
  }
  parts_.counters->add(CounterId::kIndexBytes, bytes);
  parts_.counters->add(CounterId::kCheckpoints);
  fold_counters();
  extras.emplace(meta_key(kCounterTotals), parts_.counters->encode_totals());

  // Records in the index name stripes: what they say of young blobs is replaced by their places.
  std::deque<std::string> resolved;
  std::vector<kv::IndexChange> changes;
  changes.reserve(frozen.keys() + extras.size());
  auto extra = extras.begin();
  const auto add = [&](std::string_view key, std::optional<std::string_view> value) {
    changes.push_back({key, value});
  };
  for (it.seek_to_first(); it.valid(); it.next()) {
    for (; extra != extras.end() && extra->first < it.key(); ++extra) {
      add(extra->first, extra->second);
    }
    if (it.value().has_value() && has_extents(it.key()) && has_young_blob(*it.value())) {
      HEXAD_TRY_ASSIGN(resolved.emplace_back(), resolve_record(it.key(), *it.value()));
      add(it.key(), resolved.back());
    } else {
      add(it.key(), it.value());
    }
  }
  for (; extra != extras.end(); ++extra) add(extra->first, extra->second);
  return parts_.index->apply(lsn, lane_->epoch(), changes);
}

// Called after every group: asks for a checkpoint when the memtable or the log says so.
void Engine::on_progress() {
  reclaim();
  if (parts_.space->wants_zone()) {
    const io::Lock lock(state_mutex_);
    if (!zone_wanted_) {
      zone_wanted_ = true;
      background_wake_.notify_all();
    }
  }
  if (parts_.metadata->memtable_bytes() < parts_.options.memtable_size &&
      lane_->log_used() < lane_->log_capacity() / 2) {
    return;
  }
  const io::Lock lock(state_mutex_);
  if (checkpoint_wanted_) return;
  checkpoint_wanted_ = true;
  background_wake_.notify_all();
}

// A zone ahead of need, so that no commit waits for one to be made.
Status Engine::make_zone() {
  HEXAD_TRY(writable());
  const io::Lock lock(zone_mutex_);
  HEXAD_TRY_ASSIGN(const ZoneCreation creation, parts_.space->prepare_zone(Space::Zeroing::kAhead));
  bool placed = false;
  const Result<Lsn> lsn = commit_internal(
      [&](LogRecord& record) -> Status {
        record.zones.push_back(creation);
        return {};
      },
      [&] { placed = parts_.space->add_zone(creation).ok(); });
  if (!placed) parts_.space->release_zone(creation);
  return lsn.status();
}

void Engine::background() {
  for (;;) {
    bool checkpoint_now = false;
    bool zone_now = false;
    {
      io::Lock lock(state_mutex_);
      background_wake_.wait(lock, [this] {
        return checkpoint_wanted_ || zone_wanted_ || !doomed_.empty() || stopping_;
      });
      if (stopping_) return;
      checkpoint_now = checkpoint_wanted_;
      zone_now = zone_wanted_;
    }
    // Without the checkpoint the log fills up, without the zone space runs out, and whoever needs
    // either makes it itself and gets the error. Until then status() tells.
    if (zone_now) {
      const Status made = make_zone();
      // That all slabs are taken is no failure.
      const bool full = !made.ok() && made.error().code == ErrorCode::kNoSpace;
      note_background("making a zone ahead of need", full ? Status() : made);
    }
    if (const Result<bool> dropped = drop_doomed(); !dropped.ok() || *dropped) {
      note_background("taking back the space of a removed object", dropped.status());
    }
    if (checkpoint_now) note_background("the last checkpoint", checkpoint());
    const io::Lock lock(state_mutex_);
    if (checkpoint_now) checkpoint_wanted_ = false;
    if (zone_now) zone_wanted_ = false;
  }
}

// What status() says of it. A store that has stopped says so itself.
void Engine::note_background(const std::string& what, const Status& status) {
  const io::Lock lock(state_mutex_);
  if (status.ok()) {
    background_problems_.erase(what);
  } else if (!lane_->stopped().has_value()) {
    background_problems_[what] = status.error().to_string();
  }
}

}  // namespace hexad::core
