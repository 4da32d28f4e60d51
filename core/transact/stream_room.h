// Space for those who are no transaction: stripes of streams.
#pragma once

#include <cstdint>

#include "alloc/zone.h"
#include "base/error.h"
#include "core/commit/commit_pipeline.h"
#include "core/space/space.h"
#include "core/transact/order.h"
#include "core/transact/room_maker.h"
#include "core/transact/write_gate.h"

namespace hexad::core {

class StreamRoom {
 public:
  // All outlive it.
  StreamRoom(Order& order, const WriteGate& gate, CommitPipeline& pipeline, Space& space,
             RoomMaker& room)
      : order_(order), gate_(gate), pipeline_(pipeline), space_(space), room_(room) {}

  // `cut`: not 0, with an error, where no run is that long: it is to be cut into stripes of so many
  // units, at least `shortest`, which there are.
  Result<alloc::Extent> allocate(std::uint32_t units, std::uint32_t shortest, std::uint32_t& cut);

 private:
  Order& order_;
  const WriteGate& gate_;
  CommitPipeline& pipeline_;
  Space& space_;
  RoomMaker& room_;
};

}  // namespace hexad::core
