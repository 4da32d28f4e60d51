// Simulated disks: content in memory with a volatile write cache, latency in virtual time, and
// faults on demand. Made and opened by io/sim/sim_system.h; a SimDisk is the hardware, which stays
// when the devices opened on it are closed, and which tests damage.
//
// Requests take effect at completion. Completions come in the order that seeded latencies give, so
// requests in flight overtake one another. What a completed write is worth when the power goes is
// the affair of WriteCache (io/sim/write_cache.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/device.h"
#include "io/sim/cow_image.h"
#include "io/sim/crash_recorder.h"
#include "io/sim/sim_executor.h"
#include "io/sim/sim_faults.h"
#include "io/sim/write_cache.h"
#include "io/system.h"

namespace hexad::io {

struct SimDiskOptions {
  std::uint32_t logical_block = 512;           // bytes
  std::uint32_t physical_block = 4096;         // bytes
  bool volatile_cache = true;                  // false: every completed write is durable
  bool keep_previous = false;                  // for FaultKind::kReadStale, at the cost of a copy
  int flush_domain = -1;                       // disks with the same number >= 0 share one
  std::uint64_t capacity = ~std::uint64_t{0};  // grow() beyond is kNoSpace
  std::uint32_t whole_write = 0;               // as in Geometry, and the next
  std::uint64_t piece = 0;
};

// Virtual time of requests: base + length / rate, times a factor in [1/2, 2) drawn per request.
struct SimLatency {
  Nanos read = 80'000;
  Nanos write = 30'000;
  Nanos flush = 200'000;
  std::uint64_t bytes_per_us = 2000;
  // Complete inside submit(), in order and in no time: for tests that make very many simulations.
  bool immediate = false;
};

// What a hook sees of a request that is being submitted.
struct SimOp {
  std::uint64_t number = 0;  // counts the requests of all disks from 0
  const std::string& disk;
  IoOp op;
  WriteMode mode;
  std::uint64_t offset;  // bytes
  std::uint64_t length;
  IoCause cause;            // of a write
  std::uint64_t disk_size;  // bytes
};
// The fault to strike the request with, if any (one that strikes() its kind).
using SimHook = std::function<std::optional<FaultKind>(const SimOp&)>;

class SimQueue;

class SimDisk {
 public:
  SimDisk(std::string name, const std::shared_ptr<const CowImage>& content, SimDiskOptions options);

  const std::string& name() const { return name_; }
  std::uint64_t size() const { return content_->size(); }
  const SimDiskOptions& options() const { return options_; }

  void inject(const Fault& fault) { faults_.inject(fault); }
  void clear_faults() { faults_.clear(); }
  std::uint64_t struck(FaultKind kind) const { return faults_.struck(kind); }
  // Every request fails with kIo and opening with kNotFound, until appear().
  void vanish() { present_ = false; }
  void appear() { present_ = true; }
  // Somebody else has taken the disk over: requests of devices that are open, those in flight
  // included, have no effect from now on and fail with kFenced. The disk may be opened again.
  void fence();
  // What a file system below has left for what has never been written: reserving more than that
  // fails, and so does each write to such a place that was not reserved. Blocks of 4 KiB, bytes.
  void make_sparse(std::uint64_t room);
  std::uint64_t room_left() const { return room_; }
  // Somebody else has taken so much of it.
  void take_room(std::uint64_t bytes) { room_ -= bytes; }
  // From now on opening in this mode fails with errno `number`; 0: no longer.
  void refuse_opening(OpenMode mode, int number);
  // Completes the requests that FaultKind::kHang holds, the oldest ones first.
  void release_hung(std::size_t most = ~std::size_t{0});

  // The content as it is now, changed behind everybody's back: durable and not recorded.
  Bytes peek(std::uint64_t offset, std::uint64_t length) const;
  void poke(std::uint64_t offset, ByteView bytes);
  void flip_bit(std::uint64_t offset, unsigned bit);
  // All of it: to return a stale or foreign disk, to truncate or to blank it. Nobody has it open.
  std::shared_ptr<const CowImage> snapshot() const;
  void replace(const std::shared_ptr<const CowImage>& content);

  struct Counts {
    std::uint64_t reads = 0, read_bytes = 0;
    std::uint64_t writes = 0, write_bytes = 0;
    std::uint64_t flushes = 0, discards = 0;
  };
  const Counts& counts() const { return counts_; }

