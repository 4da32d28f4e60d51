#include "kv/run/resident_pieces.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/units.h"
#include "io/bounded_reads.h"
#include "io/recall.h"
#include "kv/run/resident_file.h"

namespace hexad::kv {

// So many of `reading`, until it ends.
class ResidentPieces::Reading {
 public:
  Reading(ResidentPieces& owner, File& file, std::uint64_t count)
      : owner_(owner), file_(file), count_(count) {}
  ~Reading() {
    file_.reading.fetch_sub(count_);
    if (!file_.paused.load()) return;
    const io::Lock lock(owner_.mutex_);
    owner_.changed_.notify_all();
  }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

 private:
  ResidentPieces& owner_;
  File& file_;
  const std::uint64_t count_;
};

ResidentPieces::ResidentPieces(io::System& system, std::string path, std::uint64_t most_memory)
    : system_(system),
      path_(std::move(path)),
      most_memory_(most_memory),
      resizing_(system.executor()),
      mutex_(system.executor()),
      changed_(system.executor()) {}

ResidentPieces::~ResidentPieces() {
  std::vector<std::shared_ptr<File>> files;
  io::Lock lock(mutex_);
  if (file_ != nullptr) retired_.push_back(std::exchange(file_, nullptr));
  const auto all_written = [this]() HEXAD_REQUIRES(mutex_) { return on_the_way_ == 0; };
  while (!all_written() && changed_.wait_for(lock, io::kSilence)) {
  }
  if (!all_written()) {
    const std::vector<std::shared_ptr<File>> silent = retired_;
    lock.unlock();
    for (const std::shared_ptr<File>& file : silent) file->queue.give_up(*file->device);
    lock.lock();
    changed_.wait(lock, all_written);
  }
  std::swap(files, retired_);
  lock.unlock();
  const bool any = !files.empty();
  files.clear();
  // The room is the index's at the next opening.
  if (any) system_.remove_created(path_).ignore();
}

// Each segment is written over another. A file system that gives it a new place meanwhile takes
// that from what the index and others have.
Result<std::unique_ptr<io::Device>> ResidentPieces::make_file(std::uint64_t bytes) {
  HEXAD_TRY_ASSIGN(std::unique_ptr<io::Device> device, system_.create_device(path_, bytes));
  Result<io::Device::Room> room = device->reserve_room(0, device->geometry().size);
  if (room.ok() && *room == io::Device::Room::kSure) return device;
  system_.queue().close(std::move(device));
  HEXAD_TRY(room.status());
  return Error{ErrorCode::kUnsupported,
               path_ + ": its file system does not promise room (copy on write)", ""};
}

Status ResidentPieces::give_room(std::uint64_t bytes) {
  take_room();
  bytes = known_of(bytes);
  if (path_.empty() || bytes < kLeastRoom) {
    return Error{ErrorCode::kNoSpace,
                 "no room for blocks of runs on the fast tier: " + format_size(bytes), ""};
  }
  Result<std::unique_ptr<io::Device>> made = make_file(bytes);
  if (!made.ok()) {
    system_.remove_created(path_).ignore();
    const io::Lock lock(mutex_);
    problem_ = made.error().message;
    return made.error();
  }
  // Where it was there already, it may have another size.
  const std::uint64_t size = std::min(bytes, (*made)->geometry().size);
  auto file = std::make_shared<File>(system_.queue(), *std::move(made), size,
                                     most_memory_.load(std::memory_order_relaxed));
  {
    const io::Lock lock(mutex_);
    problem_.clear();
    file_ = std::move(file);
  }
  fit_table();  // its memory may have changed meanwhile
  return {};
}

void ResidentPieces::take_room() {
  {
    const io::Lock lock(mutex_);
    stop("");
  }
  is_gone();
  if (!path_.empty()) system_.remove_created(path_).ignore();
  fit_table();
}

bool ResidentPieces::give_back_ended() {
  {
    const io::Lock lock(mutex_);
    if (!std::exchange(ended_, false)) return false;
  }
  is_gone();
  system_.remove_created(path_).ignore();
  fit_table();
  return true;
}

bool ResidentPieces::is_gone() {
  system_.queue().has_abandoned();          // lets go what has been answered
  std::vector<std::shared_ptr<File>> gone;  // closed without the lock
  const io::Lock lock(mutex_);
  const auto idle =
      std::partition(retired_.begin(), retired_.end(), [](const std::shared_ptr<File>& file) {
        // Nobody comes to a file that is retired, so whoever goes does not come back.
        return file->flying || file.use_count() > 1 ||
               file->device->traffic().under_way.load(std::memory_order_acquire) > 0;
      });
  gone.assign(std::make_move_iterator(idle), std::make_move_iterator(retired_.end()));
  retired_.erase(idle, retired_.end());
  return file_ == nullptr && retired_.empty();
}

// What is on its way, or being read, keeps the file until then.
void ResidentPieces::stop(std::string problem) {
  ended_ = !problem.empty();
  problem_ = std::move(problem);
  // Numbers stand in the table alone, which goes: who puts something later gets one of the next.
  numbers_.clear();
  last_number_ = 0;
  if (file_ != nullptr) retired_.push_back(std::exchange(file_, nullptr));
}

void ResidentPieces::note_error(const std::string& what) {
  ++tally_.errors;
  File& file = *file_;
  if (tally_.hits > file.hits + kFewHits) file.errors = 0;
  file.hits = tally_.hits;
  if (++file.errors >= kMostErrors) {  // FB4
    stop(path_ + ": " + std::to_string(kMostErrors) + " errors, at last: " + what);
  }
}

// No bits: it has no number, or none that fits. `fresh`: an entry for the run, if it is to have
// one; what is allocated under the lock ends the process when it is refused.
ResidentKey ResidentPieces::key_of(const RunPieceKey& key, Numbers* fresh) {
  if (key.offset > ResidentKey::kMostOffset) return {};
  const auto known = numbers_.find(key.run);
  if (known != numbers_.end()) return ResidentKey::of(known->second, key.offset);
  if (fresh == nullptr || last_number_ == ResidentKey::kMostRuns) return {};
  fresh->begin()->second = ++last_number_;
  numbers_.merge(*fresh);
  return ResidentKey::of(last_number_, key.offset);
}

bool ResidentPieces::is_there(ResidentPlace place) const {
  return place.bytes() > 0 && place.position() >= file_->oldest;
}

bool ResidentPieces::in_memory(ResidentPlace place) const {
  const std::uint64_t from = file_->open_at() - (file_->flying ? file_->segment : 0);
  return place.position() >= from;
}

ByteView ResidentPieces::bytes_in_memory(ResidentPlace place) const {
  const AlignedBuffer& buffer = place.position() >= file_->open_at() ? file_->open : file_->flight;
  return ByteView(buffer).subspan(place.position() % file_->segment, place.bytes());
}

// Null: it is not there.
const ResidentPlace* ResidentPieces::find(const RunPieceKey& key) {
  if (file_ == nullptr) return nullptr;
  const ResidentKey known = key_of(key, nullptr);
  if (known.bits == 0) return nullptr;
  const ResidentPlace* const place = file_->table.find(known);
  return place != nullptr && is_there(*place) ? place : nullptr;
}

bool ResidentPieces::holds(const RunPieceKey& key) {
  const io::Lock lock(mutex_);
  return find(key) != nullptr;
}

// How many a call may send. A device that does not answer keeps what it was given in the queue,
// which has so much room for all devices together.
std::uint64_t ResidentPieces::reads_left() {
  io::Device& device = *file_->device;
  if (file_->paused.load()) return 0;
  if (device.owing_for() >= kPatience) return 0;
  // What nobody waits for any more is under way, too.
  const std::uint64_t busy =
      std::max(file_->reading.load(), device.traffic().under_way.load(std::memory_order_relaxed));
  return busy >= kMostUnderWay ? 0 : std::min(kMostReadsAtOnce, kMostUnderWay - busy);
}

void ResidentPieces::read(std::span<RunStoredRead> reads) {
  struct Wanted {
    RunStoredRead* read = nullptr;
    ResidentPlace place;
    std::uint64_t from = 0;     // in the file
    std::uint64_t skipped = 0;  // bytes of the request before the piece
    std::uint64_t at = 0;       // of the request in the buffer
  };
  // Nothing is allocated under the lock.
  std::array<Wanted, kMostReadsAtOnce> room;
  std::size_t count = 0;
  std::shared_ptr<File> file;
  {
    const io::Lock lock(mutex_);
    if (file_ == nullptr) return;
    file = file_;
    const std::uint64_t may_send = reads_left();
    for (RunStoredRead& one : reads) {
      const ResidentPlace* const place = find(one.key);
      const bool there = place != nullptr && place->bytes() == one.out.size();
      if (there && in_memory(*place)) {
        copy_bytes(one.out, bytes_in_memory(*place));
        one.found = true;
        ++tally_.hits;
      } else if (there && count < may_send) {
        room[count++] = {&one, *place, file->offset_of(place->position())};
      } else {
        ++tally_.misses;
      }
    }
    file->reading.fetch_add(count);
  }
  if (count == 0) return;
  const Reading reading(*this, *file, count);
  const std::span<Wanted> wanted(room.data(), count);
  std::vector<io::IoRequest> requests;
  requests.reserve(count);
  const std::uint64_t block = file->device->geometry().logical_block;
  std::uint64_t all = 0;
  for (Wanted& one : wanted) {
    const std::uint64_t begin = round_down(one.from, block);
    const std::uint64_t end = round_up(one.from + one.place.bytes(), block);
    one.skipped = one.from - begin;
    one.at = all;
    io::IoRequest request;
    request.device = file->device.get();
    request.op = io::IoOp::kRead;
    request.offset = begin;
    request.length = end - begin;
    requests.push_back(std::move(request));
    all += round_up(end - begin, kPage);
  }
  AlignedBuffer buffer(all);
  for (std::size_t i = 0; i < wanted.size(); ++i) requests[i].data = buffer.data() + wanted[i].at;
  io::Clock& clock = system_.executor().clock();
  const io::Nanos began = clock.now();
  const std::vector<Status> outcomes =
      io::read_round(file->queue, std::move(requests), buffer, kPatience);
  const io::Nanos took = clock.now() - began;
  const io::Lock lock(mutex_);
  ++tally_.rounds;
  tally_.round_nanos += took;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Wanted& one = wanted[i];
    // Room may have been taken meanwhile, or its place written over.
    const ResidentPlace* const place = file_ == file ? find(one.read->key) : nullptr;
    const bool still = place != nullptr && *place == one.place;
    const bool called_back = io::Recall::has_come() && !outcomes[i].ok() &&
                             outcomes[i].error().code == ErrorCode::kUnavailable;
    if (still && !outcomes[i].ok() && !called_back) {
      file_->table.erase(key_of(one.read->key, nullptr));
      note_error(outcomes[i].error().message);
    }
    if (!still || !outcomes[i].ok()) {
      ++tally_.misses;
      continue;
    }
    copy_bytes(one.read->out, ByteView(buffer).subspan(one.at + one.skipped, one.read->out.size()));
    one.read->found = true;
    ++tally_.hits;
  }
}

