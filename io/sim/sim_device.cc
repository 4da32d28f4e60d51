#include "io/sim/sim_device.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/checksum.h"
#include "base/units.h"
#include "io/os_error.h"

namespace hexad::io {

namespace {

constexpr std::uint64_t kSector = 512;
constexpr std::uint64_t kBackedBlock = 4096;

Error dead(const SimDisk& disk, const char* why) {
  return Error{ErrorCode::kIo, disk.name() + ": " + why, ""};
}

Error struck_by(const SimDisk& disk, FaultKind kind, ErrorCode code = ErrorCode::kIo) {
  return Error{code, disk.name() + ": injected fault: " + std::string(to_string(kind)), ""};
}

// What chance leaves of a pending write when the power goes.
Survival survival_of(const PendingWrite& write, Rng& rng) {
  using Kind = Survival::Kind;
  if (rng.chance(1, 2)) return {};
  const std::uint64_t sectors = write.length / kSector;
  if (write.resize || sectors < 2 || rng.chance(3, 4)) return {Kind::kWhole, 0, 0};
  static constexpr Kind kTorn[] = {Kind::kPrefix, Kind::kSuffix, Kind::kSectors, Kind::kGarbled};
  const Kind kind = kTorn[rng.below(write.untouched() ? 4 : 3)];
  return {kind, kSector * (1 + rng.below(sectors - 1)), rng.next()};
}

}  // namespace

SimDisk::SimDisk(std::string name, const std::shared_ptr<const CowImage>& content,
                 SimDiskOptions options)
    : name_(std::move(name)),
      options_(options),
      content_(std::make_shared<CowImage>(content)),
      cache_(std::make_shared<CowImage>(content), options.physical_block) {
  if (options_.keep_previous) previous_ = std::make_shared<CowImage>(content);
}

CowImage& SimDisk::own_content() {
  if (content_.use_count() > 1) content_ = std::make_shared<CowImage>(content_);
  return *content_;
}

// `data` null: zeros.
void SimDisk::store(std::uint64_t offset, std::uint64_t length, const Bytes* data) {
  if (previous_ != nullptr) {
    Bytes old(length);
    content_->read(offset, old);
    if (previous_->size() < content_->size()) previous_->resize(content_->size());
    previous_->write(offset, old);
  }
  if (data == nullptr) {
    own_content().zero(offset, length);
  } else {
    own_content().write(offset, ByteView(*data).first(length));
  }
}

void SimDisk::refuse_opening(OpenMode mode, int number) { refused_openings_[mode] = number; }

void SimDisk::make_sparse(std::uint64_t room) {
  room_ = room;
  backed_.assign(divide_up(size(), kBackedBlock), false);
  for (std::size_t block = 0; block < backed_.size(); ++block) {
    const std::uint64_t at = block * kBackedBlock;
    const Bytes bytes = peek(at, std::min(kBackedBlock, size() - at));
    backed_[block] = !is_zero(bytes);
  }
}

bool SimDisk::back(std::uint64_t offset, std::uint64_t length) {
  if (backed_.empty()) return true;
  const std::size_t first = offset / kBackedBlock;
  const std::size_t end =
      std::min<std::size_t>(backed_.size(), divide_up(offset + length, kBackedBlock));
  std::uint64_t missing = 0;
  for (std::size_t block = first; block < end; ++block)
    missing += backed_[block] ? 0 : kBackedBlock;
  if (missing > room_) return false;
  room_ -= missing;
  for (std::size_t block = first; block < end; ++block) backed_[block] = true;
  return true;
}

void SimDisk::release_hung(std::size_t most) {
  std::vector<std::function<void()>> released = std::exchange(hung_, {});
  if (released.size() > most) {
    const auto first_kept = released.begin() + static_cast<std::ptrdiff_t>(most);
    hung_.assign(first_kept, released.end());
    released.erase(first_kept, released.end());
  }
  for (const auto& complete : released) complete();
}

Bytes SimDisk::peek(std::uint64_t offset, std::uint64_t length) const {
  Bytes bytes(length);
  content_->read(offset, bytes);
  return bytes;
}

void SimDisk::poke(std::uint64_t offset, ByteView bytes) {
  own_content().write(offset, bytes);
  if (offset + bytes.size() <= cache_.durable()->size()) cache_.damage(offset, bytes);
}

void SimDisk::flip_bit(std::uint64_t offset, unsigned bit) {
  Bytes one = peek(offset, 1);
  one[0] ^= static_cast<std::byte>(1u << (bit % 8));
  poke(offset, one);
}

std::shared_ptr<const CowImage> SimDisk::snapshot() const { return content_; }

void SimDisk::replace(const std::shared_ptr<const CowImage>& content) {
  HEXAD_ASSERT(!writer_ && readers_ == 0);
  content_ = std::make_shared<CowImage>(content);
  cache_ = WriteCache(std::make_shared<CowImage>(content), options_.physical_block);
  if (options_.keep_previous) previous_ = std::make_shared<CowImage>(content);
}

void SimDisk::lose_power(Rng& rng) {
  auto left = std::make_shared<CowImage>(cache_.durable());
  for (const PendingWrite& write : cache_.pending()) {
    cache_.apply(*left, write, survival_of(write, rng));
  }
  ++power_cycle_;
  writer_ = false;
  readers_ = 0;
  replace(std::move(left));
  release_hung();
}

void SimDisk::fence() {
  ++owner_;
  writer_ = false;
  readers_ = 0;
}

SimDevice::SimDevice(SimDisk& disk, OpenMode mode, SimQueue& queue)
    : disk_(disk),
      mode_(mode),
      queue_(queue),
      power_cycle_(disk.power_cycle_),
      owner_(disk.owner_) {
  geometry_.logical_block = disk.options().logical_block;
  geometry_.physical_block = disk.options().physical_block;
  geometry_.whole_write = disk.options().whole_write;
  geometry_.piece = disk.options().piece;
  geometry_.size = round_down(disk.size(), geometry_.logical_block);
  geometry_.volatile_cache = disk.options().volatile_cache;
  geometry_.flush_domain = static_cast<std::uint64_t>(disk.options().flush_domain) + 1;
  if (mode == OpenMode::kReadWrite) {
    disk_.writer_ = true;
  } else if (mode == OpenMode::kReadOnly) {
    ++disk_.readers_;
  }
}

SimDevice::~SimDevice() { unlock(); }

void SimDevice::unlock() {
  if (!std::exchange(locked_, false)) return;
  // The lock went with the power, or was taken.
  if (power_cycle_ != disk_.power_cycle_ || owner_ != disk_.owner_) return;
  if (mode_ == OpenMode::kReadWrite) {
    disk_.writer_ = false;
  } else if (mode_ == OpenMode::kReadOnly) {
    --disk_.readers_;
  }
}

IoQueue& SimDevice::queue() { return queue_; }

Status SimDevice::grow(std::uint64_t new_size) {
  if (read_only()) return Error{ErrorCode::kReadOnly, name() + " is open for reading only", ""};
  if (!alive()) return dead(disk_, "the disk is gone");
  if (is_shut_out()) return fenced_error(name());
  if (new_size < geometry_.size || !is_multiple(new_size, geometry_.logical_block)) {
    return Error{ErrorCode::kInvalidArgument,
                 name() + ": cannot grow from " + std::to_string(geometry_.size) + " to " +
                     std::to_string(new_size) + " bytes",
                 "Sizes only grow, in whole blocks of " + format_size(geometry_.logical_block)};
  }
  if (new_size > disk_.options().capacity) {
    return Error{ErrorCode::kNoSpace, name() + ": no room to grow to " + format_size(new_size), ""};
  }
  if (new_size == geometry_.size) return {};
  queue_.executor_.trace("grow", {new_size});
  disk_.own_content().resize(new_size);
  disk_.cache_.resize(queue_.next_cache_op_++, new_size);
  if (disk_.recorded_.has_value()) queue_.recorder_->resize(*disk_.recorded_, new_size);
  geometry_.size = new_size;
  return {};
}

Result<Device::Room> SimDevice::reserve_room(std::uint64_t offset, std::uint64_t length) {
  if (!alive()) return dead(disk_, "the disk is gone");
  if (is_shut_out()) return fenced_error(name());
  if (!disk_.back(offset, length)) {
    return Error{
        ErrorCode::kNoSpace,
        name() + ": no room for " + format_size(length) + " at byte " + std::to_string(offset),
        "Make room."};
  }
  return Room::kSure;
}

struct SimQueue::Going {
  IoBatch* batch;
  std::size_t total;
  std::size_t left;
  bool callback;
};

struct SimQueue::Op {
  std::shared_ptr<Going> going;
  IoRequest* request;  // changes when its device is given up; null: answered
  SimDevice& device;
  SimDisk& disk;
  const std::uint64_t number;
  std::optional<Fault> fault;

