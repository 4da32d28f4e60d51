#include "kv/run/run_columns.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/assert.h"

namespace hexad::kv {
namespace {

// Calls copy(place in the values, place in the columns) for every byte.
template <typename Copy>
void for_each_place(std::size_t bytes, std::span<const std::uint32_t> sizes, Copy copy) {
  struct Rest {
    std::size_t at;
    std::size_t end;
  };
  std::vector<Rest> open;  // of the values that have bytes in this column
  open.reserve(sizes.size());
  std::size_t value = 0;
  for (const std::uint32_t size : sizes) {
    if (size > 0) open.push_back({value, value + size});
    value += size;
  }
  HEXAD_ASSERT(value == bytes);
  std::size_t column = 0;
  while (!open.empty()) {
    // All columns up to the one in which the next value ends.
    std::size_t columns = bytes;
    for (const Rest& rest : open) columns = std::min(columns, rest.end - rest.at);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < open.size(); ++i) {
      Rest rest = open[i];
      for (std::size_t j = 0; j < columns; ++j) copy(rest.at + j, column + j * open.size() + i);
      rest.at += columns;
      if (rest.at < rest.end) open[kept++] = rest;
    }
    column += columns * open.size();
    open.resize(kept);
  }
}

}  // namespace

std::string to_columns(std::string_view values, std::span<const std::uint32_t> sizes) {
  std::string columns(values.size(), '\0');
  for_each_place(values.size(), sizes,
                 [&](std::size_t from, std::size_t to) { columns[to] = values[from]; });
  return columns;
}

std::string from_columns(std::string_view columns, std::span<const std::uint32_t> sizes) {
  std::string values(columns.size(), '\0');
  for_each_place(columns.size(), sizes,
                 [&](std::size_t to, std::size_t from) { values[to] = columns[from]; });
  return values;
}

}  // namespace hexad::kv