void ResidentPieces::drop(const RunPieceKey& key) {
  const io::Lock lock(mutex_);
  if (file_ == nullptr) return;
  ++file_->hits;  // is none that parts two errors
  if (const ResidentKey known = key_of(key, nullptr); known.bits != 0) file_->table.erase(known);
  note_error("a block that does not match the checksum that its run has for it");
}

void ResidentPieces::offer(const RunPieceKey& key, ByteView stored) {
  put(key, stored, Reason::kOffered);
}

void ResidentPieces::inherit(const RunPieceKey& key, ByteView stored) {
  put(key, stored, Reason::kInherited);
}

void ResidentPieces::put(const RunPieceKey& key, ByteView stored, Reason reason) {
  if (stored.empty() || stored.size() > kLargestPiece) return;
  std::shared_ptr<File> to_write;
  Numbers fresh;
  fresh.emplace(key.run, 0);
  {
    const io::Lock lock(mutex_);
    if (file_ == nullptr || stored.size() > file_->segment) return;
    if (last_number_ == ResidentKey::kMostRuns || file_->number == file_->last_number) {
      stop(path_ + ": began anew, since numbers have run out");
      return;
    }
    const ResidentKey known = key_of(key, &fresh);
    if (known.bits == 0) return;
    const ResidentPlace* const place = file_->table.find(known);
    if (place != nullptr && is_there(*place)) return;
    if (place == nullptr && !make_entry_free()) return;
    const bool had = file_->fresh == 0;
    if (reason == Reason::kOffered && had && place == nullptr) {
      file_->table.put(known, ResidentPlace::of(0, 0));
      return;
    }
    if (add(known, stored)) to_write = file_;
  }
  if (to_write != nullptr) write_segment(to_write);
}

