// Which keys the names of a collection have.
//
// The object NAME of a collection stands under the key `o` SPACE NAME (core/record/keys.h). A space
// is a number. Usually all names of a collection are in one space, whose number is the collection's
// id; once collections have been split and merged, a collection's names may be in several spaces,
// range by range. So objects go from one collection to another without a change of any of their
// keys: two collection records change, in one log record, and no state shows an object in both or
// in neither.
//
//   NR1 the parts of a collection cover all names: they ascend, and the first begins with the first
//   NR2 of one space no name belongs to two collections, or to one and to a removed collection
//       whose objects are still there (`d` keys)
//
// NR2 holds because ranges only change hands: a split exchanges a range of one collection, objects
// and all, for the same range of the other one, where no object is; a merge hands the ranges of the
// one that goes over where it has objects, and forgets those where it has none.
//
// doc/format.md#collection-record
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/record/keys.h"

namespace hexad::core {

// One part of a collection's names: from this one up to where the next part begins.
struct NamePart {
  std::string from;  // of the first part empty
  CollectionId space = 0;

  bool operator==(const NamePart&) const = default;
};

using NameParts = std::vector<NamePart>;  // NR1

// What a collection may have. More would make its record, which every use of a name reads, large.
inline constexpr std::size_t kMaxNameParts = 256;

// Names of [from, end) in one space; an empty `end`: to the last.
struct NameRange {
  CollectionId space = 0;
  std::string from;
  std::string end;

  std::string first_key() const { return object_key(space, from); }
  std::string end_key() const;  // behind the last
  bool has_key(std::string_view key) const { return key >= first_key() && key < end_key(); }
  bool operator==(const NameRange&) const = default;
};

// Of parts that are not empty.
CollectionId space_of(const NameParts& parts, std::string_view name);

// What the parts say about the names of [from, end), in ascending order, without gaps.
std::vector<NameRange> ranges_of(const NameParts& parts, std::string_view from = {},
                                 std::string_view end = {});

// The ranges as parts, neighbours of one space as one. Precondition: without gaps, from the first
// name to the last.
NameParts joined(const std::vector<NameRange>& ranges);

// `parts` with [from, end) as `other` has it.
NameParts with_range_of(const NameParts& parts, const NameParts& other, std::string_view from,
                        std::string_view end);

}  // namespace hexad::core
