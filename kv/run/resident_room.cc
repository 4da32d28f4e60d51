// The room of pieces of runs and the memory of their table, while both are used (FB5, FB6).
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/units.h"
#include "kv/run/resident_file.h"
#include "kv/run/resident_pieces.h"

namespace hexad::kv {

std::uint64_t ResidentPieces::known_of(std::uint64_t bytes) const {
  const std::uint64_t most_memory = most_memory_.load(std::memory_order_relaxed);
  const std::uint64_t known = ResidentTable::most_entries(most_memory) * kUsualPiece;
  return std::min(round_down(bytes, kPage), std::max(kLeastRoom, round_down(known, kPage)));
}

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

}  // namespace hexad::kv
