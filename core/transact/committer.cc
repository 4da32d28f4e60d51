#include "core/transact/committer.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/blob/piece_cut.h"
#include "core/transact/attempt.h"
#include "io/recall.h"

namespace hexad::core {

namespace {

// How often a transaction waits for crowded pages before it takes them as they are.
constexpr int kMaxRewrites = 8;

// One alone takes as much when it is placed ahead as it is promised, and keeps it.
std::size_t unplaced_blobs(const Transaction& transaction, PreparedOps& prepared) {
  const BlobPieces pieces = blob_pieces(transaction, prepared);
  return static_cast<std::size_t>(
      std::count_if(pieces.begin(), pieces.end(),
                    [](const PayloadPiece* piece) { return piece->prepared.is_unplaced(); }));
}

std::vector<std::uint32_t> units_of(const BlobPieces& pieces) {
  std::vector<std::uint32_t> units;
  units.reserve(pieces.size());
  for (const PayloadPiece* piece : pieces) units.push_back(piece->prepared.units);
  return units;
}

// Stripes that a record has room for, beside all else that is in it.
std::uint32_t most_stripes(std::uint64_t max_record, const StoreShape& shape) {
  // An extent and the proof of its stripe, and in each a sum for every cell.
  const std::uint64_t each =
      100 + std::uint64_t{2} * shape.cells() * checksum_size(shape.record.checksum);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(max_record / 2 / each, 1 << 20));
}

}  // namespace

// How pieces of a transaction were cut that found no run of their length: core/blob/piece_cut.h.
struct Committer::Cuts {
  std::uint32_t most_units = kAnyUnits;
  std::vector<std::uint32_t> whole;  // units of the pieces as they would be uncut

  std::uint32_t shortest() const {
    return whole.empty() ? 1 : shortest_cut(*std::max_element(whole.begin(), whole.end()));
  }
};

Result<bool> Committer::cut_shorter(const Transaction& transaction, PreparedOps& prepared,
                                    Cuts& cuts) {
  const std::vector<std::uint32_t> units = units_of(blob_pieces(transaction, prepared));
  if (cuts.whole.empty()) cuts.whole = units;
  const std::uint32_t longest = units.empty() ? 0 : *std::max_element(units.begin(), units.end());
  const std::vector<std::uint32_t> runs = parts_.space.spare_runs(longest);
  const std::uint32_t cut = choose_cut(
      {units, runs, most_stripes(parts_.pipeline.max_record(), parts_.shape), cuts.shortest()});
  if (cut == 0) return false;
  cuts.most_units = cut;
  HEXAD_TRY(parts_.preparer.cut(transaction, cut, prepared));
  return true;
}

// Once the transaction has its place.
void Committer::count_cuts(const Cuts& cuts, std::size_t pieces) {
  if (pieces <= cuts.whole.size()) return;
  const auto cut = static_cast<std::uint64_t>(
      std::count_if(cuts.whole.begin(), cuts.whole.end(),
                    [&](std::uint32_t units) { return units > cuts.most_units; }));
  parts_.counters.add(CounterId::kPiecesCut, cut);
  parts_.counters.add(CounterId::kPiecesCutInto, cut + pieces - cuts.whole.size());
}

Status Committer::rewrite_page(const CrowdedPage& crowded) {
  HEXAD_TRY(parts_.pipeline.wait_durable(parts_.pipeline.next_lsn() - 1));
  const std::uint64_t begin = std::uint64_t{crowded.page} * kPageSpan;
  Transaction transaction;
  {
    // Let go before the commit, which takes states of its own.
    HEXAD_TRY_ASSIGN(ReadState state, parts_.reads.read_state());
    HEXAD_TRY_ASSIGN(const CollectionRecord collection,
                     parts_.reads.find_collection(*state.view, crowded.collection));
    HEXAD_TRY_ASSIGN(const ObjectRecord record,
                     parts_.reads.find_object(*state.view, crowded.collection, crowded.name));
    if (begin >= record.size) return {};
    Bytes bytes(std::min<std::uint64_t>(kPageSpan, record.size - begin));
    HEXAD_TRY(parts_.reads.read_range(*state.view, record, begin, bytes));
    transaction.expect_version_in(crowded.collection, crowded.name, record.version,
                                  collection.space_of(crowded.name));
    transaction.write(crowded.collection, crowded.name, begin, bytes,
                      static_cast<Hint>(record.hint));
  }
  HEXAD_TRY_ASSIGN(PreparedOps prepared, parts_.preparer.prepare(transaction));
  Submission submission;
  Lsn depends_on = 0;
  const Status status = sequence(transaction, prepared, submission, &depends_on, Author::kEngine);
  // Somebody has changed the object meanwhile: whoever wanted this looks again.
  if (!status.ok() && status.error().code == ErrorCode::kConflict) return {};
  HEXAD_TRY(status);
  return parts_.pipeline.wait_durable(submission.lsn);
}

