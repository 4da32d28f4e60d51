#include "core/blob/blob_read.h"

#include <catch2/catch.hpp>
#include <memory>

#include "io/rng.h"
#include "tests/core/stored_blobs.h"

namespace hexad::core {
namespace {

struct Fixture : testing::StoredBlobs {
  struct Stored {
    Bytes raw;
    Blob blob;
  };
  // Half of the bytes are the same letter when it is to be compressed.
  Stored store(std::size_t size, bool compressed, std::uint64_t seed) {
    io::Rng rng(seed);
    Stored stored;
    for (std::size_t i = 0; i < size; ++i) {
      stored.raw.push_back(
          static_cast<std::byte>(compressed && i / 100 % 2 == 0 ? 'a' : rng.below(256)));
    }
    compression::Policy policy;
    if (compressed) policy.mode = compression::Mode::kForce;
    stored.blob = store_blob(stored.raw, policy);
    return stored;
  }
};

TEST_CASE("blob_read: a range inside one checksum block is one read of one device") {
  Fixture fixture;
  const Fixture::Stored stored = fixture.store(1 << 20, false, 1);
  Bytes out(1000);
  REQUIRE(fixture.reader.read(stored.blob, 300'000, out).ok());
  REQUIRE((out == Bytes(stored.raw.begin() + 300'000, stored.raw.begin() + 301'000)));
  REQUIRE(fixture.queue.rounds == 1);
  REQUIRE(fixture.queue.reads == 1);
}

TEST_CASE("blob_read: ranges of several blobs are one round of device reads") {
  Fixture fixture;
  std::vector<Fixture::Stored> blobs;
  for (std::uint64_t i = 0; i < 8; ++i) blobs.push_back(fixture.store(1 << 20, i % 2 == 1, i));
  REQUIRE(blobs[1].blob.is_compressed());
  std::vector<Bytes> out(blobs.size(), Bytes(1 << 20));
  std::vector<BlobReader::Range> ranges;
  for (std::size_t i = 0; i < blobs.size(); ++i) ranges.push_back({&blobs[i].blob, 0, out[i]});
  REQUIRE(fixture.reader.read(ranges).ok());
  for (std::size_t i = 0; i < blobs.size(); ++i) REQUIRE((out[i] == blobs[i].raw));
  REQUIRE(fixture.queue.rounds == 1);
  REQUIRE(fixture.queue.reads == 8 * 4);
  REQUIRE(fixture.counters.since_open(CounterId::kDegradedReads) == 0);
}

TEST_CASE("blob_read: nothing to read asks nobody") {
  Fixture fixture;
  const Fixture::Stored stored = fixture.store(5000, false, 1);
  REQUIRE(fixture.reader.read({}).ok());
  REQUIRE(fixture.reader.read(stored.blob, 5000, {}).ok());
  REQUIRE(fixture.queue.reads == 0);
}

TEST_CASE("blob_read: a range outside of its blob is corruption, and nothing is asked") {
  Fixture fixture;
  const Fixture::Stored stored = fixture.store(5000, false, 1);
  Bytes good(10);
  Bytes bad(10);
  const BlobReader::Range ranges[] = {{&stored.blob, 0, good}, {&stored.blob, 4991, bad}};
  const Status status = fixture.reader.read(ranges);
  REQUIRE_FALSE(status.ok());
  REQUIRE(status.error().code == ErrorCode::kCorruption);
  REQUIRE(fixture.queue.reads == 0);
}

TEST_CASE("blob_read: any two devices away, failing or damaged, and several ranges at once") {
  Fixture fixture;
  io::Rng rng(99);
  std::vector<Fixture::Stored> blobs;
  for (std::uint64_t i = 0; i < 6; ++i) {
    blobs.push_back(fixture.store(1 + rng.below(600'000), i % 2 == 1, i));
  }
  for (std::uint32_t a = 0; a < 6; ++a) {
    for (std::uint32_t b = 0; b < 6; ++b) {
      CAPTURE(a, b);
      const Bytes saved = fixture.map.devices[a]->bytes;
      for (const std::uint32_t lost : {a, b}) {
        switch (rng.below(3)) {
          case 0:
            fixture.map.present[lost] = false;
            break;
          case 1:
            fixture.map.devices[lost]->fails = true;
            break;
          default:
            if (lost == a)
              std::fill(fixture.map.devices[a]->bytes.begin(), fixture.map.devices[a]->bytes.end(),
                        std::byte{0x5a});
        }
      }
      std::vector<Bytes> out;
      std::vector<std::uint64_t> offsets;
      std::vector<BlobReader::Range> ranges;
      for (const Fixture::Stored& stored : blobs) {
        offsets.push_back(rng.below(stored.raw.size()));
        out.emplace_back(1 + rng.below(stored.raw.size() - offsets.back()));
      }
      for (std::size_t i = 0; i < blobs.size(); ++i) {
        ranges.push_back({&blobs[i].blob, offsets[i], out[i]});
      }
      const Status status = fixture.reader.read(ranges);
      REQUIRE(status.ok());
      for (std::size_t i = 0; i < blobs.size(); ++i) {
        const auto from = blobs[i].raw.begin() + static_cast<std::ptrdiff_t>(offsets[i]);
        REQUIRE((out[i] == Bytes(from, from + static_cast<std::ptrdiff_t>(out[i].size()))));
      }
      for (std::uint32_t i = 0; i < 6; ++i) {
        fixture.map.present[i] = true;
        fixture.map.devices[i]->fails = false;
      }
      fixture.map.devices[a]->bytes = saved;
    }
  }
  REQUIRE(fixture.counters.since_open(CounterId::kCellsReconstructed) > 0);
  REQUIRE(fixture.map.healed > 0);
}

TEST_CASE("blob_read: with three cells lost the message names them, whatever else was read") {
  Fixture fixture;
  const Fixture::Stored first = fixture.store(10'000, false, 1);
  const Fixture::Stored second = fixture.store(10'000, false, 2);
  for (const std::uint32_t role : {0, 2}) fixture.map.present[role] = false;
  fixture.map.devices[5]->fails = true;
  Bytes out(10'000);
  const BlobReader::Range ranges[] = {{&first.blob, 0, out}, {&second.blob, 0, out}};
  const Status status = fixture.reader.read(ranges);
  REQUIRE_FALSE(status.ok());
  REQUIRE(status.error().code == ErrorCode::kUnavailable);
  REQUIRE(status.error().message.find("device 1") != std::string::npos);
  REQUIRE(status.error().message.find("device 6") != std::string::npos);
}

}  // namespace
}  // namespace hexad::core
