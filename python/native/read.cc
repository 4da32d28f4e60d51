#include "python/native/read.h"

#include <algorithm>
#include <optional>
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
// Bytes that are copied without letting other threads run: some microseconds.
constexpr std::uint64_t kCopiedAtOnce = 256 << 10;
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

// Asking makes the record known, too, which a read takes then.
std::uint64_t size_of(StoreHandle& handle, std::string_view collection, std::string_view name) {
  if (const auto cached =
          handle.run_at_once([&](Store& store) { return store.cached_size(collection, name); });
      cached.has_value()) {
    return *cached;
  }
  return take(handle.run([&](Store& store) { return store.stat(collection, name); }), name).size;
}

// A range that was cut into steps.
struct Step {
  RangeInto range;
  std::size_t of = 0;  // index of the whole range
};

std::vector<Step> cut_into_steps(std::span<const RangeInto> ranges) {
  std::vector<Step> steps;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    std::uint64_t offset = ranges[i].offset;
    for (MutByteView left = ranges[i].into; !left.empty();) {
      const MutByteView some = left.first(std::min<std::uint64_t>(left.size(), kReadStep));
      steps.push_back({{offset, some, 0}, i});
      left = left.subspan(some.size());
      offset += some.size();
    }
  }
  return steps;
}

// Reads them some at a time. They are of one state when the object was the same before and after.
void read_steps(StoreHandle& handle, std::string_view collection, std::string_view name,
                std::span<const Step> steps, std::span<RangeInto> ranges) {
  for (RangeInto& range : ranges) range.read = 0;
  for (std::size_t begin = 0; begin < steps.size();) {
    check_signals();
    std::vector<RangeInto> some;
    for (std::uint64_t bytes = 0; begin + some.size() < steps.size() && bytes < kReadStep;) {
      some.push_back(steps[begin + some.size()].range);
      bytes += some.back().into.size();
    }
    check(handle.run([&](Store& store) { return store.read_ranges(collection, name, some); }),
          name);
    for (const RangeInto& part : some) ranges[steps[begin++].of].read += part.read;
  }
}

void read_into(StoreHandle& handle, std::string_view collection, std::string_view name,
               std::uint64_t total, std::span<RangeInto> ranges) {
  if (total > kReadStep) {
    const std::vector<Step> steps = cut_into_steps(ranges);
    for (int i = 0; i < kTries; ++i) {
      const auto version = [&] {
        return take(handle.run([&](Store& store) { return store.stat(collection, name); }), name)
            .version;
      };
      const Lsn before = version();
      read_steps(handle, collection, name, steps, ranges);
      if (version() == before) return;
    }
  }
  check(handle.run([&](Store& store) { return store.read_ranges(collection, name, ranges); }),
        name);
}

// What several ranges of an object of `size` bytes lie in.
struct Span {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool is_cut = false;  // one of them goes on behind the object's end
};

Span span_of(std::uint64_t size, std::span<const ByteRange> ranges) {
  Span span{size, 0, false};
  for (const ByteRange& range : ranges) {
    const std::uint64_t offset = std::min(range.offset, size);
    const std::uint64_t length = std::min(range.length, size - offset);
    span.begin = std::min(span.begin, offset);
    span.end = std::max(span.end, offset + length);
    span.is_cut = span.is_cut || length < range.length;
  }
  if (span.end < span.begin) span.end = span.begin;
  return span;
}