 private:
  friend class SimDevice;
  friend class SimQueue;
  friend class SimSystem;

  // The content, private to this disk from now on.
  CowImage& own_content();
  void store(std::uint64_t offset, std::uint64_t length, const Bytes* data);
  // Takes room for what has none; false: there is too little, and nothing has changed.
  bool back(std::uint64_t offset, std::uint64_t length);
  // Picks what the cache has written back by chance and forgets the rest.
  void lose_power(Rng& rng);

  const std::string name_;
  const SimDiskOptions options_;
  std::shared_ptr<CowImage> content_;   // what reads see
  std::shared_ptr<CowImage> previous_;  // what every block held before its last write, or null
  WriteCache cache_;                    // what a loss of power leaves
  FaultList faults_;
  Counts counts_;
  bool present_ = true;
  std::vector<bool> backed_;                  // by block: has room of its own; empty: all has
  std::uint64_t room_ = 0;                    // bytes
  std::map<OpenMode, int> refused_openings_;  // errno
  std::uint64_t power_cycle_ = 0;             // devices opened in an earlier one are dead
  std::uint64_t owner_ = 0;                   // devices opened under an earlier one are fenced
  int readers_ = 0;
  bool writer_ = false;
  std::optional<CrashRecorder::DiskIndex> recorded_;
  std::vector<std::function<void()>> hung_;
};

// A handle to a disk.
class SimDevice final : public Device {
 public:
  SimDevice(SimDisk& disk, OpenMode mode, SimQueue& queue);
  ~SimDevice() override;

  const Geometry& geometry() const override { return geometry_; }
  const std::string& name() const override { return disk_.name(); }
  IoQueue& queue() override;
  Status grow(std::uint64_t new_size) override;
  Result<Room> reserve_room(std::uint64_t offset, std::uint64_t length) override;
  bool direct() const override { return true; }
  bool read_only() const override { return mode_ != OpenMode::kReadWrite; }

 private:
  friend class SimQueue;
  void release() override { unlock(); }
  void unlock();
  bool is_shut_out() const { return owner_ != disk_.owner_; }
  // The disk is there and the power has not failed since the device was opened.
  bool alive() const { return disk_.present_ && power_cycle_ == disk_.power_cycle_; }

  SimDisk& disk_;
  const OpenMode mode_;
  SimQueue& queue_;
  const std::uint64_t power_cycle_;
  const std::uint64_t owner_;
  bool locked_ = true;
  Geometry geometry_;
};

// The queue of all simulated devices of a system. Outside of a fiber, wait() runs the simulation
// until the batch is complete.
class SimQueue final : public IoQueue {
 public:
  // `recorder` may be null.
  SimQueue(SimExecutor& executor, SimLatency latency, CrashRecorder* recorder)
      : executor_(executor), latency_(latency), recorder_(recorder) {}

  void wait(IoBatch& batch) override;
  Nanos now() const override { return executor_.clock().now(); }
  std::string name() const override { return "simulated"; }
  void set_hook(SimHook hook) { hook_ = std::move(hook); }
  std::uint64_t requests() const { return next_op_; }

 protected:
  void submit_requests(IoBatch& batch) override;
  bool wait_for(IoBatch& batch, Nanos limit) override;
  void give_up_requests(Device& device) override;

 private:
  friend class SimDevice;
  friend class SimSystem;
  struct Going;  // one batch under way
  struct Op;     // one request under way

  void launch(const std::shared_ptr<Going>& going, IoRequest& request);
  void note_under_way(const std::shared_ptr<Op>& op);
  std::optional<Fault> pick_fault(const Op& op);
  void begin_write(Op& op);
  void begin_flush(Op& op);
  void land(Op& op);
  Status effect(Op& op);
  Status read_effect(Op& op);
  Status write_effect(Op& op);
  Status flush_effect(Op& op);
  void finish_one(const std::shared_ptr<Going>& going);
  Nanos duration_of(const Op& op);

  SimExecutor& executor_;
  const SimLatency latency_;
  CrashRecorder* recorder_;
  SimHook hook_;
  std::vector<SimDisk*> disks_;               // all of the system, for flush domains
  std::vector<std::weak_ptr<Op>> under_way_;  // and some that are over
  std::size_t most_under_way_ = 0;            // when those are forgotten next
  std::uint64_t next_op_ = 0;
  OpId next_cache_op_ = 0;
};

}  // namespace hexad::io
