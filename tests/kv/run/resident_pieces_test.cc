#include "kv/run/resident_pieces.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "io/memory_system.h"
#include "io/rng.h"
#include "io/sim/sim_system.h"
#include "io/system.h"
#include "kv/run/run_merge.h"
#include "kv/run/run_reader.h"
#include "kv/run/run_writer.h"
#include "tests/io/temporary.h"
#include "tests/kv/run/resident_world.h"
#include "tests/kv/run_model.h"

namespace hexad::kv {
namespace {

using namespace testing;

TEST_CASE("resident pieces: without room nothing is kept, and that is no error") {
  World w;
  offer(w.pieces, 1, 0);
  REQUIRE(read(w.pieces, 1, 0) == std::nullopt);
  w.pieces.drop(key(1, 0));
  w.pieces.end_run(1);
  REQUIRE_FALSE(w.pieces.usage().open);
  REQUIRE(w.pieces.give_room(100 << 10).error().code == ErrorCode::kNoSpace);
  ResidentPieces nowhere(w.system, "", kTable);
  REQUIRE(nowhere.give_room(1_MiB).error().code == ErrorCode::kNoSpace);
}

TEST_CASE("resident pieces: what was offered is found, in memory and on the device") {
  World w;
  REQUIRE(w.pieces.give_room(4_MiB).ok());
  for (std::uint64_t i = 0; i < 500; ++i) {
    offer(w.pieces, 1 + i % 3, i * kPiece);
    REQUIRE(is_right(w.pieces, 1 + i % 3, i * kPiece));
  }
  for (std::uint64_t i = 0; i < 500; ++i) REQUIRE(is_right(w.pieces, 1 + i % 3, i * kPiece));
  REQUIRE(read(w.pieces, 2, 0) == std::nullopt);
  const ResidentPieces::Usage usage = w.pieces.usage();
  REQUIRE(usage.pieces == 500);
  REQUIRE(usage.bytes == 500 * kPiece);
  REQUIRE(usage.room == 4_MiB);
  REQUIRE(w.pieces.tally().bytes_written >= 2_MiB);
  REQUIRE(w.pieces.tally().hits == 1000);
  REQUIRE(w.pieces.tally().misses == 1);
  w.pieces.check_invariants();
}

TEST_CASE("resident pieces: many are read together") {
  World w;
  REQUIRE(w.pieces.give_room(4_MiB).ok());
  for (std::uint64_t i = 0; i < 300; ++i) offer(w.pieces, 1, i * kPiece);
  std::vector<Bytes> out(40, Bytes(kPiece));
  std::vector<RunStoredRead> reads;
  for (std::uint64_t i = 0; i < 40; ++i) reads.push_back({key(1, i * 10 * kPiece), out[i]});
  w.pieces.read(reads);
  for (std::uint64_t i = 0; i < 40; ++i) {
    REQUIRE(reads[i].found == (i < 30));
    if (i < 30) REQUIRE((out[i] == content(1, i * 10 * kPiece, kPiece)));
  }
}

TEST_CASE("resident pieces: when it is full, what is asked for again takes the oldest's place") {
  World w;
  REQUIRE(w.pieces.give_room(1_MiB).ok());
  for (std::uint64_t i = 0; i < 1000; ++i) offer(w.pieces, 1, i * kPiece);
  w.pieces.check_invariants();
  // What came when all room was had has been asked for once.
  REQUIRE(is_right(w.pieces, 1, 100 * kPiece));
  REQUIRE(read(w.pieces, 1, 900 * kPiece) == std::nullopt);
  const std::uint64_t before = w.pieces.usage().pieces;
  REQUIRE(before > 150);
  // Round and round.
  for (std::uint64_t i = 500; i < 1000; ++i) {
    offer(w.pieces, 1, i * kPiece);
    offer(w.pieces, 1, i * kPiece);
    REQUIRE(is_right(w.pieces, 1, i * kPiece));
    w.pieces.check_invariants();
  }
  REQUIRE(read(w.pieces, 1, 100 * kPiece) == std::nullopt);
  REQUIRE(w.pieces.usage().bytes <= 1_MiB);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::optional<Bytes> found = read(w.pieces, 1, i * kPiece);
    if (found.has_value()) REQUIRE((*found == content(1, i * kPiece, kPiece)));
  }
}

TEST_CASE("resident pieces: a small table forgets, and goes on") {
  World w;
  ResidentPieces small(w.system, "fast/small", 4 << 10);
  REQUIRE(small.give_room(8_MiB).ok());
  // No more than it could know of.
  REQUIRE(small.usage().room < 1_MiB);
  for (std::uint64_t i = 0; i < 5000; ++i) {
    offer(small, 1, i * kPiece);
    if (i % 100 == 0) small.check_invariants();
  }
  REQUIRE(small.usage().memory <= (4 << 10) + 2_MiB);
  for (std::uint64_t i = 0; i < 5000; ++i) {
    const std::optional<Bytes> found = read(small, 1, i * kPiece);
    if (found.has_value()) REQUIRE((*found == content(1, i * kPiece, kPiece)));
  }
}

TEST_CASE("resident pieces: of pieces that fill the table, a part is given up, not all") {
  World w;
  ResidentPieces small(w.system, "fast/small", 64 << 10);
  REQUIRE(small.give_room(64_MiB).ok());
  constexpr std::size_t kSmall = 500;
  std::uint64_t most = 0;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    small.offer(key(1, i * kSmall), content(1, i * kSmall, kSmall));
    if (i % 50 != 0) continue;
    const std::uint64_t pieces = small.usage().pieces;
    REQUIRE(pieces >= most / 2);
    most = std::max(most, pieces);
  }
  REQUIRE(most > 2000);
}