Status Committer::sequence(const Transaction& transaction, PreparedOps& prepared,
                           Submission& submission, Lsn* depends_on, Author author) {
  int rewrites = 0;
  int cold = 0;
  bool places_ahead = false;
  io::Nanos patience = kPatienceWithReads;
  int packings = kMaxPackings;
  Cuts cuts;
  WarmKeys warm;
  if (parts_.metadata.reads_devices())
    HEXAD_TRY(parts_.gate.unsequenced(parts_.rehearsal.warm_names(transaction, warm)));
  for (int i = 0; i < kMaxAttempts; ++i) {
    Attempt attempt;
    attempt.tries = i;
    attempt.patience = &patience;
    attempt.packings = &packings;
    attempt.places_ahead = places_ahead;
    if (cold < kMaxCold) attempt.warm = &warm;
    attempt.keep_versions = author == Author::kEngine;
    attempt.accept_crowded = author == Author::kEngine || rewrites >= kMaxRewrites;
    Result<Outcome> outcome = Outcome::kSequenced;
    {
      if (!parts_.order.sequencer.lock_unless_recalled()) return WriteGate::called_back_early();
      const SequencerLock lock(parts_.order.sequencer, std::adopt_lock);
      outcome = parts_.placer.place(parts_.order, transaction, prepared, submission, attempt);
      if (!outcome.ok() && Attempt::depends_on_state(outcome.error().code)) {
        *depends_on = parts_.pipeline.next_lsn() - 1;
      }
    }
    if (!outcome.ok()) return parts_.gate.unsequenced(outcome.status());
    switch (*outcome) {
      case Outcome::kSequenced:
        if (!cuts.whole.empty()) count_cuts(cuts, blob_pieces(transaction, prepared).size());
        return {};
      case Outcome::kRedo:
        HEXAD_TRY(parts_.preparer.prepare_again(transaction, attempt.redo_ops, cuts.most_units,
                                                prepared));
        break;
      case Outcome::kFragmented:
        ++rewrites;
        for (const CrowdedPage& page : attempt.crowded) {
          // A page that cannot be rewritten (its cells are lost, there is no space) stays as it is
          // for as long as its pieces can be counted.
          const Status rewritten = parts_.errands.run("a page of many pieces was rewritten",
                                                      [this, page] { return rewrite_page(page); });
          if (io::Recall::has_come()) return WriteGate::called_back_early();
          if (!rewritten.ok()) rewrites = kMaxRewrites;
        }
        break;
      case Outcome::kNeedsRoom: {
        const bool is_full = attempt.no_space && !attempt.wants_zone;
        const bool may_share = is_full && unplaced_blobs(transaction, prepared) > 1;
        if (may_share && !std::exchange(places_ahead, true)) break;
        if (is_full) {
          HEXAD_TRY_ASSIGN(const bool shorter, cut_shorter(transaction, prepared, cuts));
          if (shorter) break;
        }
        HEXAD_TRY(parts_.gate.unsequenced(parts_.room.make_way(attempt)));
        break;
      }
      case Outcome::kCold:
        parts_.counters.add(CounterId::kColdAttempts);
        if (++cold < kMaxCold) parts_.rehearsal.rehearse(transaction, prepared, warm);
        break;
      case Outcome::kLayered:
      case Outcome::kCut:
      case Outcome::kTombstones:
        HEXAD_TRY(parts_.gate.unsequenced(parts_.room.make_way(attempt)));
        break;
    }
  }
  return Error{ErrorCode::kConflict,
               "gave up after " + std::to_string(kMaxAttempts) +
                   " attempts: the objects of this transaction change faster than it can follow",
               "Retry, or write them from fewer threads."};
}

}  // namespace hexad::core
