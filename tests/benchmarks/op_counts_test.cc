// What small operations ask of the allocator, so that it does not creep back: calls per operation,
// which are the same in each run but for what the background does meanwhile.
#include <catch2/catch.hpp>
#include <string>

#include "benchmarks/op_counts/counted_memory.h"
#include "benchmarks/op_counts/operations.h"

namespace hexad::bench {
namespace {

// Calls of malloc() and its like: what they were when the number was written down, and a tenth.
double most_calls(Operation operation) {
  switch (operation) {
    case Operation::kPutAlone:
      return 30;
    case Operation::kPutIn64:
      return 6.3;
    case Operation::kOverwriteAlone:
      return 41;
    case Operation::kOverwriteIn16:
      return 21.4;
    case Operation::kGet:
      return 3.3;
    case Operation::kRemoveIn64:
      return 2.2;
    case Operation::kPut64KiBAlone:
      return 72;
  }
  return 0;
}

TEST_CASE("op_counts: small operations ask for memory no more often than they did") {
  for (const Operation operation : kAllOperations) {
    OperationStore store(operation);
    store.prepare();
    const MemoryCounts before = memory_counts();
    store.run(OperationStore::kMostAtOnce);
    const MemoryCounts after = memory_counts();
    const double calls =
        static_cast<double>(after.calls - before.calls) / OperationStore::kMostAtOnce;
    CAPTURE(std::string(name_of(operation)), calls);
    CHECK(calls <= most_calls(operation));
    CHECK(calls > 0);  // somebody counts
  }
}

TEST_CASE("op_counts: every operation has a name of its own") {
  for (const Operation operation : kAllOperations) {
    CHECK(operation_called(name_of(operation)) == operation);
  }
  CHECK_FALSE(operation_called("put").has_value());
}

}  // namespace
}  // namespace hexad::bench
