#include "tests/io/device_contract.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>

#include "base/units.h"
#include "io/rng.h"
#include "tests/io/countdown.h"

namespace hexad::io::testing {

namespace {

bool same(ByteView a, ByteView b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}

// The error's text, so that a failed check shows it; empty when there is none.
std::string why(const Status& status) { return status.ok() ? "" : status.error().to_string(); }

// The message of the check in which this is false says what was wrong.
bool holds(Device& device, std::uint64_t offset, ByteView expected) {
  AlignedBuffer buffer(expected.size());
  if (const Status status = device.read(offset, buffer.bytes()); !status.ok()) {
    UNSCOPED_INFO(why(status));
    return false;
  }
  const ByteView found = buffer;
  const auto [first, other] = std::mismatch(found.begin(), found.end(), expected.begin());
  if (first == found.end()) return true;
  UNSCOPED_INFO(device.name() << ": read of " << format_size(expected.size()) << " at byte "
                              << offset << " gives other bytes from byte "
                              << offset + static_cast<std::uint64_t>(first - found.begin()));
  return false;
}

void geometry_is_sane(World& world) {
  for (int i = 0; i < 2; ++i) {
    const Geometry& geometry = world.device(i).geometry();
    REQUIRE(geometry.size >= 8_MiB);
    REQUIRE((geometry.logical_block == 512 || geometry.logical_block == 4096));
    REQUIRE(geometry.physical_block >= geometry.logical_block);
    REQUIRE(is_multiple(geometry.physical_block, geometry.logical_block));
    REQUIRE(is_multiple(geometry.size, geometry.logical_block));
    REQUIRE_FALSE(world.device(i).name().empty());
    REQUIRE_FALSE(world.device(i).read_only());
  }
  REQUIRE(&world.device(0).queue() == &world.device(1).queue());
  REQUIRE_FALSE(world.device(0).queue().name().empty());
}

void bad_requests_have_no_effect(World& world) {
  Device& device = world.device(0);
  const std::uint64_t block = device.geometry().logical_block;
  const std::uint64_t end = device.geometry().size;
  const AlignedBuffer before = pattern(1, 64_KiB);
  REQUIRE(why(device.write(0, before)) == "");
  REQUIRE(why(device.write(end - 64_KiB, before)) == "");
  AlignedBuffer buffer = pattern(2, 64_KiB);
  const auto refused = [&](std::uint64_t offset, MutByteView bytes) {
    for (const IoOp op : {IoOp::kRead, IoOp::kWrite}) {
      IoBatch batch;
      batch.requests.push_back(op == IoOp::kRead ? IoRequest::read(device, offset, bytes)
                                                 : IoRequest::write(device, offset, bytes));
      device.queue().submit(batch);
      device.queue().wait(batch);
      const Status status = batch.first_error();
      if (status.ok() || status.error().code != ErrorCode::kInvalidArgument) return false;
      if (status.error().message.find(device.name()) == std::string::npos) return false;
    }
    return true;
  };
  const MutByteView bytes = buffer.bytes();
  CHECK(refused(1, bytes.first(block)));
  CHECK(refused(block - 1, bytes.first(block)));
  CHECK(refused(0, bytes.first(block - 1)));
  CHECK(refused(0, bytes.first(block + 1)));
  CHECK(refused(0, bytes.first(0)));
  CHECK(refused(0, bytes.subspan(512, block)));
  CHECK(refused(0, bytes.subspan(1, block)));
  CHECK(refused(end, bytes.first(block)));
  CHECK(refused(end - block, bytes.first(2 * block)));
  CHECK(refused(~std::uint64_t{0} / block * block, bytes.first(block)));
  CHECK(device.discard(1, block).error().code == ErrorCode::kInvalidArgument);
  CHECK(device.discard(end, block).error().code == ErrorCode::kInvalidArgument);
  REQUIRE(holds(device, 0, before));
  REQUIRE(holds(device, end - 64_KiB, before));
}

void a_bad_request_does_not_hurt_its_batch(World& world) {
  Device& device = world.device(0);
  const AlignedBuffer data = pattern(3, 8_KiB);
  IoBatch batch;
  batch.requests.push_back(IoRequest::write(device, 1, data));
  batch.requests.push_back(IoRequest::write(device, 64_KiB, data));
  batch.requests.push_back(IoRequest::write(device, device.geometry().size, data));
  device.queue().submit(batch);
  device.queue().wait(batch);
  REQUIRE(batch.complete());
  REQUIRE_FALSE(batch.requests[0].status.ok());
  REQUIRE(batch.requests[1].status.ok());
  REQUIRE_FALSE(batch.requests[2].status.ok());
  REQUIRE(batch.first_error().error().message == batch.requests[0].status.error().message);
  REQUIRE(holds(device, 64_KiB, data));
}

void bytes_come_back_at_every_boundary(World& world) {
  Device& device = world.device(0);
  const std::uint64_t block = device.geometry().logical_block;
  const std::uint64_t end = device.geometry().size;
  const AlignedBuffer edge = pattern(4, block);
  const AlignedBuffer large = pattern(5, 4_MiB);
  REQUIRE(why(device.write(0, edge)) == "");
  REQUIRE(why(device.write(end - block, edge)) == "");
  REQUIRE(why(device.write(block, large)) == "");
  REQUIRE(holds(device, 0, edge));
  REQUIRE(holds(device, end - block, edge));
  REQUIRE(holds(device, block, large));
  const AlignedBuffer middle = pattern(6, block);
  REQUIRE(why(device.write(block + 1_MiB, middle, WriteMode::kDurable)) == "");
  REQUIRE(holds(device, block, ByteView(large).first(1_MiB)));
  REQUIRE(holds(device, block + 1_MiB, middle));
  REQUIRE(holds(device, 2 * block + 1_MiB, pattern(5, 4_MiB).bytes().subspan(1_MiB + block)));
}

void random_writes_agree_with_a_model(World& world) {
  const std::uint64_t seed = 42;
  CAPTURE(seed);
  Rng rng(seed);
  Device& device = world.device(1);
  const std::uint64_t block = device.geometry().logical_block;
  const std::uint64_t blocks = 512;
  Bytes model(blocks * block);
  REQUIRE(why(device.write(0, AlignedBuffer::zeroed(model.size()))) == "");
  for (int round = 0; round < 60; ++round) {
    // The requests of a batch do not overlap: each has a slice of its own.
    std::deque<AlignedBuffer> buffers;
    IoBatch batch;
    for (std::uint64_t slice = 0; slice < 8; ++slice) {
      const std::uint64_t per_slice = blocks / 8;
      const std::uint64_t first = rng.below(per_slice);
      const std::uint64_t count = 1 + rng.below(per_slice - first);
      const std::uint64_t offset = (slice * per_slice + first) * block;
      buffers.push_back(pattern(rng.next(), count * block));
      const WriteMode mode = rng.chance(1, 3) ? WriteMode::kDurable : WriteMode::kCached;
      batch.requests.push_back(IoRequest::write(device, offset, buffers.back(), mode));
      copy_bytes(MutByteView(model).subspan(offset), buffers.back());
    }
    device.queue().submit(batch);
    device.queue().wait(batch);
    REQUIRE(why(batch.first_error()) == "");
    if (rng.chance(1, 5)) REQUIRE(why(device.flush()) == "");
  }
  REQUIRE(holds(device, 0, model));
}

void one_batch_reaches_both_devices(World& world) {
  const AlignedBuffer data = pattern(7, 64 * 4_KiB);
  IoBatch batch;
  for (std::uint64_t i = 0; i < 64; ++i) {
    const ByteView part = ByteView(data).subspan(i * 4_KiB, 4_KiB);
    batch.requests.push_back(IoRequest::write(world.device(static_cast<int>(i % 2)), i * 4_KiB,
                                              part, WriteMode::kDurable));
  }
  IoQueue& queue = world.device(0).queue();
  queue.submit(batch);
  queue.wait(batch);
  REQUIRE(why(batch.first_error()) == "");
  IoBatch flushes;
  for (int i = 0; i < 2; ++i) flushes.requests.push_back(IoRequest::flush(world.device(i)));
  queue.submit(flushes);
  queue.wait(flushes);
  REQUIRE(why(flushes.first_error()) == "");
  for (std::uint64_t i = 0; i < 64; ++i) {
    REQUIRE(holds(world.device(static_cast<int>(i % 2)), i * 4_KiB,
                  ByteView(data).subspan(i * 4_KiB, 4_KiB)));
  }
}

void batches_may_be_larger_than_any_ring(World& world) {
  Device& device = world.device(0);
  constexpr std::uint64_t kRequests = 1500;
  const AlignedBuffer data = pattern(8, kRequests * 4_KiB);
  IoBatch writes;
  for (std::uint64_t i = 0; i < kRequests; ++i) {
    writes.requests.push_back(
        IoRequest::write(device, i * 4_KiB, ByteView(data).subspan(i * 4_KiB, 4_KiB)));
  }
  device.queue().submit(writes);
  device.queue().wait(writes);
  REQUIRE(why(writes.first_error()) == "");
  AlignedBuffer found(data.size());
  IoBatch reads;
  Countdown latch(world.executor(), 1);
  for (std::uint64_t i = 0; i < kRequests; ++i) {
    reads.requests.push_back(
        IoRequest::read(device, i * 4_KiB, found.bytes().subspan(i * 4_KiB, 4_KiB)));
  }
  reads.done = [&](IoBatch&) { latch.count_down(); };
  device.queue().submit(reads);
  latch.wait();
  REQUIRE(why(reads.first_error()) == "");
  REQUIRE(same(found, data));
}

void empty_batches_complete_at_once(World& world) {
  IoBatch batch;
  world.device(0).queue().submit(batch);
  REQUIRE(batch.complete());
  world.device(0).queue().wait(batch);
  int calls = 0;
  batch.done = [&](IoBatch&) { ++calls; };
  world.device(0).queue().submit(batch);
  REQUIRE(calls == 1);
}

// What went wrong on any thread, the first of it.
class FirstWrong {
 public:
  explicit FirstWrong(Executor& executor) : mutex_(executor) {}
  void note(const std::string& text) {
    const Lock lock(mutex_);
    if (text_.empty()) text_ = text;
  }
  std::string text() {
    const Lock lock(mutex_);
    return text_;
  }

