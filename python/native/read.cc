#include "python/native/read.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "python/native/arguments.h"
#include "python/native/long_read.h"

namespace hexad::python {

namespace nb = nanobind;

namespace {

// Memory for so much is taken without asking how much there is: what is not written costs nothing.
constexpr std::uint64_t kAtOnce = 16 << 20;
// How often a reader follows an object that grows while it is read.
constexpr int kTries = 4;

[[noreturn]] void too_big(std::string_view name, std::uint64_t bytes) {
  fail(
      {ErrorCode::kTooBig,
       "a read of " + std::to_string(bytes) + " bytes; the limit is " + std::to_string(kMaxGetSize),
       "Read it in ranges, or with open_reader()."},
      name);
}

nb::object read_long(StoreHandle& handle, std::string_view collection, std::string_view name,
                     std::uint64_t offset, std::uint64_t length) {
  LongRead read(handle, collection, name, offset);
  const std::uint64_t wanted = std::min(length, read.left());
  if (wanted > kMaxGetSize) too_big(name, wanted);
  nb::object bytes = new_bytes(wanted);
  read.fill(memory_of(bytes));
  return bytes;
}

}  // namespace

nb::object new_bytes(std::uint64_t size) {
  nb::object bytes = nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size)));
  if (!bytes.is_valid()) throw nb::python_error();
  return bytes;
}

MutByteView memory_of(const nb::object& bytes) {
  return {reinterpret_cast<std::byte*>(PyBytes_AS_STRING(bytes.ptr())),
          static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.ptr()))};
}

void shrink(nb::object& bytes, std::uint64_t size) {
  if (memory_of(bytes).size() == size) return;
  PyObject* raw = bytes.release().ptr();
  if (_PyBytes_Resize(&raw, static_cast<Py_ssize_t>(size)) != 0) throw nb::python_error();
  bytes = nb::steal(raw);
}

ByteView part_of(ByteView bytes, std::uint64_t offset, std::uint64_t length) {
  const ByteView behind = bytes.subspan(std::min<std::uint64_t>(offset, bytes.size()));
  return behind.first(std::min<std::uint64_t>(length, behind.size()));
}

nb::object read_bytes(StoreHandle& handle, std::string_view collection, std::string_view name,
                      std::uint64_t offset, std::uint64_t length) {
  if (const auto cached =
          handle.run_at_once([&](Store& store) { return store.cached(collection, name); });
      cached.has_value()) {
    const ByteView part = part_of(cached->bytes(), offset, length);
    count_copied(part.size());
    return to_bytes(part);
  }
  const auto read = [&](MutByteView into) {
    return take(
        handle.run([&](Store& store) { return store.read(collection, name, offset, into); }), name);
  };
  // How much there is to read. Knowing it makes the record known, too, which the read takes then.
  const auto size = [&] {
    if (const auto cached =
            handle.run_at_once([&](Store& store) { return store.cached_stat(collection, name); });
        cached.has_value()) {
      return cached->size;
    }
    return take(handle.run([&](Store& store) { return store.stat(collection, name); }), name).size;
  };
  for (int i = 0; i < kTries; ++i) {
    std::uint64_t wanted = length;
    if (length > kAtOnce) {
      const std::uint64_t whole = size();
      const std::uint64_t there = whole > offset ? whole - offset : 0;
      if (std::min(length, there) > kMaxGetSize) too_big(name, std::min(length, there));
      if (std::min(length, there) > kReadStep) {
        return read_long(handle, collection, name, offset, length);
      }
      // One byte more than would do shows whether that was all.
      wanted = std::min(length, there + 1);
    }
    nb::object bytes = new_bytes(wanted);
    const std::uint64_t count = read(memory_of(bytes));
    if (count < wanted || wanted == length) {
      shrink(bytes, count);
      return bytes;
    }
  }
  const ByteRange range{offset, std::min(length, kMaxObjectSize)};
  return to_bytes(take(handle.run([&](Store& store) {
    return store.read_ranges(collection, name, std::span(&range, 1));
  }),
                       name));
}

nb::list read_ranges(StoreHandle& handle, std::string_view collection, std::string_view name,
                     std::span<const ByteRange> ranges) {
  std::uint64_t total = 0;
  for (const ByteRange& range : ranges) {
    if (add_overflows(total, range.length) || total + range.length > kMaxGetSize) {
      too_big(name, total + range.length);
    }
    total += range.length;
  }
  std::vector<nb::object> parts;
  std::vector<RangeInto> into;
  parts.reserve(ranges.size());
  into.reserve(ranges.size());
  for (const ByteRange& range : ranges) {
    parts.push_back(new_bytes(range.length));
    into.push_back({range.offset, memory_of(parts.back()), 0});
  }
  check(handle.run([&](Store& store) { return store.read_ranges(collection, name, into); }), name);
  nb::list result;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    shrink(parts[i], into[i].read);
    result.append(std::move(parts[i]));
  }
  return result;
}

}  // namespace hexad::python
