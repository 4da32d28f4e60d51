#include "core/check/fsck.h"

#include <memory>
#include <optional>
#include <utility>

#include "core/check/fsck_moment.h"
#include "core/check/metadata_check.h"
#include "core/check/pool_headers.h"
#include "core/record/keys.h"
#include "io/recall.h"

namespace hexad::core {

namespace {

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

Fsck::Fsck(CheckParts look, Parts parts) : look_(std::move(look)), parts_(std::move(parts)) {}

// What was counted is of the state that was checked; commits since then have changed the totals by
// what they changed, so the difference still holds.
Status Fsck::correct_totals(const FsckCheck::WrongTotals& wrong) {
  const InternalCommits::FillRecord fill = [&](LogRecord& record) -> Status {
    const std::string key = totals_key(wrong.collection);
    CollectionTotals totals;
    HEXAD_TRY_ASSIGN(const auto value, parts_.metadata.get_latest(key));
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
  return parts_.commits->commit_internal(fill).status();
}

// What fsck takes down while commits and checkpoints wait.
struct Fsck::Start {
  ReadState state;
  FsckMoment moment;
  Status zones;                             // what the allocator says of itself
  std::vector<RunCatalogue::Owned> owned;   // stripes of runs and manifests
  std::vector<RunCatalogue::HeldRun> held;  // keeps the runs where they are
};

// Nothing is in flight in it (FM1), and no checkpoint writes what belongs to nothing yet.
Result<Fsck::Start> Fsck::begin() {
  HEXAD_TRY(look_.silence.lock_unless_silent(look_.checkpoints, "fsck waits for a checkpoint"));
  const io::Lock checkpoints(look_.checkpoints, std::adopt_lock);
  HEXAD_TRY(look_.silence.lock_unless_silent(parts_.sequencer, "fsck waits for commits"));
  const SequencerLock lock(parts_.sequencer, std::adopt_lock);
  if (parts_.pipeline != nullptr && !parts_.pipeline->stopped().has_value()) {
    HEXAD_TRY(look_.silence.wait_until_durable(parts_.pipeline->next_lsn() - 1,
                                               "fsck waits for commits"));
    HEXAD_TRY(parts_.pipeline->drain());
  }
  HEXAD_TRY_ASSIGN(ReadState state, look_.reads.read_state());
  return Start{std::move(state), FsckMoment(look_.space, look_.log_blobs),
               look_.space.check_invariants(), look_.runs.owned(), look_.runs.held()};
}

// F9.
Status Fsck::check_runs(const FsckOptions& options, const Start& start, FsckCheck& check,
                        const GoOn& go_on) {
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
Status Fsck::check_index(FsckCheck& check, const GoOn& go_on) {
  std::unique_ptr<kv::IndexReader> fast;
  std::unique_ptr<kv::IndexReader> slow;
  {
    HEXAD_TRY(look_.silence.lock_unless_silent(look_.checkpoints, "fsck waits for a checkpoint"));
    const io::Lock checkpoints(look_.checkpoints, std::adopt_lock);
    const std::shared_ptr<const kv::RunSet> runs = look_.runs.set();
    if (!parts_.index.has_fast() || runs->lsn() == 0) return {};
    const Status verified = parts_.index.verify();
    if (!verified.ok()) {
      check.find("index", verified.error().message);
      return {};
    }
    HEXAD_TRY_ASSIGN(fast, parts_.index.snapshot());
    slow = runs->snapshot(runs);
  }
  HEXAD_TRY_ASSIGN(const std::optional<std::string> differs, find_difference(*fast, *slow, go_on));
  if (differs.has_value()) check.find("index", *differs);
  return {};
}

Result<FsckReport> Fsck::run(const FsckOptions& options) {
  if (options.repair) HEXAD_TRY(parts_.writable());
  HEXAD_TRY_ASSIGN(Start start, begin());
  const PackChecker packs = look_.packs();
  FsckCheck check(options, look_.shape, look_.codec, look_.blobs, packs, look_.log_blobs,
                  parts_.torn, std::move(start.moment));
  const Status looked = look_over(options, start, check);
  if (!looked.ok() && check.report.complete) return looked.error();
  return std::move(check.report);
}

Status Fsck::look_over(const FsckOptions& options, Start& start, FsckCheck& check) {
  // Between two looks. What it says of a report that is not complete nobody is told.
  const GoOn go_on = [&]() -> Status {
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
    if (!look_.closed()) return {};
    return Error{ErrorCode::kClosed, "the store was closed while fsck looked at it",
                 "Open it again and start over; what was put right stays so."};
  };
  HEXAD_TRY(go_on());
  HEXAD_TRY(check_metadata(start, check, go_on));
  HEXAD_TRY(check_runs(options, start, check, go_on));
  HEXAD_TRY(check_index(check, go_on));
  check.find_wrong_owners();
  check.check_leaks();
  HEXAD_TRY(check.check_packs(go_on));
  HEXAD_TRY(go_on());
  HEXAD_TRY_ASSIGN(
      check.report.bad_header_slots,
      look_.headers.look(
          options.repair ? BadHeaders::kMended : BadHeaders::kLeft,
          [&](Finding finding) { check.report.findings.push_back(std::move(finding)); },
          [&](DeviceId device) { check.silent[device]; }));
  for (const auto& [device, cells] : check.silent) {
    const Finding finding = look_.silence.finding(device, cells);
    check.find(finding.subject, finding.problem);
  }
  if (!start.zones.ok()) check.find("zones", start.zones.error().message);
  const std::vector<FsckCheck::WrongTotals> wrong = check.find_wrong_totals();
  if (options.repair) correct_all_totals(wrong, check);
  return {};
}

Status Fsck::check_metadata(Start& start, FsckCheck& check, const GoOn& go_on) {
  MetadataCheck metadata(check, look_.shape.record);
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
  return {};
}

void Fsck::correct_all_totals(const std::vector<FsckCheck::WrongTotals>& wrong, FsckCheck& check) {
  for (const FsckCheck::WrongTotals& totals : wrong) {
    Finding& finding = check.report.findings[totals.finding];
    const Status corrected = correct_totals(totals);
    finding.repaired = corrected.ok();
    if (!corrected.ok()) {
      finding.problem += "; it could not be put right: " + corrected.error().message;
    }
  }
}

}  // namespace hexad::core
