#include "io/sim/sim_device.h"

#include <catch2/catch.hpp>
#include <set>

#include "base/aligned_buffer.h"
#include "base/units.h"
#include "io/sim/sim_system.h"
#include "tests/io/device_contract.h"
#include "tests/io/sim/one_disk.h"
#include "tests/io/system_world.h"

using namespace hexad;
using namespace hexad::io;
using hexad::io::testing::One;
using hexad::io::testing::pattern;

namespace {

class SimWorld final : public io::testing::SystemWorld<SimSystem> {
 public:
  using SystemWorld::SystemWorld;
  void run(const std::function<void()>& body) override { system_.run(body); }
};

bool one_bit_differs(const Bytes& bytes, int value) {
  int bits = 0;
  for (const std::byte byte : bytes) bits += std::popcount(static_cast<unsigned>(byte) ^ value);
  return bits == 1;
}

}  // namespace

TEST_CASE("sim_device: keeps the device contract under many seeds") {
  for (const std::uint64_t seed : {1, 2, 3}) {
    DYNAMIC_SECTION("seed " << seed) {
      io::testing::run_device_contract(
          [&] { return std::make_unique<SimWorld>(SimOptions{.seed = seed}); });
    }
  }
}

TEST_CASE("sim_device: keeps the device contract when requests complete at once") {
  SimOptions options;
  options.latency.immediate = true;
  io::testing::run_device_contract([&] { return std::make_unique<SimWorld>(options); });
}

TEST_CASE("sim_device: keeps the device contract with blocks of 4096 bytes") {
  SimOptions options;
  options.disk.logical_block = 4096;
  io::testing::run_device_contract([&] { return std::make_unique<SimWorld>(options); });
}

TEST_CASE("sim_device: a seed gives one history, and requests overtake one another") {
  const auto run = [](std::uint64_t seed, std::string& order) {
    SimSystem system(SimOptions{.seed = seed});
    auto device = system.create_device("disk", 1_MiB).value();
    system.run([&] {
      const AlignedBuffer data = pattern(1, 4096);
      std::vector<std::unique_ptr<Thread>> threads;
      for (char name = 'a'; name < 'i'; ++name) {
        threads.push_back(system.executor().start("writer", [&, name] {
          REQUIRE(device->write(static_cast<std::uint64_t>(name - 'a') * 4096, data).ok());
          order += name;
        }));
      }
      for (auto& thread : threads) thread->join();
    });
    return system.trace_hash();
  };
  std::set<std::string> orders;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::string first;
    std::string second;
    REQUIRE(run(seed, first) == run(seed, second));
    REQUIRE(first == second);
    orders.insert(first);
  }
  REQUIRE(orders.size() > 15);
}

TEST_CASE("sim_device: the history of a seed is the same in every build mode") {
  SimSystem system(SimOptions{.seed = 11});
  const auto device = system.create_device("disk", 1_MiB).value();
  system.disk("disk").inject({FaultKind::kWriteTorn, 0, Fault::kForever, 5, 3, 0});
  system.run([&] {
    Mutex mutex(system.executor());
    std::vector<std::unique_ptr<Thread>> threads;
    for (std::uint64_t t = 0; t < 4; ++t) {
      threads.push_back(system.executor().start("writer", [&, t] {
        for (std::uint64_t i = 0; i < 5; ++i) {
          const AlignedBuffer data = pattern(t * 10 + i, 4096 * (i + 1));
          const Lock lock(mutex);
          REQUIRE(device->write(t * 64_KiB, data).ok());
          if (i == t) REQUIRE(device->flush().ok());
        }
      }));
    }
    for (auto& thread : threads) thread->join();
  });
  system.power_cut();
  REQUIRE(system.trace_hash() == 0xb33225b392cf2221);
}

