#include "compression/frames.h"

#include <catch2/catch.hpp>
#include <string>

#include "tests/compression/data.h"

using namespace hexad;
using namespace hexad::compression;

namespace {

Policy policy_of(std::string_view text) {
  const Result<Policy> policy = parse_policy(text);
  REQUIRE(policy.ok());
  return *policy;
}

void check_invariants(const FrameSet& set, std::uint64_t raw_length) {
  CHECK(set.raw_length == raw_length);
  // FR2
  REQUIRE(set.stored_lengths.size() == (raw_length + set.frame_bytes - 1) / set.frame_bytes);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < set.stored_lengths.size(); ++i) {
    REQUIRE(set.stored_lengths[i] > 0);
    REQUIRE(set.stored_lengths[i] <= set.raw_length_of(i));  // FR3
    sum += set.stored_lengths[i];
  }
  CHECK(sum == set.stored_bytes);  // FR4
}

// Compressible and incompressible frames by turns.
Bytes mixed(std::size_t size) {
  Bytes bytes = data::text(size, 1);
  const Bytes noise = data::noise(size, 2);
  for (std::size_t i = 0; i < size; ++i) {
    if (i / 4096 % 3 == 1) bytes[i] = noise[i];
  }
  return bytes;
}

struct Packed {
  FrameSet set;
  Bytes stored;
};

Packed packed(const Policy& policy, ByteView payload) {
  Bytes out(payload.size());
  auto set = compress_frames(policy, payload, out);
  REQUIRE(set.ok());
  REQUIRE(set->has_value());
  check_invariants(**set, payload.size());
  out.resize((*set)->stored_bytes);
  return {**set, out};
}

Bytes read(const Packed& from, std::uint64_t offset, std::uint64_t length) {
  const Result<FrameRange> range = frames_for_range(from.set, offset, length);
  REQUIRE(range.ok());
  Bytes out(length);
  const Status status = decompress_range(
      from.set, offset, ByteView(from.stored).subspan(range->stored_offset, range->stored_length),
      out);
  if (!status.ok()) FAIL(status.error().to_string());
  return out;
}

}  // namespace

TEST_CASE("frames: payloads of every kind and size around the frame boundaries come back") {
  for (const char* algorithm : {"snappy", "zstd", "lz4", "zlib"}) {
    const Policy policy =
        policy_of(std::string("force,max_blob_size=4096,required_ratio=1,") + algorithm);
    for (std::size_t size : {600, 4095, 4096, 4097, 8191, 8192, 8193, 12288, 50001}) {
      for (const Bytes& bytes :
           {data::zeros(size), data::text(size, 3), mixed(size), data::fio(size, 50, 512, 4)}) {
        CAPTURE(algorithm, size);
        const Packed form = packed(policy, bytes);
        CHECK(form.set.stored_bytes < size);
        REQUIRE(read(form, 0, size) == bytes);
      }
    }
  }
}

TEST_CASE("frames: every kind of range gives its bytes and touches only its frames") {
  const std::size_t size = 4096 * 5 + 100;
  const Bytes bytes = mixed(size);
  const Packed form = packed(policy_of("force,zstd,max_blob_size=4096"), bytes);
  std::vector<std::uint64_t> edges = {0, 1, 50};
  for (std::uint64_t frame = 1; frame <= 5; ++frame) {
    for (std::uint64_t at : {frame * 4096 - 1, frame * 4096, frame * 4096 + 1}) edges.push_back(at);
  }
  edges.push_back(size - 1);
  edges.push_back(size);
  for (std::uint64_t from : edges) {
    for (std::uint64_t to : edges) {
      if (to < from) continue;
      const Bytes expected(bytes.begin() + from, bytes.begin() + to);
      CAPTURE(from, to);
      REQUIRE(read(form, from, to - from) == expected);
      const FrameRange range = *frames_for_range(form.set, from, to - from);
      const std::uint64_t touched = to == from ? 0 : (to - 1) / 4096 - from / 4096 + 1;
      REQUIRE(range.frame_count == touched);
    }
  }
  CHECK_FALSE(frames_for_range(form.set, 0, size + 1).ok());
  CHECK_FALSE(frames_for_range(form.set, size, 1).ok());
  CHECK_FALSE(frames_for_range(form.set, ~std::uint64_t{0}, 2).ok());
  CHECK_FALSE(frames_for_range(form.set, 2, ~std::uint64_t{0}).ok());
}

