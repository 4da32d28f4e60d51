// A block device, small on purpose: geometry, read, write, flush, discard, grow. Implementations:
// files and raw devices (io/os/file_device.h), images of a Ceph cluster (io/rbd/rbd_device.h),
// memory (io/memory_device.h), the simulated device (io/sim/sim_device.h). One contract suite runs
// over all of them (tests/io/device_contract.h).
//
// Contract
//   D1  offset and length are multiples of the logical block; buffers start on a 4 KiB boundary.
//       A request outside the device or misaligned completes with kInvalidArgument, no effect.
//   D2  After a failed write the content of its range is unknown, inside and outside the range
//       unchanged. A read never returns success with fewer bytes than asked.
//   D3  A flush covers exactly the writes to its device completed before it was submitted, and of
//       the other devices of its flush domain those of mode kShared. A durable write
//       (WriteMode::kDurable) is itself on stable media when it completes, and says nothing
//       about others.
//   D4  After a failed flush nothing is known about the writes it should have covered, and a later
//       successful flush does not cover them.
//   D5  Requests in flight are not ordered against one another.
//   D6  Buffers belong to the caller again at completion, not before. A request has no time-out:
//       who does not want to wait any longer leaves batch and buffers with the queue (abandon());
//       and when a device is given up (IoQueue::give_up()), what is under way to it completes with
//       kIo, while the device may still read the buffer, which is an AlignedBuffer, and do as
//       asked.
//   D7  Discarding says that the range is not needed: until written again its content is unknown,
//       though it reads without error. Devices that cannot discard do nothing and succeed.
//   D8  Overlapping requests in flight at once are the caller's bug; the bytes are then unknown.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/os_mutex.h"
#include "io/clock.h"
#include "io/no_unwinding.h"
#include "io/read_times.h"
#include "io/request_rounds.h"

namespace hexad::io {

class Device;
class IoQueue;
class Starter;

// What a thread that reads outside of the commit and read paths waits for a device. As long as
// disks in recovery and those that spin up take.
inline constexpr Nanos kReadPatience = 30'000'000'000;

struct Geometry {
  std::uint64_t size = 0;               // bytes, a multiple of logical_block
  std::uint32_t logical_block = 512;    // smallest unit of a request, bytes
  std::uint32_t physical_block = 4096;  // smallest unit the media rewrites: what a torn write tears
  bool volatile_cache = true;           // completed writes need a flush or WriteMode::kDurable
  bool rotational = false;
  // It says of itself that it keeps its bytes in several places, and makes good what it loses.
  bool redundant = false;
  // Writes of whole multiples of it, at multiples of it, need no read of what is there: a stripe,
  // where the device is erasure-coded below. 0: any multiple of the physical block is such a write.
  std::uint32_t whole_write = 0;
  // What the device keeps as one, at multiples of it, bytes: an object of a cluster. A request to
  // two of them is two requests. 0: it does not say.
  std::uint64_t piece = 0;
  // Space that was only preallocated changes the file system's metadata when it is first written,
  // which makes that write's durability expensive: write zeros over it ahead of use.
  bool slow_first_write = false;
  // Devices with the same number, other than 0, have one cache: a flush of any of them covers the
  // kShared writes to all. 0: nobody shares with this one. Opaque; valid while the process lives.
  std::uint64_t flush_domain = 0;
};

enum class IoOp : std::uint8_t { kRead, kWrite, kFlush, kDiscard };
enum class WriteMode : std::uint8_t {
  kCached,   // durable by a flush of its device
  kDurable,  // durable when it completes
  // Durable by a flush of any device of the flush domain. Where the write needs more than the
  // cache's content, as the first one to preallocated space does, the queue makes it kDurable.
  kShared,
};

// What a write is for; traffic is counted by it.
enum class IoCause : std::uint8_t {
  kOther,   // nothing that a store does
  kUser,    // data cells, their padding included
  kParity,  // parity cells
  kLog,
  kSuper,  // labels, roots, slab headers, the manifest
  kZero,   // zeros ahead of use
  kRun,    // runs that checkpoints write, their parity included
  kMerge,  // runs that others are merged into
  kClean,  // what is moved so that the rest of its stripe comes back, with its parity; slabs that
           // move
  kHeal,   // cells and blocks of the log that were lost or wrong
};
inline constexpr std::size_t kIoCauses = 10;
const char* to_string(IoCause cause);  // "user", "parity", ...

// One request; a value until submitted, then it stays where it is until its batch has completed.
struct IoRequest {
  Device* device = nullptr;
  IoOp op = IoOp::kRead;
  WriteMode mode = WriteMode::kCached;  // of a write
  IoCause cause = IoCause::kOther;      // of a write
  std::uint64_t offset = 0;             // bytes
  std::byte* data = nullptr;            // read into, or written from (then never changed)
  std::uint64_t length = 0;             // bytes; 0 for a flush
  Status status;                        // set before the batch completes
  std::uint64_t ticket = 0;             // of the device, while under way
  // Of the device, from when it was given the request: IoQueue::send().
  std::uint8_t round = RequestRounds::kNone;
  bool answered = false;  // see is_answered()
  // When it went out, where its device is to learn from it how long reads take
  // (Device::read_times()); 0: it is not.
  Nanos sent = 0;
  // Its memory, where it has any, is an AlignedBuffer whose bytes nobody changes or reads when the
  // request has failed: it completes when its device is given up. Not a read, unless somebody says
  // so.
  bool may_be_left = false;
  bool left = false;  // the queue's own, in place of one that has completed so

