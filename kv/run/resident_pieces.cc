#include "kv/run/resident_pieces.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/units.h"
#include "io/bounded_reads.h"
#include "io/recall.h"

namespace hexad::kv {

namespace {

constexpr std::uint64_t kPage = AlignedBuffer::kAlignment;
constexpr std::uint64_t kLeastSegment = 64 << 10;   // bytes
constexpr std::uint64_t kLargestSegment = 1 << 20;  // bytes
constexpr std::uint64_t kSegments = 16;             // of a small file
constexpr std::uint64_t kUsualPiece = 4 << 10;      // bytes, rather less than more
constexpr std::uint64_t kEntriesPerPiece = 2;       // what was asked for once is noted, too
// A table that cannot forget any more of what is not there gives up a part of what is.
constexpr std::uint64_t kPartGivenUp = 4;
constexpr std::uint64_t kLeastSlots = 4;  // of a file

using SlotList = std::vector<std::uint32_t>;

std::uint64_t entries_for(std::uint64_t bytes) { return bytes / kUsualPiece * kEntriesPerPiece; }

}  // namespace

// One file, from give_room() on.
struct ResidentPieces::File {
  File(io::IoQueue& to, std::unique_ptr<io::Device> on, std::uint64_t bytes,
       std::uint64_t most_memory)
      : queue(to),
        device(std::move(on)),
        segment(std::clamp(round_down(bytes / kSegments, kPage), kLeastSegment, kLargestSegment)),
        last_number(ResidentPlace::kMostPosition / segment - 3),
        length(bytes / segment),
        table(entries_for(length * segment), most_memory),
        open(segment),
        flight(segment),
        slot_of(length),
        fresh(length) {
    free.reserve(length);
    given_back.reserve(length);
    for (std::uint64_t slot = length; slot-- > 0;) free.push_back(static_cast<std::uint32_t>(slot));
    batch.requests.reserve(1);
  }
  ~File() { queue.close(std::move(device)); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  std::uint64_t open_at() const { return number * segment; }
  std::uint64_t room() const { return (length - given_back.size()) * segment; }
  // Precondition: it is there, and not in memory alone.
  std::uint64_t offset_of(std::uint64_t position) const {
    return slot_of[position / segment % slot_of.size()] * segment + position % segment;
  }

  io::IoQueue& queue;
  std::unique_ptr<io::Device> device;
  const std::uint64_t segment;  // bytes
  // Of a segment. Then positions run out.
  const std::uint64_t last_number;

  // Guarded by the mutex of the owner.
  std::uint64_t length;           // slots, those that were given back included
  ResidentTable table;            // of pieces; no bytes: one that was asked for once
  AlignedBuffer open;             // of segment `number`
  std::uint64_t filled = 0;       // bytes of it
  AlignedBuffer flight;           // of the segment before, when `flying`
  std::uint32_t flight_slot = 0;  // where that goes
  bool flying = false;            // nobody changes `flight` then
  std::uint64_t number = 0;
  std::uint64_t oldest = 0;  // position, the beginning of a segment: what is before it is gone
  // FB5. Of segments from the oldest one to `number`, by their number modulo its size.
  SlotList slot_of;
  SlotList free;  // has room for all slots, as has the next
  SlotList given_back;
  std::uint64_t fresh;     // so many of the free ones no segment has had
  int errors = 0;          // with few hits between them
  std::uint64_t hits = 0;  // of the tally, at the last error
  // Writes `flight`. There beforehand, as its request is: what is sealed has to go out.
  io::IoBatch batch;

  std::atomic<std::uint64_t> reading = 0;  // what calls have under way, or are about to send
  // Nothing new is read or written: its device becomes longer. Changes with the lock.
  std::atomic<bool> paused = false;

  // Of the thread that changes the room.
  bool keeps_space = false;   // the space of some slots that were given back
  bool owes_discard = false;  // may still happen, to slots that were given back
};

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

std::uint64_t ResidentPieces::known_of(std::uint64_t bytes) const {
  const std::uint64_t most_memory = most_memory_.load(std::memory_order_relaxed);
  const std::uint64_t known = ResidentTable::most_entries(most_memory) * kUsualPiece;
  return std::min(round_down(bytes, kPage), std::max(kLeastRoom, round_down(known, kPage)));
}

// --- another size ---

std::uint64_t ResidentPieces::room() {
  const io::Lock lock(mutex_);
  return file_ == nullptr ? 0 : file_->room();
}

void ResidentPieces::set_most_memory(std::uint64_t bytes) {
  most_memory_.store(bytes, std::memory_order_relaxed);
  fit_table();
}

// To what the file has use for, and has memory. Tells of it, whether it has changed or not.
void ResidentPieces::fit_table() {
  const io::Lock one_at_a_time(resizing_);
  std::shared_ptr<File> file;
  std::uint64_t bytes = 0;
  std::uint64_t slots = 0;
  {
    const io::Lock lock(mutex_);
    file = file_;
    if (file != nullptr) {
      bytes = file->room();
      slots = file->table.slots();
    }
  }
  const std::uint64_t wanted =
      ResidentTable::slots_for(entries_for(bytes), most_memory_.load(std::memory_order_relaxed));
  if (file != nullptr && wanted != slots) move_table(file, wanted);
  if (tell_) tell_(memory());
}

void ResidentPieces::move_table(const std::shared_ptr<File>& file, std::uint64_t slots) {
  ResidentTable::Slots fresh(slots);
  ResidentTable::Slots emptied;
  // A bit below what it may have: more may come until all has moved.
  const std::uint64_t fit = slots / 4 * 3 / 8 * 7;
  const std::uint64_t first = first_that_fits(file, fit);
  bool less = false;
  {
    const io::Lock lock(mutex_);
    if (file_ != file) return;
    let_go_before(std::clamp(first, file->oldest, file->open_at()));
    less = slots < file->table.slots();
    file->table.begin_move(std::move(fresh));
  }
  for (bool more = true; more;) {
    const io::Lock lock(mutex_);
    if (file_ != file) return;
    // Of a larger one what was asked for once stays known, too.
    more = file->table.move_some(
        kEntriesAtOnce,
        [&](ResidentPlace place)
            HEXAD_NO_THREAD_SAFETY_ANALYSIS { return !less || is_there(place); },
        emptied);
  }
}

// From which position on there are no more pieces than that, about.
std::uint64_t ResidentPieces::first_that_fits(const std::shared_ptr<File>& file,
                                              std::uint64_t pieces) {
  std::uint64_t slots = 0;
  std::uint64_t number = 0;
  std::uint64_t oldest = 0;
  {
    const io::Lock lock(mutex_);
    if (file_ != file || file->table.count() <= pieces) return 0;
    slots = file->table.slots();
    number = file->number;
    oldest = file->oldest / file->segment;
  }
  std::vector<std::uint64_t> of_segment(number - oldest + 1);
  for (std::uint64_t at = 0; at < slots; at += kEntriesAtOnce) {
    const io::Lock lock(mutex_);
    if (file_ != file) return 0;
    file->table.visit(at, kEntriesAtOnce, [&](ResidentKey, ResidentPlace place) {
      const std::uint64_t segment = place.position() / file->segment;
      if (place.bytes() > 0 && segment >= oldest && segment <= number) {
        ++of_segment[segment - oldest];
      }
    });
  }
  std::uint64_t first = of_segment.size();
  std::uint64_t all = 0;
  while (first > 0 && all + of_segment[first - 1] <= pieces) all += of_segment[--first];
  return (oldest + first) * file->segment;
}

Status ResidentPieces::change_room(std::uint64_t bytes) {
  bytes = known_of(bytes);
  std::shared_ptr<File> file;
  std::uint64_t now = 0;
  {
    const io::Lock lock(mutex_);
    file = file_;
    if (file != nullptr) now = file->room() / file->segment;
  }
  const std::uint64_t wanted = file == nullptr ? 0 : bytes / file->segment;
  // A file that keeps what it gives back has to go as a whole.
  if (wanted < kLeastSlots || (wanted < now && file->keeps_space)) {
    file.reset();
    return give_room(bytes);
  }
  if (wanted < now) give_back(file, now - wanted);
  Status outcome;
  if (wanted > now) {
    const Result<std::uint64_t> used = use_again(file, wanted - now);
    outcome = used.status();
    if (used.ok() && now + *used < wanted) outcome = make_longer(file, wanted - now - *used);
  }
  file.reset();
  fit_table();
  return outcome;
}

void ResidentPieces::let_go_before(std::uint64_t position) {
  File& file = *file_;
  for (; file.oldest < position; file.oldest += file.segment) {
    file.free.push_back(file.slot_of[file.oldest / file.segment % file.slot_of.size()]);
  }
}

// Free ones, and those of the oldest segments; not the one that is being written, nobody's though
// it may be by now.
void ResidentPieces::take_slots(SlotList& taken, std::uint64_t count) {
  File& file = *file_;
  while (taken.size() < count) {
    const auto slot = std::find_if(file.free.rbegin(), file.free.rend(), [&](std::uint32_t one) {
      return !file.flying || one != file.flight_slot;
    });
    if (slot == file.free.rend()) {
      let_go_before(file.oldest + file.segment);
      continue;
    }
    taken.push_back(*slot);
    file.given_back.push_back(*slot);
    file.free.erase(std::next(slot).base());
  }
  file.fresh = std::min<std::uint64_t>(file.fresh, file.free.size());
}

void ResidentPieces::give_back(const std::shared_ptr<File>& file, std::uint64_t slots) {
  SlotList taken;
  taken.reserve(kSlotsAtOnce);
  while (slots > 0) {
    taken.clear();
    {
      const io::Lock lock(mutex_);
      if (file_ != file) return;
      take_slots(taken, std::min(slots, kSlotsAtOnce));
    }
    slots -= taken.size();
    discard(*file, taken);
  }
}

// One that fails keeps its space until the file goes, at the next change to less.
void ResidentPieces::discard(File& file, const SlotList& slots) {
  if (file.device->owing_for() >= kPatience) {
    file.keeps_space = true;
    return;
  }
  auto batch = std::make_unique<io::IoBatch>();
  batch->requests.reserve(slots.size());
  for (const std::uint32_t slot : slots) {
    batch->requests.push_back(
        io::IoRequest::discard(*file.device, slot * file.segment, file.segment));
  }
  if (!file.queue.run_for(*batch, kPatience)) {
    file.queue.abandon(std::move(batch), {});
    file.keeps_space = file.owes_discard = true;
  } else if (!batch->first_error().ok()) {
    file.keeps_space = true;
  }
}

// Slots that were given back get their space again. How many did. None while a discard of some of
// them may be under way: it would take the space from a segment that is written there.
Result<std::uint64_t> ResidentPieces::use_again(const std::shared_ptr<File>& file,
                                                std::uint64_t slots) {
  if (file->device->owing_for() >= kPatience) return std::uint64_t{0};
  if (file->owes_discard && file->device->traffic().under_way.load() > 0) return std::uint64_t{0};
  file->owes_discard = false;
  for (std::uint64_t done = 0; done < slots; ++done) {
    std::uint32_t slot = 0;
    {
      const io::Lock lock(mutex_);
      if (file_ != file || file->given_back.empty()) return done;
      slot = file->given_back.back();
    }
    // This thread alone changes what was given back.
    HEXAD_TRY_ASSIGN(const io::Device::Room room,
                     file->device->reserve_room(slot * file->segment, file->segment));
    if (room != io::Device::Room::kSure) return done;
    const io::Lock lock(mutex_);
    file->given_back.pop_back();
    file->free.push_back(slot);
    ++file->fresh;
  }
  return slots;
}

// FB6
bool ResidentPieces::pause(const std::shared_ptr<File>& file) {
  io::Lock lock(mutex_);
  if (file_ != file) return false;
  file->paused = true;
  const auto idle = [&] { return !file->flying && file->reading.load() == 0; };
  while (!idle() && changed_.wait_for(lock, kPatience)) {
  }
  // Reads that nobody waits for any more may be under way yet.
  if (idle() && file->device->traffic().under_way.load() == 0) return true;
  file->paused = false;
  return false;
}

Status ResidentPieces::make_longer(const std::shared_ptr<File>& file, std::uint64_t slots) {
  const std::uint64_t before = file->length;  // this thread alone changes it
  const std::uint64_t length = before + slots;
  SlotList slot_of(length);
  SlotList free;
  SlotList given_back;
  free.reserve(length);
  given_back.reserve(length);
  if (!pause(file)) return {};
  io::Device& device = *file->device;
  const std::uint64_t from = before * file->segment;
  const std::uint64_t bytes = length * file->segment;
  Status outcome = device.geometry().size < bytes ? device.grow(bytes) : Status();
  if (outcome.ok()) {
    const Result<io::Device::Room> room = device.reserve_room(from, bytes - from);
    outcome = room.status();
    if (room.ok() && *room != io::Device::Room::kSure) {
      outcome = Error{ErrorCode::kUnsupported, path_ + ": no more room is promised", ""};
    }
  }
  const io::Lock lock(mutex_);
  file->paused = false;
  HEXAD_TRY(outcome);
  for (std::uint64_t n = file->oldest / file->segment; n < file->number; ++n) {
    slot_of[n % length] = file->slot_of[n % file->slot_of.size()];
  }
  for (std::uint64_t slot = length; slot-- > before;) {
    free.push_back(static_cast<std::uint32_t>(slot));
  }
  // What had room before comes first.
  free.insert(free.end(), file->free.begin(), file->free.end());
  given_back.assign(file->given_back.begin(), file->given_back.end());
  std::swap(file->slot_of, slot_of);
  std::swap(file->free, free);
  std::swap(file->given_back, given_back);
  file->length = length;
  file->fresh += slots;
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