// Of what is not there any more the table knows that it was asked for, until it needs the entries.
// False: there is none, whatever is forgotten.
bool ResidentPieces::make_entry_free() {
  File& file = *file_;
  if (!file.table.full()) return true;
  if (file.table.moves()) return false;
  const auto forget = [&]() HEXAD_REQUIRES(mutex_) {
    file.table.erase_if([this](ResidentKey, ResidentPlace place)
                            HEXAD_NO_THREAD_SAFETY_ANALYSIS { return !is_there(place); });
    return file.table.count() <= file.table.capacity() / 4 * 3;
  };
  while (!forget()) {
    if (file.oldest >= file.open_at()) return !file.table.full();
    // Of what is there: the file may have room for more than the table ever knows of.
    const std::uint64_t there = file.open_at() - file.oldest;
    const std::uint64_t part = round_up(there / kPartGivenUp, file.segment);
    let_go_before(std::min(file.oldest + part, file.open_at()));
  }
  return true;
}

bool ResidentPieces::add(ResidentKey key, ByteView stored) {
  File& file = *file_;
  const bool full = file.filled + stored.size() > file.segment;
  if (full && !seal()) {
    ++tally_.refused;
    return false;
  }
  copy_bytes(file.open.bytes().subspan(file.filled, stored.size()), stored);
  file.table.put(key, ResidentPlace::of(file.open_at() + file.filled, stored.size()));
  file.filled = round_up(file.filled + stored.size(), ResidentPlace::kAlignment);
  return full;
}