// The ranges of an object as bytes, from a piece of it that has them all and begins at `begin`;
// None: together they are long.
nb::object parts_of(ByteView piece, std::uint64_t begin, std::span<const ByteRange> ranges) {
  const auto part = [&](const ByteRange& range) {
    return part_of(piece, range.offset - std::min(range.offset, begin), range.length);
  };
  std::uint64_t total = 0;
  for (const ByteRange& range : ranges) {
    total += part(range).size();
    if (total > kCopiedAtOnce) return nb::none();
  }
  nb::list parts;
  for (const ByteRange& range : ranges) parts.append(to_bytes(part(range)));
  count_copied(total);
  return parts;
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

std::optional<nb::object> cached_part(StoreHandle& handle, std::string_view collection,
                                      std::string_view name, std::uint64_t offset,
                                      std::uint64_t length) {
  const auto cached =
      handle.run_at_once([&](Store& store) { return store.cached(collection, name); });
  if (!cached.has_value()) return std::nullopt;
  const ByteView part = part_of(cached->bytes(), offset, length);
  count_copied(part.size());
  return to_bytes(part);
}

nb::object read_bytes(StoreHandle& handle, std::string_view collection, std::string_view name,
                      std::uint64_t offset, std::uint64_t length) {
  const auto read = [&](MutByteView into) {
    return take(
        handle.run([&](Store& store) { return store.read(collection, name, offset, into); }), name);
  };
  for (int i = 0; i < kTries; ++i) {
    std::uint64_t wanted = length;
    if (length > kAtOnce) {
      const std::uint64_t whole = size_of(handle, collection, name);
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

std::uint64_t read_into(StoreHandle& handle, std::string_view collection, std::string_view name,
                        std::uint64_t offset, MutByteView into) {
  if (into.size() <= kReadStep) {
    return take(
        handle.run([&](Store& store) { return store.read(collection, name, offset, into); }), name);
  }
  LongRead read(handle, collection, name, offset);
  const MutByteView there = into.first(std::min<std::uint64_t>(into.size(), read.left()));
  read.fill(there);
  return there.size();
}

nb::object read_if_cached(StoreHandle& handle, std::string_view collection, std::string_view name,
                          std::uint64_t offset, std::uint64_t length) {
  if (std::optional<nb::object> part = cached_part(handle, collection, name, offset, length)) {
    return *std::move(part);
  }
  std::uint64_t wanted = length;
  if (wanted > kCopiedAtOnce) {
    const auto size =
        handle.run_at_once([&](Store& store) { return store.cached_size(collection, name); });
    if (!size.has_value()) return nb::none();
    wanted = std::min(length, *size > offset ? *size - offset : 0);
    if (wanted > kCopiedAtOnce) return nb::none();
    // One byte more shows whether that is all, of a newer version, too.
    if (wanted < length) ++wanted;
  }
  nb::object bytes = new_bytes(wanted);
  const auto count = handle.run_at_once(
      [&](Store& store) { return store.cached_read(collection, name, offset, memory_of(bytes)); });
  if (!count.has_value() || (*count == wanted && wanted != length)) return nb::none();
  shrink(bytes, *count);
  return bytes;
}

// One state is shown by the versions before and behind, or by a single read of all that lies
// between the ranges. An object with pages tells no version at once.
nb::object read_ranges_if_cached(StoreHandle& handle, std::string_view collection,
                                 std::string_view name, std::span<const ByteRange> ranges,
                                 bool unchanging) {
  if (const auto cached =
          handle.run_at_once([&](Store& store) { return store.cached(collection, name); });
      cached.has_value()) {
    return parts_of(cached->bytes(), 0, ranges);
  }
  const auto version = [&]() -> std::optional<Lsn> {
    const auto stat =
        handle.run_at_once([&](Store& store) { return store.cached_stat(collection, name); });
    return stat.has_value() ? std::optional(stat->version) : std::nullopt;
  };
  const std::optional<Lsn> before = version();
  const auto size =
      handle.run_at_once([&](Store& store) { return store.cached_size(collection, name); });
  if (!size.has_value()) return nb::none();
  const auto read = [&](std::uint64_t offset, MutByteView into) {
    return handle.run_at_once(
        [&](Store& store) { return store.cached_read(collection, name, offset, into); });
  };
  if (!unchanging && !before.has_value()) {
    const Span span = span_of(*size, ranges);
    if (span.end - span.begin > kCopiedAtOnce) return nb::none();
    // One byte more shows whether the object still ends there.
    nb::object bytes = new_bytes(span.end - span.begin + (span.is_cut ? 1 : 0));
    const auto count = read(span.begin, memory_of(bytes));
    if (!count.has_value() || *count != span.end - span.begin) return nb::none();
    return parts_of(memory_of(bytes).first(*count), span.begin, ranges);
  }
  std::vector<nb::object> parts;
  parts.reserve(ranges.size());
  std::uint64_t total = 0;
  for (const ByteRange& range : ranges) {
    const std::uint64_t offset = std::min(range.offset, *size);
    const std::uint64_t length = std::min(range.length, *size - offset);
    total += length;
    if (total > kCopiedAtOnce) return nb::none();
    parts.push_back(new_bytes(length));
    if (length > 0 && read(offset, memory_of(parts.back())) != length) return nb::none();
  }
  if (!unchanging && version() != before) return nb::none();
  nb::list result;
  for (nb::object& part : parts) result.append(std::move(part));
  return result;
}

nb::object read_if_long(StoreHandle& handle, std::string_view collection, std::string_view name) {
  if (size_of(handle, collection, name) <= kReadStep) return {};
  return read_long(handle, collection, name, 0, ~std::uint64_t{0});
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
  read_into(handle, collection, name, total, into);
  nb::list result;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    shrink(parts[i], into[i].read);
    result.append(std::move(parts[i]));
  }
  return result;
}

}  // namespace hexad::python