  // Of a write or discard: where it really goes, and how much of it; length 0 has no effect.
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::shared_ptr<const Bytes> data;
  OpId cache_op = 0;
  // Of a flush: what it covers on each disk of its domain.
  std::vector<std::pair<SimDisk*, std::vector<OpId>>> covered;
  std::optional<OpId> recorded;

  bool has(FaultKind kind) const { return fault.has_value() && fault->kind == kind; }
};

void SimQueue::submit_requests(IoBatch& batch) {
  const std::size_t count = batch.requests.size();
  IoRequest* requests = batch.requests.data();
  const auto going =
      std::make_shared<Going>(Going{&batch, count, count, static_cast<bool>(batch.done)});
  // The batch may be gone after the last one.
  for (std::size_t i = 0; i < count; ++i) launch(going, requests[i]);
}

void SimQueue::launch(const std::shared_ptr<Going>& going, IoRequest& request) {
  request.status = check(request);
  auto& device = static_cast<SimDevice&>(*request.device);
  if (request.status.ok() && !device.alive())
    request.status = dead(device.disk_, "the disk is gone");
  if (!request.status.ok()) return finish_one(going);

  send(request);
  auto op = std::make_shared<Op>(
      Op{going, &request, device, device.disk_, next_op_++, {}, 0, 0, nullptr, 0, {}, {}});
  op->fault = pick_fault(*op);
  if (request.op == IoOp::kWrite && !op->fault.has_value() &&
      !op->disk.back(request.offset, request.length)) {
    op->fault = Fault{.kind = FaultKind::kWriteNoSpace};
    op->disk.faults_.count(FaultKind::kWriteNoSpace);
  }
  const bool writes = request.op == IoOp::kWrite || request.op == IoOp::kDiscard;
  executor_.trace("submit",
                  {op->number, xxh3_64(as_bytes(op->disk.name())),
                   static_cast<std::uint64_t>(request.op), request.offset, request.length,
                   request.op == IoOp::kWrite ? xxh3_64({request.data, request.length}) : 0});
  if (writes) begin_write(*op);
  if (request.op == IoOp::kFlush) begin_flush(*op);
  if (op->has(FaultKind::kHang)) {
    note_under_way(op);
    op->disk.hung_.push_back([this, op] { land(*op); });
  } else if (latency_.immediate) {
    land(*op);
  } else {
    note_under_way(op);
    executor_.schedule(executor_.clock().now() + duration_of(*op), [this, op] { land(*op); });
  }
}

std::optional<Fault> SimQueue::pick_fault(const Op& op) {
  const IoRequest& request = *op.request;
  if (hook_) {
    const std::optional<FaultKind> kind =
        hook_(SimOp{op.number, op.disk.name(), request.op, request.mode, request.offset,
                    request.length, request.cause, op.disk.size()});
    if (kind.has_value() && strikes(*kind, request.op)) {
      op.disk.faults_.count(*kind);
      Fault fault;
      fault.kind = *kind;
      return fault;
    }
  }
  return op.disk.faults_.next(request);
}

void SimQueue::note_under_way(const std::shared_ptr<Op>& op) {
  if (under_way_.size() >= most_under_way_) {
    std::erase_if(under_way_, [](const std::weak_ptr<Op>& one) { return one.expired(); });
    most_under_way_ = 2 * under_way_.size() + 64;
  }
  under_way_.push_back(op);
}

void SimQueue::give_up_requests(Device& device) {
  std::vector<std::shared_ptr<Going>> finished;
  for (const std::weak_ptr<Op>& one : under_way_) {
    const std::shared_ptr<Op> op = one.lock();
    if (op == nullptr || op->request == nullptr || &op->device != &device) continue;
    if (!op->request->may_be_left || op->request->left) continue;
    finished.push_back(op->going);
    const Left left = leave(*op->request);
    op->request = left.request;
    op->going = std::make_shared<Going>(Going{left.batch, 1, 1, false});
  }
  for (const std::shared_ptr<Going>& going : finished) finish_one(going);
}

void SimQueue::begin_write(Op& op) {
  const IoRequest& request = *op.request;
  op.offset = request.offset;
  op.length = request.length;
  if (op.has(FaultKind::kWriteErrorBefore) || op.has(FaultKind::kWriteNoSpace) ||
      op.has(FaultKind::kWriteLost) || op.has(FaultKind::kDeviceError) ||
      op.has(FaultKind::kRefused)) {
    op.length = 0;
    return;
  }
  if (op.has(FaultKind::kWriteMisdirected)) {
    const std::uint64_t block = op.disk.options().logical_block;
    const std::uint64_t places = (op.disk.size() - request.length) / block + 1;
    op.offset = block * executor_.rng().below(places);
  }
  if (op.has(FaultKind::kWriteTorn) || op.has(FaultKind::kWriteErrorPartly)) {
    const std::uint64_t unit = op.fault->amount == 0 ? kSector : op.fault->amount;
    op.length = unit * executor_.rng().below(divide_up(request.length, unit));
    if (op.length == 0) return;
  }
  if (request.op == IoOp::kWrite) {
    op.data = std::make_shared<const Bytes>(request.data, request.data + op.length);
  }
  const bool durable = !op.disk.options().volatile_cache ||
                       (request.op == IoOp::kWrite && request.mode == WriteMode::kDurable);
  const WriteMode mode = durable ? WriteMode::kDurable : WriteMode::kCached;
  op.cache_op = next_cache_op_++;
  op.disk.cache_.submit_write(op.cache_op, op.offset, op.length, op.data, mode);
  if (op.disk.recorded_.has_value()) {
    op.recorded = recorder_->submit_write(*op.disk.recorded_, op.offset, op.length, op.data, mode);
  }
}

void SimQueue::begin_flush(Op& op) {
  if (op.has(FaultKind::kFlushLies) || op.has(FaultKind::kDeviceError) ||
      op.has(FaultKind::kRefused)) {
    return;
  }
  const int domain = op.disk.options().flush_domain;
  for (SimDisk* disk : disks_) {
    const bool same = disk == &op.disk || (domain >= 0 && disk->options().flush_domain == domain);
    if (same) op.covered.emplace_back(disk, disk->cache_.begin_flush());
  }
  if (op.disk.recorded_.has_value()) op.recorded = recorder_->submit_flush(*op.disk.recorded_);
}

void SimQueue::land(Op& op) {
  op.request->status = effect(op);
  answer(*op.request);
  executor_.trace("complete", {op.number, op.request->status.ok() ? 1u : 0u});
  op.request = nullptr;
  finish_one(op.going);
}

Status SimQueue::effect(Op& op) {
  // After a loss of power the cache that knew this request is gone.
  if (op.device.power_cycle_ != op.disk.power_cycle_) return dead(op.disk, "the power failed");
  if (!op.disk.present_ || op.device.is_shut_out()) {
    if (op.length > 0) op.disk.cache_.drop_write(op.cache_op);
    if (op.recorded.has_value()) {
      if (op.request->op == IoOp::kFlush) {
        recorder_->fail_flush(*op.recorded);
      } else {
        recorder_->drop_write(*op.recorded);
      }
    }
    if (op.disk.present_) return fenced_error(op.disk.name());
    return dead(op.disk, "the disk is gone");
  }
  if (op.has(FaultKind::kDeviceError)) return struck_by(op.disk, op.fault->kind);
  if (op.has(FaultKind::kRefused)) {
    const int number = op.fault->amount == 0 ? ENOMEM : static_cast<int>(op.fault->amount);
    return os_error(number, op.disk.name() + ": injected fault");
  }
  switch (op.request->op) {
    case IoOp::kRead:
      return read_effect(op);
    case IoOp::kWrite:
    case IoOp::kDiscard:
      return write_effect(op);
    case IoOp::kFlush:
      return flush_effect(op);
  }
  return {};
}

Status SimQueue::read_effect(Op& op) {
  const IoRequest& request = *op.request;
  const MutByteView into(request.data, request.length);
  SimDisk& disk = op.disk;
  Rng& rng = executor_.rng();
  ++disk.counts_.reads;
  disk.counts_.read_bytes += request.length;
  if (op.has(FaultKind::kReadError)) return struck_by(disk, op.fault->kind);
  std::uint64_t offset = request.offset;
  if (op.has(FaultKind::kReadMisdirected)) {
    const std::uint64_t block = disk.options().logical_block;
    offset = block * rng.below((disk.size() - request.length) / block + 1);
  }
  if (op.has(FaultKind::kReadFlipStored)) {
    disk.flip_bit(offset + rng.below(request.length), static_cast<unsigned>(rng.below(8)));
  }
  if (op.has(FaultKind::kReadZeros)) {
    fill_zero(into);
  } else if (op.has(FaultKind::kReadStale)) {
    HEXAD_ASSERT(disk.previous_ != nullptr);  // SimDiskOptions::keep_previous
    if (disk.previous_->size() < disk.size()) disk.previous_->resize(disk.size());
    disk.previous_->read(offset, into);
  } else {
    disk.content_->read(offset, into);
  }
  if (op.has(FaultKind::kReadFlip)) {
    into[rng.below(into.size())] ^= static_cast<std::byte>(1u << rng.below(8));
  }
  return {};
}

Status SimQueue::write_effect(Op& op) {
  SimDisk& disk = op.disk;
  if (op.request->op == IoOp::kWrite) {
    ++disk.counts_.writes;
    disk.counts_.write_bytes += op.request->length;
  } else {
    ++disk.counts_.discards;
  }
  if (op.length > 0) {
    disk.store(op.offset, op.length, op.data.get());
    disk.cache_.complete_write(op.cache_op);
    if (op.recorded.has_value()) recorder_->complete_write(*op.recorded);
  }
  if (op.has(FaultKind::kWriteNoSpace)) {
    return struck_by(disk, op.fault->kind, ErrorCode::kNoSpace);
  }
  if (op.has(FaultKind::kWriteErrorBefore) || op.has(FaultKind::kWriteErrorPartly) ||
      op.has(FaultKind::kWriteErrorAfter)) {
    return struck_by(disk, op.fault->kind);
  }
  return {};
}

Status SimQueue::flush_effect(Op& op) {
  ++op.disk.counts_.flushes;
  if (op.has(FaultKind::kFlushError)) {
    for (const auto& [disk, covered] : op.covered) disk->cache_.fail_flush(covered);
    if (op.recorded.has_value()) recorder_->fail_flush(*op.recorded);
    return struck_by(op.disk, op.fault->kind);
  }
  for (const auto& [disk, covered] : op.covered) disk->cache_.complete_flush(covered);
  if (op.recorded.has_value()) recorder_->complete_flush(*op.recorded);
  return {};
}

void SimQueue::finish_one(const std::shared_ptr<Going>& going) {
  --going->left;
  IoBatch& batch = *going->batch;
  if (going->callback && !latency_.immediate) {
    // Callbacks take locks, so they need a fiber.
    if (going->left > 0) return;
    executor_.post([&batch, total = going->total] {
      for (std::size_t i = 0; i < total; ++i) finish(batch);
    });
    return;
  }
  const bool callback = going->callback;
  if (finish(batch) && !callback) executor_.scheduler().unpark_all(&batch);
}

void SimQueue::wait(IoBatch& batch) {
  if (batch.complete()) return;
  if (!executor_.in_fiber()) {
    executor_.run([&] { wait(batch); });
    return;
  }
  while (!batch.complete()) executor_.scheduler().park(&batch, -1);
}

bool SimQueue::wait_for(IoBatch& batch, Nanos limit) {
  if (batch.complete()) return true;
  if (!executor_.in_fiber()) {
    bool complete = false;
    executor_.run([&] { complete = wait_for(batch, limit); });
    return complete;
  }
  const Nanos end = executor_.clock().now() + limit;
  while (!batch.complete() && executor_.clock().now() < end) {
    executor_.scheduler().park(&batch, end);
  }
  return batch.complete();
}

Nanos SimQueue::duration_of(const Op& op) {
  const IoRequest& request = *op.request;
  Nanos base = latency_.write;
  if (request.op == IoOp::kRead) base = latency_.read;
  if (request.op == IoOp::kFlush) base = latency_.flush;
  const std::uint64_t moved = request.op == IoOp::kDiscard ? 0 : request.length;
  base += static_cast<Nanos>(moved * 1000 / latency_.bytes_per_us);
  base = base * static_cast<Nanos>(512 + executor_.rng().below(1536)) / 1024;
  if (op.has(FaultKind::kSlow))
    base *= static_cast<Nanos>(std::max<std::uint64_t>(op.fault->amount, 1));
  return base;
}

}  // namespace hexad::io
