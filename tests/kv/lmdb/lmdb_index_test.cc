#include "kv/lmdb/lmdb_index.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "base/units.h"
#include "io/rng.h"
#include "tests/base/thinned.h"
#include "tests/io/file_bytes.h"
#include "tests/io/mount.h"
#include "tests/io/temporary.h"
#include "tests/kv/index_contract.h"

namespace hexad::kv {
namespace {

using hexad::testing::kThinned;

using testing::apply;
using testing::difference;
using testing::random_batch;
using testing::update;
using Model = testing::IndexModel;
using Batch = testing::IndexBatch;

struct Fixture {
  io::testing::TemporaryDirectory temporary;
  std::unique_ptr<io::Executor> executor = io::make_thread_executor(1);
  LmdbOptions options;

  Fixture() {
    options.dir = temporary.path("index");
    options.uuid.bytes[0] = 9;
    options.initial_size = 1_MiB;
  }
  std::unique_ptr<Index> open() {
    Result<std::unique_ptr<Index>> index = open_lmdb_index(options, *executor);
    if (!index.ok()) FAIL(index.error().to_string());
    return std::move(*index);
  }
  ErrorCode open_error() {
    const Result<std::unique_ptr<Index>> index = open_lmdb_index(options, *executor);
    return index.ok() ? ErrorCode::kUnknown : index.error().code;
  }
  std::string data() const { return options.dir + "/data.mdb"; }
};

class LmdbWorld final : public testing::IndexWorld {
 public:
  explicit LmdbWorld(std::uint64_t max_size) {
    LmdbOptions options;
    options.initial_size = 1_MiB;
    options.max_size = max_size;
    home_ = make_lmdb_home(*executor_, options);
  }
  io::Executor& executor() override { return *executor_; }
  IndexHome& home() override { return *home_; }
  std::string directory() override { return temporary_.path("index"); }

