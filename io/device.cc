#include "io/device.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/lent_memory.h"
#include "base/units.h"
#include "io/os_error.h"
#include "io/recall.h"

namespace hexad::io {

namespace {

constexpr std::uintptr_t kBufferAlignment = 4096;  // D1

Error bad_request(const IoRequest& request, const std::string& what) {
  static constexpr const char* kNames[] = {"read", "write", "flush", "discard"};
  return Error{ErrorCode::kInvalidArgument,
               request.device->name() + ": " + kNames[static_cast<int>(request.op)] + " of " +
                   std::to_string(request.length) + " bytes at " + std::to_string(request.offset) +
                   ": " + what,
               ""};
}

// Whether the device is one of what is abandoned. While a batch is left, its devices may be looked
// at once more after their last answer.
template <typename Abandoned>
bool is_one_of(const std::vector<Abandoned>& abandoned, const Device& device) {
  return std::any_of(abandoned.begin(), abandoned.end(), [&](const Abandoned& one) {
    return std::any_of(one.batch->requests.begin(), one.batch->requests.end(),
                       [&](const IoRequest& request) { return request.device == &device; });
  });
}

Status run_one(IoRequest request) {
  IoQueue& queue = request.device->queue();
  IoBatch batch;
  batch.requests.push_back(std::move(request));
  // Not by run(), which may execute it on this thread, from where nobody could call it back.
  queue.submit(batch);
  queue.wait(batch);
  return std::move(batch.requests.front().status);
}

}  // namespace

IoRequest IoRequest::read(Device& device, std::uint64_t offset, MutByteView into) {
  IoRequest request;
  request.device = &device;
  request.op = IoOp::kRead;
  request.offset = offset;
  request.data = into.data();
  request.length = into.size();
  return request;
}

const char* to_string(IoCause cause) {
  static constexpr std::array<const char*, kIoCauses> kNames = {
      "other", "user", "parity", "log", "super", "zero", "run", "merge", "clean", "heal"};
  return kNames[static_cast<std::size_t>(cause)];
}

IoRequest IoRequest::write(Device& device, std::uint64_t offset, ByteView from, WriteMode mode,
                           IoCause cause) {
  IoRequest request;
  request.device = &device;
  request.op = IoOp::kWrite;
  request.mode = mode;
  request.cause = cause;
  request.offset = offset;
  request.data = const_cast<std::byte*>(from.data());
  request.length = from.size();
  request.may_be_left = true;
  return request;
}

IoRequest IoRequest::flush(Device& device) {
  IoRequest request;
  request.device = &device;
  request.op = IoOp::kFlush;
  request.may_be_left = true;
  return request;
}

IoRequest IoRequest::discard(Device& device, std::uint64_t offset, std::uint64_t length) {
  IoRequest request;
  request.device = &device;
  request.op = IoOp::kDiscard;
  request.offset = offset;
  request.length = length;
  request.may_be_left = true;
  return request;
}

bool IoRequest::is_answered() const {
  return std::atomic_ref<bool>(const_cast<bool&>(answered)).load(std::memory_order_acquire);
}

Status IoBatch::first_error() const {
  for (const IoRequest& request : requests) {
    if (!request.status.ok()) return request.status;
  }
  return {};
}

void IoQueue::count(const IoRequest& request) {
  const auto add = [](std::atomic<std::uint64_t>& counter, std::uint64_t amount) {
    counter.fetch_add(amount, std::memory_order_relaxed);
  };
  DeviceTraffic& traffic = request.device->traffic_;
  switch (request.op) {
    case IoOp::kRead:
      add(traffic.reads, 1);
      add(traffic.bytes_read, request.length);
      break;
    case IoOp::kWrite:
      add(traffic.written_for[static_cast<std::size_t>(request.cause)], request.length);
      traffic.writes_for[static_cast<std::size_t>(request.cause)].fetch_add(
          1, std::memory_order_release);
      if (request.mode == WriteMode::kDurable) add(traffic.durable_writes, 1);
      break;
    case IoOp::kFlush:
      add(traffic.flushes, 1);
      break;
    case IoOp::kDiscard:
      break;
  }
}

void IoQueue::announce(IoRequest& request) {
  HEXAD_ASSERT(request.device != nullptr && &request.device->queue() == this);
  request.device->submitting(request);
  request.answered = false;
  request.round = RequestRounds::kNone;
  request.device->traffic_.under_way.fetch_add(1);
  count(request);
}

void IoQueue::send(IoRequest& request) {
  if (request.round != RequestRounds::kNone) return;
  Device& device = *request.device;
  request.round = device.rounds_.sent([&] { return device.queue().now(); });
}

void IoQueue::answer(IoRequest& request) {
  if (request.answered) return;
  if (!request.left && !request.status.ok()) count_failure(request);
  Device& device = *request.device;
  // What the queue has refused is no answer of the device.
  if (request.round != RequestRounds::kNone) {
    const Nanos now = device.queue().now();
    device.rounds_.answered(request.round, now);
    if (request.sent != 0 && request.status.ok()) device.read_times_.note(now - request.sent);
  }
  device.traffic_.under_way.fetch_sub(1);
  std::atomic_ref<bool>(request.answered).store(true, std::memory_order_release);
}

void IoQueue::run(IoBatch& batch) noexcept {
  HEXAD_ASSERT(!batch.done);
  const Execute execute = executes_alone();
  const bool alone = execute != nullptr && batch.requests.size() == 1 &&
                     batch.requests.front().device->starter() == nullptr;
  if (alone && batch.requests.front().op != IoOp::kWrite) {
    IoRequest& request = batch.requests.front();
    announce(request);
    request.status = check(request);
    if (request.status.ok()) {
      send(request);
      request.status = execute(request);
    }
    settle(request);
    return;
  }
  if (batch.requests.empty()) return submit(batch);
  announce(batch);
  run_requests_for(batch, kNoLimit);
}

bool IoQueue::run_briefly(IoBatch& batch, Nanos limit) noexcept {
  HEXAD_ASSERT(!batch.done);
  const bool alone = executes_alone() != nullptr && batch.requests.size() == 1;
  if (batch.requests.empty() || (alone && batch.requests.front().device->in_memory())) {
    run(batch);
    return true;
  }
  announce(batch);
  if (Recall::here() == nullptr) return run_requests_for(batch, limit);
  const Nanos first = std::min(limit, Recall::has_come() ? 1 : Recall::kBetweenAsks);
  if (run_requests_for(batch, first)) return true;
  Recall::note_wait(first);
  return wait_recallably(batch, limit - first);
}

// True when it is complete; false when the time is over, or the thread is called back.
bool IoQueue::wait_recallably(IoBatch& batch, Nanos limit) noexcept {
  while (limit > 0 && !Recall::has_come()) {
    const Nanos step = std::min(limit, Recall::kBetweenAsks);
    if (wait_for(batch, step)) return true;
    Recall::note_wait(step);
    limit -= step;
  }
  return batch.complete() || wait_for(batch, 0);
}

bool IoQueue::run_for(IoBatch& batch, Nanos limit) noexcept {
  if (run_briefly(batch, limit)) return true;
  count_timeouts(batch);
  return false;
}

bool IoQueue::wait_briefly(IoBatch& batch, Nanos limit) noexcept {
  if (batch.complete()) return true;
  return Recall::here() == nullptr ? wait_for(batch, limit) : wait_recallably(batch, limit);
}

void IoQueue::count_timeouts(const IoBatch& batch) {
  if (Recall::has_come()) return;  // it was waited for less than that
  for (const IoRequest& request : batch.requests) {
    if (request.is_answered()) continue;
    request.device->traffic_.timeouts.fetch_add(1, std::memory_order_relaxed);
  }
}

bool IoQueue::run_requests_for(IoBatch& batch, Nanos limit) {
  submit_requests(batch);
  if (limit != kNoLimit) return wait_for(batch, limit);
  wait(batch);
  return true;
}

bool IoQueue::wait_for(IoBatch& batch, Nanos) {
  wait(batch);
  return true;
}

void IoQueue::abandon(std::unique_ptr<IoBatch> batch, std::vector<AlignedBuffer> buffers,
                      std::shared_ptr<void> token) noexcept {
  has_abandoned();
  const OsLock lock(abandoned_mutex_);
  abandoned_.push_back({std::move(batch), std::move(buffers), std::move(token)});
}

void IoQueue::give_up(Device& device) {
  if (device.in_memory()) return;
  device.given_up_.store(true);
  give_up_requests(device);
}

bool IoQueue::retire(Device& device) {
  device.retired_.store(true);
  device.given_up_.store(true);
  has_abandoned();
  if (device.traffic_.under_way.load() > 0) return false;
  const OsLock lock(device.release_mutex_);
  if (!std::exchange(device.released_, true)) device.release();
  return true;
}

Error IoQueue::given_up_error(const Device& device) {
  if (device.is_retired()) {
    return Error{ErrorCode::kIo, device.name() + ": the device has left the pool", ""};
  }
  return Error{ErrorCode::kIo,
               device.name() + ": the device has not answered for so long that it is given up", ""};
}

IoQueue::Left IoQueue::leave(IoRequest& request) {
  auto batch = std::make_unique<IoBatch>();
  batch->requests.push_back(request);
  IoRequest& left = batch->requests.front();
  left.status = Status();
  left.left = true;
  batch->pending_.store(2, std::memory_order_relaxed);
  std::shared_ptr<void> lent;
  if (left.data != nullptr) {
    const ByteView bytes(left.data, left.length);
    LentMemory::process().lend(bytes);
    lent = std::shared_ptr<void>(nullptr, [bytes](void*) { LentMemory::process().reclaim(bytes); });
  }
  const Left now{batch.get(), &left};
  {
    const OsLock lock(abandoned_mutex_);
    abandoned_.push_back({std::move(batch), {}, std::move(lent)});
  }
  // What is under way to the device counts in the request that is left.
  request.status = given_up_error(*request.device);
  count_failure(request);
  std::atomic_ref<bool>(request.answered).store(true, std::memory_order_release);
  return now;
}

void IoQueue::close(std::unique_ptr<Device> device) {
  if (device == nullptr) return;
  if (!has_abandoned()) return;
  const OsLock lock(abandoned_mutex_);
  if (is_one_of(abandoned_, *device)) closing_.push_back(std::move(device));
}

bool IoQueue::has_abandoned() {
  // What goes is destroyed without the lock: a device waits for threads of its own.
  std::vector<Abandoned> gone;
  std::vector<std::unique_ptr<Device>> closed;
  const OsLock lock(abandoned_mutex_);
  const auto left = std::stable_partition(
      abandoned_.begin(), abandoned_.end(),
      [](const Abandoned& one) { return one.waiters > 0 || !one.batch->complete(); });
  gone.assign(std::make_move_iterator(left), std::make_move_iterator(abandoned_.end()));
  abandoned_.erase(left, abandoned_.end());
  for (std::unique_ptr<Device>& device : closing_) {
    if (!is_one_of(abandoned_, *device)) closed.push_back(std::move(device));
  }
  std::erase(closing_, nullptr);
  return !abandoned_.empty();
}

bool IoQueue::wait_for_abandoned(Nanos limit) {
  const Nanos end = now() + limit;
  while (has_abandoned()) {
    IoBatch* batch = nullptr;
    Nanos left = end - now();
    {
      const OsLock lock(abandoned_mutex_);
      if (abandoned_.empty()) continue;
      ++abandoned_.front().waiters;
      batch = abandoned_.front().batch.get();
      for (const IoRequest& request : batch->requests) {
        if (!request.is_answered()) left = std::min(left, limit - request.device->owing_for());
      }
    }
    const bool complete = left > 0 && wait_for(*batch, left);
    const OsLock lock(abandoned_mutex_);
    for (Abandoned& one : abandoned_) {
      if (one.batch.get() == batch) --one.waiters;
    }
    if (left <= 0 && !complete) return false;
  }
  return true;
}

void IoQueue::drop_abandoned() {
  const OsLock lock(abandoned_mutex_);
  abandoned_.clear();
  closing_.clear();
}

void IoQueue::announce(IoBatch& batch) {
  for (IoRequest& request : batch.requests) announce(request);
  batch.pending_.store(static_cast<std::uint32_t>(batch.requests.size()) + 1,
                       std::memory_order_relaxed);
}

void IoQueue::submit(IoBatch& batch) noexcept {
  if (batch.requests.empty()) {
    batch.pending_.store(2, std::memory_order_relaxed);
    finish(batch);
    return;
  }
  announce(batch);
  submit_requests(batch);
}

bool IoQueue::finish(IoBatch& batch) {
  if (batch.pending_.fetch_sub(1, std::memory_order_acq_rel) != 2) return false;
  for (IoRequest& request : batch.requests) settle(request);
  // Without `done` a waiter may free the batch as soon as it sees the count at zero, so nothing of
  // the batch is touched after that.
  const bool has_callback = static_cast<bool>(batch.done);
  batch.pending_.store(0, std::memory_order_release);
  if (has_callback) {
    const auto done = std::move(batch.done);
    done(batch);
  }
  return true;
}

// Of a request whose status is an error.
void IoQueue::count_failure(const IoRequest& request) {
  const auto add = [](std::atomic<std::uint64_t>& counter) {
    counter.fetch_add(1, std::memory_order_relaxed);
  };
  Device& device = *request.device;
  if (request.status.error().code == ErrorCode::kFenced) device.fenced_ = true;
  // It says nothing of the device, nor of what its cache has.
  if (device.is_retired() && request.round == RequestRounds::kNone) return;
  const Error& error = request.status.error();
  const bool durable_write = request.op == IoOp::kWrite && request.mode == WriteMode::kDurable &&
                             device.geometry().volatile_cache;
  if (request.op == IoOp::kFlush || (durable_write && error.code == ErrorCode::kIo)) {
    add(device.traffic_.failed_flushes);
  }
  if (request.op == IoOp::kFlush) return;
  if (!is_medium(error)) {
    device.note_refusal(error);
  } else if (request.op == IoOp::kRead) {
    add(device.traffic_.failed_reads);
  } else if (request.op == IoOp::kWrite) {
    add(device.traffic_.failed_writes);
  }
}

void IoQueue::settle(IoRequest& request) {
  answer(request);
  if (request.left) return;
  request.device->settled(request);
}

Status IoQueue::check(const IoRequest& request) {
  if (request.device->is_given_up()) return given_up_error(*request.device);
  if (request.device->is_fenced()) return fenced_error(request.device->name());
  if (request.op == IoOp::kFlush) return {};
  const Geometry& geometry = request.device->geometry();
  if (!is_multiple(request.offset, geometry.logical_block) ||
      !is_multiple(request.length, geometry.logical_block) || request.length == 0) {
    return bad_request(request, "not whole blocks of " + format_size(geometry.logical_block));
  }
  if (request.offset > geometry.size || request.length > geometry.size - request.offset) {
    return bad_request(request, "past the end at " + std::to_string(geometry.size));
  }
  if (request.op != IoOp::kDiscard &&
      reinterpret_cast<std::uintptr_t>(request.data) % kBufferAlignment != 0) {
    return bad_request(request, "the buffer does not start on a 4 KiB boundary");
  }
  if (request.op != IoOp::kRead && request.device->read_only()) {
    return Error{ErrorCode::kReadOnly, request.device->name() + " is open for reading only", ""};
  }
  return {};
}

Status Device::Call::may_begin() const {
  if (!device_.is_retired()) return {};
  return Error{ErrorCode::kIo, device_.name() + ": the device has left the pool", ""};
}

Result<Device::Room> Device::reserve_room(std::uint64_t, std::uint64_t) { return Room::kSure; }

std::optional<Error> Device::last_refusal() const {
  const OsLock lock(refusal_mutex_);
  return refusal_;
}

Nanos Device::silent_for() { return rounds_.is_empty() ? 0 : rounds_.silent_for(queue().now()); }

Nanos Device::owing_for() { return rounds_.is_empty() ? 0 : rounds_.owing_for(queue().now()); }

void Device::note_refusal(const Error& error) {
  const OsLock lock(refusal_mutex_);
  refusal_ = error;
  traffic_.refused.fetch_add(1, std::memory_order_relaxed);
}

Status Device::read(std::uint64_t offset, MutByteView into) {
  const bool misaligned = reinterpret_cast<std::uintptr_t>(into.data()) % kBufferAlignment != 0;
  if (into.empty() || misaligned) return run_one(IoRequest::read(*this, offset, into));
  const auto silent = [&](Nanos waited) {
    Error error{ErrorCode::kUnavailable,
                name() + ": read of " + format_size(into.size()) + " at byte " +
                    std::to_string(offset) + ": the device has not answered for " +
                    std::to_string(std::max(silent_for(), waited) / 1'000'000'000) + " s",
                "Try again when it answers."};
    note_refusal(error);
    return error;
  };
  if (silent_for() >= kReadPatience && !is_given_up()) return silent(0);
  // Its own memory, for an answer may come when nobody waits for it any more.
  AlignedBuffer buffer(into.size());
  auto batch = std::make_unique<IoBatch>();
  batch->requests.push_back(IoRequest::read(*this, offset, buffer.bytes()));
  if (!queue().run_for(*batch, kReadPatience)) {
    std::vector<AlignedBuffer> buffers;
    buffers.push_back(std::move(buffer));
    queue().abandon(std::move(batch), std::move(buffers));
    if (Recall::has_come()) {
      // Noted all the same: what it would have said is not known.
      Error error{ErrorCode::kUnavailable,
                  name() + ": read of " + format_size(into.size()) + " at byte " +
                      std::to_string(offset) +
                      ": the thread was called back before the device had answered",
                  "Try again when it answers."};
      note_refusal(error);
      return error;
    }
    return silent(kReadPatience);
  }
  Status status = std::move(batch->requests.front().status);
  if (status.ok()) copy_bytes(into, buffer.bytes());
  return status;
}

Status Device::write(std::uint64_t offset, ByteView from, WriteMode mode, IoCause cause) {
  return run_one(IoRequest::write(*this, offset, from, mode, cause));
}

Status Device::flush() { return run_one(IoRequest::flush(*this)); }

Status Device::discard(std::uint64_t offset, std::uint64_t length) {
  return run_one(IoRequest::discard(*this, offset, length));
}

}  // namespace hexad::io