  // Whether it has its status, its batch complete or not. Any thread.
  bool is_answered() const;

  static IoRequest read(Device& device, std::uint64_t offset, MutByteView into);
  static IoRequest write(Device& device, std::uint64_t offset, ByteView from,
                         WriteMode mode = WriteMode::kCached, IoCause cause = IoCause::kOther);
  static IoRequest flush(Device& device);
  static IoRequest discard(Device& device, std::uint64_t offset, std::uint64_t length);
};

// Requests that go out together and are waited for together; the devices may differ but share one
// queue. Neither copied nor moved while in flight. `done`, when set, runs once after the last
// request, on whatever thread reaped it, which may be the submitter inside submit(): it is short,
// takes no lock that is held while waiting or submitting, and does not wait for I/O; it may submit
// other batches or destroy this one. It is moved out before it runs, so a batch that goes out again
// needs a new one. With `done` set, nobody waits on the batch.
class IoBatch {
 public:
  IoBatch() = default;
  // Only when it is complete. An exception that would take it away before ends the process: the
  // kernel is about to write into its buffers.
  ~IoBatch() {
    if (!complete() && std::uncaught_exceptions() > 0) {
      stop_unwinding_in_flight("requests that are in flight");
    }
  }
  IoBatch(const IoBatch&) = delete;
  IoBatch& operator=(const IoBatch&) = delete;

  std::vector<IoRequest> requests;
  std::function<void(IoBatch&)> done;

  // Asking makes no progress by itself: somebody has to wait() or `done` has to be set.
  bool complete() const { return pending_.load(std::memory_order_acquire) == 0; }
  // The first failure in request order, or ok.
  Status first_error() const;

