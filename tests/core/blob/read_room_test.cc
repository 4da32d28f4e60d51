#include "core/blob/read_room.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace hexad::core {
namespace {

bool keeps() { return BufferShelf::process().most() > 0; }

TEST_CASE("read_room: its memory is given out piece by piece, on boundaries that devices want") {
  ReadRoom room;
  const MutByteView first = room.take(512);
  const MutByteView second = room.take(4096);
  const MutByteView rest = room.take(ReadRoom::kBytes - 2 * 4096);
  REQUIRE(first.size() == 512);
  REQUIRE(second.size() == 4096);
  REQUIRE(rest.size() == ReadRoom::kBytes - 2 * 4096);
  for (const MutByteView& each : {first, second, rest}) {
    REQUIRE(reinterpret_cast<std::uintptr_t>(each.data()) % AlignedBuffer::kAlignment == 0);
  }
  REQUIRE(second.data() == first.data() + 4096);
  REQUIRE(rest.data() == second.data() + 4096);
  REQUIRE(room.take(1).empty());
}

TEST_CASE("read_room: what is longer than all of it is for whoever asks to find") {
  ReadRoom room;
  REQUIRE(room.take(ReadRoom::kBytes + 1).empty());
  REQUIRE(room.take(ReadRoom::kBytes).size() == ReadRoom::kBytes);
}

TEST_CASE("read_room: one that was put back comes again, empty") {
  ReadRooms rooms;
  std::unique_ptr<ReadRoom> room = rooms.take();
  ReadRoom* const before = room.get();
  const std::byte* const bytes = room->take(4096).data();
  room->batch().requests.resize(3);
  rooms.put(std::move(room));
  room = rooms.take();
  if (keeps()) REQUIRE(room.get() == before);
  REQUIRE(room->batch().requests.empty());
  const MutByteView all = room->take(ReadRoom::kBytes);
  REQUIRE(all.size() == ReadRoom::kBytes);
  if (keeps()) REQUIRE(all.data() == bytes);
}

TEST_CASE("read_room: the requests of one long read are not kept") {
  ReadRooms rooms;
  std::unique_ptr<ReadRoom> room = rooms.take();
  room->batch().requests.resize(10'000);
  rooms.put(std::move(room));
  REQUIRE(rooms.take()->batch().requests.capacity() < 10'000);
}

TEST_CASE("read_room: whoever finds none gets a new one, and those without a place go") {
  ReadRooms rooms;
  std::vector<std::unique_ptr<ReadRoom>> taken;
  std::set<ReadRoom*> different;
  for (std::size_t i = 0; i < 2 * ReadRooms::kPlaces; ++i) {
    taken.push_back(rooms.take());
    different.insert(taken.back().get());
  }
  REQUIRE(different.size() == taken.size());
  for (std::unique_ptr<ReadRoom>& room : taken) rooms.put(std::move(room));
}

TEST_CASE("read_room: no two threads have the same one") {
  constexpr int kThreads = 4;
  constexpr int kRounds = 2000;
  ReadRooms rooms;
  std::atomic<int> spoilt{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&rooms, &spoilt, mine = std::byte(i + 1)] {
      for (int round = 0; round < kRounds; ++round) {
        std::unique_ptr<ReadRoom> room = rooms.take();
        const MutByteView bytes = room->take(4096);
        std::fill(bytes.begin(), bytes.end(), mine);
        room->batch().requests.resize(2);
        for (const std::byte each : bytes) {
          if (each != mine) ++spoilt;
        }
        rooms.put(std::move(room));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(spoilt == 0);
}

}  // namespace
}  // namespace hexad::core
