#include "kv/lmdb/lmdb_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "base/codec.h"
#include "base/units.h"
#include "tests/io/temporary.h"

namespace hexad::kv {
namespace {

using io::OpenMode;

// The fields of a meta page, as LMDB 0.9 lays them out.
struct Meta {
  std::uint16_t flags = 0x08;
  std::uint32_t magic = 0xBEEFC0DE;
  std::uint32_t version = 1;
  std::uint32_t page_size = 4096;
  std::uint64_t last_page = 1;
  std::uint64_t transaction = 0;

  std::string page(std::uint64_t number, std::size_t size = 4096) const {
    std::string bytes;
    Encoder out(bytes);
    out.le64(number);
    out.le16(0);
    out.le16(flags);
    out.le32(0);
    out.le32(magic);
    out.le32(version);
    out.zeros(8);       // address
    out.le64(1 << 20);  // map size
    for (std::uint16_t tree = 0; tree < 2; ++tree) {
      out.le32(tree == 0 ? page_size : 0);
      out.le16(static_cast<std::uint16_t>(8 + tree));  // flags
      out.le16(static_cast<std::uint16_t>(2 + tree));  // depth
      out.zeros(24);
      out.le64(100u + tree);  // entries
      out.le64(7u + tree);    // root
    }
    out.le64(last_page);
    out.le64(transaction);
    REQUIRE(bytes.size() == 152);
    bytes.resize(size);
    return bytes;
  }
};

struct Fixture {
  io::testing::TemporaryDirectory temporary;
  std::string dir = temporary.path("index");
  std::string data = dir + "/data.mdb";