TEST_CASE("frames: frames that do not shrink are stored raw among those that do") {
  const Bytes bytes = mixed(4096 * 3);
  const Packed form = packed(policy_of("force,snappy,max_blob_size=4096"), bytes);
  REQUIRE(form.set.stored_lengths.size() == 3);
  CHECK(form.set.stored_lengths[0] < 4096);
  CHECK(form.set.stored_lengths[1] == 4096);
  CHECK(form.set.stored_lengths[2] < 4096);
}

TEST_CASE("frames: a payload is kept at the required ratio and rejected a thousandth below") {
  const Bytes bytes = data::fio(80000, 30, 4096, 5);
  for (const char* algorithm : {"snappy", "zlib"}) {
    Policy policy =
        policy_of(std::string("force,max_blob_size=4096,required_ratio=1,") + algorithm);
    const std::uint64_t stored = packed(policy, bytes).set.stored_bytes;
    // The form has the size it has; the ratio is moved across it.
    const auto exact =
        static_cast<std::uint32_t>((stored * 1000 + bytes.size() - 1) / bytes.size());
    Bytes out(bytes.size());
    policy.required_ratio = exact;
    CHECK((*compress_frames(policy, bytes, out)).has_value());
    policy.required_ratio = exact - 1;
    CHECK_FALSE((*compress_frames(policy, bytes, out)).has_value());
  }
}

TEST_CASE("frames: 0.875 means seven eighths to the byte") {
  // Noise is stored raw, zeros shrink to a known size: choose how much of each so that the stored
  // form is exactly 7/8 of the payload, then one byte more.
  const Policy policy = policy_of("force,snappy,max_blob_size=4096,required_ratio=0.875");
  Policy all = policy;
  all.required_ratio = 1000;
  Bytes payload = data::zeros(8 * 4096);
  int kept = 0;
  int rejected = 0;
  for (std::size_t noisy = 6 * 4096; noisy <= 8 * 4096; noisy += 64) {
    const Bytes noise = data::noise(noisy, 1);
    std::copy(noise.begin(), noise.end(), payload.begin());
    Bytes out(payload.size());
    const auto free_form = *compress_frames(all, payload, out);
    const std::uint64_t stored = free_form ? free_form->stored_bytes : payload.size();
    const bool expected = stored * 8 <= payload.size() * 7;
    CAPTURE(noisy, stored);
    REQUIRE(compress_frames(policy, payload, out)->has_value() == expected);
    (expected ? kept : rejected) += 1;
  }
  CHECK(kept > 0);
  CHECK(rejected > 0);
}

TEST_CASE(
    "frames: noise is rejected, and so is what only the ratio of 1 would let pass unchanged") {
  const Bytes bytes = data::noise(100000, 3);
  Bytes out(bytes.size());
  for (const char* algorithm : {"snappy", "zstd", "lz4", "zlib"}) {
    for (const char* ratio : {"0.875", "1"}) {
      const Policy policy =
          policy_of(std::string("force,required_ratio=") + ratio + "," + algorithm);
      CHECK_FALSE(compress_frames(policy, bytes, out)->has_value());
    }
  }
  CHECK_FALSE(compress_frames(policy_of("force,algorithm=none"), bytes, out)->has_value());
  CHECK_FALSE(compress_frames(policy_of("force,snappy"), {}, {})->has_value());
}

