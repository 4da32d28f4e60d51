// What every device and queue has from its base class: requests, batches, the check of D1, the
// count of traffic. What an implementation has to keep is the contract suite's: device_contract.h.
#include "io/device.h"

#include <catch2/catch.hpp>
#include <numeric>

#include "base/aligned_buffer.h"
#include "base/units.h"

using namespace hexad;
using namespace hexad::io;

namespace {

template <typename Counts>
std::uint64_t sum(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}
std::uint64_t writes(const DeviceTraffic& traffic) { return sum(traffic.writes_for); }
std::uint64_t bytes_written(const DeviceTraffic& traffic) { return sum(traffic.written_for); }

// Completes when told to, with the status it is told.
class ManualQueue final : public IoQueue {
 public:
  void wait(IoBatch& batch) override {
    while (!batch.complete()) complete_next();
  }
  std::string name() const override { return "manual"; }
  // The oldest request. True when its batch is complete now.
  bool complete_next(Status status = {}) {
    const auto [batch, index] = open_.front();
    open_.erase(open_.begin());
    IoRequest& request = batch->requests[index];
    request.status = check(request);
    if (request.status.ok()) request.status = std::move(status);
    return finish(*batch);
  }
  std::size_t open() const { return open_.size(); }

 protected:
  void submit_requests(IoBatch& batch) override {
    for (std::size_t i = 0; i < batch.requests.size(); ++i) open_.emplace_back(&batch, i);
  }

 private:
  std::vector<std::pair<IoBatch*, std::size_t>> open_;
};

class FakeDevice final : public Device {
 public:
  FakeDevice(IoQueue& queue, bool read_only = false) : queue_(queue), read_only_(read_only) {
    geometry_.size = 1_MiB;
    geometry_.logical_block = 4096;
  }
  const Geometry& geometry() const override { return geometry_; }
  const std::string& name() const override { return name_; }
  IoQueue& queue() override { return queue_; }
  Status grow(std::uint64_t) override { return {}; }
  bool direct() const override { return false; }
  bool read_only() const override { return read_only_; }

 private:
  Geometry geometry_;
  const std::string name_ = "fake";
  IoQueue& queue_;
  const bool read_only_;
};

Error failure(const std::string& text) { return Error{ErrorCode::kIo, text, ""}; }

}  // namespace

TEST_CASE("device: requests carry what they were made of") {
  ManualQueue queue;
  FakeDevice device(queue);
  AlignedBuffer buffer(8192);
  const IoRequest read = IoRequest::read(device, 4096, buffer.bytes());
  REQUIRE((read.op == IoOp::kRead && read.device == &device && read.offset == 4096));
  REQUIRE((read.data == buffer.data() && read.length == 8192));
  const IoRequest write = IoRequest::write(device, 8192, buffer, WriteMode::kDurable);
  REQUIRE((write.op == IoOp::kWrite && write.device == &device && write.offset == 8192));
  REQUIRE((write.data == buffer.data() && write.length == 8192));
  REQUIRE(write.mode == WriteMode::kDurable);
  REQUIRE(IoRequest::write(device, 0, buffer).mode == WriteMode::kCached);
  const IoRequest flush = IoRequest::flush(device);
  REQUIRE((flush.op == IoOp::kFlush && flush.length == 0 && flush.device == &device));
  const IoRequest discard = IoRequest::discard(device, 4096, 12288);
  REQUIRE((discard.op == IoOp::kDiscard && discard.offset == 4096 && discard.length == 12288));
}

TEST_CASE("device: a batch is complete with its last request, and tells the first error in order") {
  ManualQueue queue;
  FakeDevice device(queue);
  IoBatch batch;
  for (int i = 0; i < 3; ++i) batch.requests.push_back(IoRequest::flush(device));
  REQUIRE(batch.complete());  // not submitted
  queue.submit(batch);
  REQUIRE_FALSE(queue.complete_next());
  REQUIRE_FALSE(batch.complete());
  REQUIRE_FALSE(queue.complete_next(failure("second")));
  REQUIRE(queue.complete_next(failure("third")));
  REQUIRE(batch.complete());
  REQUIRE(batch.first_error().error().message == "second");
  REQUIRE(batch.requests[0].status.ok());
}

TEST_CASE("device: the callback runs once, at the end, and is gone when the batch goes out again") {
  ManualQueue queue;
  FakeDevice device(queue);
  IoBatch batch;
  int calls = 0;
  batch.requests.push_back(IoRequest::flush(device));
  batch.requests.push_back(IoRequest::flush(device));
  batch.done = [&](IoBatch& self) {
    REQUIRE(&self == &batch);
    REQUIRE(self.complete());
    ++calls;
  };
  queue.submit(batch);
  queue.complete_next();
  REQUIRE(calls == 0);
  queue.complete_next();
  REQUIRE(calls == 1);
  queue.submit(batch);
  queue.wait(batch);
  REQUIRE(calls == 1);
}