TEST_CASE("sim_device: read faults do what they say, and are counted") {
  One it;
  SECTION("an error, once") {
    it.inject(FaultKind::kReadError);
    AlignedBuffer buffer(4096);
    const Status status = it.device->read(0, buffer.bytes());
    REQUIRE(status.error().code == ErrorCode::kIo);
    REQUIRE(status.error().message.find("disk") != std::string::npos);
    REQUIRE(it.device->read(0, buffer.bytes()).ok());
    REQUIRE(it.disk().struck(FaultKind::kReadError) == 1);
  }
  SECTION("an error that sticks to its range") {
    it.disk().inject({FaultKind::kReadError, 8192, 4096, 0, Fault::kForever, 0});
    AlignedBuffer buffer(4096);
    for (int i = 0; i < 3; ++i) {
      REQUIRE_FALSE(it.device->read(8192, buffer.bytes()).ok());
      REQUIRE(it.device->read(4096, buffer.bytes()).ok());
      REQUIRE(it.device->read(12288, buffer.bytes()).ok());
    }
    it.disk().clear_faults();
    REQUIRE(it.device->read(8192, buffer.bytes()).ok());
  }
  SECTION("the third read") {
    it.disk().inject({FaultKind::kReadError, 0, Fault::kForever, 2, 1, 0});
    AlignedBuffer buffer(4096);
    REQUIRE(it.device->read(0, buffer.bytes()).ok());
    REQUIRE(it.device->read(0, buffer.bytes()).ok());
    REQUIRE_FALSE(it.device->read(0, buffer.bytes()).ok());
  }
  SECTION("a flip that passes") {
    it.inject(FaultKind::kReadFlip);
    REQUIRE(one_bit_differs(it.read(0, 8192), 0x11));
    REQUIRE(it.count_at(0, 1_MiB, 0x11) == 1_MiB);
  }
  SECTION("a flip that stays") {
    it.inject(FaultKind::kReadFlipStored);
    REQUIRE(one_bit_differs(it.read(0, 8192), 0x11));
    REQUIRE(one_bit_differs(it.read(0, 8192), 0x11));
    it.system.power_cut();
    it.open();
    REQUIRE(one_bit_differs(it.read(0, 8192), 0x11));
  }
  SECTION("zeros") {
    it.inject(FaultKind::kReadZeros);
    REQUIRE(is_zero(it.read(0, 4096)));
    REQUIRE(it.read(0, 4096)[0] == std::byte{0x11});
  }
  SECTION("another place") {
    for (std::uint64_t at = 0; at < 1_MiB; at += 512) {
      it.disk().poke(at, as_bytes(std::to_string(at)));
    }
    it.inject(FaultKind::kReadMisdirected, Fault::kForever);
    std::set<std::string> places;
    for (int i = 0; i < 20; ++i) places.insert(std::string(as_text(it.read(0, 512)).substr(0, 8)));
    REQUIRE(places.size() > 10);
  }
}

TEST_CASE("sim_device: a stale read gives what was there before the last write") {
  SimOptions options;
  options.disk.keep_previous = true;
  One it(options);
  REQUIRE(it.write(0, 4096, 0x22).ok());
  REQUIRE(it.write(0, 4096, 0x33).ok());
  it.inject(FaultKind::kReadStale);
  REQUIRE(it.read(0, 4096)[0] == std::byte{0x22});
  REQUIRE(it.read(0, 4096)[0] == std::byte{0x33});
}

