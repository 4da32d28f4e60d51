#include "core/jobs/index_job.h"

#include <algorithm>
#include <utility>

#include "core/runs/fast_index.h"

namespace hexad::core {

namespace {

constexpr std::uint64_t kBytesAtOnce = 16 << 20;
// So much more room, beside an eighth, is a reason to try again; or a quarter less to copy.
constexpr std::uint64_t kMoreRoom = 1 << 20;  // bytes

constexpr std::uint64_t kBlocksPerRuns = 2;         // they grow, and their blocks lie apart
constexpr std::uint64_t kLeastForBlocks = 4 << 20;  // bytes
constexpr int kMostBlocksWait = 64;                 // checkpoints

std::uint64_t bytes_of(const kv::RunSet& runs) {
  std::uint64_t bytes = 0;
  for (const auto& run : runs.runs()) bytes += run->info().bytes;
  return bytes;
}

// About so many bytes of the runs an index would be made of: what is removed is in one of them, and
// what says so in another, until they are merged.
std::uint64_t bytes_to_copy(const kv::RunSet& runs) {
  double entries = 0;
  double removed = 0;
  for (const auto& run : runs.runs()) {
    entries += static_cast<double>(run->info().entries);
    removed += 2 * static_cast<double>(run->info().tombstones);
  }
  if (removed >= entries) return 0;
  return static_cast<std::uint64_t>(static_cast<double>(bytes_of(runs)) * (1 - removed / entries));
}

}  // namespace

bool IndexJob::want() {
  return !parts_.directory.empty() && !wanted_.exchange(true, std::memory_order_acq_rel);
}

std::optional<io::Nanos> IndexJob::due() {
  return wanted_.load(std::memory_order_acquire) ? std::optional<io::Nanos>(0) : std::nullopt;
}

JobProgress IndexJob::progress() { return {copied_.load(std::memory_order_relaxed), 0, "bytes"}; }

Result<bool> IndexJob::step() {
  // Before looking: who asks from here on is heard after this attempt.
  wanted_.store(false, std::memory_order_release);
  if (parts_.unverified != nullptr) {
    const Status attached = attach_verified();
    // One that is not sound is made again.
    wanted_.store(true, std::memory_order_release);
    if (!attached.ok()) return attached.error().with_context("verifying the one that there was");
    return true;
  }
  if (rebuild_ == nullptr && (parts_.index.has_fast() || !parts_.index.detached_is_gone())) {
    return false;
  }
  if (rebuild_ == nullptr) HEXAD_TRY(check_directory());
  if (rebuild_ == nullptr && too_large_.has_value()) {
    if (is_too_large_yet()) {
      tend_blocks();
      return too_large_->error;
    }
    too_large_.reset();
  }
  if (rebuild_ == nullptr && parts_.resident != nullptr) {
    parts_.resident->take_room();
    // Else it would lack the room that those keep who still read or write there.
    if (!parts_.resident->is_gone()) return false;
  }
  const Result<bool> more = rebuild_some();
  if (!more.ok()) end_rebuild(more.error());
  if (rebuild_ == nullptr) copied_.store(0, std::memory_order_relaxed);
  HEXAD_TRY(more.status());
  if (*more) wanted_.store(true, std::memory_order_release);
  return true;
}

Status IndexJob::attach_verified() {
  std::unique_ptr<kv::Index> index = std::move(parts_.unverified);
  HEXAD_TRY(index->verify());
  HEXAD_TRY(check_checkpoint_writer(*index, parts_.writer));
  const io::Lock lock(parts_.checkpoints);
  HEXAD_TRY_ASSIGN(const bool followed, follow_runs(*index, *parts_.runs()));
  if (followed) parts_.index.attach(std::move(index));
  return {};
}

bool IndexJob::is_too_large_yet() const {
  const std::optional<std::uint64_t> left = parts_.indexes->room(parts_.directory);
  if (!left.has_value()) return false;
  const std::uint64_t held = parts_.resident == nullptr ? 0 : parts_.resident->room();
  const std::uint64_t could_have = *left + held - std::min(held, blocks_beside_);
  return could_have <= too_large_->room + too_large_->room / 8 + kMoreRoom &&
         bytes_to_copy(*parts_.runs()) > too_large_->runs / 4 * 3;
}

// Nothing of it is of use. Where it did not fit its room goes to the runs' blocks: all but a bit,
// and no more than they can ever need soon.
void IndexJob::end_rebuild(const Error& error) {
  rebuild_.reset();
  if (error.code != ErrorCode::kNoSpace || !check_directory().ok()) return;
  parts_.indexes->remove(parts_.directory).ignore();
  const std::optional<std::uint64_t> left = parts_.indexes->room(parts_.directory);
  if (!left.has_value()) return;
  too_large_ = TooLarge{error, *left, bytes_to_copy(*parts_.runs())};
  if (parts_.resident == nullptr) return;
  next_blocks_wait_ = 0;
  give_blocks();
}

void IndexJob::give_blocks() {
  const std::optional<std::uint64_t> left = parts_.indexes->room(parts_.directory);
  if (!left.has_value()) return;
  // Without it look-ups read the devices; why, it says itself.
  if (!parts_.resident->give_room(room_for_blocks(*left)).ok()) {
    put_blocks_off();
    return;
  }
  note_room_beside(*left);
}

std::uint64_t IndexJob::room_for_blocks(std::uint64_t could_have) const {
  const std::uint64_t most = std::max(kLeastForBlocks, kBlocksPerRuns * bytes_of(*parts_.runs()));
  return std::min(could_have - could_have / 16, most);
}

// An index has a largest size, too, so what it could have is not less by all that blocks took.
void IndexJob::note_room_beside(std::uint64_t could_have) {
  const std::uint64_t now = parts_.indexes->room(parts_.directory).value_or(0);
  const std::uint64_t both = now + parts_.resident->room();
  blocks_beside_ = both - std::min(both, could_have);
}

void IndexJob::fit_blocks() {
  const std::optional<std::uint64_t> left = parts_.indexes->room(parts_.directory);
  if (!left.has_value()) return;
  const std::uint64_t held = parts_.resident->room();
  const std::uint64_t could_have = *left + held - std::min(held, blocks_beside_);
  const std::uint64_t wanted = parts_.resident->known_of(room_for_blocks(could_have));
  const bool is_tight = wanted < held && *left < could_have / 32;
  const bool is_unknown = wanted < held && parts_.resident->known_of(held) < held;
  if (!is_tight && !is_unknown && wanted <= held + held / 8) return;
  // What fails leaves them as they are, or without room: give_blocks() at a later checkpoint.
  parts_.resident->change_room(wanted).ignore();
  note_room_beside(could_have);
}

void IndexJob::tend_blocks() {
  kv::ResidentPieces* const blocks = parts_.resident;
  if (blocks == nullptr) return;
  if (blocks->give_back_ended()) return put_blocks_off();
  if (blocks->room() > 0) return fit_blocks();
  if (!blocks->is_gone()) return;
  if (blocks_wait_ > 0) {
    --blocks_wait_;
  } else {
    give_blocks();
  }
}

void IndexJob::put_blocks_off() {
  blocks_wait_ = next_blocks_wait_;
  next_blocks_wait_ = std::clamp(2 * next_blocks_wait_, 1, kMostBlocksWait);
}

Result<bool> IndexJob::rebuild_some() {
  if (rebuild_ == nullptr) {
    HEXAD_TRY(parts_.indexes->remove(parts_.directory));
    HEXAD_TRY_ASSIGN(std::unique_ptr<kv::Index> fresh,
                     parts_.indexes->open(parts_.directory, parts_.uuid, io::OpenMode::kReadWrite));
    rebuild_ = std::make_unique<IndexRebuild>(std::move(fresh), parts_.runs());
  }
  HEXAD_TRY_ASSIGN(const bool all, rebuild_->step(kBytesAtOnce));
  copied_.fetch_add(kBytesAtOnce, std::memory_order_relaxed);
  if (!all) return true;
  const io::Lock lock(parts_.checkpoints);
  HEXAD_TRY_ASSIGN(const bool followed, rebuild_->follow(*parts_.runs()));
  const std::unique_ptr<IndexRebuild> done = std::move(rebuild_);
  // Else the next checkpoint begins a new one.
  if (!followed) return false;
  parts_.index.attach(done->take());
  parts_.counters.add(CounterId::kIndexesRebuilt);
  return false;
}

}  // namespace hexad::core
