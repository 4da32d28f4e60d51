// What the tests of this folder share: a device whose requests can be made to fail, golden bytes,
// and damage done to encoded bytes in every way.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "io/device.h"

namespace hexad::alloc::testing {

// A device in memory whose n-th request, or requests chosen by a hook, fail. One thread.
class HookedDevice : public io::Device {
 public:
  // Called before every request; an error is the request's outcome and nothing is done.
  using Hook = std::function<Status(const io::IoRequest&)>;

  explicit HookedDevice(std::uint64_t size, std::uint32_t logical = 512,
                        std::uint32_t physical = 4096);
  ~HookedDevice() override;

  const io::Geometry& geometry() const override { return geometry_; }
  const std::string& name() const override { return name_; }
  io::IoQueue& queue() override;
  Status grow(std::uint64_t new_size) override;
  bool direct() const override { return false; }

  Hook hook;
  Bytes bytes;
  std::vector<io::IoOp> log;  // every request that was carried out
  io::Geometry geometry_;

 private:
  class Queue;
  std::string name_ = "test-device";
  std::unique_ptr<Queue> queue_;
};

// The bytes in tests/format/NAME.hex: two digits per byte, blanks ignored, '#' to the end of a line
// is a comment. Empty when the file is not there.
std::string golden(const std::string& name);
// Its bytes count up from `start`.
Uuid uuid_of(std::uint8_t start);
// For messages, so that a golden file can be made from a failing test that is right.
std::string to_hex(std::string_view bytes);

// Calls `check` with every proper prefix of `bytes`, and with `bytes` with each bit flipped.
void for_each_damage(const std::string& bytes,
                     const std::function<void(const std::string&)>& check);

// `frame` with its length and checksum made right again after the body was changed (see
// alloc/sealed_block.h), so that the decoder behind the checksum is what gets tested.
std::string resealed(std::string frame);

}  // namespace hexad::alloc::testing