// False: the segment before is on its way yet, or nothing is to be written now.
bool ResidentPieces::seal() {
  File& file = *file_;
  if (file.flying || file.paused.load()) return false;
  fill_zero(file.open.bytes().subspan(std::min(file.filled, file.segment)));
  std::swap(file.open, file.flight);
  file.flying = true;
  ++on_the_way_;
  file.filled = 0;
  // It is written over the oldest one, which nobody may read from now on.
  if (file.free.empty()) let_go_before(file.oldest + file.segment);
  file.flight_slot = file.free.back();
  file.free.pop_back();
  file.fresh = std::min<std::uint64_t>(file.fresh, file.free.size());  // those come last
  file.slot_of[file.number % file.slot_of.size()] = file.flight_slot;
  ++file.number;
  return true;
}

// FB3. `done` runs when it is written, on whatever thread notices that.
void ResidentPieces::write_segment(const std::shared_ptr<File>& file) {
  const std::uint64_t offset = file->flight_slot * file->segment;
  file->batch.requests.clear();
  file->batch.requests.push_back(
      io::IoRequest::write(*file->device, offset, file->flight, io::WriteMode::kCached));
  file->batch.requests.back().may_be_left = true;
  // The owner keeps the file while something is on its way.
  file->batch.done = [this, file = file.get()](io::IoBatch& batch) {
    written(*file, batch.first_error());
  };
  file->queue.submit(file->batch);
}

void ResidentPieces::written(File& file, const Status& status) {
  const io::Lock lock(mutex_);
  file.flying = false;
  --on_the_way_;
  if (status.ok()) {
    tally_.bytes_written += file.segment;
  } else if (file_.get() == &file) {
    // Nobody knows what is there now.
    const std::uint64_t end = file.open_at();
    file.table.erase_if([&](ResidentKey, ResidentPlace place) {
      return place.bytes() > 0 && place.position() >= end - file.segment && place.position() < end;
    });
    note_error(status.error().message);
  }
  changed_.notify_all();
}

void ResidentPieces::end_run(std::uint64_t serial) {
  const io::Lock lock(mutex_);
  const auto known = numbers_.find(serial);
  if (known == numbers_.end()) return;
  const std::uint64_t number = known->second;
  numbers_.erase(known);
  if (file_ == nullptr) return;
  file_->table.erase_if([number](ResidentKey key, ResidentPlace) { return key.run() == number; });
}

ResidentPieces::Usage ResidentPieces::usage() {
  Usage usage;
  const io::Lock lock(mutex_);
  usage.problem = problem_;
  if (file_ == nullptr) return usage;
  usage.open = true;
  usage.room = file_->room();
  usage.memory = file_->table.memory() + file_->open.size() + file_->flight.size();
  file_->table.for_each([&](ResidentKey, ResidentPlace place) HEXAD_NO_THREAD_SAFETY_ANALYSIS {
    if (!is_there(place)) return;
    usage.bytes += place.bytes();
    ++usage.pieces;
  });
  return usage;
}

std::uint64_t ResidentPieces::memory() {
  const io::Lock lock(mutex_);
  if (file_ == nullptr) return 0;
  return file_->table.memory() + file_->open.size() + file_->flight.size();
}

ResidentPieces::Tally ResidentPieces::tally() {
  const io::Lock lock(mutex_);
  return tally_;
}

void ResidentPieces::check_invariants() {
  const io::Lock lock(mutex_);
  if (file_ == nullptr) return;
  file_->table.check_invariants();
  const Numbers& numbers = numbers_;
  file_->table.for_each([&](ResidentKey key, ResidentPlace place) HEXAD_NO_THREAD_SAFETY_ANALYSIS {
    if (!is_there(place)) return;
    HEXAD_ASSERT(place.position() + place.bytes() <= file_->open_at() + file_->filled);
    HEXAD_ASSERT(place.position() >= file_->oldest);
    // FB1
    HEXAD_ASSERT(std::any_of(numbers.begin(), numbers.end(),
                             [&](const auto& known) { return known.second == key.run(); }));
  });
  // FB5
  std::vector<int> uses(file_->length);
  for (const std::uint32_t slot : file_->free) ++uses[slot];
  for (const std::uint32_t slot : file_->given_back) ++uses[slot];
  HEXAD_ASSERT(file_->fresh <= file_->free.size() && file_->oldest % file_->segment == 0);
  for (std::uint64_t n = file_->oldest / file_->segment; n < file_->number; ++n) {
    ++uses[file_->slot_of[n % file_->slot_of.size()]];
  }
  HEXAD_ASSERT(std::all_of(uses.begin(), uses.end(), [](int count) { return count == 1; }));
}

}  // namespace hexad::kv
