// What a listing should give, the naive way: out of a map of all names.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/api/types.h"
#include "io/rng.h"

namespace hexad::testing {

struct ListedObject {
  std::uint64_t size = 0;
  Lsn version = 0;
};
using ListedNames = std::map<std::string, ListedObject>;

inline ListPage naive_page(const ListedNames& names, const ListOptions& options) {
  const auto text = std::make_shared<std::deque<std::string>>();
  std::vector<ListEntry> all;
  for (const auto& [name, object] : names) {
    if (!name.starts_with(options.prefix)) continue;
    ListEntry listed = {text->emplace_back(name), object.size, object.version, false};
    if (!options.delimiter.empty()) {
      const std::size_t cut = name.find(options.delimiter, options.prefix.size());
      if (cut != std::string::npos) {
        listed = {listed.name.substr(0, cut + options.delimiter.size()), 0, 0, true};
      }
    }
    if (!options.start_after.empty()) {
      if (options.reverse ? name >= options.start_after : name <= options.start_after) continue;
      // What was listed as a common prefix stands for all below it.
      if (listed.common_prefix && listed.name == options.start_after) continue;
    }
    if (all.empty() || all.back().name != listed.name) all.push_back(listed);
  }
  if (options.reverse) std::reverse(all.begin(), all.end());
  ListPage page;
  if (options.limit == 0) return page;
  if (all.size() > options.limit) {
    all.resize(options.limit);
    page.next = all.back().name;
  }
  page.entries = std::move(all);
  page.text = text;
  return page;
}

// "" or what differs.
inline std::string difference(const ListPage& page, const ListPage& expected) {
  for (std::size_t i = 0; i < std::min(page.entries.size(), expected.entries.size()); ++i) {
    const ListEntry& a = page.entries[i];
    const ListEntry& b = expected.entries[i];
    if (a.name != b.name || a.size != b.size || a.version != b.version ||
        a.common_prefix != b.common_prefix) {
      return "entry " + std::to_string(i) + " differs";
    }
  }
  if (page.entries.size() != expected.entries.size()) {
    return std::to_string(page.entries.size()) + " entries instead of " +
           std::to_string(expected.entries.size());
  }
  return page.next == expected.next ? "" : "next differs";
}

// Names with much in common, delimiters at either end and twice in a row, the lowest and the
// highest bytes, some so long that the index cuts them.
inline std::string random_listed_name(io::Rng& rng) {
  static constexpr char kBytes[] = {'\x00', 'a', 'b', '/', '/', '\x01', '\xfe', '\xff'};
  std::string name;
  if (rng.chance(1, 6)) name.assign(470 + rng.below(20), rng.chance(1, 2) ? 'a' : '\xff');
  for (std::uint64_t i = 1 + rng.below(7); i > 0; --i) name += kBytes[rng.below(sizeof(kBytes))];
  return name;
}

// All kinds of options, starts and prefixes taken from `names` or near them.
inline ListOptions random_list_options(io::Rng& rng, const ListedNames& names) {
  const auto near_a_name = [&] {
    std::string text = random_listed_name(rng);
    if (!names.empty() && rng.chance(3, 4)) {
      text = std::next(names.begin(), static_cast<std::ptrdiff_t>(rng.below(names.size())))->first;
    }
    text.resize(rng.chance(1, 2) ? text.size() : rng.below(text.size() + 1));
    return text;
  };
  static const std::string kDelimiters[] = {
      "", "/", "/", "/", "//", "a", "b/", "\xff", std::string(1, '\0'), std::string("/\0", 2)};
  ListOptions options;
  if (rng.chance(1, 2)) options.prefix = near_a_name();
  if (options.prefix.size() > 3 && rng.chance(1, 2)) options.prefix.resize(rng.below(3));
  if (rng.chance(1, 2)) options.start_after = near_a_name();
  options.delimiter = kDelimiters[rng.below(std::size(kDelimiters))];
  options.limit = rng.chance(1, 10) ? rng.next() : rng.below(12);
  options.reverse = rng.chance(1, 2);
  return options;
}

}  // namespace hexad::testing
