// What does one durable write cost through each queue, and a batch of nine, as one commit of a 4+2
// store makes them? Time per operation; the queue is the argument: 0 io_uring, 1 threads. The
// ceiling is the device: compare with
//   fio --name=x --filename=F --rw=randwrite --bs=4k --direct=1 --sync=dsync --ioengine=psync
// on a pre-written file. Files lie in $TEST_TMPDIR or /tmp.

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/units.h"
#include "io/rng.h"
#include "io/system.h"
#include "tests/io/temporary.h"
#include "tools/bench/cpu_time.h"

namespace {

using namespace hexad;
using namespace hexad::io;
using tools::cpu_us;

constexpr std::uint64_t kFileSize = 64_MiB;

// Six pre-written files behind one queue.
class Files {
 public:
  explicit Files(std::int64_t queue) {
    system_ = make_real_system(queue == 0 ? QueueKind::kUring : QueueKind::kThreads).value();
    const AlignedBuffer data = AlignedBuffer::zeroed(4_MiB);
    for (int i = 0; i < 6; ++i) {
      devices_.push_back(
          system_->create_device(directory_.path(std::to_string(i)), kFileSize).value());
      for (std::uint64_t at = 0; at < kFileSize; at += data.size()) {
        if (!devices_.back()->write(at, data).ok()) std::abort();
      }
      if (!devices_.back()->flush().ok()) std::abort();
    }
  }
  Device& device(std::size_t index) { return *devices_[index % devices_.size()]; }

 private:
  hexad::io::testing::TemporaryDirectory directory_;
  std::unique_ptr<System> system_;
  std::vector<std::unique_ptr<Device>> devices_;
};

void report_cpu(benchmark::State& state, double before) {
  state.counters["cpu_us"] =
      benchmark::Counter(cpu_us() - before, benchmark::Counter::kAvgIterations);
}

void carry_out(benchmark::State& state, Files& files, IoBatch& batch) {
  IoQueue& queue = files.device(0).queue();
  queue.submit(batch);
  queue.wait(batch);
  if (!batch.first_error().ok()) state.SkipWithError("write failed");
}

// `count` durable writes of 4 KiB, submitted together and waited for.
void durable_writes(benchmark::State& state, std::size_t count) {
  Files files(state.range(0));
  Rng rng(1);
  const AlignedBuffer data = AlignedBuffer::zeroed(4_KiB);
  const double before = cpu_us();
  for (auto _ : state) {
    IoBatch batch;
    for (std::size_t i = 0; i < count; ++i) {
      batch.requests.push_back(IoRequest::write(
          files.device(i), rng.below(kFileSize / 4_KiB) * 4_KiB, data, WriteMode::kDurable));
    }
    carry_out(state, files, batch);
  }
  report_cpu(state, before);
}

void one_durable_write(benchmark::State& state) { durable_writes(state, 1); }
void nine_durable_writes(benchmark::State& state) { durable_writes(state, 9); }

// 64 writes without durability, submitted together: what the queue itself costs.
void batch_of_64_writes(benchmark::State& state) {
  Files files(state.range(0));
  const AlignedBuffer data = AlignedBuffer::zeroed(64 * 4_KiB);
  const double before = cpu_us();
  for (auto _ : state) {
    IoBatch batch;
    for (std::uint64_t i = 0; i < 64; ++i) {
      batch.requests.push_back(
          IoRequest::write(files.device(i), i * 4_KiB, ByteView(data).subspan(i * 4_KiB, 4_KiB)));
    }
    carry_out(state, files, batch);
  }
  report_cpu(state, before);
}

BENCHMARK(one_durable_write)->ArgName("queue")->Arg(0)->Arg(1)->UseRealTime();
BENCHMARK(nine_durable_writes)->ArgName("queue")->Arg(0)->Arg(1)->UseRealTime();
BENCHMARK(batch_of_64_writes)->ArgName("queue")->Arg(0)->Arg(1)->UseRealTime();

}  // namespace