 private:
  friend class IoQueue;
  std::atomic<std::uint32_t> pending_{0};  // requests, and 1 while settle() has not seen them all
};

// Carries batches to devices. Any thread. Callers of wait() reap completions themselves, so that
// a lone blocking request needs no thread hop; batches with `done` are reaped by whoever waits, or
// else by the queue's own thread. Throws nothing: where it is refused memory the process ends.
class IoQueue {
 public:
  virtual ~IoQueue() = default;
  // Never fails: a request that cannot be issued completes with its error. An empty batch
  // completes at once. Does not wait for the devices, but may wait for room in the ring.
  void submit(IoBatch& batch) noexcept;
  // Returns when the batch is complete.
  virtual void wait(IoBatch& batch) = 0;
  // submit() and wait() in one. Precondition: `done` is not set.
  void run(IoBatch& batch) noexcept;
  // The same, but waits for `limit` at most: true when the batch is complete. When it is not, those
  // requests that are answered can be looked at, and batch and buffers stay where they are until
  // it is: whoever cannot wait gives them to abandon(). The thread never waits in the kernel for
  // the device itself, where nobody could call it back, unless the device is memory. A thread that
  // is called back (io/recall.h) waits no longer: what has no answer then is as if the time were
  // over.
  bool run_for(IoBatch& batch, Nanos limit) noexcept;
  // The same for whoever then has another way, and may go on waiting, too: what has no answer yet
  // does not count as timed out.
  bool run_briefly(IoBatch& batch, Nanos limit) noexcept;
  // Waits on for a batch that is under way, which has no callback. True when it is complete.
  bool wait_briefly(IoBatch& batch, Nanos limit) noexcept;
  // Nobody waits for it any longer: what has no answer counts as timed out.
  static void count_timeouts(const IoBatch& batch);
  // Keeps all of them until the batch is complete, and that has been noticed. `token`: for those
  // who want to know when it is.
  void abandon(std::unique_ptr<IoBatch> batch, std::vector<AlignedBuffer> buffers,
               std::shared_ptr<void> token = nullptr) noexcept;
  // Nobody waits for the device any longer: those requests to it that may be left complete with
  // kIo, and whatever is asked of it from now on does at once. The device may do what it was asked
  // for at any time after that, with memory that is kept for it (base/lent_memory.h); close() keeps
  // it open until it has. May be called again, for what was on its way there meanwhile. Any thread
  // that may wait for the locks that `done` takes. Nothing happens to devices in memory.
  void give_up(Device& device);
  // Nobody uses this handle any longer, though some still name it: whatever is asked of it from now
  // on fails with kIo, of which nobody is told, and when nothing is under way to the device its
  // file is closed, and the lock free. Whether that is so; where not, ask again: what is owed may
  // still come. Never undone. Any thread.
  bool retire(Device& device);
  // Closes the device, or keeps it open, and locked, until its requests have been answered. They
  // are all of abandoned batches, or left. Null: nothing.
  void close(std::unique_ptr<Device> device);
  // Lets go what has been answered. Whether anything is left: then neither the devices of its
  // requests may be closed, but by close(), nor the queue be destroyed.
  bool has_abandoned();
  // Until nothing is left, or for `limit`, what its devices have owed before included. True in the
  // first case.
  bool wait_for_abandoned(Nanos limit = kReadPatience);
  // The time by which waits are measured; 0 where nothing ever waits.
  virtual Nanos now() const { return 0; }
  // "io_uring", "threads", "memory", "simulated".
  virtual std::string name() const = 0;

 protected:
  virtual void submit_requests(IoBatch& batch) = 0;
  // wait() for `limit` at most; true when the batch is complete. What is not is completed by
  // somebody when it is answered, whether or not anybody waits.
  virtual bool wait_for(IoBatch& batch, Nanos limit);
  // submit_requests() and wait_for() in one, of a batch that is not empty; without a limit, which
  // kNoLimit says, submit_requests() and wait().
  static constexpr Nanos kNoLimit = std::numeric_limits<Nanos>::max();
  virtual bool run_requests_for(IoBatch& batch, Nanos limit);
  // What executes a valid request on the thread that waits for it alone, where that costs less than
  // handing it on; null: nothing does. Takes the request whole, and returns its status.
  using Execute = Status (*)(const IoRequest&);
  virtual Execute executes_alone() const { return nullptr; }
  // For implementations: the device has the request from now on, and owes the answer. Not before:
  // what waits in the queue itself does so for whatever is before it there, which may be another
  // device's. Once more does nothing. Where it is not called the device is never silent.
  static void send(IoRequest& request);
  // For implementations: the request has its status. Before finish(); where that is not called for
  // each, all of a batch are answered when it is complete.
  static void answer(IoRequest& request);
  // Completes what is under way to the device and may be left.
  virtual void give_up_requests(Device&) {}
  // For implementations of that: what is under way in place of `request` from now on, the batch of
  // which nobody waits for; `request` has its status, and finish() is to be called for its batch.
  struct Left {
    IoBatch* batch;
    IoRequest* request;
  };
  Left leave(IoRequest& request);
  static Error given_up_error(const Device& device);
  // For implementations: one request of `batch` is complete, its status set. The batch may be gone
  // when this returns. True when it was the last one.
  static bool finish(IoBatch& batch);
  // D1, read-only handles and devices that are given up, before anything reaches a device. Errors:
  // kInvalidArgument, kReadOnly, kIo.
  static Status check(const IoRequest& request);