TEST_CASE("sim_device: write faults do what they say") {
  One it;
  const std::uint64_t size = 64_KiB;
  SECTION("before") {
    it.inject(FaultKind::kWriteErrorBefore);
    REQUIRE(it.write(0, size, 0x22).error().code == ErrorCode::kIo);
    REQUIRE(it.count_at(0, size, 0x22) == 0);
  }
  SECTION("partly") {
    it.inject(FaultKind::kWriteErrorPartly, 1, 4096);
    REQUIRE(it.write(0, size, 0x22).error().code == ErrorCode::kIo);
    REQUIRE(it.count_at(0, size, 0x22) % 4096 == 0);
    REQUIRE(it.count_at(0, size, 0x22) < 64 * 1024);
  }
  SECTION("after") {
    it.inject(FaultKind::kWriteErrorAfter);
    REQUIRE(it.write(0, size, 0x22).error().code == ErrorCode::kIo);
    REQUIRE(it.count_at(0, size, 0x22) == 64 * 1024);
  }
  SECTION("no space") {
    it.inject(FaultKind::kWriteNoSpace);
    REQUIRE(it.write(0, size, 0x22).error().code == ErrorCode::kNoSpace);
    REQUIRE(it.count_at(0, size, 0x22) == 0);
  }
  SECTION("torn") {
    it.inject(FaultKind::kWriteTorn);
    REQUIRE(it.write(0, size, 0x22).ok());
    REQUIRE(it.count_at(0, size, 0x22) % 512 == 0);
    REQUIRE(it.count_at(0, size, 0x22) < 64 * 1024);
  }
  SECTION("lost") {
    it.inject(FaultKind::kWriteLost);
    REQUIRE(it.write(0, size, 0x22, WriteMode::kDurable).ok());
    REQUIRE(it.count_at(0, size, 0x22) == 0);
  }
  SECTION("misdirected") {
    it.inject(FaultKind::kWriteMisdirected);
    REQUIRE(it.write(0, 4096, 0x22).ok());
    REQUIRE(it.count_at(0, 1_MiB, 0x22) == 4096);
    REQUIRE(it.count_at(0, 4096, 0x22) < 4096);
  }
  SECTION("refused, with the error of an errno") {
    it.inject(FaultKind::kRefused);
    REQUIRE(it.write(0, size, 0x22).error().code == ErrorCode::kExhausted);
    it.disk().inject({.kind = FaultKind::kRefused, .amount = EDQUOT});
    REQUIRE(it.write(0, size, 0x22).error().code == ErrorCode::kNoSpace);
    it.inject(FaultKind::kRefused);
    AlignedBuffer buffer(4096);
    REQUIRE(it.device->read(0, buffer.bytes()).error().code == ErrorCode::kExhausted);
    it.inject(FaultKind::kRefused);
    REQUIRE(it.device->flush().error().code == ErrorCode::kExhausted);
    REQUIRE(it.count_at(0, size, 0x22) == 0);
    REQUIRE(it.write(0, size, 0x22).ok());
  }
  SECTION("of the whole device") {
    it.inject(FaultKind::kDeviceError, Fault::kForever);
    AlignedBuffer buffer(4096);
    REQUIRE_FALSE(it.write(0, size, 0x22).ok());
    REQUIRE_FALSE(it.device->read(0, buffer.bytes()).ok());
    REQUIRE_FALSE(it.device->flush().ok());
    REQUIRE(it.disk().struck(FaultKind::kDeviceError) == 3);
  }
}

TEST_CASE("sim_device: a sparse disk takes so much that is new, and whatever has its room") {
  One it{SimOptions{}};
  REQUIRE(it.write(0, 8192, 0x11).ok());
  it.disk().poke(8192, Bytes(1_MiB - 8192));
  it.disk().make_sparse(16384);
  REQUIRE(it.write(0, 8192, 0x22).ok());  // was there
  REQUIRE(it.disk().room_left() == 16384);
  REQUIRE(it.device->reserve_room(65536, 8192).value() == Device::Room::kSure);
  REQUIRE(it.write(131072, 8192, 0x22).ok());
  REQUIRE(it.disk().room_left() == 0);
  REQUIRE(it.device->reserve_room(0, 262144).error().code == ErrorCode::kNoSpace);
  REQUIRE(it.write(262144, 4096, 0x22).error().code == ErrorCode::kNoSpace);
  REQUIRE(it.disk().struck(FaultKind::kWriteNoSpace) == 1);
  REQUIRE(it.write(65536, 8192, 0x22).ok());  // was reserved
  REQUIRE(it.count_at(262144, 4096, 0x22) == 0);
}

