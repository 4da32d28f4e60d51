#include "benchmarks/op_counts/operations.h"

#include <cstdlib>
#include <string>
#include <utility>

#include "base/units.h"
#include "benchmarks/must.h"
#include "benchmarks/noise.h"

namespace hexad::bench {

namespace {

constexpr std::uint64_t kSize = 4_KiB;
constexpr std::uint64_t kObjects = 2 * OperationStore::kMostAtOnce;
constexpr std::uint64_t kObjectsOf64KiB = 256;
constexpr std::uint64_t kLargeObjects = 4;
constexpr std::uint64_t kLargeSize = 4_MiB;

std::string small_name(std::uint64_t i) { return "object4096-" + std::to_string(i % kObjects); }
std::string large_name(std::uint64_t i) { return "object4194304-" + std::to_string(i); }

bool is_overwrite(Operation operation) {
  return operation == Operation::kOverwriteAlone || operation == Operation::kOverwriteIn16;
}

Store new_store(Operation operation) {
  MemoryStoreOptions options;
  // Space is used in turn: of little of it all has soon been written, and no page is new.
  options.capacity = operation == Operation::kPut64KiBAlone ? 256_MiB : 4_GiB;
  RuntimeOptions runtime;
  runtime.cache_size = 0;  // what a read costs that finds nothing there
  return must(Store::in_memory(options, runtime));
}

void must_be_ok(const Status& status) {
  if (!status.ok()) must(Result<int>(status.error()));
}

}  // namespace

std::string_view name_of(Operation operation) {
  switch (operation) {
    case Operation::kPutAlone:
      return "put-alone";
    case Operation::kPutIn64:
      return "put-in-64";
    case Operation::kOverwriteAlone:
      return "overwrite-alone";
    case Operation::kOverwriteIn16:
      return "overwrite-in-16";
    case Operation::kGet:
      return "get";
    case Operation::kRemoveIn64:
      return "remove-in-64";
    case Operation::kPut64KiBAlone:
      return "put-64kib-alone";
  }
  std::abort();
}

std::optional<Operation> operation_called(std::string_view name) {
  for (const Operation operation : kAllOperations) {
    if (name_of(operation) == name) return operation;
  }
  return std::nullopt;
}

std::uint64_t in_one(Operation operation) {
  switch (operation) {
    case Operation::kPutIn64:
    case Operation::kRemoveIn64:
      return 64;
    case Operation::kOverwriteIn16:
      return 16;
    case Operation::kPutAlone:
    case Operation::kOverwriteAlone:
    case Operation::kGet:
    case Operation::kPut64KiBAlone:
      return 1;
  }
  std::abort();
}

OperationStore::OperationStore(Operation operation)
    : operation_(operation),
      data_(noise(operation == Operation::kPut64KiBAlone ? 64_KiB : kSize)),
      into_(kSize),
      store_(new_store(operation)),
      rng_(4) {
  if (operation == Operation::kPut64KiBAlone) {
    for (std::uint64_t i = 0; i < 24 * kObjectsOf64KiB; ++i) put_of_64_kib();
  } else if (is_overwrite(operation)) {
    const Bytes large = noise(kLargeSize, 2);
    for (std::uint64_t i = 0; i < kLargeObjects; ++i) {
      Transaction t;
      t.put_borrowed(kDefaultCollection, large_name(i), large, Hint::kIncompressible);
      must(store_.commit(std::move(t)));
    }
    for (std::uint64_t i = 0; i < kLargeSize / kSize; i += 16) overwrite(16);
  } else {
    for (std::uint64_t i = 0; i < kObjects; i += 64) put(64);
  }
  prepare();
  run(512);
  if (operation == Operation::kGet && into_ != data_) std::abort();
}

void OperationStore::prepare() {
  if (operation_ == Operation::kRemoveIn64) {
    next_ = 0;
    for (std::uint64_t i = 0; i < kObjects; i += 64) put(64);
    next_ = 0;
  }
  must_be_ok(store_.checkpoint());
}

void OperationStore::run(std::uint64_t count) {
  const std::uint64_t together = in_one(operation_);
  if (count % together != 0 || count > kMostAtOnce) std::abort();
  for (std::uint64_t i = 0; i < count; i += together) {
    switch (operation_) {
      case Operation::kPutAlone:
      case Operation::kPutIn64:
        put(together);
        break;
      case Operation::kOverwriteAlone:
      case Operation::kOverwriteIn16:
        overwrite(together);
        break;
      case Operation::kGet:
        get(together);
        break;
      case Operation::kRemoveIn64:
        remove(together);
        break;
      case Operation::kPut64KiBAlone:
        put_of_64_kib();
        break;
    }
  }
}

void OperationStore::put(std::uint64_t count) {
  Transaction t;
  for (std::uint64_t i = 0; i < count; ++i) {
    t.put_borrowed(kDefaultCollection, small_name(next_++), data_, Hint::kIncompressible);
  }
  must(store_.commit(std::move(t)));
}

void OperationStore::put_of_64_kib() {
  Transaction t;
  t.put_borrowed(kDefaultCollection, "object65536-" + std::to_string(next_++ % kObjectsOf64KiB),
                 data_, Hint::kIncompressible);
  must(store_.commit(std::move(t)));
}

void OperationStore::overwrite(std::uint64_t count) {
  Transaction t;
  for (std::uint64_t i = 0; i < count; ++i) {
    t.write(kDefaultCollection, large_name(rng_.below(kLargeObjects)),
            rng_.below(kLargeSize / kSize) * kSize, data_, Hint::kIncompressible);
  }
  must(store_.commit(std::move(t)));
}

void OperationStore::get(std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string name = small_name(rng_.below(kObjects));
    if (must(store_.read(kDefaultCollection, name, 0, into_)) != kSize) std::abort();
  }
}

void OperationStore::remove(std::uint64_t count) {
  Transaction t;
  for (std::uint64_t i = 0; i < count; ++i) t.remove(kDefaultCollection, small_name(next_++));
  must(store_.commit(std::move(t)));
}

}  // namespace hexad::bench
