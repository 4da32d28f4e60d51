#include "core/blob/read_hedges.h"

#include <catch2/catch.hpp>
#include <vector>

namespace hexad::core {
namespace {

using io::Nanos;
using io::ReadTimes;

// So many reads of one length of time, in 1,000 of which `slow` take ten times as long.
void read(ReadTimes& times, Nanos each, int slow = 0) {
  for (int i = 0; i < 8000; ++i) times.note(i % 1000 < slow ? 10 * each : each);
}

TEST_CASE("read hedges: a device of which too little is known is waited for") {
  ReadHedges hedges(HedgedReads::kBudgeted);
  ReadTimes times;
  CHECK(hedges.patience(1, times) == ReadHedges::kNever);
  read(times, 100'000);
  CHECK(hedges.patience(1, times) == times.usual());
}

TEST_CASE("read hedges: one that is slow now and then is waited for as long as the others") {
  ReadHedges hedges(HedgedReads::kBudgeted);
  std::vector<ReadTimes> times(6);
  for (std::size_t i = 0; i < times.size(); ++i) read(times[i], 100'000, i == 2 ? 10 : 0);
  REQUIRE(times[2].usual() >= 875'000);
  for (int round = 0; round < 100; ++round) {
    for (std::size_t i = 0; i < times.size(); ++i) {
      hedges.patience(static_cast<DeviceId>(i), times[i]);
    }
  }
  for (std::size_t i = 0; i < times.size(); ++i) {
    CAPTURE(i);
    const Nanos patience = hedges.patience(static_cast<DeviceId>(i), times[i]);
    CHECK(patience >= 87'500);
    CHECK(patience <= 250'000);
  }
}

TEST_CASE("read hedges: one that is slower by its nature is not late by that") {
  ReadHedges hedges(HedgedReads::kBudgeted);
  std::vector<ReadTimes> times(6);
  for (std::size_t i = 0; i < times.size(); ++i) read(times[i], i == 4 ? 8'000'000 : 100'000);
  for (int round = 0; round < 100; ++round) {
    for (std::size_t i = 0; i < times.size(); ++i) {
      hedges.patience(static_cast<DeviceId>(i), times[i]);
    }
  }
  CHECK(hedges.patience(4, times[4]) >= 7'000'000);
  CHECK(hedges.patience(0, times[0]) < 250'000);
}

TEST_CASE("read hedges: extra reads are a fiftieth of the others, whatever is asked") {
  ReadHedges hedges(HedgedReads::kBudgeted);
  int taken = 0;
  while (hedges.take(1)) ++taken;
  CHECK(taken == 8);
  for (int i = 0; i < 100'000; ++i) {
    hedges.note_reads(1);
    if (hedges.take(4)) taken += 4;
  }
  CHECK(taken <= 8 + 100'000 / 50);
  CHECK(taken >= 100'000 / 50 - 4);
}

TEST_CASE("read hedges: a quiet time does not save up a flood") {
  ReadHedges hedges(HedgedReads::kBudgeted);
  for (int i = 0; i < 1'000'000; ++i) hedges.note_reads(8);
  int taken = 0;
  while (hedges.take(1)) ++taken;
  CHECK(taken == 64);
}

TEST_CASE("read hedges: always means at once, and without a budget") {
  ReadHedges hedges(HedgedReads::kAlways);
  const ReadTimes times;
  CHECK(hedges.patience(1, times) == 0);
  for (int i = 0; i < 1000; ++i) REQUIRE(hedges.take(8));
  CHECK(hedges.is_on());
  CHECK_FALSE(ReadHedges(HedgedReads::kOff).is_on());
}

}  // namespace
}  // namespace hexad::core