  // For those whose devices are gone without having answered, as simulated ones may be.
  void drop_abandoned();

 private:
  bool wait_recallably(IoBatch& batch, Nanos limit) noexcept;
  // Before it goes out.
  void announce(IoRequest& request);
  void announce(IoBatch& batch);
  static void count(const IoRequest& request);
  static void count_failure(const IoRequest& request);
  static void settle(IoRequest& request);

  struct Abandoned {
    std::unique_ptr<IoBatch> batch;
    std::vector<AlignedBuffer> buffers;
    std::shared_ptr<void> token;
    int waiters = 0;  // in wait_for_abandoned(): until they look away it stays
  };
  OsMutex abandoned_mutex_;
  std::vector<Abandoned> abandoned_ HEXAD_GUARDED_BY(abandoned_mutex_);
  // To be closed then.
  std::vector<std::unique_ptr<Device>> closing_ HEXAD_GUARDED_BY(abandoned_mutex_);
};

// What was asked of a device since it was opened, failed requests included. Any thread; exact.
struct DeviceTraffic {
  std::atomic<std::uint64_t> reads{0};
  std::atomic<std::uint64_t> bytes_read{0};
  // Writes and their bytes, by IoCause: whoever wants their sum adds what it has read, so that it
  // fits. Bytes are counted first: what was read after a count has its bytes.
  std::array<std::atomic<std::uint64_t>, kIoCauses> written_for{};
  std::array<std::atomic<std::uint64_t>, kIoCauses> writes_for{};
  std::atomic<std::uint64_t> durable_writes{0};  // of the writes: each carries its own flush
  std::atomic<std::uint64_t> flushes{0};
  // Flushes that failed, and durable writes that did with kIo where the cache is volatile: their
  // own flush may be what failed. Counted before the batch completes.
  std::atomic<std::uint64_t> failed_flushes{0};
  // Reads and writes that failed by the device's fault. Counted before the batch completes.
  std::atomic<std::uint64_t> failed_reads{0};
  std::atomic<std::uint64_t> failed_writes{0};
  // Reads that succeeded with bytes that do not match their checksum: note_mismatch().
  std::atomic<std::uint64_t> mismatches{0};
  // Requests that had no answer in the time that somebody had for them (IoQueue::run_for()).
  std::atomic<std::uint64_t> timeouts{0};
  // Requests but flushes that failed, and not by the device's fault (io/os_error.h). Whoever has
  // read something meanwhile may have taken a device's bytes for lost that are there.
  std::atomic<std::uint64_t> refused{0};
  // Requests that have no answer yet, those included that the queue has not given to the device,
  // and calls beside the queue (Device::Call).
  std::atomic<std::uint64_t> under_way{0};
};

class Device {
 public:
  virtual ~Device() = default;
  const DeviceTraffic& traffic() const { return traffic_; }
  virtual const Geometry& geometry() const = 0;
  // For messages: the path, or a simulated name.
  virtual const std::string& name() const = 0;
  virtual IoQueue& queue() = 0;
  // Extends the device with zeros; durable after the next flush. Not while requests are in flight.
  // Errors: kInvalidArgument (smaller, or not a multiple of the logical block), kNoSpace,
  // kUnsupported (raw devices), kReadOnly, kIo.
  virtual Status grow(std::uint64_t new_size) = 0;
  // True when requests bypass the page cache.
  virtual bool direct() const = 0;
  // True when opened OpenMode::kReadOnly: writes, discards and grow fail with kReadOnly. Flushes
  // have nothing to do and succeed.
  virtual bool read_only() const { return false; }
  // No request to it waits for anything outside of this machine's memory.
  virtual bool in_memory() const { return false; }
  // Of a device that takes requests by itself and calls back (io/starter.h). The same for its life.
  virtual Starter* starter() { return nullptr; }
  // Sees to it that no later write to [offset, offset + length) fails for lack of space below the
  // device. The content stays as it is. Whole logical blocks. Blocking; any thread.
  enum class Room : std::uint8_t {
    kSure,
    kNotPromised,  // the file system cannot reserve, or gives every write a new place
  };
  // Errors: kNoSpace, kIo.
  virtual Result<Room> reserve_room(std::uint64_t offset, std::uint64_t length);
  // What the last request failed with that DeviceTraffic::refused counts. Any thread.
  std::optional<Error> last_refusal() const;
  // For how long the device has had requests without any answer; 0: it has none. Any thread.
  Nanos silent_for();
  // For how long it has owed the answer to one, whatever else it answers, and not counting what
  // that one had to wait behind (io/request_rounds.h): not less than silent_for(). Any thread.
  Nanos owing_for();
  // IoQueue::give_up() has been called for it. Any thread.
  bool is_given_up() const { return given_up_.load(); }
  // Somebody else has taken the device from this handle: a request, or a call, has failed with
  // kFenced. Later ones fail so without being sent. Never undone. Any thread.
  bool is_fenced() const { return fenced_.load(); }
  // IoQueue::retire() has been called for it; then it is given up, too. Any thread.
  bool is_retired() const { return retired_.load(); }
  // Of the reads that were to tell (IoRequest::sent). Any thread.
  const ReadTimes& read_times() const { return read_times_; }
  // For whoever verifies what was read: it was not what it should be, although the read succeeded.
  // Counted in DeviceTraffic::mismatches. Any thread.
  void note_mismatch() { traffic_.mismatches.fetch_add(1, std::memory_order_relaxed); }