 private:
  Mutex mutex_;
  std::string text_;
};

// Each callback submits the next write and the last one opens the latch; the batch is freed by
// its own callback.
void callbacks_may_submit_again(World& world) {
  Device& device = world.device(0);
  const AlignedBuffer data = pattern(9, 4_KiB);
  FirstWrong wrong(world.executor());
  Countdown latch(world.executor(), 3);
  std::function<void(int, std::uint64_t)> go = [&](int left, std::uint64_t lane) {
    auto* batch = new IoBatch;
    batch->requests.push_back(IoRequest::write(device, lane * 4_KiB, data));
    batch->done = [&, left, lane](IoBatch& self) {
      const Status status = self.first_error();
      delete &self;
      if (left > 0 && status.ok()) {
        go(left - 1, lane);
      } else {
        wrong.note(why(status));
        latch.count_down();
      }
    };
    device.queue().submit(*batch);
  };
  for (std::uint64_t lane = 0; lane < 3; ++lane) go(40, lane);
  latch.wait();
  REQUIRE(wrong.text() == "");
  for (std::uint64_t lane = 0; lane < 3; ++lane) REQUIRE(holds(device, lane * 4_KiB, data));
}

// Half of the threads wait for their batches, the other half use callbacks; each thread reads back
// what it wrote.
void many_threads_submit_at_once(World& world) {
  constexpr int kThreads = 8;
  constexpr int kRounds = 40;
  FirstWrong wrong(world.executor());
  std::vector<std::unique_ptr<Thread>> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.push_back(world.executor().start("submitter", [&world, &wrong, t] {
      Rng rng(static_cast<std::uint64_t>(t));
      const std::uint64_t base = static_cast<std::uint64_t>(t) * 512_KiB;
      for (int round = 0; round < kRounds; ++round) {
        const std::uint64_t count = 1 + rng.below(9);
        const AlignedBuffer data = pattern(rng.next(), count * 4_KiB);
        AlignedBuffer found(data.size());
        IoBatch writes;
        IoBatch reads;
        for (std::uint64_t i = 0; i < count; ++i) {
          Device& device = world.device(static_cast<int>((t + i) % 2));
          writes.requests.push_back(
              IoRequest::write(device, base + i * 4_KiB, ByteView(data).subspan(i * 4_KiB, 4_KiB),
                               round % 4 == 0 ? WriteMode::kDurable : WriteMode::kCached));
          reads.requests.push_back(
              IoRequest::read(device, base + i * 4_KiB, found.bytes().subspan(i * 4_KiB, 4_KiB)));
        }
        IoQueue& queue = world.device(0).queue();
        if (t % 2 == 0) {
          queue.submit(writes);
          queue.wait(writes);
          queue.submit(reads);
          queue.wait(reads);
        } else {
          Countdown latch(world.executor(), 1);
          writes.done = [&](IoBatch&) { queue.submit(reads); };
          reads.done = [&](IoBatch&) { latch.count_down(); };
          queue.submit(writes);
          latch.wait();
        }
        wrong.note(why(writes.first_error()));
        wrong.note(why(reads.first_error()));
        if (!same(found, data)) {
          wrong.note("thread " + std::to_string(t) + ", round " + std::to_string(round) +
                     ": other bytes than it wrote");
        }
      }
    }));
  }
  for (auto& thread : threads) thread->join();
  REQUIRE(wrong.text() == "");
}

// Half of the threads wait for as long as it takes, the others for less than most requests take.
// What is answered has its bytes; what is left behind is answered later, into buffers of its own.
void waiting_may_end_early(World& world) {
  constexpr int kThreads = 6;
  constexpr int kRounds = 60;
  const AlignedBuffer data = pattern(7, 256_KiB);
  for (int i = 0; i < 2; ++i) REQUIRE(why(world.device(i).write(0, data)) == "");
  IoQueue& queue = world.device(0).queue();
  FirstWrong wrong(world.executor());
  std::vector<std::unique_ptr<Thread>> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.push_back(world.executor().start("reader", [&, t] {
      Rng rng(static_cast<std::uint64_t>(t));
      for (int round = 0; round < kRounds; ++round) {
        auto batch = std::make_unique<IoBatch>();
        std::vector<AlignedBuffer> buffers;
        const std::uint64_t count = 1 + rng.below(9);
        for (std::uint64_t i = 0; i < count; ++i) {
          buffers.emplace_back(16_KiB);
          batch->requests.push_back(IoRequest::read(world.device(static_cast<int>(i % 2)),
                                                    i * 16_KiB, buffers.back().bytes()));
        }
        bool complete = true;
        if (t % 2 == 0) {
          queue.run(*batch);
        } else {
          complete = queue.run_for(*batch, static_cast<Nanos>(rng.below(4) * 20'000));
        }
        for (std::uint64_t i = 0; i < count; ++i) {
          const IoRequest& request = batch->requests[i];
          if (!request.is_answered()) {
            if (complete) wrong.note("a batch is complete without an answer");
            continue;
          }
          wrong.note(why(request.status));
          if (!same(buffers[i], ByteView(data).subspan(i * 16_KiB, 16_KiB))) {
            wrong.note("thread " + std::to_string(t) + ": other bytes than were written");
          }
        }
        if (!complete) queue.abandon(std::move(batch), std::move(buffers));
      }
    }));
  }
  for (auto& thread : threads) thread->join();
  queue.wait_for_abandoned();
  REQUIRE(wrong.text() == "");
  for (int i = 0; i < 2; ++i) {
    REQUIRE(world.device(i).traffic().under_way == 0);
    REQUIRE(world.device(i).silent_for() == 0);
    REQUIRE(world.device(i).owing_for() == 0);
  }
}

void a_retired_handle_takes_nothing_and_gives_its_lock_back(World& world) {
  Device& device = world.device(0);
  IoQueue& queue = device.queue();
  const AlignedBuffer data = pattern(31, 4_KiB);
  REQUIRE(why(device.write(0, data, WriteMode::kDurable)).empty());
  // Who asks while something is under way asks again.
  IoBatch batch;
  for (std::uint64_t i = 0; i < 16; ++i) {
    batch.requests.push_back(IoRequest::write(device, i * 4_KiB, data, WriteMode::kDurable));
  }
  queue.submit(batch);
  const bool at_once = queue.retire(device);
  queue.wait(batch);
  CHECK((at_once || queue.retire(device)));
  CHECK(queue.retire(device));
  CHECK(device.is_retired());
  const std::uint64_t failed = device.traffic().failed_writes + device.traffic().failed_flushes +
                               device.traffic().failed_reads;
  AlignedBuffer read(4_KiB);
  const auto fails = [](const Status& status) {
    return !status.ok() && status.error().code == ErrorCode::kIo;
  };
  CHECK(fails(device.read(0, read.bytes())));
  CHECK(fails(device.write(0, data, WriteMode::kDurable)));
  CHECK(fails(device.flush()));
  // Among others that are not retired, whether or not somebody leaves early.
  AlignedBuffer other(4_KiB);
  for (const bool patient : {false, true, true}) {
    auto mixed = std::make_unique<IoBatch>();
    for (int i = 0; i < 4; ++i) {
      mixed->requests.push_back(IoRequest::read(world.device(1), 0, other.bytes()));
      mixed->requests.push_back(IoRequest::read(device, 0, read.bytes()));
    }
    if (!queue.run_briefly(*mixed, patient ? kReadPatience : 0)) {
      while (!queue.wait_briefly(*mixed, kReadPatience)) {
      }
    }
    for (std::size_t i = 0; i < mixed->requests.size(); ++i) {
      CHECK((i % 2 == 0 ? mixed->requests[i].status.ok() : fails(mixed->requests[i].status)));
    }
    queue.give_up(device);
  }
  CHECK(device.traffic().under_way == 0);
  CHECK(device.traffic().failed_writes + device.traffic().failed_flushes +
            device.traffic().failed_reads ==
        failed);
  world.reopen(0);
  CHECK(why(world.device(0).read(0, read.bytes())).empty());
}

void a_batch_outlives_the_thread_that_submitted_it(World& world) {
  constexpr int kBatches = 12;
  std::deque<IoBatch> batches(kBatches);
  const AlignedBuffer data = pattern(10, 4_KiB);
  Countdown latch(world.executor(), kBatches);
  for (std::size_t i = 0; i < kBatches; ++i) {
    batches[i].requests.push_back(
        IoRequest::write(world.device(0), i * 4_KiB, data, WriteMode::kDurable));
    batches[i].requests.push_back(IoRequest::flush(world.device(1)));
    batches[i].done = [&](IoBatch&) { latch.count_down(); };
    world.executor()
        .start("short-lived", [&, i] { world.device(0).queue().submit(batches[i]); })
        ->join();
  }
  latch.wait();
  for (const IoBatch& batch : batches) REQUIRE(why(batch.first_error()) == "");
  for (std::size_t i = 0; i < kBatches; ++i) REQUIRE(holds(world.device(0), i * 4_KiB, data));
}

void batches_are_waited_for_in_any_order_and_by_any_thread(World& world) {
  constexpr std::size_t kBatches = 24;
  std::deque<IoBatch> batches(kBatches);
  const AlignedBuffer data = pattern(11, 4_KiB);
  for (std::size_t i = 0; i < kBatches; ++i) {
    batches[i].requests.push_back(IoRequest::write(world.device(0), i * 4_KiB, data));
    world.device(0).queue().submit(batches[i]);
  }
  for (std::size_t i = kBatches; i-- > kBatches / 2;) world.device(0).queue().wait(batches[i]);
  world.executor()
      .start("waiter",
             [&] {
               for (std::size_t i = 0; i < kBatches / 2; ++i) {
                 world.device(0).queue().wait(batches[i]);
               }
             })
      ->join();
  for (const IoBatch& batch : batches) REQUIRE((batch.complete() && batch.first_error().ok()));
}

void growing_adds_zeros_and_keeps_the_rest(World& world) {
  if (!world.can_grow()) {
    REQUIRE(world.device(0).grow(world.device(0).geometry().size * 2).error().code ==
            ErrorCode::kUnsupported);
    return;
  }
  const std::uint64_t old_size = world.device(0).geometry().size;
  const std::uint64_t block = world.device(0).geometry().logical_block;
  const AlignedBuffer data = pattern(12, 64_KiB);
  REQUIRE(why(world.device(0).write(old_size - 64_KiB, data)) == "");
  REQUIRE(world.device(0).grow(old_size - block).error().code == ErrorCode::kInvalidArgument);
  REQUIRE(world.device(0).grow(old_size + 1).error().code == ErrorCode::kInvalidArgument);
  REQUIRE(why(world.device(0).grow(old_size)) == "");
  REQUIRE(world.device(0).geometry().size == old_size);
  REQUIRE(why(world.device(0).grow(old_size + 1_MiB)) == "");
  REQUIRE(world.device(0).geometry().size == old_size + 1_MiB);
  REQUIRE(holds(world.device(0), old_size - 64_KiB, data));
  REQUIRE(holds(world.device(0), old_size, AlignedBuffer::zeroed(1_MiB)));
  REQUIRE(why(world.device(0).write(old_size + 1_MiB - 64_KiB, data)) == "");
  REQUIRE(why(world.device(0).flush()) == "");
  world.reopen(0);
  REQUIRE(world.device(0).geometry().size == old_size + 1_MiB);
  REQUIRE(holds(world.device(0), old_size + 1_MiB - 64_KiB, data));
}

void discarding_leaves_the_neighbours(World& world) {
  Device& device = world.device(0);
  const AlignedBuffer data = pattern(13, 1_MiB);
  REQUIRE(why(device.write(0, data)) == "");
  REQUIRE(why(device.discard(256_KiB, 512_KiB)) == "");
  REQUIRE(holds(device, 0, ByteView(data).first(256_KiB)));
  REQUIRE(holds(device, 768_KiB, ByteView(data).subspan(768_KiB)));
  AlignedBuffer unknown(512_KiB);
  REQUIRE(why(device.read(256_KiB, unknown.bytes())) == "");
  const AlignedBuffer again = pattern(14, 512_KiB);
  REQUIRE(why(device.write(256_KiB, again)) == "");
  REQUIRE(holds(device, 256_KiB, again));
}

void bytes_are_there_after_opening_again(World& world) {
  const AlignedBuffer flushed = pattern(15, 128_KiB);
  const AlignedBuffer durable = pattern(16, 128_KiB);
  REQUIRE(why(world.device(1).write(0, flushed)) == "");
  REQUIRE(why(world.device(1).flush()) == "");
  REQUIRE(why(world.device(1).flush()) == "");
  REQUIRE(why(world.device(1).write(1_MiB, durable, WriteMode::kDurable)) == "");
  const Geometry before = world.device(1).geometry();
  world.reopen(1);
  REQUIRE(world.device(1).geometry().size == before.size);
  REQUIRE(world.device(1).geometry().logical_block == before.logical_block);
  REQUIRE(holds(world.device(1), 0, flushed));
  REQUIRE(holds(world.device(1), 1_MiB, durable));
}

}  // namespace

AlignedBuffer pattern(std::uint64_t seed, std::size_t size) {
  AlignedBuffer buffer(size);
  Rng rng(seed);
  for (std::size_t at = 0; at < size; at += 8) {
    const std::uint64_t value = rng.next();
    std::memcpy(buffer.data() + at, &value, std::min<std::size_t>(8, size - at));
  }
  return buffer;
}

void run_device_contract(const WorldMaker& make) {
  struct Clause {
    const char* name;
    void (*test)(World&);
  };
  static constexpr Clause kClauses[] = {
      {"the geometry is sane", geometry_is_sane},
      {"D1: bad requests have no effect", bad_requests_have_no_effect},
      {"D1: a bad request does not hurt its batch", a_bad_request_does_not_hurt_its_batch},
      {"D2: bytes come back at every boundary", bytes_come_back_at_every_boundary},
      {"D2: random writes agree with a model", random_writes_agree_with_a_model},
      {"D3: what was made durable is there after opening again",
       bytes_are_there_after_opening_again},
      {"D5: one batch reaches both devices", one_batch_reaches_both_devices},
      {"D5: batches may be larger than any ring", batches_may_be_larger_than_any_ring},
      {"D5: many threads submit at once", many_threads_submit_at_once},
      {"D6: waiting may end early", waiting_may_end_early},
      {"D6: a batch outlives the thread that submitted it",
       a_batch_outlives_the_thread_that_submitted_it},
      {"batches are waited for in any order and by any thread",
       batches_are_waited_for_in_any_order_and_by_any_thread},
      {"D7: discarding leaves the neighbours", discarding_leaves_the_neighbours},
      {"a retired handle takes nothing, and gives its lock back",
       a_retired_handle_takes_nothing_and_gives_its_lock_back},
      {"empty batches complete at once", empty_batches_complete_at_once},
      {"callbacks may submit again and free their batch", callbacks_may_submit_again},
      {"growing adds zeros and keeps the rest", growing_adds_zeros_and_keeps_the_rest},
  };
  for (const Clause& clause : kClauses) {
    SECTION(clause.name) {
      const std::unique_ptr<World> world = make();
      REQUIRE(world != nullptr);
      world->run([&] { clause.test(*world); });
    }
  }
}

}  // namespace hexad::io::testing
