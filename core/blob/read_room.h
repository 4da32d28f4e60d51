// What a read of few bytes takes each time, kept for the next one: a batch, with room for its
// requests, and memory that a device can read into.
//
// Any thread. No locks: a place is empty or has a room, and whoever exchanges it has it alone.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/buffer_shelf.h"
#include "base/bytes.h"
#include "base/units.h"
#include "io/device.h"

namespace hexad::core {

class ReadRoom {
 public:
  // Of the buffer: what the checksum blocks of two small reads take.
  static constexpr std::size_t kBytes = 32 << 10;

  ReadRoom() : batch_(std::make_unique<io::IoBatch>()), buffer_(kBytes) {}

  io::IoBatch& batch() { return *batch_; }
  // `bytes` of the buffer that nobody has yet, on a boundary that devices want; empty when there
  // are not so many.
  MutByteView take(std::size_t bytes) {
    if (bytes > kBytes - used_) return {};
    const MutByteView taken = buffer_.bytes().subspan(used_, bytes);
    used_ = std::min(kBytes, round_up(used_ + bytes, AlignedBuffer::kAlignment));
    return taken;
  }
  // For a batch that is not complete: both are somebody else's then, and the room is of no use.
  std::unique_ptr<io::IoBatch> give_batch() { return std::move(batch_); }
  AlignedBuffer give_buffer() { return std::move(buffer_); }

 private:
  friend class ReadRooms;
  std::unique_ptr<io::IoBatch> batch_;
  AlignedBuffer buffer_;
  std::size_t used_ = 0;
  std::size_t place_ = 0;  // where it is looked for next time
};

class ReadRooms {
 public:
  // So many threads that read at the same time find one; each takes the memory of a ReadRoom.
  static constexpr std::size_t kPlaces = 16;

  ReadRooms() = default;
  ReadRooms(const ReadRooms&) = delete;
  ReadRooms& operator=(const ReadRooms&) = delete;
  ~ReadRooms() {
    for (Place& place : places_) delete place.room.load(std::memory_order_acquire);
  }

  // Never null. Its batch is empty, and all of the buffer free.
  std::unique_ptr<ReadRoom> take() {
    const std::size_t first = first_place();
    std::unique_ptr<ReadRoom> room;
    for (std::size_t i = 0; i < kTried && room == nullptr; ++i) {
      std::atomic<ReadRoom*>& place = places_[(first + i) % kPlaces].room;
      if (place.load(std::memory_order_relaxed) == nullptr) continue;
      room.reset(place.exchange(nullptr, std::memory_order_acquire));
    }
    if (room == nullptr) room = std::make_unique<ReadRoom>();
    room->place_ = first;
    return room;
  }
  // Precondition: its batch is complete, and nobody looks at the buffer any more. Where there is no
  // place for it, it goes.
  void put(std::unique_ptr<ReadRoom> room) {
    // As for large buffers: not where uses of what has been freed are looked for.
    if (BufferShelf::process().most() == 0) return;
    std::vector<io::IoRequest>& requests = room->batch_->requests;
    requests.clear();
    if (requests.capacity() > kMostRequests) requests.shrink_to_fit();
    room->used_ = 0;
    for (std::size_t i = 0; i < kTried; ++i) {
      ReadRoom* empty = nullptr;
      if (places_[(room->place_ + i) % kPlaces].room.compare_exchange_strong(
              empty, room.get(), std::memory_order_release, std::memory_order_relaxed)) {
        static_cast<void>(room.release());  // the place has it
        return;
      }
    }
  }

 private:
  static constexpr std::size_t kTried = 4;
  static constexpr std::size_t kMostRequests = 64;

  // A line each: threads that read at the same time do not wait for each other's.
  struct alignas(64) Place {
    std::atomic<ReadRoom*> room{nullptr};
  };

  // Another one for each stack, as a rule.
  static std::size_t first_place() {
    const std::size_t here = 0;
    const auto stack = reinterpret_cast<std::uintptr_t>(&here) >> 16;
    return (stack * std::uint64_t{0x9E3779B97F4A7C15}) >> 40;
  }

  std::array<Place, kPlaces> places_;
};

}  // namespace hexad::core
