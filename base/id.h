// Numbers that identify things, as a type for each kind of thing.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <functional>
#include <limits>

namespace hexad {

template <typename Tag, std::integral Rep>
class Id;

// Whether a type is an Id of something.
template <typename T>
inline constexpr bool kIsId = false;
template <typename Tag, typename Rep>
inline constexpr bool kIsId<Id<Tag, Rep>> = true;

// A number that converts from and to its representation by itself, so that it is counted, printed,
// encoded and used as an index like one; but not from or to an Id of something else, with which it
// is not compared either. Where that is meant, LogPosition{lsn.value()} says so.
//
// `Tag` is a type that needs no definition: using Lsn = Id<struct LsnTag, std::uint64_t>.
template <typename Tag, std::integral Rep>
class Id {
 public:
  using Representation = Rep;

  constexpr Id() = default;  // 0
  // NOLINTNEXTLINE(google-explicit-constructor): numbers become ids where they are passed as such
  constexpr Id(Rep value) : value_(value) {}
  // From a number of another width only where the type is written: static_cast<DeviceId>(size).
  template <std::integral Number>
  requires(!std::same_as<Number, Rep>) constexpr explicit Id(Number value)
      : value_(static_cast<Rep>(value)) {}
  // This is an id of something else; its value() would be needed.
  template <typename Other>
  requires(kIsId<Other> && !std::same_as<Other, Id>) Id(const Other&)
  = delete;  // NOLINT(google-explicit-constructor)
  template <typename Other>
  requires(kIsId<Other> && !std::same_as<Other, Id>) Id& operator=(const Other&) = delete;

  // NOLINTNEXTLINE(google-explicit-constructor): ids are used as numbers
  constexpr operator Rep() const { return value_; }
  constexpr Rep value() const { return value_; }

  constexpr Id& operator++() {
    ++value_;
    return *this;
  }
  constexpr Id operator++(int) {
    const Id before = *this;
    ++value_;
    return before;
  }
  constexpr Id& operator--() {
    --value_;
    return *this;
  }
  constexpr Id operator--(int) {
    const Id before = *this;
    --value_;
    return before;
  }
  constexpr Id& operator+=(Rep by) {
    value_ += by;
    return *this;
  }
  constexpr Id& operator-=(Rep by) {
    value_ -= by;
    return *this;
  }

 private:
  Rep value_ = 0;
};

// Templates, so that nothing is converted for them: with numbers, ids are compared as numbers.
template <typename Tag, typename Rep>
constexpr bool operator==(Id<Tag, Rep> a, Id<Tag, Rep> b) {
  return a.value() == b.value();
}
template <typename Tag, typename Rep>
constexpr std::strong_ordering operator<=>(Id<Tag, Rep> a, Id<Tag, Rep> b) {
  return a.value() <=> b.value();
}
// These are ids of different things.
template <typename TagA, typename RepA, typename TagB, typename RepB>
requires(!std::same_as<Id<TagA, RepA>, Id<TagB, RepB>>) bool operator==(Id<TagA, RepA> a,
                                                                        Id<TagB, RepB> b) = delete;
template <typename TagA, typename RepA, typename TagB, typename RepB>
requires(!std::same_as<Id<TagA, RepA>, Id<TagB, RepB>>) std::strong_ordering operator<=>(
    Id<TagA, RepA> a, Id<TagB, RepB> b) = delete;

// What fmt and nlohmann::json look for: there an id is a number, too.
template <typename Tag, typename Rep>
constexpr Rep format_as(Id<Tag, Rep> id) {
  return id.value();
}
template <typename Json, typename Tag, typename Rep>
void to_json(Json& json, Id<Tag, Rep> id) {
  json = id.value();
}

}  // namespace hexad

template <typename Tag, typename Rep>
struct std::hash<hexad::Id<Tag, Rep>> {
  std::size_t operator()(hexad::Id<Tag, Rep> id) const { return std::hash<Rep>{}(id.value()); }
};

// As of its representation; max() and the like would be 0 without.
template <typename Tag, typename Rep>
class std::numeric_limits<hexad::Id<Tag, Rep>> : public std::numeric_limits<Rep> {
 public:
  static constexpr hexad::Id<Tag, Rep> min() { return std::numeric_limits<Rep>::min(); }
  static constexpr hexad::Id<Tag, Rep> lowest() { return std::numeric_limits<Rep>::lowest(); }
  static constexpr hexad::Id<Tag, Rep> max() { return std::numeric_limits<Rep>::max(); }
};
