#include "ec/codec.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/checksum.h"
#include "tests/ec/naive.h"

using namespace hexad;
using namespace hexad::ec;
using naive::Noise;

namespace {

std::unique_ptr<Codec> codec_of(const Profile& profile) {
  Result<std::unique_ptr<Codec>> made = make_codec(profile);
  REQUIRE(made.ok());
  return std::move(made).value();
}

// Lengths at every boundary of the kernels and one unit to each side.
std::vector<std::size_t> boundary_lengths(const Profile& profile) {
  const std::size_t unit = alignment(profile);
  std::set<std::size_t> lengths{0, unit};
  for (std::size_t edge : {16, 32, 48, 64, 96, 128, 256, 512, 1024, 4096, 16384, 32768}) {
    const std::size_t near = (edge + unit - 1) / unit * unit;
    lengths.insert({near - unit, near, near + unit});
  }
  return {lengths.begin(), lengths.end()};
}

ErrorCode code_of(const Status& status) {
  REQUIRE_FALSE(status.ok());
  return status.error().code;
}

}  // namespace

TEST_CASE("codec: parity has the published bytes for every shape up to 8+4") {
  for (std::uint32_t k = 1; k <= 8; ++k) {
    for (std::uint32_t m = 1; m <= 4; ++m) {
      for (const Profile& profile : naive::profiles_of_shape(k, m)) {
        CAPTURE(to_string(profile), codec_to_string(profile));
        const auto codec = codec_of(profile);
        const std::vector<Bytes> stripe = naive::make_stripe(profile, 192, k * 100 + m);
        std::vector<Bytes> parity(m, Bytes(192, std::byte{0x5a}));
        const auto shards = naive::views(stripe);
        REQUIRE(codec->encode(std::span(shards).first(k), naive::mutable_views(parity)).ok());
        REQUIRE(std::equal(parity.begin(), parity.end(), stripe.begin() + k));
      }
    }
  }
}

TEST_CASE("codec: parity is right at every length boundary and wherever the buffers lie") {
  for (const Profile& profile : naive::profiles_of_shape(4, 2)) {
    const auto codec = codec_of(profile);
    for (std::size_t length : boundary_lengths(profile)) {
      const std::vector<Bytes> stripe = naive::make_stripe(profile, length, length);
      // The distance of a buffer from a page: all alike and all different.
      for (std::size_t base : {0, 1, 8, 16, 32}) {
        for (std::size_t step : {0, 1, 16, 32}) {
          CAPTURE(codec_to_string(profile), length, base, step);
          AlignedBuffer arena = AlignedBuffer::zeroed(6 * (length + 4096 + 256));
          std::vector<MutByteView> shards;
          for (std::uint32_t i = 0; i < 6; ++i) {
            const std::size_t pitch = length / 4096 * 4096 + 4096;
            const std::size_t at = i * pitch + base + i * step;
            shards.push_back(arena.bytes().subspan(std::min(at, arena.size() - length), length));
          }
          // Neighbours may touch where the pitch is short; lay them out only when they do not.
          bool apart = true;
          for (std::uint32_t i = 0; i + 1 < 6; ++i) {
            apart = apart && shards[i].data() + length <= shards[i + 1].data();
          }
          if (!apart) continue;
          std::vector<ByteView> data;
          for (std::uint32_t i = 0; i < 4; ++i) {
            copy_bytes(shards[i], stripe[i]);
            data.push_back(shards[i]);
          }
          REQUIRE(codec->encode(data, std::span(shards).subspan(4)).ok());
          for (std::uint32_t i = 0; i < 6; ++i) {
            REQUIRE(std::equal(shards[i].begin(), shards[i].end(), stripe[i].begin()));
          }
        }
      }
    }
  }
}

// Lengths that a kernel for it takes, and those that it does not; longer ones than a part.
TEST_CASE("codec: what is coded and summed in one walk is what is coded, and summed, by itself") {
  for (const auto& [k, m] : {std::pair{1u, 1u}, {3u, 1u}, {4u, 2u}, {10u, 4u}, {4u, 5u}}) {
    for (const Profile& profile : naive::profiles_of_shape(k, m)) {
      const auto codec = codec_of(profile);
      for (std::size_t length : boundary_lengths(profile)) {
        CAPTURE(to_string(profile), codec_to_string(profile), length);
        const std::vector<Bytes> stripe = naive::make_stripe(profile, length, length + k);
        const std::vector<ByteView> all = naive::views(stripe);
        std::vector<Bytes> shards(k + m, Bytes(length, std::byte{0x5a}));
        std::vector<std::uint32_t> sums;
        std::vector<std::uint32_t> wanted;
        for (std::uint32_t i = 0; i < k + m; ++i) {
          sums.push_back(i * 0x1234567);
          wanted.push_back(crc32c(stripe[i], sums[i]));
        }
        REQUIRE(codec->encode_and_sum(std::span(all).first(k), naive::mutable_views(shards), sums)
                    .ok());
        REQUIRE(shards == stripe);
        REQUIRE(sums == wanted);
      }
    }
  }
}

