// The operations whose costs are counted one by one: small changes and reads of a store in memory,
// one caller, incompressible bytes, no checkpoint in between. So each run does the same.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "core/hexad.h"
#include "io/rng.h"

namespace hexad::bench {

enum class Operation : std::uint8_t {
  kPutAlone,        // 4 KiB in place of an object of 4 KiB, a transaction each
  kPutIn64,         // the same, 64 to a transaction
  kOverwriteAlone,  // 4 KiB at random in objects of 4 MiB that such writes have cut up
  kOverwriteIn16,   // the same, 16 to a transaction
  kGet,             // 4 KiB, not cached
  kRemoveIn64,      // objects of 4 KiB, 64 to a transaction
  kPut64KiBAlone,   // 64 KiB in place of an object of 64 KiB, in memory that was written before
};
constexpr std::array kAllOperations = {
    Operation::kPutAlone,      Operation::kPutIn64, Operation::kOverwriteAlone,
    Operation::kOverwriteIn16, Operation::kGet,     Operation::kRemoveIn64,
    Operation::kPut64KiBAlone};

// "put-alone" and the like, and nothing for what is called otherwise.
std::string_view name_of(Operation operation);
std::optional<Operation> operation_called(std::string_view name);
// Operations to a transaction.
std::uint64_t in_one(Operation operation);

// A store that has had the operation a few hundred times.
class OperationStore {
 public:
  explicit OperationStore(Operation operation);

  // Makes objects again that have gone, and a checkpoint: what run() needs.
  void prepare();
  Store& store() { return store_; }
  // The operation `count` times, which is a multiple of in_one(), and at most kMostAtOnce.
  void run(std::uint64_t count);

  static constexpr std::uint64_t kMostAtOnce = 2048;

 private:
  void put(std::uint64_t count);
  void put_of_64_kib();
  void overwrite(std::uint64_t count);
  void get(std::uint64_t count);
  void remove(std::uint64_t count);

  const Operation operation_;
  const Bytes data_;
  Bytes into_;
  Store store_;
  io::Rng rng_;
  std::uint64_t next_ = 0;  // the number of the object whose turn it is
};

}  // namespace hexad::bench