// FB1
TEST_CASE("resident pieces: nothing is found of a run that has ended, nor for the one after it") {
  World w;
  REQUIRE(w.pieces.give_room(1_MiB).ok());
  for (std::uint64_t i = 0; i < 80; ++i) {
    offer(w.pieces, 1, i * kPiece);
    offer(w.pieces, 2, i * kPiece);
  }
  w.pieces.end_run(1);
  REQUIRE(w.pieces.usage().pieces == 80);
  for (std::uint64_t i = 0; i < 80; ++i) {
    REQUIRE(read(w.pieces, 1, i * kPiece) == std::nullopt);
    REQUIRE(read(w.pieces, 3, i * kPiece) == std::nullopt);
    REQUIRE(is_right(w.pieces, 2, i * kPiece));
  }
  w.pieces.end_run(2);
  REQUIRE(w.pieces.usage().bytes == 0);
  w.pieces.check_invariants();
}

TEST_CASE("resident pieces: room that is taken away is gone at once, and may come again, less") {
  World w;
  REQUIRE(w.pieces.give_room(2_MiB).ok());
  for (std::uint64_t i = 0; i < 300; ++i) offer(w.pieces, 1, i * kPiece);
  w.pieces.take_room();
  REQUIRE_FALSE(w.pieces.usage().open);
  REQUIRE(read(w.pieces, 1, 0) == std::nullopt);
  offer(w.pieces, 1, 0);
  REQUIRE(read(w.pieces, 1, 0) == std::nullopt);
  REQUIRE(w.pieces.give_room(512_KiB).ok());
  REQUIRE(w.pieces.usage().room == 512_KiB);
  REQUIRE(read(w.pieces, 1, 0) == std::nullopt);  // it begins empty
  for (std::uint64_t i = 0; i < 90; ++i) {
    offer(w.pieces, 1, i * kPiece);
    REQUIRE(is_right(w.pieces, 1, i * kPiece));
  }
}

// --- another size, while it is used ---

TEST_CASE("resident pieces: a file that somebody else has open is a cache that is not there") {
  World w;
  const auto held = w.system.create_device(kPath, 1_MiB);
  REQUIRE(held.ok());
  REQUIRE(w.pieces.give_room(1_MiB).error().code == ErrorCode::kBusy);
  REQUIRE_FALSE(w.pieces.usage().open);
  REQUIRE(w.pieces.usage().problem != "");
  offer(w.pieces, 1, 0);
  REQUIRE(read(w.pieces, 1, 0) == std::nullopt);
}

