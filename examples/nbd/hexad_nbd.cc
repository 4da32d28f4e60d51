// A plugin of nbdkit that serves one object of a pool as a disk (doc/nbd.md):
//
//   nbdkit ./hexad_nbd.so /pool object=disk size=10G
//
// NBD promises what a disk with a volatile write cache does: a write is answered when everybody
// reads it, a flush makes durable what was answered before it, and a write with FUA ("force unit
// access") is answered when it is durable itself. These are hexad's buffered commit,
// Store::sync() and durable commit. In a crash buffered commits are lost from the end only, which
// is more than NBD asks for. All connections share one store, so a flush on one of them holds for
// the writes of all.
#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>
// What the registration at the end expands.
#define THREAD_MODEL NBDKIT_THREAD_MODEL_PARALLEL

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "examples/nbd/disk.h"

namespace {

using hexad::ByteRange;
using hexad::ErrorCode;
using hexad::Status;

// What clients had better not go beyond in one request, bytes; half of what a transaction takes.
constexpr std::uint32_t kLargestRequest = 32 << 20;
// Nothing is read to write less than this, but it is the least that takes space of its own in most
// pools, bytes.
constexpr std::uint32_t kPreferredRequest = 4096;

// The callbacks of a plugin have no argument to find it by.
struct Plugin {
  std::string directory;  // of the pool; absolute, because a server in the background is in /
  hexad_nbd::DiskOptions options;
  hexad::PoolDescription pool;
  std::unique_ptr<hexad_nbd::Disk> disk;  // from after_fork() to cleanup()
};
Plugin plugin;

// For the client, who gets a number only. nbdkit sends those that NBD does not know as EINVAL or
// EPERM.
int error_number(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNoSpace:
      return ENOSPC;
    case ErrorCode::kReadOnly:
      return EROFS;
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kTooBig:
      return EINVAL;
    case ErrorCode::kClosed:
      return ESHUTDOWN;
    default:  // kUnavailable, kIo, kCorruption, kUnknown: the data is not to be had
      return EIO;
  }
}

// What a callback returns. The words go to the server's standard error or to the system's log.
int answer(const Status& status) {
  if (status.ok()) return 0;
  nbdkit_error("%s", status.error().to_string().c_str());
  nbdkit_set_error(error_number(status.error().code));
  return -1;
}

hexad::Durability durability_of(std::uint32_t flags) {
  return (flags & NBDKIT_FLAG_FUA) != 0 ? hexad::Durability::kDurable
                                        : hexad::Durability::kBuffered;
}

// --- the server's life ----------------------------------------------------------------------

int parse_bytes(const char* value, std::optional<std::uint64_t>& into) {
  const std::int64_t bytes = nbdkit_parse_size(value);
  if (bytes < 0) return -1;  // it has said why
  into = static_cast<std::uint64_t>(bytes);
  return 0;
}

int config(const char* key, const char* value) {
  const std::string_view name = key;
  if (name == "pool") {
    char* absolute = nbdkit_realpath(value);
    if (absolute == nullptr) return -1;  // it has said why
    plugin.directory = absolute;
    std::free(absolute);
    return 0;
  }
  if (name == "size") return parse_bytes(value, plugin.options.size);
  if (name == "cache-size") return parse_bytes(value, plugin.options.cache_size);
  if (name == "collection") {
    plugin.options.collection = value;
    return 0;
  }
  if (name == "object") {
    plugin.options.object = value;
    return 0;
  }
  nbdkit_error("there is no parameter '%s'; type: nbdkit hexad_nbd.so --help", key);
  return -1;
}

int config_complete() {
  if (!plugin.directory.empty() && !plugin.options.object.empty()) return 0;
  nbdkit_error("pool=DIRECTORY and object=NAME are needed");
  return -1;
}

// Still in the foreground: the user sees what is wrong with the pool's description.
int get_ready() {
  hexad::Result<hexad::PoolDescription> pool = hexad::read_pool(plugin.directory);
  if (!pool.ok()) return answer(pool.status());
  plugin.pool = std::move(pool).value();
  return 0;
}

// Not before: the store's threads and rings would stay in the parent.
int after_fork() {
  hexad::Result<std::unique_ptr<hexad_nbd::Disk>> disk =
      hexad_nbd::Disk::open(plugin.pool, plugin.options);
  if (!disk.ok()) return answer(disk.status());
  plugin.disk = std::move(disk).value();
  return 0;
}

