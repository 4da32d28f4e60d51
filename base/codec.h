// Encoding of plain values into bytes and back. Integers are little-endian; varints are LEB128;
// lengths precede bytes. A Decoder survives any input: every read is bounded by the bytes left,
// the first failure sticks, and later reads return zeros, so a decoder function reads all its
// fields and checks once, with finish() or ok(), before it uses them.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/bytes.h"
#include "base/error.h"

namespace hexad {

class Encoder {
 public:
  // Appends to `out`, which outlives the encoder.
  explicit Encoder(std::string& out) : out_(out) {}

  void u8(std::uint8_t value) { out_.push_back(static_cast<char>(value)); }
  void le16(std::uint16_t value) { little_endian(value); }
  void le32(std::uint32_t value) { little_endian(value); }
  void le64(std::uint64_t value) { little_endian(value); }
  void varint(std::uint64_t value) {
    while (value >= 0x80) {
      u8(static_cast<std::uint8_t>(value | 0x80));
      value >>= 7;
    }
    u8(static_cast<std::uint8_t>(value));
  }
  // Bytes alone; the reader knows how many.
  void raw(std::string_view bytes) { out_.append(bytes); }
  void raw(ByteView bytes) { out_.append(as_text(bytes)); }
  // A varint length, then the bytes.
  void bytes(std::string_view bytes) {
    varint(bytes.size());
    raw(bytes);
  }
  void zeros(std::size_t count) { out_.append(count, '\0'); }
  std::size_t size() const { return out_.size(); }

 private:
  template <std::unsigned_integral T>
  void little_endian(T value) {
    char text[sizeof(T)];
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      text[i] = static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
    }
    out_.append(text, sizeof(T));
  }

  std::string& out_;
};

class Decoder {
 public:
  // `input` outlives the decoder and every view it hands out.
  explicit Decoder(std::string_view input) : input_(input) {}
  explicit Decoder(ByteView input) : input_(as_text(input)) {}

  std::uint8_t u8() { return little_endian<std::uint8_t>(); }
  std::uint16_t le16() { return little_endian<std::uint16_t>(); }
  std::uint32_t le32() { return little_endian<std::uint32_t>(); }
  std::uint64_t le64() { return little_endian<std::uint64_t>(); }
  std::uint64_t varint() {
    constexpr std::size_t kLongest = 10;  // bytes of 64 bits
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < std::min(input_.size(), kLongest); ++i) {
      const auto byte = static_cast<std::uint8_t>(input_[i]);
      if (i + 1 == kLongest && byte > 1) break;  // more than 64 bits
      value |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
      if (byte >= 0x80) continue;
      if (byte == 0 && i > 0) break;  // not the shortest form: one value has one encoding
      input_.remove_prefix(i + 1);
      return ok_ ? value : 0;
    }
    ok_ = false;
    return 0;
  }
  // A varint that has to lie in [0, limit]; fails otherwise.
  std::uint64_t varint_up_to(std::uint64_t limit) {
    const std::uint64_t value = varint();
    if (value > limit) ok_ = false;
    return ok_ ? value : 0;
  }
  // How many items follow, each of at least `item_size` bytes: bounded by the bytes left, so that
  // nothing is allocated for a count that cannot be true.
  std::uint64_t count(std::uint64_t item_size) {
    return varint_up_to(input_.size() / (item_size == 0 ? 1 : item_size));
  }
  std::string_view raw(std::uint64_t size) {
    if (!ok_ || size > input_.size()) {
      ok_ = false;
      return {};
    }
    const std::string_view taken = input_.substr(0, size);
    input_.remove_prefix(size);
    return taken;
  }
  std::string_view bytes() { return raw(varint()); }
  // Reserved bytes have to be zero.
  void zeros(std::uint64_t size) {
    if (!is_zero(as_bytes(raw(size)))) ok_ = false;
  }
  // Marks the input as broken: a value was read that the format does not allow.
  void fail() { ok_ = false; }
  bool ok() const { return ok_; }
  std::size_t remaining() const { return input_.size(); }
  std::string_view rest() const { return input_; }

  // Everything was readable and nothing is left. `what` names the structure in the message.
  // Errors: kCorruption.
  Status finish(std::string_view what) const;
  // Everything was readable so far.
  Status check(std::string_view what) const;

 private:
  template <std::unsigned_integral T>
  T little_endian() {
    const std::string_view taken = raw(sizeof(T));
    T value = 0;
    for (std::size_t i = 0; i < taken.size(); ++i) {
      value = static_cast<T>(
          value | static_cast<T>(static_cast<T>(static_cast<unsigned char>(taken[i])) << (8 * i)));
    }
    return value;
  }

  std::string_view input_;
  bool ok_ = true;
};

// Big-endian integers, whose bytewise order is their numeric order: for keys.
void append_be32(std::string& out, std::uint32_t value);
void append_be64(std::string& out, std::uint64_t value);
// Precondition: at least 4 (8) bytes at `at`.
std::uint32_t read_be32(std::string_view bytes, std::size_t at = 0);
std::uint64_t read_be64(std::string_view bytes, std::size_t at = 0);

}  // namespace hexad
