#include "kv/run_columns.h"

#include <cstddef>
#include <vector>

#include "base/assert.h"

namespace hexad::kv {
namespace {

// Calls copy(place in the values, place in the columns, length) for all bytes.
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
  while (open.size() > 1) {
    std::size_t kept = 0;
    for (Rest rest : open) {
      copy(rest.at++, column++, 1);
      if (rest.at < rest.end) open[kept++] = rest;
    }
    open.resize(kept);
  }
  // The longest is by itself from here on.
  if (!open.empty()) copy(open[0].at, column, open[0].end - open[0].at);
}

}  // namespace

std::string to_columns(std::string_view values, std::span<const std::uint32_t> sizes) {
  std::string columns(values.size(), '\0');
  for_each_place(values.size(), sizes, [&](std::size_t from, std::size_t to, std::size_t length) {
    columns[to] = values[from];
    if (length > 1) values.copy(columns.data() + to, length, from);
  });
  return columns;
}

std::string from_columns(std::string_view columns, std::span<const std::uint32_t> sizes) {
  std::string values(columns.size(), '\0');
  for_each_place(columns.size(), sizes, [&](std::size_t to, std::size_t from, std::size_t length) {
    values[to] = columns[from];
    if (length > 1) columns.copy(values.data() + to, length, from);
  });
  return values;
}

}  // namespace hexad::kv
