// The order of transactions: the lock under which they get their places, and the newest state of
// the metadata, which only its holder sees whole.
#pragma once

#include "base/thread_annotations.h"
#include "core/commit/newest_state.h"
#include "core/commit/sequencer.h"

namespace hexad::core {

struct Order {
  // Both outlive it. `pages`: so many extents of pages are remembered.
  Order(io::Executor& executor, Metadata& metadata, Counters& counters, std::size_t pages)
      : sequencer(executor), newest(metadata, counters, pages) {}

  Sequencer sequencer;
  NewestState newest HEXAD_GUARDED_BY(sequencer);
};

}  // namespace hexad::core