TEST_CASE("device: blocking calls wait for their request and give its error") {
  ManualQueue queue;
  FakeDevice device(queue);
  AlignedBuffer buffer(4096);
  REQUIRE(device.read(0, buffer.bytes()).ok());
  REQUIRE(device.write(0, buffer).ok());
  REQUIRE(device.flush().ok());
  REQUIRE(device.discard(0, 4096).ok());
  REQUIRE(device.read(1, buffer.bytes()).error().code == ErrorCode::kInvalidArgument);
  REQUIRE(queue.open() == 0);
}

TEST_CASE("device: D1 bad requests are named with their numbers, and readers may not write") {
  ManualQueue queue;
  FakeDevice device(queue);
  AlignedBuffer buffer(8192);
  const auto message = [](const Status& status) {
    REQUIRE(status.error().code == ErrorCode::kInvalidArgument);
    return status.error().message;
  };
  REQUIRE(message(device.write(512, buffer)) ==
          "fake: write of 8192 bytes at 512: not whole blocks of 4 KiB");
  REQUIRE(message(device.read(1_MiB - 4096, buffer.bytes())) ==
          "fake: read of 8192 bytes at 1044480: past the end at 1048576");
  REQUIRE(message(device.read(0, buffer.bytes().subspan(512, 4096))) ==
          "fake: read of 4096 bytes at 0: the buffer does not start on a 4 KiB boundary");
  REQUIRE(message(device.discard(0, 0)) ==
          "fake: discard of 0 bytes at 0: not whole blocks of 4 KiB");
  // Offsets whose sum with the length would not fit into 64 bits.
  REQUIRE_FALSE(device.discard(round_down(~std::uint64_t{0}, 4096), 4096).ok());
  REQUIRE_FALSE(device.discard(4096, round_down(~std::uint64_t{0}, 4096)).ok());

  FakeDevice reader(queue, true);
  REQUIRE(reader.read(0, buffer.bytes()).ok());
  REQUIRE(reader.flush().ok());
  REQUIRE(reader.write(0, buffer).error().code == ErrorCode::kReadOnly);
  REQUIRE(reader.discard(0, 4096).error().code == ErrorCode::kReadOnly);
  REQUIRE(message(reader.write(512, buffer)).find("whole blocks") != std::string::npos);
}

TEST_CASE("device: traffic is counted for each device, failed requests too") {
  ManualQueue queue;
  FakeDevice device(queue);
  FakeDevice other(queue);
  AlignedBuffer buffer(8192);
  const DeviceTraffic& traffic = device.traffic();
  for (int i = 0; i < 3; ++i) REQUIRE(device.read(0, buffer.bytes()).ok());
  REQUIRE_FALSE(device.read(1, buffer.bytes()).ok());
  REQUIRE(traffic.reads == 4);
  REQUIRE(traffic.bytes_read == 4 * 8192);
  REQUIRE(device.write(0, buffer).ok());
  REQUIRE(device.write(0, buffer.bytes().first(4096), WriteMode::kDurable).ok());
  REQUIRE(writes(traffic) == 2);
  REQUIRE(traffic.durable_writes == 1);
  REQUIRE(bytes_written(traffic) == 8192 + 4096);
  REQUIRE(device.write(0, buffer.bytes().first(4096), WriteMode::kCached, IoCause::kLog).ok());
  REQUIRE(bytes_written(traffic) == 8192 + 2 * 4096);
  REQUIRE(traffic.written_for[static_cast<std::size_t>(IoCause::kOther)] == 8192 + 4096);
  REQUIRE(traffic.written_for[static_cast<std::size_t>(IoCause::kLog)] == 4096);
  REQUIRE(traffic.writes_for[static_cast<std::size_t>(IoCause::kOther)] == 2);
  REQUIRE(traffic.writes_for[static_cast<std::size_t>(IoCause::kLog)] == 1);
  REQUIRE(device.discard(0, 4096).ok());
  IoBatch batch;
  for (int i = 0; i < 2; ++i) batch.requests.push_back(IoRequest::flush(device));
  batch.requests.push_back(IoRequest::flush(other));
  queue.submit(batch);
  queue.wait(batch);
  REQUIRE(traffic.flushes == 2);
  REQUIRE(other.traffic().flushes == 1);
  REQUIRE(other.traffic().reads + writes(other.traffic()) == 0);
  REQUIRE((traffic.reads == 4 && writes(traffic) == 3));
}
