// One file of pieces of runs, as ResidentPieces has it (resident_pieces.h), for those that
// implement it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/units.h"
#include "io/device.h"
#include "kv/run/resident_pieces.h"
#include "kv/run/resident_table.h"

namespace hexad::kv {

inline constexpr std::uint64_t kPage = AlignedBuffer::kAlignment;
inline constexpr std::uint64_t kLeastSegment = 64 << 10;   // bytes
inline constexpr std::uint64_t kLargestSegment = 1 << 20;  // bytes
inline constexpr std::uint64_t kSegments = 16;             // of a small file
inline constexpr std::uint64_t kUsualPiece = 4 << 10;      // bytes, rather less than more
inline constexpr std::uint64_t kEntriesPerPiece = 2;       // what was asked for once is noted, too
// A table that cannot forget any more of what is not there gives up a part of what is.
inline constexpr std::uint64_t kPartGivenUp = 4;
inline constexpr std::uint64_t kLeastSlots = 4;  // of a file

using SlotList = std::vector<std::uint32_t>;

inline std::uint64_t entries_for(std::uint64_t bytes) {
  return bytes / kUsualPiece * kEntriesPerPiece;
}

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

}  // namespace hexad::kv