TEST_CASE("codec: every loss of up to m shards is rebuilt, every shape up to 8+4") {
  for (std::uint32_t k = 1; k <= 8; ++k) {
    for (std::uint32_t m = 1; m <= 4; ++m) {
      for (const Profile& profile : naive::profiles_of_shape(k, m)) {
        const auto codec = codec_of(profile);
        std::vector<Bytes> stripe = naive::make_stripe(profile, 64, k + 10 * m);
        int wrong = 0;
        naive::each_subset(k + m, m,
                           [&](ShardSet lost) { wrong += !naive::rebuilds(*codec, stripe, lost); });
        CAPTURE(to_string(profile), codec_to_string(profile));
        REQUIRE(wrong == 0);
      }
    }
  }
}

TEST_CASE("codec: losses sampled over all shapes up to 32+8 are rebuilt") {
  const std::uint64_t seed = 42;
  Noise noise(seed);
  CAPTURE(seed);
  for (std::uint32_t k = 1; k <= kMaxDataShards; ++k) {
    for (std::uint32_t m = 1; m <= kMaxParityShards; ++m) {
      for (const Profile& profile : naive::profiles_of_shape(k, m)) {
        // The schedules of the packet codes take milliseconds to find when k and m are large.
        const bool slow_plan = uses_packets(profile.codec);
        if (slow_plan && k > 12 && k % 10 != 2) continue;
        const auto codec = codec_of(profile);
        std::vector<Bytes> stripe = naive::make_stripe(profile, 64, seed);
        for (int round = 0; round < (slow_plan ? 2 : 12); ++round) {
          ShardSet lost;
          while (lost.size() < m) lost.add(static_cast<ShardIndex>(noise.below(k + m)));
          CAPTURE(to_string(profile), codec_to_string(profile), lost.bits());
          REQUIRE(naive::rebuilds(*codec, stripe, lost));
        }
      }
    }
  }
}

TEST_CASE("codec: every choice of present and wanted shards gives the wanted ones and no others") {
  for (const auto& [k, m] : {std::pair{1U, 1U}, {2U, 2U}, {3U, 2U}, {4U, 2U}, {3U, 3U}}) {
    for (const Profile& profile : naive::profiles_of_shape(k, m)) {
      const auto codec = codec_of(profile);
      const std::vector<Bytes> stripe = naive::make_stripe(profile, 64, 5);
      const std::uint32_t n = k + m;
      int wrong = 0;
      for (std::uint64_t present = 0; present < std::uint64_t{1} << n; ++present) {
        for (std::uint64_t wanted = 0; wanted < std::uint64_t{1} << n; ++wanted) {
          if ((present & wanted) != 0) continue;
          const ShardSet at_hand = ShardSet::from_bits(present);
          const ShardSet asked = ShardSet::from_bits(wanted);
          std::vector<Bytes> copy = stripe;
          for (std::uint32_t i = 0; i < n; ++i) {
            if (asked.contains(i)) {
              copy[i].assign(64, std::byte{0x77});
            } else if (!at_hand.contains(i)) {
              copy[i].clear();  // not looked at
            }
          }
          const std::vector<Bytes> before = copy;
          const Status status =
              codec->reconstruct_wanted(naive::mutable_views(copy), at_hand, asked);
          const bool possible = asked.empty() || at_hand.size() >= k;
          wrong += status.ok() != possible;
          if (!possible) wrong += status.error().code != ErrorCode::kUnavailable;
          for (std::uint32_t i = 0; i < n; ++i) {
            wrong += copy[i] != (possible && asked.contains(i) ? stripe[i] : before[i]);
          }
        }
      }
      CAPTURE(to_string(profile), codec_to_string(profile));
      REQUIRE(wrong == 0);
    }
  }
}

TEST_CASE("codec: a part of every shard can be coded and rebuilt alone") {
  for (const Profile& profile : naive::profiles_of_shape(4, 2)) {
    const auto codec = codec_of(profile);
    const std::vector<Bytes> stripe = naive::make_stripe(profile, 1024, 8);
    std::vector<Bytes> part;
    for (const Bytes& shard : stripe) part.emplace_back(shard.begin() + 512, shard.begin() + 768);
    CHECK(naive::rebuilds(*codec, part, ShardSet{1, 3}));
  }
}

