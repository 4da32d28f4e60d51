#include "core/blob/in_flight_cells.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "io/rng.h"
#include "io/sim/sim_executor.h"

namespace hexad::core {
namespace {

constexpr std::uint32_t kStride = 16;

// A stripe of three cells, each filled with a letter of its own; or nothing.
std::string cells_at(const InFlightCells& cells, const alloc::Extent& where) {
  std::string found;
  const bool here = cells.read(where, [&](const auto& cell_of) {
    for (std::uint32_t role = 0; role < 3; ++role) found += as_text(cell_of(role));
    return true;
  });
  return here ? found : "none";
}

std::string three(char first) {
  std::string bytes;
  for (std::uint32_t role = 0; role < 3; ++role) {
    bytes += std::string(kStride, static_cast<char>(first + role));
  }
  return bytes;
}

TEST_CASE("in_flight_cells: a stripe is here from add() to remove(), in role order") {
  const auto executor = io::make_thread_executor(1);
  InFlightCells cells(*executor);
  const std::string bytes = three('a');
  const alloc::Extent where{1, 7, 3};
  REQUIRE(cells.size() == 0);
  REQUIRE(cells_at(cells, where) == "none");
  cells.add(where, as_bytes(bytes), kStride);
  REQUIRE(cells.size() == 1);
  REQUIRE(cells_at(cells, where) == bytes);
  // The bytes are where they were: nothing is copied.
  REQUIRE(cells.read(where, [&](const auto& cell_of) {
    return cell_of(2).data() == as_bytes(bytes).data() + 2 * kStride &&
           cell_of(2).size() == kStride;
  }));
  cells.remove(where);
  REQUIRE(cells.size() == 0);
  REQUIRE(cells_at(cells, where) == "none");
  // The place may be used again, by a stripe of another length.
  const std::string other = three('k');
  cells.add({1, 7, 9}, as_bytes(other), kStride);
  REQUIRE(cells_at(cells, {1, 7, 9}) == other);
}

TEST_CASE("in_flight_cells: a stripe is known by where it begins") {
  const auto executor = io::make_thread_executor(1);
  InFlightCells cells(*executor);
  const std::string low = three('a');
  const std::string high = three('d');
  const std::string zone = three('g');
  const std::uint32_t last = ~std::uint32_t{0};
  cells.add({1, 2, 4}, as_bytes(low), kStride);
  cells.add({1, last, 1}, as_bytes(high), kStride);
  cells.add({last, 2, 4}, as_bytes(zone), kStride);
  REQUIRE(cells.size() == 3);
  REQUIRE(cells_at(cells, {1, 2, 4}) == low);
  // A blob in a pack stripe does not know how long that is.
  REQUIRE(cells_at(cells, {1, 2, 0}) == low);
  REQUIRE(cells_at(cells, {1, last, 1}) == high);
  REQUIRE(cells_at(cells, {last, 2, 4}) == zone);
  for (const alloc::Extent& absent :
       {alloc::Extent{1, 1, 4}, alloc::Extent{1, 3, 3}, alloc::Extent{2, 2, 4},
        alloc::Extent{2, 1, 4}, alloc::Extent{0, 2, 4}}) {
    REQUIRE(cells_at(cells, absent) == "none");
  }
  cells.remove({1, 3, 3});  // not here
  REQUIRE(cells.size() == 3);
}

TEST_CASE("in_flight_cells: read says what the copy says, and does not call it in vain") {
  const auto executor = io::make_thread_executor(1);
  InFlightCells cells(*executor);
  const std::string bytes = three('a');
  int calls = 0;
  const auto refuse = [&](const auto&) {
    ++calls;
    return false;
  };
  REQUIRE_FALSE(cells.read({1, 1, 1}, refuse));  // nothing is here at all
  cells.add({1, 1, 1}, as_bytes(bytes), kStride);
  REQUIRE_FALSE(cells.read({1, 2, 1}, refuse));
  REQUIRE(calls == 0);
  REQUIRE_FALSE(cells.read({1, 1, 1}, refuse));
  REQUIRE(calls == 1);
}

// IF2: whoever finds a stripe gets its bytes; whoever does not knows that they were on the devices
// before it was removed.
TEST_CASE("in_flight_cells: IF2 threads that come and go find the bytes here or on the devices") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    io::SimExecutor executor(seed);
    InFlightCells cells(executor);
    constexpr std::uint32_t kStripes = 8;
    std::vector<std::string> on_device(kStripes);
    std::vector<bool> known(kStripes, false);
    std::string problem;
    bool over = false;
    int from_memory = 0;
    executor.run([&] {
      auto writer = executor.start("writer", [&] {
        io::Rng rng(seed);
        for (int round = 0; round < 40; ++round) {
          const auto unit = static_cast<std::uint32_t>(rng.below(kStripes));
          std::string bytes = three(static_cast<char>('a' + unit));
          known[unit] = false;
          on_device[unit].clear();
          cells.add({1, unit, 1}, as_bytes(bytes), kStride);
          known[unit] = true;
          executor.sleep_for(static_cast<io::Nanos>(rng.below(1000)));
          on_device[unit] = bytes;
          cells.remove({1, unit, 1});
          bytes.assign(bytes.size(), '!');  // the buffer belongs to somebody else again
        }
        over = true;
      });
      auto reader = executor.start("reader", [&] {
        io::Rng rng(seed + 1000);
        while (!over) {
          const auto unit = static_cast<std::uint32_t>(rng.below(kStripes));
          executor.sleep_for(static_cast<io::Nanos>(rng.below(100)));
          if (!known[unit]) continue;
          std::string found = cells_at(cells, {1, unit, 1});
          if (found != "none") ++from_memory;
          if (found == "none") found = on_device[unit];
          if (found != three(static_cast<char>('a' + unit)) && known[unit]) problem = found;
        }
      });
      writer->join();
      reader->join();
    });
    REQUIRE(problem == "");
    REQUIRE(from_memory > 0);
    REQUIRE(cells.size() == 0);
  }
}

}  // namespace
}  // namespace hexad::core
