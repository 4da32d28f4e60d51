// Devices in memory that fail where they are told to, on one queue.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "io/device.h"
#include "io/memory_device.h"

namespace hexad::kv::testing {

class FailingDevice;

class FailingQueue final : public io::IoQueue {
 public:
  void wait(io::IoBatch&) override {}
  std::string name() const override { return "failing"; }

 protected:
  void submit_requests(io::IoBatch& batch) override;
};

class FailingDevice final : public io::Device {
 public:
  FailingDevice(std::uint64_t size, FailingQueue& queue)
      : queue_(queue),
        memory_queue_(io::make_memory_queue()),
        inner_(std::move(*io::make_memory_device("failing", size, *memory_queue_, {512, 512}))) {}

  // Requests for which it returns true complete with this code.
  ErrorCode code = ErrorCode::kIo;
  std::function<bool(const io::IoRequest&)> fails = [](const io::IoRequest&) { return false; };

  const io::Geometry& geometry() const override { return inner_->geometry(); }
  const std::string& name() const override { return inner_->name(); }
  io::IoQueue& queue() override { return queue_; }
  Status grow(std::uint64_t) override { return Error{ErrorCode::kUnsupported, "", ""}; }
  bool direct() const override { return false; }

  Status serve(const io::IoRequest& request) {
    if (fails(request)) return Error{code, "failing: told to", ""};
    switch (request.op) {
      case io::IoOp::kRead:
        return inner_->read(request.offset, {request.data, request.length});
      case io::IoOp::kWrite:
        return inner_->write(request.offset, {request.data, request.length});
      default:
        return {};
    }
  }

 private:
  FailingQueue& queue_;
  std::unique_ptr<io::IoQueue> memory_queue_;
  std::unique_ptr<io::Device> inner_;
};

inline void FailingQueue::submit_requests(io::IoBatch& batch) {
  const std::size_t count = batch.requests.size();  // the batch may go with its last request
  for (std::size_t i = 0; i < count; ++i) {
    io::IoRequest& request = batch.requests[i];
    request.status = static_cast<FailingDevice&>(*request.device).serve(request);
    finish(batch);
  }
}

}  // namespace hexad::kv::testing
