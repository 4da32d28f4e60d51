// Whole LMDB files: a small index with edits in its pages, or cut short. The check trusts nothing;
// and what it lets pass LMDB can read, from end to end and either way, though it trusts everything.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/assert.h"
#include "base/codec.h"
#include "base/units.h"
#include "io/executor.h"
#include "kv/lmdb/lmdb_check.h"
#include "kv/lmdb/lmdb_file.h"
#include "kv/lmdb/lmdb_index.h"
#include "tests/io/temporary.h"
#include "tools/build/fuzz_seeds.h"

using namespace hexad;
using namespace hexad::kv;

namespace {

constexpr std::size_t kMostEdits = 12;
constexpr std::uint64_t kPage = 4096;  // bytes
constexpr std::size_t kCut = 0xff;     // in the place of a page: the file ends here

// An index with entries of every kind: inline and long keys, values in pages of their own; of
// several levels, with pages that were freed.
class Fixture {
 public:
  Fixture() {
    options_.dir = temporary_.path("index");
    options_.uuid.bytes[0] = 9;
    options_.initial_size = 64_KiB;
    {
      const std::unique_ptr<Index> index = open_lmdb_index(options_, *executor_).value();
      apply(*index, 1, 0, 300);
      apply(*index, 2, 40, 160);
    }
    file_ = ::open((options_.dir + "/data.mdb").c_str(), O_RDWR | O_CLOEXEC);
    HEXAD_ASSERT(file_ >= 0);
    good_.resize(static_cast<std::size_t>(::lseek(file_, 0, SEEK_END)));
    HEXAD_ASSERT(::pread(file_, good_.data(), good_.size(), 0) ==
                 static_cast<ssize_t>(good_.size()));
    // Of the file that opening has made larger only these hold anything.
    const std::size_t last = good_.find_last_not_of('\0');
    pages_ = last / kPage + 1;
  }
  ~Fixture() { ::close(file_); }

  void edit(Decoder in) {
    touched_.clear();
    for (std::size_t i = 0; in.remaining() > 0 && in.ok() && i < kMostEdits; ++i) {
      const std::uint8_t page = in.u8();
      const std::uint16_t at = in.le16();
      if (page == kCut) {
        HEXAD_ASSERT(::ftruncate(file_, at * std::int64_t{16}) == 0);
        touched_.push_back({0, good_.size()});
        continue;
      }
      const std::size_t wanted = in.u8() % 16;
      const std::string_view bytes = in.raw(std::min(wanted, in.remaining()));
      const std::size_t length = bytes.size();
      const std::uint64_t offset = page % pages_ * kPage + at % kPage;
      HEXAD_ASSERT(::pwrite(file_, bytes.data(), length, static_cast<off_t>(offset)) ==
                   static_cast<ssize_t>(length));
      touched_.push_back({offset, length});
    }
  }
  void restore() {
    for (const auto& [offset, length] : touched_) put_back(offset, length);
    HEXAD_ASSERT(::ftruncate(file_, static_cast<off_t>(good_.size())) == 0);
  }

  Status check() const {
    HEXAD_TRY_ASSIGN(const LmdbFile file, LmdbFile::open(options_.dir, io::OpenMode::kReadOnly));
    check_lmdb_head(file, options_.uuid).ignore();
    return check_lmdb_file(file, options_.uuid);
  }
  // Precondition: the file has passed.
  void read() {
    LmdbOptions options = options_;
    options.mode = io::OpenMode::kReadOnly;
    const Result<std::unique_ptr<Index>> index = open_lmdb_index(options, *executor_);
    HEXAD_ASSERT(index.ok());
    const Result<std::unique_ptr<IndexReader>> reader = (*index)->snapshot();
    HEXAD_ASSERT(reader.ok());
    const Result<std::unique_ptr<IndexCursor>> cursor = (*reader)->cursor();
    HEXAD_ASSERT(cursor.ok() && (*cursor)->seek_to_first().ok());
    std::size_t forward = 0;
    std::string before;
    for (; (*cursor)->valid(); ++forward) {
      HEXAD_ASSERT(before < (*cursor)->key());
      before = (*cursor)->key();
      const auto value = (*reader)->get(before);
      HEXAD_ASSERT(value.ok() && *value == (*cursor)->value());
      HEXAD_ASSERT((*cursor)->next().ok());
    }
    HEXAD_ASSERT((*cursor)->seek_to_last().ok());
    std::size_t backward = 0;
    for (; (*cursor)->valid(); ++backward) HEXAD_ASSERT((*cursor)->prev().ok());
    HEXAD_ASSERT(forward == backward);
    // Sums over all entries leave nothing out; of an older state, where the newest meta page says
    // that it is older than the other one, all that it had then.
    const Lsn lsn = (*index)->applied_lsn();
    HEXAD_ASSERT(lsn < applied_ || forward == kept_);
  }

 private:
  struct Range {
    std::uint64_t offset;
    std::size_t length;
  };

  static std::string key_of(int i) {
    std::string key = "key" + std::to_string(100000 + i);
    if (i % 40 == 0) key.resize(700, 'k');
    return key;
  }
  void apply(Index& index, Lsn lsn, int from, int to) {
    std::vector<std::string> keys;
    std::vector<std::string> values;
    for (int i = from; i < to; ++i) {
      keys.push_back(key_of(i));
      values.emplace_back(i % 50 == 7 ? 6000 : i % 30, static_cast<char>('a' + i % 26));
    }
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    std::vector<IndexChange> changes;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      // The second time they are taken away.
      if (lsn == 1) {
        changes.push_back({keys[i], values[i]});
      } else {
        changes.push_back({keys[i], std::nullopt});
      }
    }
    kept_ = lsn == 1 ? keys.size() : kept_ - keys.size();
    applied_ = lsn;
    HEXAD_ASSERT(index.apply(lsn, 1, changes).ok());
  }
  void put_back(std::uint64_t offset, std::size_t length) {
    length = std::min(length, good_.size() - offset);
    HEXAD_ASSERT(::pwrite(file_, good_.data() + offset, length, static_cast<off_t>(offset)) ==
                 static_cast<ssize_t>(length));
  }

  io::testing::TemporaryDirectory temporary_{io::testing::TemporaryDirectory::On::kMemory};
  std::unique_ptr<io::Executor> executor_ = io::make_thread_executor(1);
  LmdbOptions options_;
  int file_ = -1;
  std::string good_;
  std::uint64_t pages_ = 0;
  std::size_t kept_ = 0;
  Lsn applied_ = 0;
  std::vector<Range> touched_;
};

// Removed when the program ends, also by a call of exit().
Fixture& the_fixture() {
  static Fixture fixture;
  return fixture;
}

}  // namespace

std::vector<std::string> hexad::testing::fuzz_seeds() {
  return {std::string(),
          // The last page of a meta page, and its transaction; a pointer to a node; the flags of a
          // page; a cut.
          std::string("\1\x78\0\1\x30", 5), std::string("\1\x90\0\1\1", 5),
          std::string("\5\x10\0\2\xf0\x0f", 6), std::string("\4\x0a\0\1\1", 5),
          std::string("\xff\0\x08", 3)};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Fixture& fixture = the_fixture();
  fixture.edit(Decoder(ByteView(reinterpret_cast<const std::byte*>(data), size)));
  const Status status = fixture.check();
  if (status.ok()) fixture.read();
  fixture.restore();
  HEXAD_ASSERT(size != 0 || status.ok());
  return 0;
}