TEST_CASE("sim_device: unflushed writes may be lost with the power, flushed ones never") {
  std::set<bool> kept;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    One it(SimOptions{.seed = seed});
    REQUIRE(it.write(0, 4096, 0x22).ok());
    REQUIRE(it.device->flush().ok());
    REQUIRE(it.write(8192, 512, 0x33).ok());
    REQUIRE(it.write(16384, 512, 0x44, WriteMode::kDurable).ok());
    it.system.power_cut();
    AlignedBuffer buffer(4096);
    REQUIRE(it.device->read(0, buffer.bytes()).error().code == ErrorCode::kIo);
    it.open();
    REQUIRE(it.count_at(0, 4096, 0x22) == 4096);
    REQUIRE(it.count_at(16384, 512, 0x44) == 512);
    const auto left = it.count_at(8192, 512, 0x33);
    REQUIRE((left == 0 || left == 512));
    kept.insert(left == 512);
  }
  REQUIRE(kept.size() == 2);
}

TEST_CASE("sim_device: a power cut fails the requests in flight") {
  SimSystem system;
  system.add_disk("disk", 1_MiB);
  system.run([&] {
    const auto device = system.open_device("disk", OpenMode::kReadWrite).value();
    const AlignedBuffer data = pattern(1, 4096);
    IoBatch batch;
    batch.requests.push_back(IoRequest::write(*device, 0, data, WriteMode::kDurable));
    device->queue().submit(batch);
    system.power_cut();
    device->queue().wait(batch);
    REQUIRE(batch.first_error().error().code == ErrorCode::kIo);
    REQUIRE(system.open_device("disk", OpenMode::kReadWrite).ok());
  });
}

TEST_CASE("sim_device: a disk without a volatile cache loses nothing that completed") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SimOptions options{.seed = seed};
    options.disk.volatile_cache = false;
    One it(options);
    REQUIRE_FALSE(it.device->geometry().volatile_cache);
    REQUIRE(it.write(0, 64_KiB, 0x22).ok());
    it.system.power_cut();
    REQUIRE(it.count_at(0, 64_KiB, 0x22) == 64 * 1024);
  }
}

TEST_CASE("sim_device: D4 after a failed flush a successful one covers nothing of it") {
  int lost = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    One it(SimOptions{.seed = seed});
    REQUIRE(it.write(0, 512, 0x22).ok());
    it.inject(FaultKind::kFlushError);
    REQUIRE(it.device->flush().error().code == ErrorCode::kIo);
    REQUIRE(it.device->flush().ok());
    REQUIRE(it.count_at(0, 512, 0x22) == 512);
    it.system.power_cut();
    if (it.count_at(0, 512, 0x22) == 0) ++lost;
  }
  REQUIRE(lost > 5);
}

TEST_CASE("sim_device: a lying flush keeps nothing") {
  int lost = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    One it(SimOptions{.seed = seed});
    REQUIRE(it.write(0, 512, 0x22).ok());
    it.inject(FaultKind::kFlushLies);
    REQUIRE(it.device->flush().ok());
    it.system.power_cut();
    if (it.count_at(0, 512, 0x22) == 0) ++lost;
  }
  REQUIRE(lost > 5);
}

TEST_CASE("sim_device: one flush covers every disk of its flush domain") {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SimOptions options{.seed = seed};
    options.disk.flush_domain = 0;
    SimSystem system(options);
    system.add_disk("a", 1_MiB);
    system.add_disk("b", 1_MiB);
    const auto a = system.open_device("a", OpenMode::kReadWrite).value();
    const auto b = system.open_device("b", OpenMode::kReadWrite).value();
    const AlignedBuffer data = pattern(1, 4096);
    REQUIRE(a->write(0, data).ok());
    REQUIRE(b->flush().ok());
    system.power_cut();
    REQUIRE(as_text(system.disk("a").peek(0, 4096)) == as_text(data.bytes()));
  }
}