TEST_CASE("codec: verify notices one changed bit in any shard") {
  for (const Profile& profile : naive::profiles_of_shape(3, 2)) {
    const auto codec = codec_of(profile);
    std::vector<Bytes> stripe = naive::make_stripe(profile, 40960, 3);
    CHECK(*codec->verify(naive::views(stripe)));
    for (Bytes& shard : stripe) {
      for (std::size_t at : {0, 32767, 32768, 40959}) {
        shard[at] ^= std::byte{0x10};
        CHECK_FALSE(*codec->verify(naive::views(stripe)));
        shard[at] ^= std::byte{0x10};
      }
    }
    const std::vector<Bytes> nothing(5);
    CHECK(*codec->verify(naive::views(nothing)));
  }
}

TEST_CASE("codec: calls that make no sense are refused and change nothing") {
  const Profile profile = *parse_profile("4+2", "jerasure:cauchy_good,packetsize=64");
  const auto codec = codec_of(profile);
  std::vector<Bytes> stripe = naive::make_stripe(profile, 1024, 1);
  const std::vector<Bytes> before = stripe;
  const auto read = naive::views(stripe);
  const auto write = naive::mutable_views(stripe);
  const std::span<const ByteView> data = std::span(read).first(4);
  const std::span<const MutByteView> parity = std::span(write).subspan(4);
  const ErrorCode invalid = ErrorCode::kInvalidArgument;

  CHECK(code_of(codec->encode(std::span(read).first(3), parity)) == invalid);
  CHECK(code_of(codec->encode(data, parity.first(1))) == invalid);
  CHECK(code_of(codec->encode({}, {})) == invalid);

  auto short_parity = naive::mutable_views(stripe);
  short_parity[5] = short_parity[5].first(512);
  CHECK(code_of(codec->encode(data, std::span(short_parity).subspan(4))) == invalid);
  CHECK(code_of(codec->reconstruct(short_parity, std::vector<ShardIndex>{0})) == invalid);

  std::vector<Bytes> odd(6, Bytes(1000));
  CHECK(code_of(codec->reconstruct(naive::mutable_views(odd), std::vector<ShardIndex>{0})) ==
        invalid);
  CHECK(codec->verify(naive::views(odd)).error().code == invalid);

  CHECK(code_of(codec->reconstruct(write, std::vector<ShardIndex>{2, 2})) == invalid);
  CHECK(code_of(codec->reconstruct(write, std::vector<ShardIndex>{6})) == invalid);
  CHECK(code_of(codec->reconstruct(write, std::vector<ShardIndex>{0xffffffff})) == invalid);
  CHECK(code_of(codec->reconstruct(write, std::vector<ShardIndex>{0, 1, 2})) ==
        ErrorCode::kUnavailable);
  CHECK(code_of(codec->reconstruct_wanted(write, ShardSet::first(5), ShardSet{4})) == invalid);
  CHECK(code_of(codec->reconstruct_wanted(write, ShardSet::first(7), ShardSet{})) == invalid);
  CHECK(code_of(codec->reconstruct_wanted(write, ShardSet::first(3), ShardSet{5})) ==
        ErrorCode::kUnavailable);
  CHECK(stripe == before);

  CHECK(codec->reconstruct(write, std::vector<ShardIndex>{}).ok());
  CHECK(stripe == before);
}

TEST_CASE("codec: a profile that is not valid makes no codec") {
  CHECK(make_codec(Profile{0, 2}).error().code == ErrorCode::kInvalidArgument);
  CHECK(make_codec(Profile{22, 4, CodecKind::kIsaVandermonde, 0}).error().code ==
        ErrorCode::kInvalidArgument);
}

TEST_CASE("codec: with one data shard every parity shard of RAID 6 is a copy") {
  const auto codec = codec_of(Profile{1, 2, CodecKind::kIsaVandermonde, 0});
  const Bytes data(100, std::byte{0x3c});
  std::vector<Bytes> parity(2, Bytes(100));
  CHECK(codec->encode(std::vector<ByteView>{data}, naive::mutable_views(parity)).ok());
  CHECK(parity[0] == data);
  CHECK(parity[1] == data);
}

TEST_CASE("codec: without parity there is nothing to encode, and nothing gives a cell back") {
  for (const std::uint32_t k : {1U, 4U}) {
    CAPTURE(k);
    const auto codec = codec_of(Profile{k, 0, CodecKind::kIsaVandermonde, 0});
    std::vector<Bytes> cells(k, Bytes(4096, std::byte{7}));
    std::vector<ByteView> data(cells.begin(), cells.end());
    std::vector<MutByteView> shards(cells.begin(), cells.end());
    CHECK(codec->encode(data, {}).ok());
    CHECK(*codec->verify(data));
    CHECK(codec->reconstruct_wanted(shards, ShardSet::first(k), {}).ok());
    const Status lost = codec->reconstruct_wanted(shards, ShardSet::first(k) - ShardSet{0}, {0});
    CHECK(lost.error().code == ErrorCode::kUnavailable);
    const ShardIndex named[] = {0};
    CHECK(codec->reconstruct(shards, named).error().code == ErrorCode::kUnavailable);
  }
}
