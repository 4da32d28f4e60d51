// What a streamed writer has put on the devices so far: extents of pages that no object names yet.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compression/policy.h"
#include "core/api/shared_bytes.h"
#include "core/api/transaction.h"
#include "core/plan/prepared.h"
#include "core/record/log_record.h"
#include "core/record/record.h"
#include "io/executor.h"
#include "io/fork_mark.h"

namespace hexad::core {

class Engine;

// The store that opened a writer. What the writer has staged may outlive it.
struct StagedHome {
  StagedHome(io::Executor& executor, Engine& store) : mutex(executor), engine(&store) {}
  const io::ForkMark process;  // in a child nothing of this is used, the lock included
  io::Mutex mutex;
  Engine* engine;  // null: it has gone, and what is in flight there is free
};

struct StagedObject {
  std::shared_ptr<StagedHome> home;
  std::string collection;
  std::string name;
  std::optional<Hint> hint;  // nothing: the object keeps its own
  Attributes attributes;
  std::uint64_t size = 0;  // bytes
  // Names the pages, also those that are not in the metadata yet.
  BodyId body = 0;
  // Pages below this one are in the metadata already, under `body`, with a writer key.
  std::uint32_t spilled = 0;
  std::map<std::uint32_t, ExtentList> pages;  // the others
  // The stripes of `pages`: in flight in the allocator, durable on the devices.
  std::vector<StripeProof> stripes;
  // Instead of all that: a small object, which shares a stripe with others.
  PreparedOp unplaced;
  // What `unplaced` was made of, as often as it has to be cut shorter.
  SharedBytes unplaced_bytes;
  Hint unplaced_hint = Hint::kNone;  // what holds for the bytes
  compression::Policy unplaced_policy;
  bool published = false;  // a commit has taken the stripes and the body over
  Status problem;          // the writer failed; publishing it fails with this
};

}  // namespace hexad::core