// As a file on a copy-on-write file system.
class UnsureDevice final : public io::Device {
 public:
  UnsureDevice(std::unique_ptr<io::Device> inner, int& open)
      : inner_(std::move(inner)), open_(open) {
    ++open_;
  }
  ~UnsureDevice() override { --open_; }
  const io::Geometry& geometry() const override { return inner_->geometry(); }
  const std::string& name() const override { return inner_->name(); }
  io::IoQueue& queue() override { return inner_->queue(); }
  Status grow(std::uint64_t size) override { return inner_->grow(size); }
  bool direct() const override { return inner_->direct(); }
  Result<Room> reserve_room(std::uint64_t, std::uint64_t) override { return Room::kNotPromised; }

 private:
  const std::unique_ptr<io::Device> inner_;
  int& open_;
};

class UnsureSystem final : public io::System {
 public:
  io::Executor& executor() override { return memory_.executor(); }
  io::Clock& clock() override { return memory_.clock(); }
  io::IoQueue& queue() override { return memory_.queue(); }
  std::uint64_t draw_seed() override { return 1; }
  Result<std::unique_ptr<io::Device>> open_device(const std::string& path,
                                                  io::OpenMode mode) override {
    return memory_.open_device(path, mode);
  }
  Result<std::unique_ptr<io::Device>> create_device(const std::string& path,
                                                    std::uint64_t size) override {
    HEXAD_TRY_ASSIGN(std::unique_ptr<io::Device> inner, memory_.create_device(path, size));
    return std::unique_ptr<io::Device>(std::make_unique<UnsureDevice>(std::move(inner), open));
  }
  Status remove_created(const std::string&) override {
    ++removed;
    return {};
  }
  int open = 0;
  int removed = 0;

 private:
  io::MemorySystem memory_;
};

TEST_CASE("resident pieces: there is no room where it is not promised") {
  UnsureSystem system;
  ResidentPieces pieces(system, kPath, kTable);
  REQUIRE(pieces.give_room(1_MiB).error().code == ErrorCode::kUnsupported);
  REQUIRE(system.open == 0);
  REQUIRE(system.removed == 2);  // what was there before, and this one
  REQUIRE(pieces.usage().problem.find("promise") != std::string::npos);
}

// --- through a run: whatever the device has, what is read of the run is right ---

class Cache final : public MapRunCache {
 public:
  explicit Cache(ResidentPieces& resident) : MapRunCache(0), resident_(resident) {}
  void read_stored(std::span<RunStoredRead> reads) override { resident_.read(reads); }
  void drop_stored(const RunPieceKey& piece) override { resident_.drop(piece); }
  void offer_stored(const RunPieceKey& piece, ByteView stored) override {
    resident_.offer(piece, stored);
  }
  bool has_stored(const RunPieceKey& piece) override { return resident_.holds(piece); }
  void inherit_stored(const RunPieceKey& piece, ByteView stored) override {
    resident_.inherit(piece, stored);
  }
  void end_run(std::uint64_t serial) override { resident_.end_run(serial); }

 private:
  ResidentPieces& resident_;
};

struct RunWorld : World {
  RunWorld() {
    for (int i = 0; i < 20'000; ++i) {
      model["key" + std::to_string(i)] = noise(i);
    }
    run = write_run(model);
    reader = run.open(cache);
  }
  static std::string noise(int i) {
    io::Rng rng(static_cast<std::uint64_t>(i));
    return random_bytes(rng, 40);
  }
  // Whether all was right. Every 37th key.
  void look_up() {
    for (int i = 0; i < 20'000; i += 37) {
      const std::string name = "key" + std::to_string(i);
      const Result<RunReader::Found> found = reader->get(name);
      REQUIRE(found.ok());
      REQUIRE(found->there);
      REQUIRE(found->value == model[name]);
    }
  }

  RunModel model;
  WrittenRun run;
  Cache cache{pieces};
  std::shared_ptr<RunReader> reader;
};

TEST_CASE("resident pieces: a run is read from them, and not from its own file") {
  RunWorld w;
  REQUIRE(w.pieces.give_room(4_MiB).ok());
  w.look_up();
  w.run.file->reads = 0;
  w.look_up();
  REQUIRE(w.run.file->reads == 0);
  REQUIRE(w.pieces.tally().errors == 0);
  // The run ends: so does what there is of it.
  REQUIRE(w.pieces.usage().pieces > 0);
  w.reader.reset();
  REQUIRE(w.pieces.usage().pieces == 0);
}