  Fixture() { REQUIRE(make_lmdb_dir(dir).ok()); }
  void spill(const std::string& bytes) {
    std::ofstream(data, std::ios::binary | std::ios::trunc) << bytes;
  }
  LmdbFile open(OpenMode mode = OpenMode::kReadOnly) {
    return std::move(LmdbFile::open(dir, mode)).value();
  }
  ErrorCode open_error(OpenMode mode) { return LmdbFile::open(dir, mode).error().code; }
  // "" or the message of a kCorruption.
  std::string meta_error(const std::string& bytes) {
    spill(bytes);
    const Result<LmdbMeta> meta = open().read_meta();
    if (meta.ok()) return "";
    REQUIRE(meta.error().code == ErrorCode::kCorruption);
    return meta.error().message;
  }
};

TEST_CASE("lmdb_file: the meta page with the higher transaction counts, wherever it is") {
  Fixture fixture;
  for (const bool second : {false, true}) {
    // Transaction n is in page n mod 2.
    Meta older;
    older.transaction = second ? 8 : 9;
    Meta newer;
    newer.transaction = older.transaction + 1;
    newer.last_page = 2;
    const std::string pages =
        second ? older.page(0) + newer.page(1) : newer.page(0) + older.page(1);
    fixture.spill(pages + std::string(4096, '\0'));
    const LmdbMeta meta = fixture.open().read_meta().value();
    REQUIRE(meta.transaction == newer.transaction);
    REQUIRE(meta.last_page == 2);
    REQUIRE(meta.page_size == 4096);
    for (std::uint16_t tree = 0; tree < 2; ++tree) {
      REQUIRE(meta.trees[tree].flags == 8 + tree);
      REQUIRE(meta.trees[tree].depth == 2 + tree);
      REQUIRE(meta.trees[tree].entries == 100u + tree);
      REQUIRE(meta.trees[tree].root == 7u + tree);
    }
  }
}

TEST_CASE("lmdb_file: a transaction in the meta page of the one before it is refused") {
  Fixture fixture;
  Meta even;
  even.transaction = 8;
  Meta odd;
  odd.transaction = 9;
  const Meta fresh;
  const std::string rest(4096, '\0');
  REQUIRE(fixture.meta_error(even.page(0) + odd.page(1) + rest) == "");
  REQUIRE(fixture.meta_error(fresh.page(0) + odd.page(1) + rest) == "");
  REQUIRE(fixture.meta_error(fresh.page(0) + fresh.page(1) + rest) == "");
  for (const std::string& pages : {odd.page(0) + even.page(1), odd.page(0) + odd.page(1),
                                   even.page(0) + even.page(1), fresh.page(0) + even.page(1)}) {
    REQUIRE(fixture.meta_error(pages + rest).find("in the other one's meta page") !=
            std::string::npos);
  }
}

TEST_CASE("lmdb_file: every page size LMDB has is read, every other number is refused") {
  Fixture fixture;
  for (std::uint32_t size = 256; size <= 131072; size *= 2) {
    for (const std::uint32_t odd : {0u, 1u}) {
      CAPTURE(size, odd);
      Meta meta;
      meta.page_size = size + odd;
      const std::string error = fixture.meta_error(meta.page(0, size) + meta.page(1, size));
      REQUIRE((error.empty()) == (odd == 0 && size >= 512 && size <= 65536));
      if (!error.empty()) {
        REQUIRE(error.find("a page size of " + std::to_string(size + odd)) != std::string::npos);
      }
    }
  }
}

TEST_CASE("lmdb_file: what is not LMDB's, or of another version, is refused on either page") {
  Fixture fixture;
  const Meta good;
  for (const int bad : {0, 1}) {
    const auto with = [&](const Meta& changed) {
      return fixture.meta_error(bad == 0 ? changed.page(0) + good.page(1)
                                         : good.page(0) + changed.page(1));
    };
    Meta meta;
    meta.magic ^= 1;
    REQUIRE(with(meta).find("not an LMDB file") != std::string::npos);
    meta = {};
    meta.flags = 0x01;
    REQUIRE(with(meta).find("not an LMDB file") != std::string::npos);
    meta = {};
    meta.version = 999;
    REQUIRE(with(meta).find("version 999") != std::string::npos);
    for (const std::uint64_t last : {std::uint64_t{0}, (std::uint64_t{1} << 47) + 1}) {
      meta = {};
      meta.last_page = last;
      REQUIRE(with(meta).find("a last page of " + std::to_string(last)) != std::string::npos);
    }
  }
  Meta other;
  other.page_size = 8192;
  REQUIRE(fixture.meta_error(good.page(0) + other.page(1)).find("two page sizes") !=
          std::string::npos);
}

TEST_CASE(
    "lmdb_file: a file shorter than its pages is refused at every length, with both numbers") {
  Fixture fixture;
  Meta meta;
  meta.last_page = 3;
  const std::string whole = meta.page(0) + meta.page(1) + std::string(8192, '\0');
  REQUIRE(fixture.meta_error(whole).empty());
  for (std::size_t length = 0; length < whole.size(); length += length < 4400 ? 1 : 61) {
    CAPTURE(length);
    const std::string error = fixture.meta_error(whole.substr(0, length));
    REQUIRE_FALSE(error.empty());
    if (length >= 4096 + 152) {
      REQUIRE(error.find("has " + std::to_string(length) + " bytes of the 16384") !=
              std::string::npos);
    }
  }
}

TEST_CASE("lmdb_file: any flipped bit in the meta pages gives a plausible meta or kCorruption") {
  Fixture fixture;
  const Meta meta;
  const std::string whole = meta.page(0) + meta.page(1);
  int refused = 0;
  for (std::size_t bit = 0; bit < 2 * 152 * 8; ++bit) {
    std::string damaged = whole;
    damaged[(bit / 8 % 152) + (bit / 8 / 152) * 4096] ^= static_cast<char>(1 << bit % 8);
    fixture.spill(damaged);
    const Result<LmdbMeta> found = fixture.open().read_meta();
    if (!found.ok()) {
      REQUIRE(found.error().code == ErrorCode::kCorruption);
      ++refused;
      continue;
    }
    REQUIRE((found->last_page + 1) * found->page_size <= whole.size());
  }
  REQUIRE(refused > 150);
}

TEST_CASE("lmdb_file: writers are alone, readers share, and a moved file keeps the lock") {
  Fixture fixture;
  fixture.spill("x");
  {
    LmdbFile writer = fixture.open(OpenMode::kReadWrite);
    REQUIRE(fixture.open_error(OpenMode::kReadWrite) == ErrorCode::kBusy);
    REQUIRE(fixture.open_error(OpenMode::kReadOnly) == ErrorCode::kBusy);
    const LmdbFile moved = std::move(writer);
    REQUIRE(fixture.open_error(OpenMode::kReadOnly) == ErrorCode::kBusy);
    REQUIRE(moved.path() == fixture.data);
  }
  LmdbFile reader = fixture.open();
  const LmdbFile second = fixture.open();
  REQUIRE(fixture.open_error(OpenMode::kReadWrite) == ErrorCode::kBusy);
  reader = fixture.open();
  REQUIRE(reader.size().value() == 1);
}

TEST_CASE("lmdb_file: only a regular file is opened, and nothing hangs") {
  Fixture fixture;
  for (const OpenMode mode : {OpenMode::kReadOnly, OpenMode::kReadWrite}) {
    REQUIRE(fixture.open_error(mode) == ErrorCode::kNotFound);
    std::filesystem::create_directory(fixture.data);
    REQUIRE(fixture.open_error(mode) == ErrorCode::kInvalidArgument);
    std::filesystem::remove(fixture.data);
    REQUIRE(::mkfifo(fixture.data.c_str(), 0600) == 0);
    REQUIRE(fixture.open_error(mode) == ErrorCode::kInvalidArgument);
    std::filesystem::remove(fixture.data);
    std::ofstream(fixture.temporary.path("elsewhere")) << "x";
    std::filesystem::create_symlink(fixture.temporary.path("elsewhere"), fixture.data);
    REQUIRE(fixture.open_error(mode) == ErrorCode::kInvalidArgument);
    std::filesystem::remove(fixture.data);
  }
}

TEST_CASE("lmdb_file: reading is exact or kCorruption with the place where the file ends") {
  Fixture fixture;
  fixture.spill("0123456789");
  const LmdbFile file = fixture.open();
  for (std::uint64_t offset = 0; offset <= 12; ++offset) {
    for (std::size_t length = 0; length <= 12; ++length) {
      Bytes into(length);
      const Status status = file.read(offset, into);
      REQUIRE(status.ok() == (length == 0 || offset + length <= 10));
      if (status.ok()) {
        if (length > 0) REQUIRE(as_text(into) == std::string("0123456789").substr(offset, length));
        continue;
      }
      REQUIRE(status.error().code == ErrorCode::kCorruption);
      REQUIRE(status.error().message.find("ends at byte " + std::to_string(std::max<std::uint64_t>(
                                                                offset, 10))) != std::string::npos);
    }
  }
}

TEST_CASE("lmdb_file: extending takes room, never shrinks, and what does not fit changes nothing") {
  Fixture fixture;
  fixture.spill("0123456789");
  const LmdbFile file = fixture.open(OpenMode::kReadWrite);
  REQUIRE(file.extend(1_MiB).ok());
  REQUIRE(file.size().value() == 1_MiB);
  struct stat info {};
  REQUIRE(::stat(fixture.data.c_str(), &info) == 0);
  REQUIRE(static_cast<std::uint64_t>(info.st_blocks) * 512 >= 1_MiB - 4096);
  REQUIRE(file.extend(4096).ok());
  REQUIRE(file.size().value() == 1_MiB);
  const Status refused = file.extend(std::uint64_t{1} << 50);
  REQUIRE(refused.error().code == ErrorCode::kNoSpace);
  REQUIRE(refused.error().message.find(fixture.data) == 0);
  REQUIRE(refused.error().hint.find("fast tier") != std::string::npos);
  REQUIRE(file.size().value() == 1_MiB);
  Bytes head(10);
  REQUIRE(file.read(0, head).ok());
  REQUIRE(as_text(head) == "0123456789");
}

TEST_CASE("lmdb_file: folder and file are private, made once, and removed when nothing is lost") {
  const io::testing::TemporaryDirectory temporary;
  const std::string dir = temporary.path("index");
  REQUIRE(create_lmdb_file(dir).error().code == ErrorCode::kNotFound);
  REQUIRE(sync_lmdb_dir(dir).error().code == ErrorCode::kNotFound);
  REQUIRE(make_lmdb_dir(dir).ok());
  REQUIRE(make_lmdb_dir(dir).ok());
  REQUIRE(sync_lmdb_dir(dir).ok());
  REQUIRE(create_lmdb_file(dir).value());
  std::ofstream(dir + "/data.mdb") << "kept";
  REQUIRE_FALSE(create_lmdb_file(dir).value());
  REQUIRE(std::filesystem::file_size(dir + "/data.mdb") == 4);
  struct stat info {};
  REQUIRE(::stat(dir.c_str(), &info) == 0);
  REQUIRE((info.st_mode & 0777) == 0700);
  REQUIRE(::stat((dir + "/data.mdb").c_str(), &info) == 0);
  REQUIRE((info.st_mode & 0777) == 0600);
  REQUIRE(remove_lmdb_dir(dir).ok());
  REQUIRE(std::filesystem::exists(dir));  // not empty
  REQUIRE(remove_file(dir + "/data.mdb").ok());
  REQUIRE(remove_file(dir + "/data.mdb").ok());
  REQUIRE(remove_lmdb_dir(dir).ok());
  REQUIRE_FALSE(std::filesystem::exists(dir));
  REQUIRE(remove_lmdb_dir(dir).ok());
}

TEST_CASE("lmdb_file: a file in the way of the folder is an error and stays") {
  const io::testing::TemporaryDirectory temporary;
  const std::string dir = temporary.path("index");
  std::ofstream(dir) << "mine";
  REQUIRE_FALSE(make_lmdb_dir(dir).ok());
  REQUIRE(create_lmdb_file(dir).error().code == ErrorCode::kInvalidArgument);
  REQUIRE(remove_lmdb_dir(dir).error().code == ErrorCode::kInvalidArgument);
  REQUIRE(remove_file(dir + "/below").error().code == ErrorCode::kInvalidArgument);
  REQUIRE(std::filesystem::file_size(dir) == 4);
}

TEST_CASE("lmdb_file: what the system said decides the code") {
  const std::pair<int, ErrorCode> expected[] = {{ENOENT, ErrorCode::kNotFound},
                                                {ENOSPC, ErrorCode::kNoSpace},
                                                {EDQUOT, ErrorCode::kNoSpace},
                                                {EROFS, ErrorCode::kReadOnly},
                                                {EACCES, ErrorCode::kReadOnly},
                                                {EPERM, ErrorCode::kReadOnly},
                                                {EWOULDBLOCK, ErrorCode::kBusy},
                                                {ENOTDIR, ErrorCode::kInvalidArgument},
                                                {EISDIR, ErrorCode::kInvalidArgument},
                                                {ELOOP, ErrorCode::kInvalidArgument},
                                                {EIO, ErrorCode::kIo},
                                                {EMFILE, ErrorCode::kIo}};
  for (const auto& [number, code] : expected) {
    CAPTURE(number);
    REQUIRE(system_error(number, "x").code == code);
    REQUIRE(system_error(number, "x").hint.empty() == (code != ErrorCode::kNoSpace));
  }
  REQUIRE(system_error(EIO, "cannot read it").message == "cannot read it: Input/output error");
}

}  // namespace
}  // namespace hexad::kv
