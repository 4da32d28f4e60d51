// Devices in memory that fail where they are told to, and the rows of a member table over them: for
// the modules between devices and the engine. One thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "core/space/members.h"
#include "io/device.h"

namespace hexad::testing {

class TableDevice;

// Every request is complete when submit() returns.
class TableQueue final : public io::IoQueue {
 public:
  void wait(io::IoBatch& batch) override { HEXAD_ASSERT(batch.complete()); }
  std::string name() const override { return "table"; }

 protected:
  void submit_requests(io::IoBatch& batch) override;
};

class TableDevice final : public io::Device {
 public:
  TableDevice(std::string name, std::uint64_t size, TableQueue& queue)
      : bytes(size), queue_(queue), name_(std::move(name)) {
    shape.size = size;
    shape.logical_block = 512;
  }

  io::Geometry shape;  // set before anybody looks
  Bytes bytes;
  // Requests for which it returns true have no effect and complete with that.
  std::function<bool(const io::IoRequest&)> fails = [](const io::IoRequest&) { return false; };
  ErrorCode failure = ErrorCode::kIo;
  // What was asked, without the data.
  std::vector<io::IoRequest> asked;

  void fail(io::IoOp op) {
    fails = [op](const io::IoRequest& request) { return request.op == op; };
  }
  std::size_t count(io::IoOp op) const {
    std::size_t found = 0;
    for (const io::IoRequest& request : asked) found += request.op == op ? 1 : 0;
    return found;
  }

  const io::Geometry& geometry() const override { return shape; }
  const std::string& name() const override { return name_; }
  io::IoQueue& queue() override { return queue_; }
  Status grow(std::uint64_t) override { return Error{ErrorCode::kUnsupported, "", ""}; }
  bool direct() const override { return true; }

  Status serve(const io::IoRequest& request) {
    asked.push_back(request);
    asked.back().data = nullptr;
    if (fails(request)) return Error{failure, name_ + ": told to fail", ""};
    const MutByteView all(bytes);
    if (request.op == io::IoOp::kRead) {
      copy_bytes({request.data, request.length}, all.subspan(request.offset, request.length));
    } else if (request.op == io::IoOp::kWrite) {
      copy_bytes(all.subspan(request.offset, request.length),
                 ByteView(request.data, request.length));
    }
    return {};
  }

 private:
  TableQueue& queue_;
  std::string name_;
};

inline void TableQueue::submit_requests(io::IoBatch& batch) {
  const std::size_t count = batch.requests.size();
  for (io::IoRequest& request : batch.requests) {
    request.status = request.device->is_retired()
                         ? check(request)
                         : static_cast<TableDevice&>(*request.device).serve(request);
  }
  for (std::size_t i = 0; i < count; ++i) finish(batch);
}

// Rows to make a core::Members of. The devices live as long as the rows do; `devices` borrows.
struct DeviceTable {
  TableQueue queue;
  std::vector<core::Member> rows;
  std::vector<TableDevice*> devices;

  // A device of `layout.device_size` bytes with the next id.
  TableDevice& add(alloc::DeviceRole role, const alloc::DeviceLayout& layout) {
    const auto id = static_cast<DeviceId>(rows.size());
    auto device =
        std::make_unique<TableDevice>("dev" + std::to_string(id), layout.device_size, queue);
    devices.push_back(device.get());
    core::Member& row = rows.emplace_back();
    row.id = id;
    row.uuid.bytes[0] = static_cast<std::uint8_t>(id + 1);
    row.role = role;
    row.layout = layout;
    row.path = device->name();
    row.device = std::move(device);
    return *devices.back();
  }
};

}  // namespace hexad::testing
