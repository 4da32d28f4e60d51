// Stripes on devices in memory that count how often they are asked, and fail on demand: a StripeMap
// for tests of what reads and heals cells.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/assert.h"
#include "core/space/stripe_map.h"
#include "io/device.h"

namespace hexad::testing {

class CountingQueue final : public io::IoQueue {
 public:
  void wait(io::IoBatch& batch) override { HEXAD_ASSERT(batch.complete()); }
  std::string name() const override { return "memory"; }
  int rounds = 0;
  int reads = 0;

 protected:
  inline void submit_requests(io::IoBatch& batch) override;
};

class CountingDevice final : public io::Device {
 public:
  explicit CountingDevice(io::IoQueue& queue) : queue_(queue) { geometry_.size = bytes.size(); }
  const io::Geometry& geometry() const override { return geometry_; }
  const std::string& name() const override { return name_; }
  io::IoQueue& queue() override { return queue_; }
  Status grow(std::uint64_t) override { return {}; }
  bool direct() const override { return true; }

  Bytes bytes = Bytes(16 << 20);
  bool fails = false;

 private:
  io::Geometry geometry_;
  std::string name_ = "device";
  io::IoQueue& queue_;
};

void CountingQueue::submit_requests(io::IoBatch& batch) {
  ++rounds;
  const std::size_t count = batch.requests.size();
  for (io::IoRequest& request : batch.requests) {
    auto& device = static_cast<CountingDevice&>(*request.device);
    ++reads;
    if (device.fails) {
      request.status = Error{ErrorCode::kIo, "the device failed", ""};
    } else {
      copy_bytes({request.data, request.length},
                 ByteView(device.bytes).subspan(request.offset, request.length));
    }
  }
  for (std::size_t i = 0; i < count; ++i) finish(batch);
}

// Role r of every stripe on device r, whose id is r + 1.
class MemoryStripes final : public core::StripeMap {
 public:
  MemoryStripes(CountingQueue& queue, std::uint32_t cells, std::uint64_t unit)
      : present(cells, true), unit_(unit) {
    for (std::uint32_t i = 0; i < cells; ++i) {
      devices.push_back(std::make_unique<CountingDevice>(queue));
    }
  }
  Result<std::vector<core::CellPlace>> locate(const alloc::Extent& where) const override {
    std::vector<core::CellPlace> places;
    for (std::uint32_t i = 0; i < devices.size(); ++i) {
      places.push_back({i + 1, devices[i].get(), where.unit * unit_, present[i]});
    }
    return places;
  }
  std::optional<core::PackIdentity> pack_stripe(const alloc::Extent& where) const override {
    const auto at = packs.find(where.unit);
    if (at == packs.end()) return std::nullopt;
    return at->second;
  }
  bool may_heal() const override { return may_write; }
  void heal(const core::CellPlace& place, ByteView cell) override {
    if (!may_write || refuses) return;
    ++healed;
    copy_bytes(cell_at(place.id - 1, place.offset, cell.size()), cell);
  }
  MutByteView cell_at(std::uint32_t role, std::uint64_t offset, std::size_t size) {
    return MutByteView(devices[role]->bytes).subspan(offset, size);
  }

  std::vector<std::unique_ptr<CountingDevice>> devices;
  std::vector<bool> present;                          // by device
  std::map<std::uint32_t, core::PackIdentity> packs;  // by the first unit
  bool may_write = true;
  bool refuses = false;  // what is written back does not get there
  int healed = 0;

 private:
  std::uint64_t unit_;
};

}  // namespace hexad::testing
