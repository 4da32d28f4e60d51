#include "examples/nbd/disk.h"

#include <utility>

namespace hexad_nbd {

namespace {

using hexad::Error;
using hexad::ErrorCode;
using hexad::Result;
using hexad::Status;

// The size of the object that the options name, which is there when this returns.
Result<std::uint64_t> find_or_make(hexad::Store& store, const DiskOptions& options) {
  const std::string subject = "object " + options.collection + "/" + options.object;
  const Result<hexad::ObjectStat> found = store.stat(options.collection, options.object);
  if (found.ok()) {
    if (options.size.value_or(found.value().size) == found.value().size) return found.value().size;
    return Error{ErrorCode::kInvalidArgument,
                 subject + " has " + std::to_string(found.value().size) + " bytes, not " +
                     std::to_string(*options.size),
                 "Leave size out to serve it as it is."};
  }
  if (found.error().code != ErrorCode::kNotFound) return found.error();
  if (!options.size.has_value()) {
    return Error{ErrorCode::kNotFound, subject + " is not in the pool",
                 "size=SIZE makes it, as one hole of that size."};
  }
  hexad::Transaction make;
  make.create(options.collection, options.object);
  make.truncate(options.collection, options.object, *options.size);
  HEXAD_TRY(store.commit(std::move(make)).status());
  return *options.size;
}

}  // namespace

Disk::Disk(hexad::Store store, DiskOptions options, std::uint64_t size)
    : store_(std::move(store)), options_(std::move(options)), size_(size) {}

Result<std::unique_ptr<Disk>> Disk::open(const hexad::PoolDescription& pool,
                                         const DiskOptions& options) {
  hexad::RuntimeOptions runtime;
  if (options.cache_size.has_value()) runtime.cache_size = *options.cache_size;
  HEXAD_TRY_ASSIGN(hexad::Store store, hexad::Store::open(pool, runtime));
  // Without it others are told who has the pool.
  store.serve_control().ignore();
  HEXAD_TRY_ASSIGN(const std::uint64_t size, find_or_make(store, options));
  return std::unique_ptr<Disk>(new Disk(std::move(store), options, size));
}

Status Disk::read(std::uint64_t offset, hexad::MutByteView into) {
  HEXAD_TRY_ASSIGN(const std::uint64_t got,
                   store_.read(options_.collection, options_.object, offset, into));
  if (got == into.size()) return hexad::ok_status();
  return Error{ErrorCode::kIo, "object " + options_.collection + "/" + options_.object + " has " +
                                   std::to_string(got) + " of the " + std::to_string(into.size()) +
                                   " bytes at " + std::to_string(offset)};
}

Status Disk::write(std::uint64_t offset, hexad::ByteView data, hexad::Durability durability) {
  hexad::Transaction change;
  change.write(options_.collection, options_.object, offset, data);
  return store_.commit(std::move(change), {.durability = durability}).status();
}

Status Disk::punch(const hexad::ByteRange& range, hexad::Durability durability) {
  hexad::Transaction change;
  change.zero(options_.collection, options_.object, range.offset, range.length);
  return store_.commit(std::move(change), {.durability = durability}).status();
}

Result<std::vector<hexad::ByteRange>> Disk::data_in(const hexad::ByteRange& range) {
  return store_.extents(options_.collection, options_.object, range);
}

}  // namespace hexad_nbd
