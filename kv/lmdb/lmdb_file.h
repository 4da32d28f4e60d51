// The file below an LMDB environment, without LMDB: what its two meta pages say, its size, its
// lock. Inside the index; lmdb_index.h is what others include.
//
// The few facts about LMDB 0.9's format that are used here (64-bit, little-endian): page 0 and 1
// are meta pages; the one with the higher transaction number counts (doc/format.md, "LMDB index").
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/error.h"
#include "io/fork_mark.h"
#include "io/system.h"

namespace hexad::kv {

// One B+tree as a meta page or a named database records it.
struct LmdbTree {
  std::uint16_t flags = 0;
  std::uint16_t depth = 0;
  std::uint64_t entries = 0;
  std::uint64_t root = 0;  // page; kNoPage when empty
};
inline constexpr std::uint64_t kNoLmdbPage = ~std::uint64_t{0};
inline constexpr std::size_t kLmdbTreeSize = 48;  // bytes
// `bytes`: at least kLmdbTreeSize of them.
LmdbTree decode_lmdb_tree(ByteView bytes);

struct LmdbMeta {
  std::uint64_t page_size = 0;  // bytes
  std::uint64_t last_page = 0;  // the highest page number that was ever handed out
  std::uint64_t transaction = 0;
  std::array<LmdbTree, 2> trees;  // free pages, main
};

// An open data.mdb with an advisory lock that excludes writers from readers. Whoever opened it
// gives the lock up when it closes it, also for children that were forked meanwhile.
class LmdbFile {
 public:
  // Opens dir/data.mdb, which has to be a regular file. Does not follow a link.
  // Errors: kNotFound, kBusy (another index has it open), kInvalidArgument, kReadOnly, kIo.
  static Result<LmdbFile> open(const std::string& dir, io::OpenMode mode);
  LmdbFile(LmdbFile&& other) noexcept;
  LmdbFile& operator=(LmdbFile&& other) noexcept;
  ~LmdbFile();

  const std::string& path() const { return path_; }
  Result<std::uint64_t> size() const;
  // The newer of the meta pages, with the file at least as long as it says.
  // Errors: kCorruption (not LMDB 0.9, short), kIo.
  Result<LmdbMeta> read_meta() const;
  // Reads exactly. Errors: kCorruption (behind the end), kIo.
  Status read(std::uint64_t offset, MutByteView into) const;
  // Whether the open file `descriptor` is this one, which had the name before.
  // Errors: kCorruption (it is not), kIo.
  Status check_same(int descriptor) const;
  // Extends to `size` bytes with space that is allocated where the file system can, and syncs.
  // Errors: kNoSpace, kIo.
  Status extend(std::uint64_t size) const;

 private:
  LmdbFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  io::ForkMark process_;  // whose lock it is
  std::string path_;
  int fd_ = -1;
};

// mkdir and fsync of the parent; an existing directory is fine. Errors: kReadOnly, kNoSpace, kIo.
Status make_lmdb_dir(const std::string& dir);
// Makes the names in `dir` durable. Errors: kIo.
Status sync_lmdb_dir(const std::string& dir);
// Creates an empty dir/data.mdb, mode 0600, when there is none; true when it did.
// Errors: kReadOnly, kNoSpace, kIo.
Result<bool> create_lmdb_file(const std::string& dir);
// A new, empty dir/lock.mdb in place of any that is there, with room for so many readers. LMDB
// would make it sparse and write to it through a mapping: where the file system has no page left,
// that ends the process. Precondition: nobody else has the index open. Errors: kNoSpace, kReadOnly,
// kIo.
Status create_lmdb_lock(const std::string& dir, std::uint32_t readers);
// Only when empty; what else lies in it stays. Errors: kReadOnly, kIo.
Status remove_lmdb_dir(const std::string& dir);
// Bytes that files in `dir`, which may be missing, could have on its file system yet. Nothing: its
// parent is not there either.
std::optional<std::uint64_t> lmdb_room(const std::string& dir);
// A missing file is fine. Errors: kReadOnly, kIo.
Status remove_file(const std::string& path);

// "what: strerror" with the code that errno `number` means to a caller.
Error system_error(int number, std::string what);

}  // namespace hexad::kv