 private:
  io::testing::TemporaryDirectory temporary_;
  std::unique_ptr<io::Executor> executor_ = io::make_thread_executor(1);
  std::unique_ptr<IndexHome> home_;
};

TEST_CASE("lmdb_index: keeps the index contract") {
  testing::run_index_contract(
      [](std::uint64_t max_size) { return std::make_unique<LmdbWorld>(max_size); });
}

TEST_CASE("lmdb_index: after random batches the closed file is whole") {
  const std::uint64_t seed = 3;
  CAPTURE(seed);
  io::Rng rng(seed);
  Fixture fixture;
  std::unique_ptr<Index> index = fixture.open();
  Model model;
  for (Lsn lsn = 1; lsn <= 60; ++lsn) {
    const Batch batch = random_batch(rng, 200, lsn % 5 == 0 ? 20000 : 100);
    REQUIRE(apply(*index, lsn, batch).ok());
    update(model, batch);
    if (lsn % 10 != 0) continue;
    index.reset();
    REQUIRE(verify_lmdb_file(fixture.options.dir, fixture.options.uuid).ok());
    index = fixture.open();
    REQUIRE(difference(*index, model) == "");
  }
  REQUIRE(index->stats()->file_bytes > 1_MiB);  // it grew
}

TEST_CASE("lmdb_index: a batch in many slices, and growth in the middle, end in one state") {
  Fixture fixture;
  fixture.options.pages_per_slice = 16;
  std::unique_ptr<Index> index = fixture.open();
  Batch batch;
  Model model;
  for (int i = 0; i < 3000; ++i) batch["k" + std::to_string(i)] = std::string(1500, 'v');
  for (int i = 0; i < 5; ++i)
    batch[std::string(700, 'L') + std::to_string(i)] = std::string(100000, 'w');
  REQUIRE(apply(*index, 7, batch).ok());
  update(model, batch);
  REQUIRE(difference(*index, model) == "");
  REQUIRE(index->verify().ok());
  REQUIRE(index->applied_lsn() == 7);
  REQUIRE(apply(*index, 8, {}).ok());
  REQUIRE(index->applied_lsn() == 8);
}

// The writer of an object had one reader and asked for a second, while the index that wanted to
// grow waited for the first to end and kept the second waiting: both for ever, and with them every
// commit.
TEST_CASE("lmdb_index: growing waits for no reader, and no reader for it") {
  Fixture fixture;
  const std::unique_ptr<Index> index = fixture.open();
  REQUIRE(apply(*index, 1, {{"a", "1"}, {"b", "b"}}).ok());
  const std::unique_ptr<IndexReader> first = std::move(*index->snapshot());
  const std::unique_ptr<IndexCursor> cursor = std::move(*first->cursor());
  REQUIRE(cursor->seek_to_first().ok());
  Lsn lsn = 1;
  while (index->stats()->file_bytes < 16_MiB) {  // from 1 MiB: doubled at least four times
    ++lsn;
    const std::string key = "grown" + std::to_string(lsn);
    REQUIRE(apply(*index, lsn, {{"a", std::to_string(lsn)}, {key, std::string(400000, 'x')}}).ok());
    const std::unique_ptr<IndexReader> second = std::move(*index->snapshot());
    REQUIRE(**second->get("a") == std::to_string(lsn));
    REQUIRE(**first->get("a") == "1");
  }
  REQUIRE(cursor->value() == "1");
  REQUIRE(cursor->next().ok());
  REQUIRE(cursor->key() == "b");
  REQUIRE(cursor->next().ok());
  REQUIRE_FALSE(cursor->valid());
}

TEST_CASE("lmdb_index: a reader that stays costs room until it ends, and nothing else") {
  Fixture fixture;
  const std::unique_ptr<Index> index = fixture.open();
  Lsn lsn = 0;
  const auto overwrite = [&](int times) {
    for (int i = 0; i < times; ++i) {
      REQUIRE(apply(*index, ++lsn, {{"a", std::string(300000, 'a' + lsn % 26)}}).ok());
    }
    return index->stats()->file_bytes;
  };
  const std::uint64_t alone = overwrite(50);
  std::unique_ptr<IndexReader> reader = std::move(*index->snapshot());
  const std::string kept(**reader->get("a"));
  const std::uint64_t with_reader = overwrite(50);
  REQUIRE(alone <= 4_MiB);
  REQUIRE(with_reader >= 14_MiB);  // 50 times 300,000 bytes
  REQUIRE(**reader->get("a") == kept);
  reader.reset();
  REQUIRE(overwrite(200) == with_reader);  // what it kept is used again
}

// Of as many states as there are pins each has its own; those after them share an older one.
TEST_CASE("lmdb_index: there may be more states that are read than pins", "[one-thread]") {
  const std::uint64_t seed = 5;
  CAPTURE(seed);
  io::Rng rng(seed);
  Fixture fixture;
  fixture.options.max_pins = 3;
  const std::unique_ptr<Index> index = fixture.open();
  Model model;
  std::vector<std::pair<std::unique_ptr<IndexReader>, Model>> kept;
  for (Lsn lsn = 1; lsn <= 60; ++lsn) {
    const Batch batch = random_batch(rng, 60, 3000);
    REQUIRE(apply(*index, lsn, batch).ok());
    update(model, batch);
    if (rng.chance(1, 4)) kept.erase(kept.begin(), kept.begin() + rng.below(kept.size() + 1));
    kept.emplace_back(std::move(*index->snapshot()), model);
    for (auto& [reader, state] : kept) REQUIRE(difference(*reader, state) == "");
  }
  kept.clear();
  REQUIRE(index->verify().ok());
}

// With more readers than processors a reader is often held up while it begins, for longer than
// two commits take: what it began with is then overwritten.
TEST_CASE("lmdb_index: a reader held up while commits go by sees one whole state") {
  const io::testing::TemporaryDirectory quick(io::testing::TemporaryDirectory::On::kMemory);
  Fixture fixture;
  fixture.options.dir = quick.path("index");
  std::unique_ptr<Index> index = fixture.open();
  REQUIRE(apply(*index, 1, {{"a", "1"}}).ok());
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::unique_ptr<io::Thread>> threads;
  for (int t = 0; t < 8; ++t) {
    threads.push_back(fixture.executor->start("reader", [&] {
      while (!stop) {
        auto reader = index->snapshot();
        if (!reader.ok()) {
          ++wrong;
          continue;
        }
        const std::string lsn = std::to_string((*reader)->applied_lsn());
        if ((*reader)->get("a").value() != lsn) ++wrong;
      }
    }));
  }
  for (Lsn lsn = 2; lsn < 20000; ++lsn) {
    REQUIRE(apply(*index, lsn, {{"a", std::to_string(lsn)}}).ok());
  }
  stop = true;
  for (auto& thread : threads) thread->join();
  REQUIRE(wrong == 0);
}

TEST_CASE("lmdb_index: read-only opening writes nothing") {
  Fixture fixture;
  fixture.options.mode = io::OpenMode::kReadOnly;
  REQUIRE(fixture.open_error() == ErrorCode::kNotFound);
  REQUIRE_FALSE(std::filesystem::exists(fixture.options.dir));
  fixture.options.mode = io::OpenMode::kReadWrite;
  REQUIRE(apply(*fixture.open(), 1, {{"a", "1"}}).ok());
  struct stat info {};
  REQUIRE(::stat(fixture.data().c_str(), &info) == 0);
  REQUIRE((info.st_mode & 0777) == 0600);
  std::filesystem::remove(fixture.options.dir + "/lock.mdb");
  REQUIRE(::chmod(fixture.options.dir.c_str(), 0500) == 0);
  const auto before = std::filesystem::last_write_time(fixture.data());
  fixture.options.mode = io::OpenMode::kReadOnly;
  {
    std::unique_ptr<Index> index = fixture.open();
    REQUIRE(difference(*index, {{"a", "1"}}) == "");
    REQUIRE(index->apply(2, 1, {}).error().code == ErrorCode::kReadOnly);
    const std::unique_ptr<Index> second = fixture.open();  // readers share
    REQUIRE(difference(*second, {{"a", "1"}}) == "");
    fixture.options.mode = io::OpenMode::kReadWrite;
    REQUIRE(::chmod(fixture.options.dir.c_str(), 0700) == 0);
    REQUIRE(fixture.open_error() == ErrorCode::kBusy);
  }
  REQUIRE_FALSE(std::filesystem::exists(fixture.options.dir + "/lock.mdb"));
  REQUIRE(std::filesystem::last_write_time(fixture.data()) == before);
}

TEST_CASE("lmdb_index: another store's index, a second writer, a stale lock file, a link") {
  Fixture fixture;
  {
    const std::unique_ptr<Index> index = fixture.open();
    REQUIRE(fixture.open_error() == ErrorCode::kBusy);
  }
  std::ofstream(fixture.options.dir + "/lock.mdb") << "not a lock file at all";
  REQUIRE(fixture.open()->applied_lsn() == 0);
  fixture.options.uuid.bytes[3] = 1;
  REQUIRE(fixture.open_error() == ErrorCode::kCorruption);
  fixture.options.uuid.bytes[3] = 0;
  std::filesystem::rename(fixture.data(), fixture.temporary.path("elsewhere"));
  std::filesystem::create_symlink(fixture.temporary.path("elsewhere"), fixture.data());
  REQUIRE(fixture.open_error() == ErrorCode::kInvalidArgument);
  REQUIRE(remove_lmdb_index(fixture.options.dir).ok());
  REQUIRE_FALSE(std::filesystem::exists(fixture.options.dir));
  REQUIRE(remove_lmdb_index(fixture.options.dir).ok());
}

TEST_CASE("lmdb_index: a file that was cut while it was open is told of, and not stepped into") {
  Fixture fixture;
  const std::unique_ptr<Index> index = fixture.open();
  REQUIRE(apply(*index, 1, {{"a", "1"}}).ok());
  std::filesystem::resize_file(fixture.data(), 4096);
  // It is looked at now and then, and whenever something is written.
  Result<std::unique_ptr<IndexReader>> reader = index->snapshot();
  for (int i = 0; i < 16 && reader.ok(); ++i) reader = index->snapshot();
  const Error refused = reader.error();
  REQUIRE(refused.code == ErrorCode::kCorruption);
  REQUIRE(refused.message.find("4 KiB of 1 MiB") != std::string::npos);
  REQUIRE(index->stats().error().code == ErrorCode::kCorruption);
  REQUIRE(apply(*index, 2, {{"a", "2"}}).error().code == ErrorCode::kCorruption);
  REQUIRE(index->applied_lsn() == 1);
}

TEST_CASE("lmdb_index: another file in its place is not taken for the index that grows") {
  Fixture fixture;
  const std::unique_ptr<Index> index = fixture.open();
  REQUIRE(apply(*index, 1, {{"a", "1"}}).ok());
  const std::string other = fixture.temporary.path("other");
  std::filesystem::copy_file(fixture.data(), other);
  std::filesystem::rename(other, fixture.data());
  const Status grown = apply(*index, 2, {{"b", std::string(2_MiB, 'x')}});
  REQUIRE(grown.error().code == ErrorCode::kCorruption);
  REQUIRE(grown.error().message.find("another file in its place") != std::string::npos);
  REQUIRE(difference(*index, {{"a", "1"}}) == "");
  REQUIRE(apply(*index, 2, {{"b", "small"}}).error().code == ErrorCode::kCorruption);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they reserve terabytes
std::uint64_t address_space() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

TEST_CASE("lmdb_index: refused address space is kNoSpace, and the index grows when there is some") {
  Fixture fixture;
  fixture.options.initial_size = 64_MiB;
  const std::unique_ptr<Index> index = fixture.open();
  Model model;
  for (int i = 0; i < 63; ++i) model["k" + std::to_string(i)] = std::string(1'000'000, 'x');
  REQUIRE(apply(*index, 1, Batch(model.begin(), model.end())).ok());
  const Batch one_more{{"one more", std::string(5'000'000, 'y')}};
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_AS, &before) == 0);
  rlimit limited = before;
  limited.rlim_cur = address_space() + 40_MiB;  // enough to write it, less than another map takes
  REQUIRE(::setrlimit(RLIMIT_AS, &limited) == 0);
  const Status refused = apply(*index, 2, one_more);
  REQUIRE(::setrlimit(RLIMIT_AS, &before) == 0);
  REQUIRE(refused.error().code == ErrorCode::kNoSpace);
  REQUIRE(refused.error().message.find("of address space") != std::string::npos);
  REQUIRE(refused.error().hint.find("ulimit -v") != std::string::npos);
  REQUIRE(index->stats()->file_bytes == 64_MiB);  // nothing was taken for it
  REQUIRE(difference(*index, model) == "");
  REQUIRE(apply(*index, 2, one_more).ok());
  update(model, one_more);
  REQUIRE(difference(*index, model) == "");
}
#endif

void spill(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// A small index with every kind of page: branches, overflow, segments, free pages.
Model build_sample(Fixture& fixture) {
  io::Rng rng(1);
  Model model;
  const std::unique_ptr<Index> index = fixture.open();
  for (Lsn lsn = 1; lsn <= 4; ++lsn) {
    Batch batch = random_batch(rng, 150, 200);
    batch["big"] = std::string(9000 + lsn, 'b');
    REQUIRE(apply(*index, lsn, batch).ok());
    update(model, batch);
  }
  return model;
}

TEST_CASE("lmdb_index: every truncation is refused before the file is mapped", "[one-thread]") {
  Fixture fixture;
  build_sample(fixture);
  const std::string image = io::testing::file_bytes(fixture.data());
  // The file is longer than its pages in use; find where truncation begins to matter.
  std::size_t accepted = 0;
  for (std::size_t length = 0; length <= image.size(); length += 1024 * kThinned) {
    spill(fixture.data(), image.substr(0, length));
    const Result<std::unique_ptr<Index>> index =
        open_lmdb_index(fixture.options, *fixture.executor);
    if (index.ok()) {
      ++accepted;
      REQUIRE((*index)->verify().ok());
    } else {
      REQUIRE(accepted == 0);
      REQUIRE(index.error().code == ErrorCode::kCorruption);
      REQUIRE_FALSE(index.error().hint.empty());
    }
  }
  REQUIRE(accepted > 0);
}

TEST_CASE("lmdb_index: flipped bits are found by the check, or change nothing", "[one-thread]") {
  Fixture fixture;
  const Model model = build_sample(fixture);
  const std::string image = io::testing::file_bytes(fixture.data());
  const std::size_t used = image.find_last_not_of('\0');
  const std::uint64_t seed = 11;
  CAPTURE(seed);
  io::Rng rng(seed);
  int found = 0;
  int harmless = 0;
  for (int round = 0; round < 1500 / static_cast<int>(kThinned); ++round) {
    // The first pages more often: meta pages and branches are small targets.
    const std::size_t at = rng.chance(1, 4) ? rng.below(8192) : rng.below(used);
    std::string damaged = image;
    damaged[at] ^= static_cast<char>(1 << rng.below(8));
    spill(fixture.data(), damaged);
    CAPTURE(at);
    if (!verify_lmdb_file(fixture.options.dir, fixture.options.uuid).ok()) {
      ++found;
      continue;
    }
    ++harmless;  // free pages, gaps, statistics; or the older meta page
    fixture.options.mode = io::OpenMode::kReadOnly;
    const std::unique_ptr<Index> index = fixture.open();
    if (index->applied_lsn() == 4) REQUIRE(difference(*index, model) == "");
  }
  REQUIRE(found > 200 / static_cast<int>(kThinned));
  REQUIRE(harmless > 0);
}

// A page whose last write was lost still has what was there before: where one leaf is changed again
// and again, an earlier state of itself, in order and with good checksums.
TEST_CASE("lmdb_index: a lost write of any page is found by the check, or changes nothing",
          "[one-thread]") {
  const std::uint64_t seed = 11;
  CAPTURE(seed);
  io::Rng rng(seed);
  Fixture fixture;
  std::unique_ptr<Index> index = fixture.open();
  Model model;
  Fixture copy;
  copy.options.mode = io::OpenMode::kReadOnly;
  std::filesystem::create_directory(copy.options.dir);
  std::string last;
  int lost = 0;
  int only_by_all_entries = 0;
  for (Lsn lsn = 1; lsn <= 30; ++lsn) {
    const bool filling = lsn < 5;
    const Batch batch = filling ? random_batch(rng, 300, 200)
                                : Batch{{"again", "value " + std::to_string(100 + lsn)}};
    REQUIRE(apply(*index, lsn, batch).ok());
    update(model, batch);
    const std::string before = std::exchange(last, io::testing::file_bytes(fixture.data()));
    for (std::size_t at = 0; !filling && at + 4096 <= before.size(); at += 4096) {
      if (last.compare(at, 4096, before, at, 4096) == 0) continue;
      CAPTURE(lsn, at / 4096);
      ++lost;
      std::string damaged = last;
      damaged.replace(at, 4096, before, at, 4096);
      spill(copy.data(), damaged);
      const Status found = verify_lmdb_file(copy.options.dir, copy.options.uuid);
      if (!found.ok()) {
        const std::string& why = found.error().message;
        if (why.find("writes of some pages were lost") != std::string::npos) ++only_by_all_entries;
        continue;
      }
      // A meta page: the other one tells of the state before, all of which is there.
      const std::unique_ptr<Index> old = copy.open();
      if (old->applied_lsn() == lsn) REQUIRE(difference(*old, model) == "");
      REQUIRE(old->applied_lsn() >= lsn - 1);
    }
  }
  REQUIRE(lost > 100);
  REQUIRE(only_by_all_entries > 0);
}

TEST_CASE("lmdb_index: new keys in a row, with others behind them, fill their pages") {
  Fixture fixture;
  const std::unique_ptr<Index> index = fixture.open();
  const std::string value(50, 'v');
  REQUIRE(apply(*index, 1, Batch{{"a", value}, {"z", value}}).ok());
  constexpr int kKeys = 20000;
  Lsn lsn = 1;
  for (int from = 0; from < kKeys; from += kKeys / 2) {
    Batch batch;
    for (int i = from; i < from + kKeys / 2; ++i) {
      batch["m" + std::to_string(1'000'000 + i)] = value;
    }
    REQUIRE(apply(*index, ++lsn, batch).ok());
  }
  // LMDB adds 8 bytes to an entry and 2 to where it is, we a checksum and a kind.
  const std::uint64_t entries = std::uint64_t{kKeys} * (8 + 50 + 8 + 2 + 5);
  const IndexStats stats = index->stats().value();
  CAPTURE(stats.bytes_used, entries);
  REQUIRE(stats.bytes_used * 85 / 100 < entries);
}

// Flips a bit of every "MARKED" in the file.
void damage_marked(const Fixture& fixture) {
  std::string image = io::testing::file_bytes(fixture.data());
  for (std::size_t at = image.find("MARKED"); at != std::string::npos;
       at = image.find("MARKED", at + 1)) {
    image[at] ^= 1;
  }
  spill(fixture.data(), image);
}

TEST_CASE("lmdb_index: a flipped bit in a value is kCorruption for a get and a walk") {
  Fixture fixture;
  REQUIRE(apply(*fixture.open(), 1, {{"key", "MARKED VALUE"}, {"other", "fine"}}).ok());
  damage_marked(fixture);
  const std::unique_ptr<Index> index = fixture.open();
  const std::unique_ptr<IndexReader> reader = std::move(*index->snapshot());
  REQUIRE(reader->get("key").error().code == ErrorCode::kCorruption);
  REQUIRE(**reader->get("other") == "fine");
  const std::unique_ptr<IndexCursor> cursor = std::move(*reader->cursor());
  REQUIRE(cursor->seek_to_first().error().code == ErrorCode::kCorruption);
  REQUIRE(index->verify().error().code == ErrorCode::kCorruption);
}

TEST_CASE("lmdb_index: damage behind others is met by the step that comes to it, either way") {
  constexpr int kKeys = 30;
  constexpr int kBad = 17;
  Fixture fixture;
  const auto key_of = [](int i) { return "key" + std::to_string(100 + i); };
  Batch batch;
  for (int i = 0; i < kKeys; ++i) batch[key_of(i)] = i == kBad ? "MARKED VALUE" : "fine";
  REQUIRE(apply(*fixture.open(), 1, batch).ok());
  damage_marked(fixture);
  const std::unique_ptr<Index> index = fixture.open();
  const std::unique_ptr<IndexReader> reader = std::move(*index->snapshot());
  for (int start = 0; start < kKeys; ++start) {
    if (start == kBad) continue;
    for (const std::size_t at_once : {1, 2, 3, 50}) {
      CAPTURE(start, at_once);
      const Direction direction = start < kBad ? Direction::kForward : Direction::kBackward;
      const std::unique_ptr<IndexCursor> cursor = std::move(*reader->cursor());
      REQUIRE(cursor->seek(key_of(start)).ok());
      std::vector<KeyValue> entries(at_once);
      for (int at = start; at != kBad;) {
        REQUIRE(cursor->valid());
        REQUIRE(cursor->key() == key_of(at));
        const Result<std::size_t> passed = cursor->advance(direction, entries);
        if (at + (start < kBad ? 1 : -1) == kBad) {
          REQUIRE(passed.error().code == ErrorCode::kCorruption);
          REQUIRE_FALSE(cursor->valid());
          break;
        }
        REQUIRE(*passed > 0);
        for (std::size_t i = 0; i < *passed; ++i) {
          at += start < kBad ? 1 : -1;
          REQUIRE(entries[i].key == key_of(at));
          REQUIRE(entries[i].value == "fine");
        }
      }
    }
  }
}

TEST_CASE("lmdb_index: an older copy says that it is older") {
  Fixture fixture;
  REQUIRE(apply(*fixture.open(), 5, {{"a", "1"}}).ok());
  const std::string older = io::testing::file_bytes(fixture.data());
  REQUIRE(apply(*fixture.open(), 6, {{"a", "2"}}).ok());
  spill(fixture.data(), older);
  REQUIRE(fixture.open()->applied_lsn() == 5);
}

TEST_CASE("lmdb_index: files that are not an index are refused") {
  Fixture fixture;
  std::filesystem::create_directory(fixture.options.dir);
  const std::string garbage(100000, 'g');
  for (const std::string& bytes :
       {std::string(), std::string(1, 'x'), garbage, std::string(8192, '\0')}) {
    spill(fixture.data(), bytes);
    REQUIRE(fixture.open_error() == ErrorCode::kCorruption);
    REQUIRE(verify_lmdb_file(fixture.options.dir, fixture.options.uuid).error().code ==
            ErrorCode::kCorruption);
  }
}

TEST_CASE("lmdb_index: a full file system is kNoSpace and the index stays whole") {
  Fixture fixture;
  io::testing::Mount mount(fixture.temporary, "tmpfs", "size=6m");
  if (!mount.mounted()) return;
  fixture.options.dir = mount.path("index");
  {
    std::unique_ptr<Index> index = fixture.open();
    Lsn lsn = 0;
    Model model;
    Status status;
    while (status.ok() && lsn < 100) {
      const Batch batch = {{"k" + std::to_string(lsn), std::string(200000, 'x')}};
      status = apply(*index, lsn + 1, batch);
      if (status.ok()) {
        ++lsn;
        update(model, batch);
      }
    }
    CHECK(lsn > 10);
    CHECK(lsn < 100);
    CHECK(status.error().code == ErrorCode::kNoSpace);
    CHECK_FALSE(status.error().hint.empty());
    CHECK(difference(*index, model) == "");
    // Deleting makes room again.
    Batch deletes;
    for (const auto& [key, value] : model) deletes[key] = std::nullopt;
    CHECK(apply(*index, lsn + 1, deletes).ok());
    CHECK(apply(*index, lsn + 2, {{"again", std::string(200000, 'y')}}).ok());
    index.reset();
    index = fixture.open();
    CHECK(index->verify().ok());
    CHECK(index->applied_lsn() == lsn + 2);
  }
  REQUIRE(mount.unmount());
}

TEST_CASE("lmdb_index: a file system mounted read-only is enough for reading") {
  Fixture fixture;
  io::testing::Mount mount(fixture.temporary, "tmpfs", "size=16m");
  if (!mount.mounted()) return;
  fixture.options.dir = mount.path("index");
  CHECK(apply(*fixture.open(), 1, {{"a", "1"}}).ok());
  CHECK(mount.make_read_only("size=16m"));
  CHECK(fixture.open_error() == ErrorCode::kReadOnly);
  fixture.options.mode = io::OpenMode::kReadOnly;
  CHECK(difference(*fixture.open(), {{"a", "1"}}) == "");
  REQUIRE(mount.unmount());
}

}  // namespace
}  // namespace hexad::kv