// FB2, FB4
TEST_CASE("resident pieces: rotten bytes, or those of another time, are read again from the run") {
  RunWorld w;
  REQUIRE(w.pieces.give_room(4_MiB).ok());
  w.look_up();
  SECTION("every byte differs") { w.flip_everything(); }
  SECTION("zeros") {
    const auto media = w.system.media(kPath);
    media->write(0, Bytes(media->size()));
  }
  SECTION("the file of an earlier time") {
    const auto media = w.system.media(kPath);
    Bytes before(media->size());
    media->read(0, before);
    // The same offsets in the same places, of a run with other content.
    w.pieces.take_room();
    for (auto& [name, value] : w.model) (*value)[0] ^= 1;
    w.run = write_run(w.model);
    w.reader = w.run.open(w.cache);
    REQUIRE(w.pieces.give_room(4_MiB).ok());
    w.look_up();
    media->write(0, before);
  }
  const ResidentPieces::Tally before_reading = w.pieces.tally();
  w.look_up();
  const ResidentPieces::Usage usage = w.pieces.usage();
  // What counts does not go down.
  REQUIRE(w.pieces.tally().hits >= before_reading.hits + ResidentPieces::kMostErrors);
  REQUIRE(w.pieces.tally().errors == ResidentPieces::kMostErrors);
  REQUIRE_FALSE(usage.open);
  REQUIRE(usage.problem.find("checksum") != std::string::npos);
  // Until there is room again.
  REQUIRE(w.pieces.give_room(4_MiB).ok());
  w.look_up();
  w.run.file->reads = 0;
  w.look_up();
  REQUIRE(w.run.file->reads == 0);
}

