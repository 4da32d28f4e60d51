// The contract of kv/index.h as a suite of tests that every implementation passes. A test program
// implements `IndexWorld` and calls run_index_contract() inside a TEST_CASE; the cases are Catch2
// sections, so each starts from a fresh world.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "io/executor.h"
#include "io/rng.h"
#include "kv/index.h"

namespace hexad::kv::testing {

// A home without indexes.
class IndexWorld {
 public:
  virtual ~IndexWorld() = default;
  virtual io::Executor& executor() = 0;
  virtual IndexHome& home() = 0;
  // Where an index may be.
  virtual std::string directory() = 0;
};

// `max_size`: the limit of each index, bytes.
using IndexWorldMaker = std::function<std::unique_ptr<IndexWorld>(std::uint64_t max_size)>;

void run_index_contract(const IndexWorldMaker& make);

// What an index should hold, and changes to it.
using IndexModel = std::map<std::string, std::string>;
using IndexBatch = std::map<std::string, std::optional<std::string>>;

Status apply(Index& index, Lsn lsn, const IndexBatch& batch);
void update(IndexModel& model, const IndexBatch& batch);
// "" or what is wrong: looked at by a walk either way, and key by key.
std::string difference(Index& index, const IndexModel& model);
std::string difference(IndexReader& reader, const IndexModel& model);
// Adversarial keys and others; one change in four removes.
IndexBatch random_batch(io::Rng& rng, int count, std::uint64_t value_limit);
// Turns round anywhere in an index that holds what the model does.
void require_cursor_turns(Index& index, IndexModel& model, io::Rng& rng, int steps);

}  // namespace hexad::kv::testing
