#include "base/id.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

namespace hexad {
namespace {

using Shelf = Id<struct ShelfTag, std::uint32_t>;
using Ticket = Id<struct TicketTag, std::uint64_t>;
using Number = Id<struct NumberTag, std::uint64_t>;

template <typename A, typename B>
concept Compared = requires(A a, B b) {
  a == b;
};
template <typename A, typename B>
concept Ordered = requires(A a, B b) {
  a < b;
};
template <typename A, typename B>
concept Assigned = requires(A a, B b) {
  a = b;
};

// Ids of different things do not mix, whichever is the wider.
static_assert(!std::convertible_to<Ticket, Number> && !std::convertible_to<Shelf, Ticket>);
static_assert(!std::constructible_from<Ticket, Number> && !std::constructible_from<Ticket, Shelf>);
static_assert(!Assigned<Ticket&, Number> && !Assigned<Ticket&, Shelf>);
static_assert(!Compared<Ticket, Number> && !Compared<Number, Ticket> && !Compared<Shelf, Ticket>);
static_assert(!Ordered<Ticket, Number> && !Ordered<Number, Ticket> && !Ordered<Shelf, Ticket>);
static_assert(!std::convertible_to<std::optional<Ticket>, std::optional<Number>>);
static_assert(!std::constructible_from<std::pair<Shelf, Ticket>, Ticket, Shelf>);

// With numbers they do.
static_assert(std::convertible_to<int, Ticket> && std::convertible_to<Ticket, std::uint64_t>);
static_assert(std::convertible_to<Shelf, std::size_t>);
static_assert(Compared<Ticket, int> && Compared<std::uint64_t, Ticket> && Ordered<Ticket, Ticket>);
static_assert(std::totally_ordered<Ticket> && std::three_way_comparable<Ticket>);

// An id costs what its number costs.
static_assert(std::is_trivially_copyable_v<Shelf> && sizeof(Shelf) == sizeof(std::uint32_t));
static_assert(std::atomic<Ticket>::is_always_lock_free);

// Without a specialization of its own this would be 0.
static_assert(std::numeric_limits<Shelf>::max() == 0xffff'ffffu);
static_assert(std::same_as<decltype(std::numeric_limits<Shelf>::max()), Shelf>);
static_assert(std::numeric_limits<Ticket>::max() == ~Ticket{0});
static_assert(std::numeric_limits<Ticket>::min() == 0);
static_assert(std::numeric_limits<Ticket>::is_specialized &&
              std::numeric_limits<Shelf>::digits == 32);

struct Place {
  Shelf shelf = 0;
  Ticket ticket;

  auto operator<=>(const Place&) const = default;
};
static_assert(Place{1, 2} == Place{1, 2} && Place{1, 2} < Place{1, 3} && Place{1, 9} < Place{2, 0});
static_assert(std::same_as<std::compare_three_way_result_t<Place>, std::strong_ordering>);

TEST_CASE("id: counts, compares and prints as its number does") {
  Ticket ticket = 5;
  CHECK(ticket == 5);
  CHECK(ticket != Ticket{6});
  CHECK(ticket < 6);
  CHECK(7u > ticket);
  CHECK(ticket++ == 5);
  CHECK(++ticket == 7);
  CHECK(ticket-- == 7);
  CHECK(--ticket == 5);
  CHECK((ticket += 10) == 15);
  CHECK((ticket -= 1) == 14);
  CHECK(ticket + 1 == 15);
  CHECK(std::max(ticket, Ticket{20}) == 20);
  const std::uint64_t number = ticket;
  CHECK(number == ticket.value());
  CHECK(std::to_string(ticket) == "14");
  std::ostringstream out;
  out << ticket << ' ' << Shelf{3};
  CHECK(out.str() == "14 3");
  CHECK(Ticket{} == 0);
}

TEST_CASE("id: is a key, an index, and may be absent") {
  const std::vector<int> numbers{10, 11, 12};
  CHECK(numbers[Shelf{2}] == 12);
  std::optional<Shelf> shelf;
  CHECK(shelf != 3);
  shelf = 3;
  CHECK(shelf == 3);
  const std::map<Ticket, Shelf> ordered{{2, 20}, {1, 10}};
  CHECK(ordered.begin()->second == 10);
  const std::unordered_set<Ticket> hashed{1, 2, 2};
  CHECK(hashed.size() == 2);
  CHECK(hashed.contains(2));
  CHECK(std::hash<Ticket>{}(7) == std::hash<std::uint64_t>{}(7));
  std::atomic<Ticket> shared{1};
  shared.store(4);
  CHECK(shared.load() == 4);
}

TEST_CASE("id: another width is converted where the type is written") {
  CHECK(static_cast<Shelf>(std::size_t{9}) == 9);
  CHECK(Ticket{Shelf{4}.value()} == 4);
}

}  // namespace
}  // namespace hexad
