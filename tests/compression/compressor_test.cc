#include "compression/compressor.h"

#include <catch2/catch.hpp>

#include "tests/compression/data.h"

using namespace hexad;
using namespace hexad::compression;

namespace {

// Every look at the clock is 5 ns after the one before.
class SteppingClock : public io::Clock {
 public:
  io::Nanos now() const override { return time_ += 5; }
  io::Nanos wall_time() const override { return 0; }

 private:
  mutable io::Nanos time_ = 0;
};

struct Fixture {
  SteppingClock clock;
  Counters counters;
  Compressor compressor{clock, counters};
  Bytes out = Bytes(100000);

  std::optional<FrameSet> compress(std::string_view policy, Hint hint, ByteView payload) {
    auto set = compressor.compress(*parse_policy(policy), hint, payload, out);
    REQUIRE(set.ok());
    return *set;
  }
};

}  // namespace

TEST_CASE("compressor: a success is counted in bytes before and after, and reads back") {
  Fixture f;
  const Bytes text = data::text(50000, 1);
  const auto set = f.compress("aggressive", Hint::kNone, text);
  REQUIRE(set);
  Bytes back(50000);
  REQUIRE(f.compressor.decompress(*set, 0, ByteView(f.out).first(set->stored_bytes), back).ok());
  CHECK(back == text);
  const CounterValues values = f.counters.snapshot();
  CHECK(values.compress_success_count == 1);
  CHECK(values.compressed == set->stored_bytes);
  CHECK(values.compressed_original == 50000);
  CHECK(values.compress_rejected_count == 0);
  CHECK(values.compress_skipped_count == 0);
  CHECK(values.compress_calls == 1);
  CHECK(values.compress_ns == 5);
  CHECK(values.decompress_calls == 1);
  CHECK(values.decompress_ns == 5);
}

TEST_CASE("compressor: noise is skipped by the probe, and rejected where the mode forbids it") {
  Fixture f;
  const Bytes noise = data::noise(50000, 1);
  CHECK_FALSE(f.compress("aggressive", Hint::kNone, noise));
  CHECK(f.counters.snapshot().compress_skipped_count == 1);
  CHECK(f.counters.snapshot().compress_rejected_count == 0);
  CHECK_FALSE(f.compress("force", Hint::kNone, noise));
  CHECK(f.counters.snapshot().compress_skipped_count == 1);
  CHECK(f.counters.snapshot().compress_rejected_count == 1);
  CHECK(f.counters.snapshot().compressed_original == 0);
}

TEST_CASE("compressor: what the policy does not ask for is neither tried nor counted") {
  Fixture f;
  const Bytes text = data::text(50000, 1);
  CHECK_FALSE(f.compress("none", Hint::kCompressible, text));
  CHECK_FALSE(f.compress("passive", Hint::kNone, text));
  CHECK_FALSE(f.compress("aggressive", Hint::kIncompressible, text));
  CHECK_FALSE(f.compress("force", Hint::kNone, ByteView(text).first(511)));
  const CounterValues values = f.counters.snapshot();
  CHECK(values.compress_calls == 0);
  CHECK(values.compress_success_count + values.compress_rejected_count +
            values.compress_skipped_count ==
        0);
  CHECK(f.compress("passive", Hint::kCompressible, text));
  CHECK(f.compress("force", Hint::kIncompressible, text));
}

TEST_CASE("compressor: an invalid call is an error and counts as nothing") {
  Fixture f;
  const Bytes text = data::text(1000, 1);
  Bytes short_out(10);
  CHECK(f.compressor.compress(*parse_policy("force"), Hint::kNone, text, short_out).error().code ==
        ErrorCode::kInvalidArgument);
  CHECK(f.counters.snapshot().compress_rejected_count == 0);
}