  // Blocking single requests, for everything that is not the commit or read path. A read ends after
  // kReadPatience: kUnavailable, by no fault of the device (io/os_error.h) and counted as refused;
  // then it has not touched `into`, and never will. The others wait for the device.
  Status read(std::uint64_t offset, MutByteView into);
  Status write(std::uint64_t offset, ByteView from, WriteMode mode = WriteMode::kCached,
               IoCause cause = IoCause::kOther);
  Status flush();
  Status discard(std::uint64_t offset, std::uint64_t length);

 protected:
  void note_fenced() { fenced_ = true; }
  // A system call beside the queue: while there is one the file stays open.
  class Call {
   public:
    explicit Call(Device& device) : device_(device) { device_.traffic_.under_way.fetch_add(1); }
    ~Call() { device_.traffic_.under_way.fetch_sub(1); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    // Errors: kIo (the device is retired).
    Status may_begin() const;

   private:
    Device& device_;
  };

 private:
  friend class IoQueue;
  // Closes what is open, and gives the lock back: nothing is under way, and nothing comes. Once.
  virtual void release() {}
  // Before a request goes out: may change its mode from kShared to kDurable and keep a ticket in
  // it.
  virtual void submitting(IoRequest&) {}
  // It has its outcome; its batch is not complete yet.
  virtual void settled(const IoRequest&) {}

  void note_refusal(const Error& error);

  DeviceTraffic traffic_;
  RequestRounds rounds_;
  ReadTimes read_times_;
  // Each request counts as under way before it is asked, and who closes the file looks at what is
  // under way when it is set: one of the two sees the other.
  std::atomic<bool> given_up_{false};
  std::atomic<bool> retired_{false};
  std::atomic<bool> fenced_{false};
  OsMutex release_mutex_;
  bool released_ HEXAD_GUARDED_BY(release_mutex_) = false;
  mutable OsMutex refusal_mutex_;
  std::optional<Error> refusal_ HEXAD_GUARDED_BY(refusal_mutex_);
};

}  // namespace hexad::io
