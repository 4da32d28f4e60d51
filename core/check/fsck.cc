// fsck: that metadata and space agree, and, deep, that every cell is what its checksum says and
// that parity is the code of the data. Commits wait for the moment in which it takes a state and
// whose space all was then, and go on beside the rest.
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "core/check/fsck_check.h"
#include "core/check/fsck_moment.h"
#include "core/check/header_check.h"
#include "core/check/metadata_check.h"
#include "core/engine/engine.h"
#include "core/record/keys.h"
#include "io/recall.h"

namespace hexad::core {

namespace {

constexpr const char* kWaitsForRoot = "a look at the roots waits for one";

// The first entry that one of them has otherwise than the other. `go_on`: asked between two.
Result<std::optional<std::string>> find_difference(kv::IndexReader& fast, kv::IndexReader& slow,
                                                   const std::function<Status()>& go_on) {
  HEXAD_TRY_ASSIGN(const std::unique_ptr<kv::IndexCursor> a, fast.cursor());
  HEXAD_TRY_ASSIGN(const std::unique_ptr<kv::IndexCursor> b, slow.cursor());
  HEXAD_TRY(a->seek_to_first());
  HEXAD_TRY(b->seek_to_first());
  while (a->valid() || b->valid()) {
    const bool only_fast = a->valid() && (!b->valid() || a->key() < b->key());
    const bool only_slow = b->valid() && (!a->valid() || b->key() < a->key());
    if (only_fast || only_slow || a->value() != b->value()) {
      const std::string key = printable(only_slow ? b->key() : a->key(), 64);
      return std::optional<std::string>("metadata key " + key +
                                        (only_fast ? " is in the index and not in the runs"
                                         : only_slow
                                             ? " is in the runs and not in the index"
                                             : " has another value in the index than in the runs"));
    }
    HEXAD_TRY(go_on());
    HEXAD_TRY(a->next());
    HEXAD_TRY(b->next());
  }
  return std::optional<std::string>();
}

}  // namespace

// What was counted is of the state that was checked; commits since then have changed the totals by
// what they changed, so the difference still holds.
Status Engine::correct_totals(const FsckCheck::WrongTotals& wrong) {
  const FillRecord fill = [&](LogRecord& record) -> Status {
    const std::string key = totals_key(wrong.collection);
    CollectionTotals totals;
    HEXAD_TRY_ASSIGN(const auto value, parts_.metadata->get_latest(key));
    if (value.has_value()) {
      const Result<CollectionTotals> decoded = decode_totals(*value);
      if (decoded.ok()) totals = *decoded;
    }
    totals.objects += wrong.counted.objects - wrong.recorded.objects;
    totals.bytes += wrong.counted.bytes - wrong.recorded.bytes;
    std::optional<std::string> image;
    if (totals.bytes > kMaxCollectionBytes) {
      return Error{ErrorCode::kTooBig, "the totals of a collection pass their limit", ""};
    }
    if (totals.objects > 0) image = encode_totals(totals);
    record.images.push_back({key, std::move(image)});
    return {};
  };
  return commit_internal(fill).status();
}

// What fsck takes down while commits and checkpoints wait.
struct Engine::FsckStart {
  ReadState state;
  FsckMoment moment;
  Status zones;                             // what the allocator says of itself
  std::vector<RunCatalogue::Owned> owned;   // stripes of runs and manifests
  std::vector<RunCatalogue::HeldRun> held;  // keeps the runs where they are
};

// Nothing is in flight in it (FM1), and no checkpoint writes what belongs to nothing yet.
Result<Engine::FsckStart> Engine::begin_fsck() {
  HEXAD_TRY(silent_->lock_unless_silent(checkpointer_->mutex(), "fsck waits for a checkpoint"));
  const io::Lock checkpoints(checkpointer_->mutex(), std::adopt_lock);
  HEXAD_TRY(silent_->lock_unless_silent(sequencer_, "fsck waits for commits"));
  const SequencerLock lock(sequencer_, std::adopt_lock);
  if (lane_ != nullptr && !lane_->stopped().has_value()) {
    HEXAD_TRY(silent_->wait_until_durable(lane_->next_lsn() - 1, "fsck waits for commits"));
    HEXAD_TRY(lane_->drain());
  }
  HEXAD_TRY_ASSIGN(ReadState state, reads_->read_state());
  return FsckStart{std::move(state), FsckMoment(*parts_.space, *parts_.log_blobs),
                   parts_.space->check_invariants(), parts_.runs->owned(), parts_.runs->held()};
}

// HD2. What could not be put right is still in `checked` as found.
Status Engine::write_over_bad_roots(const std::vector<const Member*>& members,
                                    std::vector<CheckedHeaders>& checked) {
  constexpr int kSlotsOfEnd = 2;
  std::vector<CheckedHeaders> now = checked;
  for (int roots = 0; roots < kSlotsOfEnd && may_mend_roots(now); ++roots) {
    if (const Status written = membership_->write_plain(); !written.ok()) {
      for (CheckedHeaders& device : checked) {
        for (const auto& [slot, at] : device.bad_roots) {
          device.findings[at].problem += "; it could not be written: " + written.error().message;
        }
      }
      return {};
    }
    HEXAD_TRY(silent_->lock_unless_silent(membership_->mutex(), kWaitsForRoot));
    const io::Lock lock(membership_->mutex(), std::adopt_lock);
    for (const Member* member : members) {
      if (!parts_.members->usable(member->id)) return {};  // its handle may be gone
    }
    now = check_headers(members, BadHeaders::kLeft);
  }
  for (std::size_t i = 0; i < checked.size(); ++i) settle_roots(checked[i], now[i]);
  return {};
}

// Some devices at a time, for the memory that it takes.
Result<std::uint64_t> Engine::look_at_headers(BadHeaders bad_headers,
                                              const std::function<void(Finding)>& find,
                                              const std::function<void(DeviceId)>& note_silent) {
  constexpr std::size_t kAtOnce = 32;
  std::uint64_t bad = 0;
  if (!mended_told_.exchange(true)) {
    for (const Finding& finding : parts_.mended) {
      if (!finding.repaired) continue;  // it is found below
      ++bad;
      find(finding);
    }
  }
  Members& members = *parts_.members;
  for (std::size_t next = 0; next < members.size();) {
    std::vector<const Member*> some;
    const auto choose = [&] {
      for (; next < members.size() && some.size() < kAtOnce; ++next) {
        if (members.is_usable(next)) some.push_back(&members.at(next));
      }
    };
    std::vector<CheckedHeaders> checked;
    if (membership_ == nullptr) {
      choose();
      checked = check_headers(some, BadHeaders::kLeft);
    } else {
      {
        HEXAD_TRY(silent_->lock_unless_silent(membership_->mutex(), kWaitsForRoot));
        const io::Lock roots(membership_->mutex(), std::adopt_lock);
        // Here: one that comes back meanwhile has another handle.
        choose();
        checked = check_headers(some, bad_headers);
      }
      if (bad_headers == BadHeaders::kMended) HEXAD_TRY(write_over_bad_roots(some, checked));
    }
    for (std::size_t i = 0; i < some.size(); ++i) {
      if (checked[i].silent) note_silent(some[i]->id);
      if (!checked[i].silent) members.note_bad_header_slots(some[i]->id, checked[i].left);
      bad += checked[i].bad;
      for (Finding& finding : checked[i].findings) find(std::move(finding));
    }
  }
  return bad;
}

// F9.
Status Engine::check_runs(const FsckOptions& options, const FsckStart& start, FsckCheck& check,
                          const std::function<Status()>& go_on) {
  for (const RunCatalogue::Owned& owned : start.owned) {
    HEXAD_TRY(check.check_extents(owned.owner, owned.pieces));
    for (const alloc::Extent& stripe : owned.stripes) check.claim(owned.owner, stripe);
  }
  if (!options.deep) return {};
  for (const RunCatalogue::HeldRun& run : start.held) {
    HEXAD_TRY(go_on());
    const Status verified = run.reader->verify();
    if (verified.ok()) continue;
    check.find("run of LSNs " + std::to_string(run.reader->info().first_lsn) + " to " +
                   std::to_string(run.reader->info().last_lsn),
               verified.error().message);
  }
  return {};
}

// F10. Of the last checkpoint, which may be younger than the moment. Checkpoints wait while the
// index's file is verified, since they write it.
Status Engine::check_index(FsckCheck& check, const std::function<Status()>& go_on) {
  std::unique_ptr<kv::IndexReader> fast;
  std::unique_ptr<kv::IndexReader> slow;
  {
    HEXAD_TRY(silent_->lock_unless_silent(checkpointer_->mutex(), "fsck waits for a checkpoint"));
    const io::Lock checkpoints(checkpointer_->mutex(), std::adopt_lock);
    const std::shared_ptr<const kv::RunSet> runs = parts_.runs->set();
    if (!parts_.index->has_fast() || runs->lsn() == 0) return {};
    const Status verified = parts_.index->verify();
    if (!verified.ok()) {
      check.find("index", verified.error().message);
      return {};
    }
    HEXAD_TRY_ASSIGN(fast, parts_.index->snapshot());
    slow = runs->snapshot(runs);
  }
  HEXAD_TRY_ASSIGN(const std::optional<std::string> differs, find_difference(*fast, *slow, go_on));
  if (differs.has_value()) check.find("index", *differs);
  return {};
}

Result<FsckReport> Engine::fsck(const FsckOptions& options) {
  if (options.repair) HEXAD_TRY(writable());
  HEXAD_TRY_ASSIGN(FsckStart start, begin_fsck());
  const PackChecker packs(*parts_.shape, *parts_.codec, *parts_.space, parts_.system->queue(),
                          *parts_.counters);
  FsckCheck check(options, *parts_.shape, *parts_.codec, *reader_, packs, *parts_.log_blobs,
                  parts_.torn, std::move(start.moment));
  const Status looked = look_over(options, start, check);
  if (!looked.ok() && check.report.complete) return looked.error();
  return std::move(check.report);
}

Status Engine::look_over(const FsckOptions& options, FsckStart& start, FsckCheck& check) {
  // Between two looks. What it says of a report that is not complete nobody is told.
  const std::function<Status()> go_on = [&]() -> Status {
    if (options.progress && !options.progress(check.report)) {
      check.report.complete = false;
      return Error{ErrorCode::kClosed, "fsck was ended by its progress", ""};
    }
    // All else would be asked for in vain, and what it found would be no finding.
    if (io::Recall::has_come()) {
      return Error{ErrorCode::kUnavailable,
                   "the thread was called back while fsck waited for devices",
                   "Start over when they answer; what was put right stays so."};
    }
    if (!closing_.is_closed()) return {};
    return Error{ErrorCode::kClosed, "the store was closed while fsck looked at it",
                 "Open it again and start over; what was put right stays so."};
  };
  HEXAD_TRY(go_on());
  MetadataCheck metadata(check, parts_.shape->record);
  {
    HEXAD_TRY_ASSIGN(MetaView::Cursor cursor, start.state.view->cursor());
    HEXAD_TRY(cursor.seek(""));
    while (cursor.valid()) {
      HEXAD_TRY(metadata.look_at(cursor.key(), cursor.value()));
      HEXAD_TRY(go_on());
      HEXAD_TRY(cursor.next());
    }
  }
  metadata.find_strays();
  check.find_lost_forwards();
  start.state.view.reset();  // the next snapshot of the index is another one; the pin stays (FM2)
  HEXAD_TRY(check_runs(options, start, check, go_on));
  HEXAD_TRY(check_index(check, go_on));
  check.find_wrong_owners();
  check.check_leaks();
  HEXAD_TRY(check.check_packs(go_on));
  HEXAD_TRY(go_on());
  HEXAD_TRY_ASSIGN(
      check.report.bad_header_slots,
      look_at_headers(
          options.repair ? BadHeaders::kMended : BadHeaders::kLeft,
          [&](Finding finding) { check.report.findings.push_back(std::move(finding)); },
          [&](DeviceId device) { check.silent[device]; }));
  for (const auto& [device, cells] : check.silent) {
    const Finding finding = silent_->finding(device, cells);
    check.find(finding.subject, finding.problem);
  }
  if (!start.zones.ok()) check.find("zones", start.zones.error().message);
  const std::vector<FsckCheck::WrongTotals> wrong = check.find_wrong_totals();
  if (options.repair) {
    for (const FsckCheck::WrongTotals& totals : wrong) {
      Finding& finding = check.report.findings[totals.finding];
      const Status corrected = correct_totals(totals);
      finding.repaired = corrected.ok();
      if (!corrected.ok()) {
        finding.problem += "; it could not be put right: " + corrected.error().message;
      }
    }
  }
  return {};
}

}  // namespace hexad::core