// Every connection is closed. What fails here costs the next opening a recovery, and no data that
// was flushed.
void cleanup() {
  if (plugin.disk == nullptr) return;
  answer(plugin.disk->close());
  plugin.disk.reset();
}

// --- the disk -------------------------------------------------------------------------------

void* open_connection(int /*readonly*/) { return NBDKIT_HANDLE_NOT_NEEDED; }

std::int64_t get_size(void* /*handle*/) { return static_cast<std::int64_t>(plugin.disk->size()); }

int can_multi_conn(void* /*handle*/) { return 1; }

int can_fua(void* /*handle*/) { return NBDKIT_FUA_NATIVE; }

// zero() makes a hole at once or refuses at once.
int can_fast_zero(void* /*handle*/) { return 1; }

int block_size(void* /*handle*/, std::uint32_t* minimum, std::uint32_t* preferred,
               std::uint32_t* maximum) {
  *minimum = 1;
  *preferred = kPreferredRequest;
  *maximum = kLargestRequest;
  return 0;
}

int pread(void* /*handle*/, void* into, std::uint32_t count, std::uint64_t offset,
          std::uint32_t /*flags*/) {
  return answer(plugin.disk->read(offset, {static_cast<std::byte*>(into), count}));
}

int pwrite(void* /*handle*/, const void* data, std::uint32_t count, std::uint64_t offset,
           std::uint32_t flags) {
  return answer(plugin.disk->write(offset, {static_cast<const std::byte*>(data), count},
                                   durability_of(flags)));
}

int flush(void* /*handle*/, std::uint32_t /*flags*/) { return answer(plugin.disk->flush()); }

int trim(void* /*handle*/, std::uint32_t count, std::uint64_t offset, std::uint32_t flags) {
  return answer(plugin.disk->punch({offset, count}, durability_of(flags)));
}

int zero(void* handle, std::uint32_t count, std::uint64_t offset, std::uint32_t flags) {
  // A client that wants no hole wants the space taken: nbdkit then writes zeros, which are data.
  if ((flags & NBDKIT_FLAG_MAY_TRIM) == 0) {
    nbdkit_set_error(EOPNOTSUPP);
    return -1;
  }
  return trim(handle, count, offset, flags);
}

// nbdkit wants the range covered without gaps.
int extents(void* /*handle*/, std::uint32_t count, std::uint64_t offset, std::uint32_t /*flags*/,
            nbdkit_extents* into) {
  const hexad::Result<std::vector<ByteRange>> data = plugin.disk->data_in({offset, count});
  if (!data.ok()) return answer(data.status());
  constexpr std::uint32_t kHole = NBDKIT_EXTENT_HOLE | NBDKIT_EXTENT_ZERO;
  std::uint64_t at = offset;
  for (const ByteRange& range : *data) {
    if (nbdkit_add_extent(into, at, range.offset - at, kHole) != 0) return -1;
    if (nbdkit_add_extent(into, range.offset, range.length, 0) != 0) return -1;
    at = range.offset + range.length;
  }
  return nbdkit_add_extent(into, at, offset + count - at, kHole);
}

nbdkit_plugin callbacks = {
    .name = "hexad",
    .longname = "hexad object",
    .description = "One object of a hexad pool as a disk",
    .config = config,
    .config_complete = config_complete,
    .config_help =
        "pool=DIRECTORY   (required) The pool, as `hexad mkfs` has made it.\n"
        "object=NAME      (required) The object.\n"
        "collection=NAME  Its collection; `default` if not given.\n"
        "size=SIZE        Makes a missing object, as one hole.\n"
        "cache-size=SIZE  Memory for what was read; 256M if not given, 0 for none.",
    .open = open_connection,
    .get_size = get_size,
    .can_fua = can_fua,
    .pread = pread,
    .pwrite = pwrite,
    .flush = flush,
    .trim = trim,
    .zero = zero,
    .magic_config_key = "pool",
    .can_multi_conn = can_multi_conn,
    .extents = extents,
    .can_fast_zero = can_fast_zero,
    .get_ready = get_ready,
    .after_fork = after_fork,
    .cleanup = cleanup,
    .block_size = block_size,
};

}  // namespace

NBDKIT_REGISTER_PLUGIN(callbacks)
