#include "core/clean/cleaner.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/aligned_buffer.h"
#include "base/checksum.h"
#include "base/refused_memory.h"
#include "base/units.h"
#include "core/clean/list_changes.h"
#include "core/space/reserve.h"
#include "io/bounded_reads.h"

namespace hexad::core {

namespace {

// Of 1024 parts of a victim, alive at most: where space is not short, and where it is. Where a
// commit would fail: kLiveForCommit.
constexpr std::uint32_t kLiveAtLeisure = 512;
constexpr std::uint32_t kLiveAtRest = 832;
constexpr std::uint32_t kLiveWhenLow = 768;
constexpr std::uint32_t kLiveForCommitFirst = 896;
// The same of blobs that lists show in part.
constexpr std::uint32_t kShownAtRest = 944;
// ... and how much of its stripe one fills that has it for itself: at rest so much that all take no
// more than 1.6 times their bytes.
constexpr std::uint32_t kFilledAtRest = 640;
// Cleaning begins at leisure when so many of the longest stripes would come back, and such a part
// of all pack stripes; it goes on to the end.
constexpr std::uint64_t kStripesToBegin = 8;
constexpr std::uint64_t kPartToBegin = 16;
// At rest it begins when so much of all that is alive lies dead beside it.
constexpr std::uint64_t kPartAtRest = 8;
// Little is left: such a part of all units, or so many of the longest stripes.
constexpr std::uint64_t kLowPart = 32;
constexpr std::uint64_t kLowStripes = 3;
// A checkpoint makes victims of what is young, where that is more than so many times the rest.
constexpr std::uint64_t kYoungShare = 4;
// Victims that one step looks at.
constexpr int kMostLooks = 64;
// Lists that one record changes, bytes of their values.
constexpr std::uint64_t kMostListBytes = 256 << 10;
constexpr std::size_t kMostBlobs = 512;
// Of what is kept for moves, what the runs that a step looks at have together.
constexpr std::uint64_t kMostRuns = 4;

StateReads reads_of(MetaView& view) {
  StateReads reads;
  reads.get = [&view](std::string_view key) { return view.get(key); };
  reads.scan = [&view](std::string_view prefix, const auto& visit) -> Status {
    HEXAD_TRY_ASSIGN(MetaView::Cursor cursor, view.cursor_over(prefix));
    while (cursor.valid()) {
      HEXAD_TRY_ASSIGN(const bool more, visit(cursor.key()));
      if (!more) break;
      HEXAD_TRY(cursor.next());
    }
    return {};
  };
  return reads;
}

std::uint32_t sum_of(const std::vector<std::uint32_t>& runs) {
  return std::accumulate(runs.begin(), runs.end(), std::uint32_t{0});
}

std::uint64_t longest_stripe(const StoreShape& shape) { return shape.max_pack_units; }

std::uint64_t longest_stripe_bytes(const StoreShape& shape) {
  return longest_stripe(shape) * shape.unit * shape.k();
}

}  // namespace

Cleaner::Cleaner(CleanParts parts)
    : parts_(std::move(parts)),
      packs_(parts_.shape, parts_.codec, parts_.space, parts_.queue, parts_.counters),
      lists_(parts_.executor),
      lone_(parts_.executor),
      compactor_(parts_, lists_, lone_),
      mutex_(parts_.executor) {}

bool Cleaner::is_low() const {
  const Space::Room room = parts_.space.room();
  if (room.zones_to_come > 0) return false;
  const std::uint64_t kept = room.reserved + room.reserve;
  const std::uint64_t free = room.units.free + room.units.deferred;
  const std::uint64_t left = free > kept ? free - kept : 0;
  return left < std::max(room.units.total / kLowPart, kLowStripes * longest_stripe(parts_.shape));
}

// CL6
bool Cleaner::is_whole() const {
  for (std::size_t i = 0; i < parts_.members.size(); ++i) {
    if (parts_.members.is_removed(i)) continue;
    if (!parts_.members.is_usable(i)) return false;
  }
  return parts_.members.behind().empty();
}

bool Cleaner::wants_look() {
  return looks_.due(releases(), longest_stripe_bytes(parts_.shape), [this] { return is_low(); });
}

void Cleaner::look_again() { looks_.ask_again(); }

bool Cleaner::wants_rest() const {
  return looks_.rest_due(releases(), longest_stripe_bytes(parts_.shape));
}

std::uint64_t Cleaner::used_bytes() const {
  const Space::Room room = parts_.space.room();
  return (room.units.total - room.units.free) * parts_.shape.unit * parts_.shape.k();
}

Result<bool> Cleaner::step(For whom) {
  const std::uint64_t before = moved_.load(std::memory_order_acquire);
  const io::Lock one_at_a_time(mutex_);
  if (moved_.load(std::memory_order_acquire) != before) return true;
  return step_locked(whom);
}

// What costs least comes first.
std::vector<Cleaner::Try> Cleaner::tries_for(For whom) const {
  if (whom == For::kAtRest) return {{Into::kOneStripe, kLiveAtRest}};
  if (whom == For::kCommit) {
    return {{Into::kSeveral, kLiveForCommitFirst},
            {Into::kOneStripe, kLiveForCommitFirst},
            {Into::kSeveral, kLiveForCommit},
            {Into::kOneStripe, kLiveForCommit}};
  }
  const bool low = looks_.was_low();
  return {{Into::kOneStripe, low ? kLiveWhenLow : kLiveAtLeisure}};
}

Cleaner::Choice Cleaner::look(const Try& one) {
  Choice choice;
  choice.into = one.into;
  choice.runs = stripe_runs();
  if (one.into == Into::kOneStripe && choice.runs.size() > 1) choice.runs.resize(1);
  choice.rules.stripe_bytes = parts_.shape.unit * parts_.shape.k();
  choice.rules.most_units = std::min(parts_.shape.max_pack_units, sum_of(choice.runs));
  choice.rules.moved_up_to = parts_.checkpointed();
  choice.rules.now = parts_.newest();
  choice.rules.most_live = one.most_live;
  for (const Space::PackUse& pack : parts_.space.pack_uses()) {
    if (left_.is_left(pack.stripe, pack.live)) continue;
    choice.candidates.push_back(candidate_of(pack));
  }
  return choice;
}

// Of the stripes that moves can take now, as much as one step may want: the longest first.
std::vector<std::uint32_t> Cleaner::stripe_runs() {
  const std::uint32_t longest = parts_.shape.max_pack_units;
  const std::uint64_t most = kMostRuns * move_units(parts_.shape);
  std::vector<std::uint32_t> runs;
  std::uint64_t units = 0;
  for (std::uint32_t run : parts_.space.move_runs()) {
    for (; run > 0 && units < most; run -= runs.back()) {
      runs.push_back(std::min(run, longest));
      units += runs.back();
    }
  }
  std::sort(runs.rbegin(), runs.rend());
  return runs;
}

// Where most of what would come back is too young to be moved. True: there is one now.
Result<bool> Cleaner::maybe_checkpoint(For whom, const Try& one, Choice& choice) {
  if (choice.rules.moved_up_to >= choice.rules.now) return false;
  const std::uint64_t old = units_to_gain(choice.candidates, choice.rules);
  CleanRules any_age = choice.rules;
  any_age.moved_up_to = kMaxLsn;
  const std::uint64_t all = units_to_gain(choice.candidates, any_age);
  const std::uint64_t worth_it =
      whom == For::kCommit ? 1 : std::max<std::uint64_t>(1, longest_stripe(parts_.shape) / 2);
  // Those that may be moved may be too long for the room that there is.
  const bool stuck = whom == For::kCommit && plan_cleaning(choice.candidates, choice.rules).empty();
  if (all < worth_it || (!stuck && old * kYoungShare >= all)) return false;
  HEXAD_TRY(parts_.checkpoint());
  choice = look(one);
  return true;
}

void Cleaner::maybe_try_again(For whom) {
  LeftVictims::Reasons reasons;
  reasons.healed = parts_.counters.since_open(CounterId::kCellsHealed);
  const std::uint64_t last_rest = looks_.rested_at();
  if (whom == For::kAtRest && wants_rest()) reasons.rested = last_rest;
  reasons.asked = looks_.take_asked();
  reasons.commit = whom == For::kCommit;
  if (!left_.try_again(reasons, parts_.executor.clock().now())) return;
  compactor_.try_again();
}

Result<bool> Cleaner::step_locked(For whom) {
  looks_.begin(releases(), longest_stripe_bytes(parts_.shape), [this] { return is_low(); });
  const std::uint64_t died = releases();
  const auto work = [&]() HEXAD_REQUIRES(mutex_) -> Result<bool> {
    if (whom != For::kCommit && !is_whole()) return false;  // CL6
    maybe_try_again(whom);
    HEXAD_TRY_ASSIGN(const bool first, compact(whom, {kLiveAtLeisure, kLiveAtLeisure}));
    if (first) return true;
    const bool full = whom == For::kCommit || looks_.was_low();
    if (full && lone_.hidden() > 0) {
      // Three quarters of a stripe of its own: among pack stripes there are few so empty by now.
      HEXAD_TRY_ASSIGN(const bool lone, compact(whom, {kLiveAtLeisure, kLiveWhenLow}));
      if (lone) return true;
    }
    HEXAD_TRY_ASSIGN(const bool moved, move(whom));
    if (moved) return true;
    if (whom == For::kCommit) return compact(whom, {kLiveForCommit, kMostFilled});
    if (whom == For::kAtRest) return compact(whom, {kShownAtRest, kFilledAtRest});
    return looks_.was_low() ? compact(whom, {kLiveWhenLow, kLiveWhenLow}) : Result<bool>(false);
  };
  HEXAD_TRY_ASSIGN(const bool done, work());
  if (done) return true;
  under_way_ = false;
  if (whom == For::kAtRest) looks_.note_rest(died);
  // What was moved last comes back without another commit.
  if (whom != For::kCommit && std::exchange(unreleased_, false)) HEXAD_TRY(parts_.release());
  HEXAD_TRY(compactor_.problem());  // KL5
  return false;
}

void Cleaner::note_lone(const UnplacedBlob& blob, std::uint32_t units) {
  const std::uint64_t stripe = units * parts_.shape.unit * parts_.shape.k();
  if (!is_lone(blob.stored.size(), stripe, kMostFilled)) return;
  const Lsn lsn = blob.place.lsn;
  lone_.note(blob.owner, {stripe, stripe - blob.stored.size()}, lsn, lsn);
}

// At leisure and at rest: so much is hidden that it is worth it.
bool Cleaner::worth_compacting(For whom) {
  const std::uint64_t hidden = this->hidden();
  if (whom == For::kCommit || looks_.was_low()) return true;
  if (hidden == 0) return false;
  const std::uint64_t stripe = longest_stripe_bytes(parts_.shape);
  const std::uint64_t used = used_bytes();
  if (whom == For::kAtRest) return hidden >= std::max(stripe / 8, used / kPartToBegin);
  return hidden >= std::max(kStripesToBegin * stripe, used / kPartToBegin);
}

Result<bool> Cleaner::compact(For whom, const Bounds& bounds) {
  // What is easily had comes before what is to be looked for.
  const bool short_of_space = whom == For::kCommit || looks_.was_low();
  const bool urgent = short_of_space && bounds.most_shown > kLiveAtLeisure;
  const bool lone = short_of_space && bounds.most_filled > kLiveAtLeisure;
  if (!urgent && hidden() == 0) return false;
  if (!under_way_ && !worth_compacting(whom)) return false;
  bool waited = false;
  bool passed = false;
  for (int looks = 0; looks < kMostLooks; ++looks) {
    Compactor::Need need;
    need.most_shown = bounds.most_shown;
    need.most_filled = bounds.most_filled;
    need.runs = stripe_runs();
    need.most_bytes = whom == For::kCommit ? kPageSpan : longest_stripe_bytes(parts_.shape);
    Result<Compactor::Did> did = Compactor::Did::kNothing;
    if (!need.runs.empty()) did = compactor_.step(need);
    const bool full = need.runs.empty() || (!did.ok() && did.error().code == ErrorCode::kNoSpace);
    if (full) {
      // A checkpoint that is under way has taken of the reserve what it gives back at its end.
      if (whom != For::kCommit || std::exchange(waited, true)) return false;
      HEXAD_TRY(parts_.await_checkpoint());
      continue;
    }
    HEXAD_TRY(did.status());
    if (*did == Compactor::Did::kWrote) {
      under_way_ = true;
      unreleased_ = true;
      moved_.fetch_add(1, std::memory_order_release);
      return true;
    }
    if (*did == Compactor::Did::kLooked) continue;
    const bool many = lone && lone_.hidden() >= longest_stripe_bytes(parts_.shape) / 2;
    const bool may_wait = whom == For::kAtRest || (whom == For::kCommit && (urgent || many));
    if (*did == Compactor::Did::kUnplaced && may_wait && !std::exchange(passed, true) &&
        parts_.checkpointed() < parts_.newest()) {
      HEXAD_TRY(parts_.checkpoint());
      continue;
    }
    if (!urgent) return false;
    HEXAD_TRY_ASSIGN(const bool more, compactor_.find_some());
    if (!more) return false;
  }
  return true;
}

Result<bool> Cleaner::move(For whom) {
  left_.begin_step();
  const std::vector<Try> tries = tries_for(whom);
  Choice choice = look(tries.front());
  bool waited = false;
  if (choice.rules.most_units == 0 && whom == For::kCommit) {
    // A checkpoint that is under way has taken of the reserve what it gives back at its end.
    waited = true;
    HEXAD_TRY(parts_.await_checkpoint());
    choice = look(tries.front());
  }
  if (choice.rules.most_units == 0) {
    // What was moved before is perhaps all that is missing.
    if (!std::exchange(unreleased_, false)) return false;
    HEXAD_TRY(parts_.release());
    return true;
  }
  if (whom != For::kCommit && !looks_.was_low() && !under_way_) {
    CleanRules any_age = choice.rules;
    any_age.moved_up_to = kMaxLsn;
    std::uint64_t units = 0;
    std::uint64_t live = 0;
    for (const CleanCandidate& one : choice.candidates) {
      units += one.stripe.units;
      live += one.live;
    }
    std::uint64_t enough =
        std::max(kStripesToBegin * longest_stripe(parts_.shape), units / kPartToBegin);
    if (whom == For::kAtRest) enough = std::max(longest_stripe(parts_.shape) / 4, units / 32);
    const bool dead =
        whom == For::kLater || units > units_for(live + live / kPartAtRest, choice.rules);
    if (!dead || units_to_gain(choice.candidates, any_age) < enough) return false;
  }
  under_way_ = true;
  HEXAD_TRY(maybe_checkpoint(whom, tries.front(), choice).status());
  std::size_t at = 0;
  bool full = false;  // one of the tries found no space
  for (int looks = 0; looks < kMostLooks; ++looks) {
    const CleanPlan plan = plan_cleaning(choice.candidates, choice.rules);
    Result<Moved> moved = Moved::kNothing;
    if (!plan.empty()) moved = clean(plan, choice);
    const bool no_space = !moved.ok() && moved.error().code == ErrorCode::kNoSpace;
    if (plan.empty() || no_space) {
      full = full || no_space;
      if (++at == tries.size()) {
        // Others have taken the space meanwhile.
        if (!full || whom != For::kCommit || std::exchange(waited, true)) return false;
        HEXAD_TRY(parts_.await_checkpoint());
        at = 0;
      }
      choice = look(tries[at]);
      continue;
    }
    HEXAD_TRY(moved.status());
    if (*moved == Moved::kSomething) {
      unreleased_ = true;
      moved_.fetch_add(1, std::memory_order_release);
      return true;
    }
    choice = look(tries[at]);  // without those that are left alone now
  }
  return !left_.any_without_room();
}

std::uint64_t Cleaner::most_list_bytes() const {
  return std::min(kMostListBytes, parts_.max_record() / 4);
}

void Cleaner::leave_alone(const CleanCandidate& victim, CounterId why) {
  left_.leave(victim.stripe, victim.live, why);
  parts_.counters.add(why);
}

Result<Cleaner::Moved> Cleaner::clean(const CleanPlan& plan, const Choice& choice) {
  Moves moves;
  std::vector<PackPlan> layouts;
  Lsn written = 0;
  std::uint64_t units = 0;
  bool part_of_one = false;  // it has more than one record may change
  {
    HEXAD_TRY_ASSIGN(const ReadState state, parts_.reads.read_state());
    std::set<std::string> lists;
    std::uint64_t list_bytes = 0;
    const std::uint64_t most = most_list_bytes();
    for (const CleanCandidate& victim : plan.victims) {
      std::optional<Moves> more = read_victim(victim, *state.view);
      if (!more.has_value()) continue;
      const std::size_t before = moves.size();
      for (Move& move : *more) {
        std::uint64_t bytes = 0;  // of lists that no other move changes
        for (const ShowingList& list : move.from.lists) {
          if (!lists.contains(list.key)) bytes += list.key.size() + list.value_bytes;
        }
        const bool too_long = bytes > 0 && !moves.empty() && list_bytes + bytes > most;
        if (moves.size() == kMostBlobs || too_long) {
          part_of_one = true;
          break;
        }
        list_bytes += bytes;
        for (const ShowingList& list : move.from.lists) lists.insert(list.key);
        moves.push_back(std::move(move));
      }
      std::vector<PackPlan> longer = lay_out_moved(as_blobs(moves), choice.runs, parts_.shape);
      if (longer.empty()) {
        moves.erase(moves.begin() + static_cast<std::ptrdiff_t>(before), moves.end());
        if (before == 0) left_.lack_room(victim.stripe);
        part_of_one = false;
        break;
      }
      layouts = std::move(longer);
      units += victim.stripe.units;
      written = std::max(written, victim.written);
      if (part_of_one) break;
    }
  }
  if (moves.empty()) return Moved::kNothing;
  if (units <= units_of(layouts) && !part_of_one) {
    if (choice.into == Into::kSeveral) {
      return Error{ErrorCode::kNoSpace, "what is free lies in runs too short to gain anything", ""};
    }
    if (choice.runs.front() < longest_stripe(parts_.shape)) {
      // In a longer run they might: the others are tried without the fullest.
      const auto fullest =
          std::max_element(plan.victims.begin(), plan.victims.end(),
                           [](const CleanCandidate& a, const CleanCandidate& b) {
                             return a.live * b.stripe.units < b.live * a.stripe.units;
                           });
      left_.lack_room(fullest->stripe);
      return Moved::kNothing;
    }
    // Their blobs do not lie closer together than they do now.
    for (const CleanCandidate& victim : plan.victims) leave_alone(victim, CounterId::kCleanNoGain);
    return Moved::kNothing;
  }
  return write_moves(moves, layouts, written);
}

std::optional<Cleaner::Moves> Cleaner::read_victim(const CleanCandidate& victim, MetaView& view) {
  const auto read = [&]() -> Result<Moves> {
    HEXAD_TRY_ASSIGN(const PackFooter footer, read_footer(victim));
    const OwnersQuery query{victim.stripe, parts_.space.pack_live(victim.stripe),
                            most_list_bytes()};
    HEXAD_TRY_ASSIGN(std::vector<OwnedBlob> owned, find_owners(query, footer, parts_.shape.record,
                                                               parts_.log_blobs, reads_of(view)));
    Moves moves;
    for (OwnedBlob& blob : owned) moves.push_back({std::move(blob), {}});
    HEXAD_TRY(read_bytes(victim, moves));
    return moves;
  };
  Result<Moves> moves = read();
  if (moves.ok()) return std::move(moves).value();
  leave_alone(victim, moves.error().code == ErrorCode::kNotFound ? CounterId::kCleanUnexplained
                                                                 : CounterId::kCleanUnreadable);
  return std::nullopt;
}

// Data cells, in role order of `roles`.
Result<std::vector<ByteView>> Cleaner::read_cells(const alloc::Extent& stripe,
                                                  const std::set<std::uint32_t>& roles,
                                                  AlignedBuffer& buffer) const {
  const std::size_t cell = stripe.units * parts_.shape.unit;
  const std::size_t stride = round_up(cell, AlignedBuffer::kAlignment);
  HEXAD_TRY_ASSIGN(const std::vector<CellPlace> places, parts_.space.locate(stripe));
  HEXAD_TRY_ASSIGN(buffer, without_bad_alloc([&]() -> Result<AlignedBuffer> {
                     return AlignedBuffer(stride * std::max<std::size_t>(1, roles.size()));
                   }));
  std::vector<io::IoRequest> reads;
  for (const std::uint32_t role : roles) {
    const CellPlace& place = places[role];
    if (!place.readable || io::is_silent(*place.device)) {
      return Error{ErrorCode::kUnavailable, "a cell is away", ""};
    }
    reads.push_back(io::IoRequest::read(*place.device, place.offset,
                                        buffer.bytes().subspan(reads.size() * stride, cell)));
    parts_.counters.add(CounterId::kDeviceBytesRead, cell);
  }
  const std::size_t count = reads.size();
  for (const Status& outcome : io::read_round(parts_.queue, std::move(reads), buffer)) {
    HEXAD_TRY(outcome);
  }
  std::vector<ByteView> cells;
  for (std::size_t i = 0; i < count; ++i) cells.push_back(buffer.bytes().subspan(i * stride, cell));
  return cells;
}

Result<PackFooter> Cleaner::read_footer(const CleanCandidate& victim) const {
  AlignedBuffer buffer;
  const Result<std::vector<ByteView>> last =
      read_cells(victim.stripe, {parts_.shape.k() - 1}, buffer);
  if (last.ok()) {
    Result<PackFooter> footer = decode_pack_footer(last->front(), parts_.shape.record);
    if (footer.ok() && footer->crc == victim.footer) return footer;
  }
  // Rebuilt from the others.
  HEXAD_TRY_ASSIGN(CheckedPack pack, packs_.check({victim.stripe, victim.footer}, {}));
  if (pack.result.whole && pack.result.footer.has_value()) return *std::move(pack.result.footer);
  return Error{ErrorCode::kUnavailable, "a pack stripe without a legible footer: " + pack.problems,
               "Run hexad fsck POOL --deep."};
}

// CL2
Status Cleaner::read_bytes(const CleanCandidate& victim, Moves& moves) {
  const ChecksumType type = parts_.shape.record.checksum;
  const auto take = [&](const std::map<std::uint32_t, ByteView>& cells) -> Status {
    for (Move& move : moves) {
      const Blob& blob = move.blob();
      const ByteView cell = cells.at(blob.cell);
      if (blob.cell_offset + std::uint64_t{blob.stored} > cell.size()) {
        return Error{ErrorCode::kCorruption, "a blob ends behind its cell", "Run hexad fsck POOL."};
      }
      const ByteView bytes = cell.subspan(blob.cell_offset, blob.stored);
      if (blob.cell_sums.size() != 1 || checksum(type, bytes) != blob.cell_sums.front()) {
        return Error{ErrorCode::kUnavailable, "a blob does not verify", ""};
      }
      move.stored = SharedBytes::copy_of(bytes);
    }
    return {};
  };
  std::set<std::uint32_t> roles;
  for (const Move& move : moves) roles.insert(move.blob().cell);
  AlignedBuffer buffer;
  const Result<std::vector<ByteView>> read = read_cells(victim.stripe, roles, buffer);
  if (read.ok()) {
    std::map<std::uint32_t, ByteView> cells;
    for (const std::uint32_t role : roles) cells.emplace(role, (*read)[cells.size()]);
    if (take(cells).ok()) return {};
  }
  // Something is lost or wrong: the others know it.
  std::vector<ExpectedBlob> expected;
  for (const Move& move : moves) expected.push_back(expected_blob_of(move.blob()));
  HEXAD_TRY_ASSIGN(const CheckedPack pack, packs_.check({victim.stripe, victim.footer}, expected));
  if (!pack.result.whole) return Error{ErrorCode::kUnavailable, pack.problems, ""};
  std::map<std::uint32_t, ByteView> cells;
  for (std::uint32_t role = 0; role < parts_.shape.k(); ++role) {
    cells.emplace(role, pack.right[role]);
  }
  return take(cells);
}

std::vector<UnplacedBlob> Cleaner::as_blobs(const Moves& moves) const {
  std::vector<UnplacedBlob> blobs;
  blobs.reserve(moves.size());
  for (const Move& move : moves) {
    UnplacedBlob blob;
    blob.place.lsn = move.from.entry.lsn;
    blob.stored = move.stored;
    blob.owner = move.owner();
    blob.offset = move.from.entry.offset;
    blobs.push_back(std::move(blob));
  }
  return blobs;
}

Result<Cleaner::Moved> Cleaner::write_moves(const Moves& moves, std::span<const PackPlan> layouts,
                                            Lsn written) {
  MovedStripes moved;
  std::uint64_t bytes = 0;
  std::uint64_t blobs = 0;
  const FillMoved fill = [&](const MovedStripes& where, LogRecord& record) -> Status {
    HEXAD_TRY(fill_moves(moves, where, record));
    bytes = 0;
    for (const StripeProof& stripe : record.allocated) bytes += stripe.live;
    blobs = record.packed_releases.size();
    return {};
  };
  HEXAD_TRY_ASSIGN(const Lsn lsn, write_moved(parts_, layouts, as_blobs(moves), fill, moved));
  if (lsn == 0) return Moved::kSomething;  // everything has died meanwhile: that is as good
  for (const StripeWrite& stripe : moved.stripes) parts_.space.note_written(stripe.where, written);
  parts_.counters.add(CounterId::kCleanedStripes, moved.stripes.size());
  parts_.counters.add(CounterId::kCleanedBlobs, blobs);
  parts_.counters.add(CounterId::kCleanedBytes, bytes);
  parts_.counters.add(CounterId::kCleanTooLate, moves.size() - blobs);
  return Moved::kSomething;
}

// Under the sequencer's lock.
Status Cleaner::fill_moves(const Moves& moves, const MovedStripes& where, LogRecord& record) const {
  ListChanges lists(parts_.commits, parts_.log_blobs, parts_.shape.record);
  std::vector<std::uint64_t> live(where.stripes.size(), 0);
  for (std::size_t i = 0; i < moves.size(); ++i) {
    HEXAD_TRY_ASSIGN(const bool moved, lists.move(moves[i].from.lists, where.places[i]));
    if (!moved) continue;
    live[where.stripe_of[i]] += moves[i].blob().stored;
    add_release(record, moves[i].blob());
  }
  for (std::size_t i = 0; i < live.size(); ++i) {
    if (live[i] > 0) record.allocated.push_back(where.proof(i, live[i]));  // CL4
  }
  if (record.allocated.empty()) return nothing_to_move();
  lists.write(record);
  return {};
}

}  // namespace hexad::core