TEST_CASE("frames: nothing is written beyond the length of the payload") {
  for (const char* algorithm : {"snappy", "zstd", "lz4", "zlib"}) {
    for (const Bytes& bytes : {data::noise(9000, 3), mixed(9000), data::text(100, 1)}) {
      Bytes arena(bytes.size() + 64, std::byte{0xee});
      const Policy policy =
          policy_of(std::string("force,max_blob_size=4096,required_ratio=1,") + algorithm);
      REQUIRE(compress_frames(policy, bytes, MutByteView(arena).first(bytes.size())).ok());
      for (std::size_t i = bytes.size(); i < arena.size(); ++i) {
        REQUIRE(arena[i] == std::byte{0xee});
      }
    }
  }
  Bytes out(99);
  CHECK(compress_frames(policy_of("force,snappy"), data::text(100, 1), out).error().code ==
        ErrorCode::kInvalidArgument);
}

TEST_CASE("frames: 8 KiB writes that are 80 % compressible shrink at least 3.5 to 1") {
  for (const char* algorithm : {"snappy", "zstd", "lz4", "zlib"}) {
    const Packed form =
        packed(policy_of(std::string("force,") + algorithm), data::fio(8192, 80, 8192, 6));
    CAPTURE(algorithm, form.set.stored_bytes);
    CHECK(form.set.stored_bytes * 35 <= 8192 * 10);
  }
}

TEST_CASE("frames: damaged stored bytes are an error or bytes of the right length") {
  const Bytes bytes = mixed(9000);
  const Packed form = packed(policy_of("force,lz4,max_blob_size=4096"), bytes);
  for (std::size_t bit = 0; bit < form.stored.size() * 8; bit += 3) {
    Bytes damaged = form.stored;
    damaged[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    Bytes out(9000);
    const Status status = decompress_range(form.set, 0, damaged, out);
    if (!status.ok()) REQUIRE(status.error().code == ErrorCode::kCorruption);
  }
  Bytes out(9000);
  CHECK(decompress_range(form.set, 0, ByteView(form.stored).first(10), out).error().code ==
        ErrorCode::kInvalidArgument);
}

TEST_CASE("frame table: the encoded form is the one in doc/format.md") {
  const FrameSet set{Algorithm::kSnappy, 4096, 10000, 300 + 4096 + 200, {300, 4096, 200}};
  std::string bytes;
  Encoder out(bytes);
  encode_frame_set(out, set);
  CHECK(bytes == std::string("\x01\x0c\xac\x02\x00\xc8\x01", 7));
  Decoder in(bytes);
  CHECK(*decode_frame_set(in, 10000) == set);
  CHECK(in.remaining() == 0);
}

TEST_CASE("frame table: tables of real payloads come back") {
  for (std::size_t size : {200, 4096, 4097, 50000}) {
    const Packed form = packed(policy_of("force,zlib,max_blob_size=4096"), mixed(size));
    std::string bytes;
    Encoder out(bytes);
    encode_frame_set(out, form.set);
    Decoder in(bytes);
    CHECK(*decode_frame_set(in, size) == form.set);
  }
}

TEST_CASE("frame table: truncated, changed and oversized tables give valid sets or errors") {
  const FrameSet set{Algorithm::kSnappy, 4096, 10000, 300 + 4096 + 200, {300, 4096, 200}};
  std::string bytes;
  Encoder out(bytes);
  encode_frame_set(out, set);
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    Decoder in(std::string_view(bytes).substr(0, cut));
    CHECK(decode_frame_set(in, 10000).error().code == ErrorCode::kCorruption);
  }
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (unsigned value = 0; value < 256; ++value) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(value);
      for (std::uint64_t raw : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{4096},
                                std::uint64_t{10000}, std::uint64_t{1} << 44, ~std::uint64_t{0}}) {
        Decoder in(changed);
        const Result<FrameSet> found = decode_frame_set(in, raw);
        if (found.ok()) {
          check_invariants(*found, raw);
        } else {
          const ErrorCode code = found.error().code;
          REQUIRE((code == ErrorCode::kCorruption || code == ErrorCode::kUnsupported));
        }
      }
    }
  }
}
