#include "tests/alloc/test_support.h"

#include <fstream>
#include <iterator>

#include "alloc/sealed_block.h"

namespace hexad::alloc::testing {

class HookedDevice::Queue : public io::IoQueue {
 public:
  explicit Queue(HookedDevice& device) : device_(device) {}
  void wait(io::IoBatch&) override {}
  std::string name() const override { return "hooked"; }

 protected:
  void submit_requests(io::IoBatch& batch) override {
    const std::size_t count = batch.requests.size();
    for (std::size_t i = 0; i < count; ++i) {
      io::IoRequest& request = batch.requests[i];
      request.status = run(request);
      finish(batch);
    }
  }

 private:
  Status run(io::IoRequest& request) {
    HookedDevice& device = static_cast<HookedDevice&>(*request.device);
    if (device.hook) HEXAD_TRY(device.hook(request));
    const std::uint64_t size = device.bytes.size();
    if (request.offset > size || request.length > size - request.offset ||
        request.offset % device.geometry_.logical_block != 0 ||
        request.length % device.geometry_.logical_block != 0) {
      return Error{ErrorCode::kInvalidArgument, "outside or misaligned", ""};
    }
    device.log.push_back(request.op);
    const auto at = device.bytes.begin() + static_cast<std::ptrdiff_t>(request.offset);
    if (request.op == io::IoOp::kRead) std::copy_n(at, request.length, request.data);
    if (request.op == io::IoOp::kWrite) std::copy_n(request.data, request.length, at);
    return {};
  }

  HookedDevice& device_;
};

HookedDevice::HookedDevice(std::uint64_t size, std::uint32_t logical, std::uint32_t physical)
    : bytes(size), queue_(std::make_unique<Queue>(*this)) {
  geometry_.size = size;
  geometry_.logical_block = logical;
  geometry_.physical_block = physical;
}

HookedDevice::~HookedDevice() = default;

io::IoQueue& HookedDevice::queue() { return *queue_; }

Status HookedDevice::grow(std::uint64_t new_size) {
  bytes.resize(new_size);
  geometry_.size = new_size;
  return {};
}

std::string golden(const std::string& name) {
  std::ifstream file("tests/format/" + name + ".hex");
  std::string bytes;
  std::string digits;
  for (std::string line; std::getline(file, line);) {
    for (const char c : line.substr(0, line.find('#'))) {
      if (std::isxdigit(static_cast<unsigned char>(c)) != 0) digits += c;
    }
  }
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

Uuid uuid_of(std::uint8_t start) {
  Uuid uuid;
  for (std::uint8_t i = 0; i < 16; ++i) uuid.bytes[i] = static_cast<std::uint8_t>(start + i);
  return uuid;
}

std::string to_hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i != 0) text += i % 16 == 0 ? '\n' : ' ';
    text += kDigits[static_cast<unsigned char>(bytes[i]) >> 4];
    text += kDigits[static_cast<unsigned char>(bytes[i]) & 15];
  }
  return text;
}

void for_each_damage(const std::string& bytes,
                     const std::function<void(const std::string&)>& check) {
  for (std::size_t length = 0; length < bytes.size(); ++length) check(bytes.substr(0, length));
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    check(flipped);
  }
}

std::string resealed(std::string frame) {
  return seal(frame.substr(0, kMagicSize), frame.substr(kSealSize));
}

}  // namespace hexad::alloc::testing
