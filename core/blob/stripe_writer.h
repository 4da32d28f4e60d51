// Writes stripes: the one place that turns coded cells into requests, counts their bytes, waits for
// them, and says which cells are durable.
//
// Invariants
//   SW1 what counters say of a stripe is what was sent: payload, padding and parity of its cells
//   add
//       up to the bytes of its requests; a cell that is not sent counts nowhere
//   SW2 after land() every request has its outcome, and the devices that failed one are suspect
//       (Space::suspect()), so the caller may release the stripe at once (V3)
//   SW3 a landed stripe is good when at least k of its cells are durable. The other cells are not
//       there: whoever publishes it has the devices in `failed` leave the membership first (R13)
//   SW4 what failed on a handle that is retired (io::IoQueue::retire()) is not there and will never
//       be, and says nothing of the device, which may be in use again by another handle
//
// Commit groups send cells and log blocks together and judge both at once
// (core/commit/group_requests.h, core/commit/commit_rounds.h); they take the requests from here and
// do the rest themselves.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "alloc/zone.h"
#include "base/error.h"
#include "core/blob/blob_prepare.h"
#include "core/record/shape.h"
#include "core/space/members.h"
#include "core/space/space.h"
#include "core/stats/counters.h"
#include "io/device.h"
#include "io/executor.h"

namespace hexad::core {

// The cells of one stripe, and where they go.
struct StripeWrite {
  alloc::Extent where;
  PreparedBlob prepared;
};

// For what a stripe is written: under which counters and causes its bytes are shown, and which of
// the allocator's functions releases it.
enum class StripeUse : std::uint8_t { kUser, kRun, kMerge, kManifest, kClean };

enum class CellFate : std::uint8_t {
  kSent,     // no outcome yet
  kDurable,  // on its device, and stays there
  kUnsent,   // the device is not usable, or its handle retired, or the caller passed it over
  kFailed,   // its device's fault: what is there is unknown, and the write may still come
  kRefused,  // not its device's fault (io/refused.h): not written
};

// Of one stripe, after it has landed.
struct StripeOutcome {
  struct Cell {
    std::uint32_t slot = 0;  // of the stripe's zone
    DeviceId device = 0;
    CellFate fate = CellFate::kUnsent;
  };
  alloc::Extent where;
  std::vector<Cell> cells;  // by role

  std::uint32_t durable() const;    // cells
  std::uint64_t unwritten() const;  // slots without a durable cell: StripeProof::unwritten
};

struct LandedStripes {
  std::vector<StripeOutcome> stripes;  // in the order in which they were added
  std::set<DeviceId> failed;           // the devices that failed a request
  // ok: each stripe has at least k durable cells. Errors: that of a write that was refused; else
  // that of the first write of a stripe with fewer, or kUnavailable where none of it was sent.
  Status status;
};

class StripeWriter {
 public:
  // All outlive it. Cheap: made where it is needed.
  StripeWriter(const StoreShape& shape, Space& space, const Members& members, Counters& counters,
               StripeUse use)
      : shape_(shape), space_(space), members_(members), counters_(counters), use_(use) {}

  // Adds the writes of the stripe's cells to `requests`, one for each usable device that is not in
  // `without`, and counts them (SW1). The cells are borrowed until the requests have their outcome.
  // Any thread. Precondition: the stripe's units are allocated, and in flight.
  StripeOutcome append(const StripeWrite& stripe, io::WriteMode mode,
                       std::vector<io::IoRequest>& requests,
                       const std::set<DeviceId>& without = {}) const;
  // In flight -> free, when nothing will name the stripe.
  void release(const alloc::Extent& where) const;

  const StoreShape& shape() const { return shape_; }
  const Members& members() const { return members_; }
  Space& space() const { return space_; }

 private:
  const StoreShape& shape_;
  Space& space_;
  const Members& members_;
  Counters& counters_;
  const StripeUse use_;
};

// Stripes that go out together, each write durable by itself. One thread.
class StripeBatch {
 public:
  explicit StripeBatch(const StripeWriter& writer) : writer_(writer) {}
  // Waits for what is on its way.
  ~StripeBatch();
  StripeBatch(const StripeBatch&) = delete;
  StripeBatch& operator=(const StripeBatch&) = delete;

  // `stripe` is borrowed until land() returns. Precondition of this and submit(): not submitted.
  void add(const StripeWrite& stripe, const std::set<DeviceId>& without = {});
  void submit();
  // Submits what submit() has not, and waits until all requests have their outcome. Once.
  LandedStripes land();
  // The same, and what was refused for want of something that passes goes out again
  // (io::send_again_briefly).
  LandedStripes land_patiently(io::Executor& executor);

 private:
  void wait();
  LandedStripes judge(Status refused);
  Status check_count(const StripeOutcome& outcome, std::size_t first) const;

  const StripeWriter writer_;
  io::IoBatch batch_;
  std::vector<StripeOutcome> stripes_;
  bool submitted_ = false;
  bool landed_ = false;
};

}  // namespace hexad::core