TEST_CASE("sim_device: growth is lost with the power unless flushed") {
  std::set<std::uint64_t> sizes;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    One it(SimOptions{.seed = seed});
    REQUIRE(it.device->grow(2_MiB).ok());
    it.system.power_cut();
    sizes.insert(it.disk().size());
    it.open();
    REQUIRE(it.device->grow(3_MiB).ok());
    REQUIRE(it.device->flush().ok());
    it.system.power_cut();
    REQUIRE(it.disk().size() == 3_MiB);
  }
  REQUIRE(sizes == std::set<std::uint64_t>{1_MiB, 2_MiB});
}

TEST_CASE("sim_device: a hanging request waits for its release, a slow one only takes longer") {
  One it;
  it.inject(FaultKind::kHang);
  it.inject(FaultKind::kSlow, 1, 1000);
  it.system.run([&] {
    Clock& clock = it.system.clock();
    bool done = false;
    auto writer = it.system.executor().start("writer", [&] {
      REQUIRE(it.write(0, 4096, 0x22).ok());
      done = true;
    });
    it.system.executor().sleep_for(3600'000'000'000);
    REQUIRE_FALSE(done);
    it.disk().release_hung();
    writer->join();
    REQUIRE(done);
    const Nanos before = clock.now();
    REQUIRE(it.write(0, 4096, 0x33).ok());
    REQUIRE(clock.now() - before > 10'000'000);
  });
}

TEST_CASE("sim_device: a disk that vanished fails everything and comes back as it was") {
  One it;
  it.disk().vanish();
  AlignedBuffer buffer(4096);
  REQUIRE(it.device->read(0, buffer.bytes()).error().code == ErrorCode::kIo);
  REQUIRE(it.device->grow(2_MiB).error().code == ErrorCode::kIo);
  REQUIRE(it.write(0, 4096, 0x22).error().code == ErrorCode::kIo);
  it.device.reset();
  REQUIRE(it.system.open_device("disk", OpenMode::kReadOnly).error().code == ErrorCode::kNotFound);
  it.disk().appear();
  it.open();
  REQUIRE(it.read(0, 4096)[0] == std::byte{0x11});
}

TEST_CASE("sim_device: an old or foreign content can be put back") {
  One it;
  const auto old = it.disk().snapshot();
  REQUIRE(it.write(0, 4096, 0x22).ok());
  it.device.reset();
  it.disk().replace(old);
  it.open();
  REQUIRE(it.read(0, 4096)[0] == std::byte{0x11});
  it.device.reset();
  it.disk().replace(std::make_shared<CowImage>(512_KiB));
  it.open();
  REQUIRE(it.device->geometry().size == 512_KiB);
  REQUIRE(is_zero(it.read(0, 4096)));
  it.disk().flip_bit(5, 3);
  REQUIRE(it.read(0, 512)[5] == std::byte{8});
}

TEST_CASE("sim_device: hooks see every request") {
  One it;
  std::vector<std::uint64_t> numbers;
  std::string kinds;
  it.system.set_hook([&](const SimOp& op) -> std::optional<FaultKind> {
    numbers.push_back(op.number);
    kinds += "rwfd"[static_cast<int>(op.op)];
    REQUIRE(op.disk == "disk");
    return FaultKind::kFlushError;  // strikes flushes only
  });
  REQUIRE(it.write(4096, 512, 1).ok());
  it.read(0, 512);
  REQUIRE_FALSE(it.device->flush().ok());
  REQUIRE(it.device->discard(0, 4096).ok());
  REQUIRE(kinds == "wrfd");
  REQUIRE(numbers == std::vector<std::uint64_t>{1, 2, 3, 4});
  REQUIRE(it.system.requests() == 5);
  REQUIRE(it.disk().counts().reads == 1);
  REQUIRE(it.disk().counts().write_bytes == 1_MiB + 512);
}
