#include "python/native/long_read.h"

#include <hexad/base/checksum.h>

#include <algorithm>

#include "python/native/errors.h"

namespace hexad::python {

namespace nb = nanobind;

namespace {

constexpr std::uint64_t kSummedAtOnce = 4 << 20;

}  // namespace

LongRead::LongRead(StoreHandle& handle, std::string_view collection, std::string_view name,
                   std::uint64_t offset)
    : handle_(handle),
      hold_(handle),
      name_(name),
      part_(open_part<ObjectReader>(
          handle, name, [&](Store& store) { return store.open_reader(collection, name); })) {
  const auto begin = [offset](ObjectReader& reader) -> Result<ObjectStat> {
    reader.seek(offset);
    return reader.stat();
  };
  const ObjectStat stat = take(handle.run([&](Store&) { return part_->with(begin); }), name);
  left_ = stat.size > offset ? stat.size - offset : 0;
  version_ = stat.version;
}

LongRead::~LongRead() {
  const WithoutGil unlocked;
  part_->end();
}

std::uint64_t LongRead::step(MutByteView into) {
  const MutByteView some = into.first(std::min<std::uint64_t>(into.size(), kReadStep));
  const auto read = [some](ObjectReader& reader) { return reader.read(some); };
  const std::uint64_t count = take(handle_.run([&](Store&) { return part_->with(read); }), name_);
  left_ -= count;
  return count;
}

void LongRead::fill(MutByteView into) {
  while (!into.empty()) {
    check_signals();
    into = into.subspan(step(into));
  }
}

RangeChecksum checksum(StoreHandle& handle, std::string_view collection, std::string_view name,
                       const ByteRange& range, ChecksumType type) {
  LongRead read(handle, collection, name, range.offset);
  RangeChecksum result;
  result.length = std::min(range.length, read.left());
  result.version = read.version();
  RunningChecksum sum(type);
  Bytes buffer(std::min(result.length, kSummedAtOnce));
  for (std::uint64_t done = 0; done < result.length;) {
    check_signals();
    const std::uint64_t count =
        read.step(MutByteView(buffer).first(std::min(result.length - done, kSummedAtOnce)));
    const WithoutGil unlocked;
    sum.add(ByteView(buffer).first(count));
    done += count;
  }
  result.value = sum.value();
  return result;
}

}  // namespace hexad::python