TEST_CASE("resident pieces: now and then a rotten one costs a read, and nothing more",
          "[one-thread]") {
  RunWorld w;
  REQUIRE(w.pieces.give_room(4_MiB).ok());
  for (int round = 0; round < 30; ++round) {
    w.look_up();
    const auto media = w.system.media(kPath);
    Bytes one(1);
    media->read(100'000, one);
    one[0] ^= std::byte{0x40};
    media->write(100'000, one);
  }
  REQUIRE(w.pieces.usage().open);
  REQUIRE(w.pieces.tally().errors > 0);
}

TEST_CASE("resident pieces: a merged run has copies where those that it is made of had them",
          "[one-thread]") {
  RunWorld w;
  REQUIRE(w.pieces.give_room(8_MiB).ok());
  RunModel newer;
  for (int i = 0; i < 20'000; i += 11) newer["key" + std::to_string(i)] = RunWorld::noise(-i - 1);
  const WrittenRun second = write_run(newer, 1, 2);
  const std::vector<std::shared_ptr<RunReader>> inputs = {second.open(w.cache), w.reader};
  for (const auto& [name, value] : newer) w.model[name] = value;
  const auto read_half = [&](const RunReader& run) {
    for (const auto& [name, value] : w.model) {
      if (name > "key3") break;
      REQUIRE(run.get(name)->value == value);
    }
  };
  // Of the keys up to key3 there are copies of all blocks, of the others there are none.
  for (const auto& input : inputs) {
    for (const auto& [name, value] : w.model) {
      if (name > "key3") break;
      REQUIRE(input->get(name).ok());
    }
  }
  const std::uint64_t before = w.pieces.usage().bytes;
  REQUIRE(before > 0);
  WrittenRun merged;
  const std::uint64_t serial = w.cache.new_run();
  RunWriter writer(*merged.file, run_store(), 0, 2);
  const auto inherit = [&](RunPieceKind kind, std::uint64_t offset, ByteView stored) {
    w.cache.inherit_stored({kind, serial, offset}, stored);
  };
  REQUIRE(merge_runs(inputs, Tombstones::kDropped, writer, {}, inherit).ok());
  merged.info = writer.finish().value();
  auto reader = RunReader::open(merged.file, run_store(), merged.info, w.cache, serial).value();
  const std::uint64_t reads = merged.file->reads;
  read_half(*reader);
  // Two blocks at the edge may have come from others.
  REQUIRE(merged.file->reads - reads <= 2);
  // What nobody looked for has not come here.
  REQUIRE(w.pieces.usage().bytes < 3 * before);
  REQUIRE(run_difference(*reader, w.model) == "");
  reader.reset();
  REQUIRE(w.pieces.usage().pieces > 0);
  w.pieces.end_run(serial);
}

// --- devices that fail, or do not answer ---

TEST_CASE("resident pieces: writes and reads that fail are misses, and many of them end it") {
  const io::FaultKind kind = GENERATE(
      io::FaultKind::kWriteErrorBefore, io::FaultKind::kWriteErrorPartly,
      io::FaultKind::kWriteNoSpace, io::FaultKind::kReadError, io::FaultKind::kDeviceError);
  CAPTURE(io::to_string(kind));
  SimWorld w;
  w.system.run([&] {
    ResidentPieces pieces(w.system, kPath, kTable);
    REQUIRE(pieces.give_room(2_MiB).ok());
    w.system.disk(kPath).inject({.kind = kind, .times = io::Fault::kForever});
    for (std::uint64_t i = 0; i < 3000 && pieces.usage().open; ++i) {
      offer(pieces, 1, i % 300 * kPiece);
      const std::optional<Bytes> found = read(pieces, 1, i / 2 % 300 * kPiece);
      if (found.has_value()) {
        REQUIRE((*found == content(1, i / 2 % 300 * kPiece, kPiece)));
      }
      pieces.check_invariants();
      w.system.executor().sleep_for(1'000'000);
    }
    REQUIRE(pieces.tally().errors > 0);
    w.system.disk(kPath).clear_faults();
    REQUIRE(pieces.give_room(1_MiB).ok());
    offer(pieces, 1, 0);
    REQUIRE(is_right(pieces, 1, 0));
  });
}

// FB3
TEST_CASE("resident pieces: nobody waits for a write that does not end") {
  SimWorld w;
  w.system.run([&] {
    ResidentPieces pieces(w.system, kPath, kTable);
    REQUIRE(pieces.give_room(1_MiB).ok());
    w.system.disk(kPath).inject({.kind = io::FaultKind::kHang});
    const io::Nanos before = w.system.clock().now();
    for (std::uint64_t i = 0; i < 200; ++i) offer(pieces, 1, i * kPiece);
    // What has been taken is in memory: two segments.
    std::uint64_t found = 0;
    for (std::uint64_t i = 0; i < 200; ++i) {
      if (is_right(pieces, 1, i * kPiece)) ++found;
    }
    REQUIRE(w.system.clock().now() == before);
    REQUIRE(found > 20);
    REQUIRE(found < 30);
    REQUIRE(pieces.tally().refused > 100);
    REQUIRE_FALSE(pieces.is_gone());
    pieces.take_room();
    REQUIRE(w.system.clock().now() == before);
    // The write keeps the space of the file.
    REQUIRE_FALSE(pieces.is_gone());
    w.system.disk(kPath).release_hung();
    w.system.executor().sleep_for(10'000'000);
    REQUIRE(pieces.is_gone());
  });
}

TEST_CASE("resident pieces: a read that has no answer is a miss after half a second") {
  SimWorld w;
  w.system.run([&] {
    {
      ResidentPieces pieces(w.system, kPath, kTable);
      REQUIRE(pieces.give_room(1_MiB).ok());
      for (std::uint64_t i = 0; i < 100; ++i) {
        offer(pieces, 1, i * kPiece);
        w.system.executor().sleep_for(1'000'000);
      }
      w.system.disk(kPath).inject({.kind = io::FaultKind::kHang, .times = io::Fault::kForever});
      const io::Nanos before = w.system.clock().now();
      // Nor is it asked again while it owes that answer.
      for (std::uint64_t i = 0; i < 30; ++i) REQUIRE(read(pieces, 1, i * kPiece) == std::nullopt);
      REQUIRE(w.system.clock().now() - before <= ResidentPieces::kPatience + 1'000'000);
      REQUIRE(w.system.disk(kPath).struck(io::FaultKind::kHang) == 1);
      w.system.disk(kPath).clear_faults();
      w.system.disk(kPath).release_hung();
      w.system.executor().sleep_for(10'000'000);
      REQUIRE(read(pieces, 1, 0) == std::nullopt);  // what was not read is forgotten
      REQUIRE(is_right(pieces, 1, 10 * kPiece));
    }
    w.system.disk(kPath).release_hung();
    REQUIRE(w.system.queue().wait_for_abandoned());
  });
}

TEST_CASE("resident pieces: a device that hangs does not get all of the queue") {
  SimWorld w;
  w.system.run([&] {
    {
      ResidentPieces pieces(w.system, kPath, kTable);
      REQUIRE(pieces.give_room(4_MiB).ok());
      for (std::uint64_t i = 0; i < 300; ++i) {
        offer(pieces, 1, i * kPiece);
        w.system.executor().sleep_for(1'000'000);
      }
      w.system.disk(kPath).inject({.kind = io::FaultKind::kHang, .times = io::Fault::kForever});
      std::vector<std::unique_ptr<io::Thread>> threads;
      for (int thread = 0; thread < 8; ++thread) {
        threads.push_back(w.system.executor().start("reader", [&] {
          std::vector<Bytes> out(64, Bytes(kPiece));
          std::vector<RunStoredRead> reads;
          for (std::uint64_t i = 0; i < 64; ++i) reads.push_back({key(1, i * kPiece), out[i]});
          for (int round = 0; round < 3; ++round) pieces.read(reads);
          REQUIRE(std::none_of(reads.begin(), reads.end(),
                               [](const RunStoredRead& one) { return one.found; }));
        }));
      }
      for (const auto& thread : threads) thread->join();
      REQUIRE(w.system.disk(kPath).struck(io::FaultKind::kHang) <= ResidentPieces::kMostUnderWay);
      w.system.disk(kPath).clear_faults();
      pieces.take_room();
      // So do reads that nobody waits for any more.
      REQUIRE_FALSE(pieces.is_gone());
      w.system.disk(kPath).release_hung();
      w.system.executor().sleep_for(10'000'000);
      REQUIRE(pieces.is_gone());
    }
    REQUIRE(w.system.queue().wait_for_abandoned());
  });
}

TEST_CASE("resident pieces: it ends although its device does not answer any more") {
  SimWorld w;
  w.system.run([&] {
    {
      ResidentPieces pieces(w.system, kPath, kTable);
      REQUIRE(pieces.give_room(1_MiB).ok());
      w.system.disk(kPath).inject({.kind = io::FaultKind::kHang});
      for (std::uint64_t i = 0; i < 30; ++i) offer(pieces, 1, i * kPiece);
    }
    w.system.disk(kPath).release_hung();
    w.system.queue().wait_for_abandoned();
  });
}

TEST_CASE("resident pieces: threads that read and offer at once find what they offered") {
  // On a file: a segment may be written where a read is under way that began when another stood
  // there, which is for the kernel to bear. In memory the two would be a data race.
  const io::testing::TemporaryDirectory directory;
  const std::unique_ptr<io::System> system = io::make_real_system().value();
  ResidentPieces pieces(*system, directory.path("blocks"), kTable);
  if (const Status room = pieces.give_room(1_MiB); !room.ok()) {
    REQUIRE(room.error().code == ErrorCode::kUnsupported);
    WARN(room.error().message);
    return;
  }
  std::atomic<int> wrong{0};
  std::vector<std::unique_ptr<io::Thread>> threads;
  for (std::uint64_t thread = 1; thread <= 3; ++thread) {
    threads.push_back(run_executor().start("reader", [&, thread] {
      io::Rng rng(thread);
      for (int i = 0; i < 5000; ++i) {
        const std::uint64_t run = 1 + rng.below(3);
        const std::uint64_t offset = rng.below(400) * kPiece;
        if (rng.chance(1, 2)) offer(pieces, run, offset);
        const std::optional<Bytes> found = read(pieces, run, offset);
        if (found.has_value() && *found != content(run, offset, kPiece)) ++wrong;
        if (thread == 1 && i % 500 == 499) pieces.end_run(run);
        if (thread == 2 && i % 1000 == 999) pieces.give_room(1_MiB).ignore();
        if (thread == 2 && i % 100 == 99) pieces.change_room((1 + rng.below(8)) * 512_KiB).ignore();
        if (thread == 3 && i % 100 == 99) pieces.set_most_memory((4 << 10) << rng.below(7));
      }
    }));
  }
  for (const auto& thread : threads) thread->join();
  REQUIRE(wrong == 0);
  REQUIRE(pieces.tally().hits > 0);
  pieces.check_invariants();
}

}  // namespace
}  // namespace hexad::kv
