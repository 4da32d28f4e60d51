#include "io/sim/sim_faults.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "io/rng.h"

using namespace hexad;
using namespace hexad::io;

namespace {

IoRequest request(IoOp op, std::uint64_t offset = 0, std::uint64_t length = 512) {
  IoRequest made;
  made.op = op;
  made.offset = op == IoOp::kFlush ? 0 : offset;
  made.length = op == IoOp::kFlush ? 0 : length;
  return made;
}

std::vector<FaultKind> all_kinds() {
  std::vector<FaultKind> kinds;
  for (std::size_t i = 0; i < kFaultKinds; ++i) kinds.push_back(static_cast<FaultKind>(i));
  return kinds;
}

// One letter for each request: '.' passes, 'X' is struck.
std::string history(FaultList& list, const IoRequest& asked, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += list.next(asked).has_value() ? 'X' : '.';
  return text;
}

}  // namespace

TEST_CASE("sim_faults: every fault has a name of its own") {
  std::set<std::string_view> names;
  for (const FaultKind kind : all_kinds()) REQUIRE(names.insert(to_string(kind)).second);
  REQUIRE(names.count("") == 0);
}

TEST_CASE("sim_faults: a fault strikes one kind of request, or any") {
  const std::map<IoOp, std::set<FaultKind>> own = {
      {IoOp::kRead,
       {FaultKind::kReadError, FaultKind::kReadFlip, FaultKind::kReadFlipStored,
        FaultKind::kReadZeros, FaultKind::kReadStale, FaultKind::kReadMisdirected}},
      {IoOp::kWrite,
       {FaultKind::kWriteErrorBefore, FaultKind::kWriteErrorPartly, FaultKind::kWriteErrorAfter,
        FaultKind::kWriteNoSpace, FaultKind::kWriteTorn, FaultKind::kWriteLost,
        FaultKind::kWriteMisdirected}},
      {IoOp::kFlush, {FaultKind::kFlushError, FaultKind::kFlushLies}},
      {IoOp::kDiscard, {}},
  };
  const std::set<FaultKind> any = {FaultKind::kDeviceError, FaultKind::kRefused, FaultKind::kHang,
                                   FaultKind::kSlow};
  for (const auto& [op, kinds] : own) {
    for (const FaultKind kind : all_kinds()) {
      CAPTURE(static_cast<int>(op), to_string(kind));
      REQUIRE(strikes(kind, op) == (kinds.count(kind) + any.count(kind) > 0));
      FaultList list;
      list.inject({kind, 0, Fault::kForever, 0, 1, 0});
      REQUIRE(list.next(request(op)).has_value() == strikes(kind, op));
    }
  }
}

TEST_CASE("sim_faults: so many pass, then so many are struck, then it is used up") {
  for (std::uint64_t after = 0; after < 4; ++after) {
    for (std::uint64_t times = 1; times < 4; ++times) {
      FaultList list;
      list.inject({FaultKind::kReadError, 0, Fault::kForever, after, times, 0});
      std::string expected(after, '.');
      expected += std::string(times, 'X');
      expected.resize(10, '.');
      REQUIRE(history(list, request(IoOp::kRead), 10) == expected);
      REQUIRE(list.struck(FaultKind::kReadError) == times);
    }
  }
}

TEST_CASE("sim_faults: one that is for ever ends only when it is cleared") {
  FaultList list;
  list.inject({FaultKind::kFlushError, 0, Fault::kForever, 0, Fault::kForever, 0});
  REQUIRE(history(list, request(IoOp::kFlush), 50) == std::string(50, 'X'));
  list.clear();
  REQUIRE(history(list, request(IoOp::kFlush), 3) == "...");
  REQUIRE(list.struck(FaultKind::kFlushError) == 50);  // the count stays
}

TEST_CASE("sim_faults: a range is touched by every request that shares a byte with it") {
  for (std::uint64_t from = 0; from < 6; ++from) {
    for (std::uint64_t count = 1; count < 6; ++count) {
      FaultList list;
      list.inject({FaultKind::kReadError, 2 * 512, 2 * 512, 0, Fault::kForever, 0});
      CAPTURE(from, count);
      REQUIRE(list.next(request(IoOp::kRead, from * 512, count * 512)).has_value() ==
              (from < 4 && from + count > 2));
    }
  }
  FaultList list;
  list.inject({FaultKind::kFlushError, 1 << 20, 512, 0, 1, 0});
  REQUIRE(list.next(request(IoOp::kFlush)).has_value());  // a flush is of the whole disk
}

TEST_CASE("sim_faults: a range may end where addresses do") {
  FaultList list;
  list.inject({FaultKind::kReadError, 4096, Fault::kForever, 0, Fault::kForever, 0});
  REQUIRE_FALSE(list.next(request(IoOp::kRead, 0, 4096)).has_value());
  REQUIRE(list.next(request(IoOp::kRead, std::uint64_t{1} << 60, 512)).has_value());
}

TEST_CASE("sim_faults: the oldest that matches strikes, with all that it was told") {
  FaultList list;
  list.inject({FaultKind::kWriteTorn, 0, 4096, 0, 1, 512});
  list.inject({FaultKind::kSlow, 0, Fault::kForever, 0, 1, 7});
  list.inject({FaultKind::kWriteLost, 0, Fault::kForever, 0, 1, 0});
  std::optional<Fault> fault = list.next(request(IoOp::kWrite));
  REQUIRE((fault->kind == FaultKind::kWriteTorn && fault->amount == 512));
  fault = list.next(request(IoOp::kRead));  // passes the write faults
  REQUIRE((fault->kind == FaultKind::kSlow && fault->amount == 7));
  REQUIRE(list.next(request(IoOp::kWrite))->kind == FaultKind::kWriteLost);
  REQUIRE_FALSE(list.next(request(IoOp::kWrite)).has_value());
}

TEST_CASE("sim_faults: random lists agree with a model that looks at each fault alone") {
  const std::uint64_t seed = 5;
  CAPTURE(seed);
  Rng rng(seed);
  for (int round = 0; round < 200; ++round) {
    FaultList list;
    std::vector<Fault> model;
    std::map<FaultKind, std::uint64_t> counts;
    for (std::uint64_t i = rng.below(6); i > 0; --i) {
      const Fault fault{static_cast<FaultKind>(rng.below(kFaultKinds)),
                        rng.below(8) * 512,
                        (1 + rng.below(8)) * 512,
                        rng.below(3),
                        1 + rng.below(3),
                        i};
      list.inject(fault);
      model.push_back(fault);
    }
    for (int step = 0; step < 40; ++step) {
      const IoRequest asked =
          request(static_cast<IoOp>(rng.below(4)), rng.below(12) * 512, (1 + rng.below(4)) * 512);
      std::optional<FaultKind> expected;
      for (Fault& fault : model) {
        if (fault.times == 0 || !strikes(fault.kind, asked.op)) continue;
        bool touched = asked.op == IoOp::kFlush;
        for (std::uint64_t at = asked.offset; at < asked.offset + asked.length; at += 512) {
          touched = touched || (at >= fault.offset && at < fault.offset + fault.length);
        }
        if (!touched) continue;
        if (fault.after > 0) {
          --fault.after;
          continue;
        }
        --fault.times;
        expected = fault.kind;
        ++counts[fault.kind];
        break;
      }
      const std::optional<Fault> struck = list.next(asked);
      REQUIRE(struck.has_value() == expected.has_value());
      if (expected.has_value()) REQUIRE(struck->kind == *expected);
    }
    for (const FaultKind kind : all_kinds()) REQUIRE(list.struck(kind) == counts[kind]);
  }
}
