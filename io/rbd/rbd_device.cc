#include "io/rbd/rbd_device.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"
#include "io/os_error.h"
#include "io/rbd/rbd_error.h"
#include "io/rbd/rbd_lockers.h"
#include "io/rbd/rbd_patience.h"
#include "io/rbd/rbd_settings.h"
#include "io/request_subject.h"

namespace hexad::io {

namespace {

// Objects of the cluster are rewritten in pieces of that size: bluestore's smallest allocation.
constexpr std::uint32_t kBlock = 4096;

std::string image_name(const RbdAddress& address) { return address.pool + "/" + address.image; }

Result<std::shared_ptr<RbdPool>> pool_of(const RbdAddress& address, RbdClusters& clusters) {
  HEXAD_TRY_ASSIGN(std::shared_ptr<RbdCluster> cluster, clusters.of(address));
  HEXAD_TRY_ASSIGN(auto pool, RbdPool::open(std::move(cluster), address.pool));
  return std::shared_ptr<RbdPool>(std::move(pool));
}

// An object that no image has, with the beginning of those that they have, to which a capability
// may be limited.
constexpr const char* kNoObject = "rbd_data.hexad";

// Whether this user may write what the image would have in another pool than its name. Ceph makes
// one for those who may not, and they could not remove it, empty as it is. To remove what is not
// there takes the same capability.
Status check_data_pool(const RbdPool& pool, const RbdAddress& address, const std::string& path) {
  if (address.data_pool.empty()) return {};
  const std::string what = path + ": cannot be created";
  const auto data = RbdPool::open(pool.cluster(), address.data_pool);
  if (!data.ok()) return data.error().with_context(what);
  const int rc = pool.cluster()->library().rados_remove((*data)->handle(), kNoObject);
  if (rc == 0 || rc == -ENOENT) return {};
  return rbd_error(-rc, what + ": writing to the pool " + address.data_pool);
}

// An image that nobody else has. Errors: kAlreadyExists.
Status create_image(const RbdPool& pool, const RbdAddress& address, std::uint64_t size,
                    const std::string& path) {
  HEXAD_TRY(check_data_pool(pool, address, path));
  const RbdLibrary& library = pool.cluster()->library();
  RbdLibrary::Handle options = nullptr;
  library.rbd_image_options_create(&options);
  int rc = library.rbd_image_options_set_uint64(options, kRbdOptionFormat, 2);
  if (rc == 0) {
    rc =
        library.rbd_image_options_set_uint64(options, kRbdOptionFeatures, kRbdFeatureExclusiveLock);
  }
  if (rc == 0 && !address.data_pool.empty()) {
    rc = library.rbd_image_options_set_string(options, kRbdOptionDataPool,
                                              address.data_pool.c_str());
  }
  if (rc == 0) rc = library.rbd_create4(pool.handle(), address.image.c_str(), size, options);
  library.rbd_image_options_destroy(options);
  if (rc == -EEXIST) return Error{ErrorCode::kAlreadyExists, path + ": the image is there", ""};
  if (rc < 0) return rbd_error(-rc, path + ": cannot be created");
  return {};
}

// Missing: ok.
Status remove_image(const RbdPool& pool, const RbdAddress& address, const std::string& path) {
  const int rc = pool.cluster()->library().rbd_remove(pool.handle(), address.image.c_str());
  if (rc == 0 || rc == -ENOENT) return {};
  return rbd_error(-rc, path + ": cannot be removed");
}

}  // namespace

// What librbd has of a row.
struct RbdDevice::Started {
  Started(RbdDevice& device_of, std::span<const IoRequest> row, Answer answer_of)
      : device(device_of), request(row.front()), answer(std::move(answer_of)) {
    if (row.size() == 1) return;
    request.length = 0;
    for (const IoRequest& one : row) {
      pieces.push_back({one.data, one.length});
      request.length += one.length;
    }
  }

  RbdDevice& device;
  IoRequest request;          // as long as the row; its memory is that of the first
  std::vector<iovec> pieces;  // the memory of a row of several
  Answer answer;

  bool writes() const { return request.op == IoOp::kWrite || request.op == IoOp::kDiscard; }
};

Result<std::unique_ptr<RbdDevice>> RbdDevice::open(const std::string& path, OpenMode mode,
                                                   IoQueue& queue, RbdClusters& clusters) {
  HEXAD_TRY_ASSIGN(const RbdAddress address, RbdAddress::parse(path));
  const Result<std::shared_ptr<RbdPool>> pool = pool_of(address, clusters);
  if (!pool.ok()) return pool.error().with_context(path);
  return open_in(path, address, mode, queue, *pool);
}

// All that is asked of the cluster is asked on other threads, which this one may leave.
RbdDevice::Opened RbdDevice::open_in(const std::string& path, const RbdAddress& address,
                                     OpenMode mode, IoQueue& queue,
                                     const std::shared_ptr<RbdPool>& pool) {
  if (mode == OpenMode::kReadWrite && !address.snapshot.empty()) {
    return Error{ErrorCode::kReadOnly, path + ": a snapshot cannot be written",
                 "Open the store for reading only, or name the image without @."};
  }
  const auto device =
      std::make_shared<std::unique_ptr<RbdDevice>>(new RbdDevice(path, mode, queue, pool));
  const std::string what = "cannot open " + path;
  HEXAD_TRY(ask_rbd<Status>(pool->cluster(), what, kRbdPatience,
                            [device, address] { return (*device)->open_image(address); }));
  // Who had the lock may have to be missed first.
  const auto patience = mode == OpenMode::kReadWrite ? kRbdLongPatience : kRbdPatience;
  HEXAD_TRY(ask_rbd<Status>(pool->cluster(), what, patience,
                            [device, address] { return (*device)->take(address); }));
  return std::move(*device);
}

Status RbdDevice::take(const RbdAddress& address) {
  if (mode_ == OpenMode::kReadWrite) {
    HEXAD_TRY(check_rbd_settings(library(), image_, address, name_));
    HEXAD_TRY(lock(address));
    pool_->cluster()->writers().add(address.pool, address.image, *this);
  } else if (mode_ == OpenMode::kReadOnly && address.snapshot.empty()) {
    HEXAD_TRY(check_writers(address));
  }
  return learn_geometry();
}

// 0: not erasure-coded, or it cannot be learnt, which keeps nobody from using the image.
std::uint32_t RbdDevice::stripe_of_data() const {
  RbdLibrary::Handle io = nullptr;
  const std::int64_t pool = library().rbd_get_data_pool_id(image_);
  if (library().rados_ioctx_create2(pool_->cluster()->handle(), pool, &io) < 0) return 0;
  std::uint64_t stripe = 0;
  const int rc = library().rados_ioctx_pool_required_alignment2(io, &stripe);
  library().rados_ioctx_destroy(io);
  return rc < 0 || stripe > std::numeric_limits<std::uint32_t>::max()
             ? 0
             : static_cast<std::uint32_t>(stripe);
}

// The last writer may have grown it until it gave up its lock.
Status RbdDevice::learn_geometry() {
  RbdImageInfo info = {};
  if (const int rc = library().rbd_stat(image_, &info, sizeof info); rc < 0) {
    return rbd_error(-rc, name_ + ": its size");
  }
  geometry_.size = info.size / kBlock * kBlock;
  geometry_.logical_block = kBlock;
  geometry_.physical_block = kBlock;
  geometry_.volatile_cache = false;
  geometry_.redundant = true;
  geometry_.piece = info.object_size;
  geometry_.whole_write = stripe_of_data();
  return {};
}

Result<std::unique_ptr<RbdDevice>> RbdDevice::create(const std::string& path, std::uint64_t size,
                                                     IoQueue& queue, RbdClusters& clusters) {
  if (size == 0 || !is_multiple(size, kBlock) || size > std::uint64_t{LLONG_MAX}) {
    return Error{ErrorCode::kInvalidArgument,
                 path + ": a device of " + std::to_string(size) + " bytes cannot be made",
                 "Choose a positive multiple of 4 KiB."};
  }
  HEXAD_TRY_ASSIGN(const RbdAddress address, RbdAddress::parse(path));
  if (!address.snapshot.empty()) {
    return Error{ErrorCode::kInvalidArgument, path + ": a snapshot cannot be created",
                 "Name the image without @."};
  }
  const Result<std::shared_ptr<RbdPool>> found = pool_of(address, clusters);
  if (!found.ok()) return found.error().with_context(path);
  const std::shared_ptr<RbdPool>& pool = *found;
  // One that comes when nobody waits for it any more is removed by whoever learns last that it is
  // there.
  const auto settled = std::make_shared<std::atomic<bool>>(false);
  const Status created =
      ask_rbd<Status>(pool->cluster(), path + ": cannot be created", kRbdPatience, [=]() -> Status {
        Status made = create_image(*pool, address, size, path);
        if (made.ok() && settled->exchange(true)) remove_image(*pool, address, path).ignore();
        return made;
      });
  const bool is_new = created.ok();
  if (!is_new && created.error().code != ErrorCode::kAlreadyExists) {
    if (created.error().code == ErrorCode::kUnavailable && settled->exchange(true)) {
      remove(path, clusters).ignore();
    }
    return created.error();
  }
  auto device = open_in(path, address, OpenMode::kReadWrite, queue, pool);
  if (!device.ok()) {
    Error error = device.error();
    if (is_new) {
      const Status removed = remove(path, clusters);
      if (!removed.ok()) error.message += "; the new image stays: " + removed.error().message;
    }
    return error;
  }
  if ((*device)->geometry_.size < size) HEXAD_TRY((*device)->grow(size));
  return device;
}

Status RbdDevice::remove(const std::string& path, RbdClusters& clusters) {
  HEXAD_TRY_ASSIGN(const RbdAddress address, RbdAddress::parse(path));
  HEXAD_TRY_ASSIGN(const auto pool, pool_of(address, clusters));
  return ask_rbd<Status>(pool->cluster(), path + ": cannot be removed", kRbdLongPatience,
                         [=] { return remove_image(*pool, address, path); });
}

RbdDevice::RbdDevice(std::string path, OpenMode mode, IoQueue& queue, std::shared_ptr<RbdPool> pool)
    : name_(std::move(path)), mode_(mode), queue_(queue), pool_(std::move(pool)) {}

RbdDevice::~RbdDevice() { release(); }

void RbdDevice::release() {
  // A child has none of librbd's threads; image and lock are its parent's.
  if (image_ == nullptr || process_.in_child()) return;
  RbdWriters& writers = pool_->cluster()->writers();
  const std::optional<RbdWriters::Watch> watch = writers.remove(*this);
  {
    OsLock lock(mutex_);
    none_started_.wait(lock, [&]() HEXAD_REQUIRES(mutex_) { return started_ == 0; });
  }
  image_ = nullptr;
  // The pool stays open for it, should it be late. By a pointer, so that the last who has the image
  // is the other thread, or a snapshot that is late.
  const auto opened = std::make_shared<std::shared_ptr<void>>(std::move(opened_));
  close_rbd(pool_->cluster(), [pool = pool_, watch, opened] {
    opened->reset();
    if (watch.has_value()) pool->cluster()->writers().end(pool->handle(), *watch);
  });
}

Status RbdDevice::open_image(const RbdAddress& address) {
  const char* const image = address.image.c_str();
  const char* const snapshot = address.snapshot.empty() ? nullptr : address.snapshot.c_str();
  const int rc = mode_ == OpenMode::kReadWrite
                     ? library().rbd_open(pool_->handle(), image, &image_, nullptr)
                     : library().rbd_open_read_only(pool_->handle(), image, &image_, snapshot);
  if (rc != 0) {
    image_ = nullptr;
    return rbd_error(-rc, "cannot open " + name_);
  }
  opened_ = std::shared_ptr<void>(image_, [pool = pool_, mine = process_](RbdLibrary::Handle of) {
    // In a child of fork() it is its parent's, and so is the lock.
    if (!mine.in_child()) static_cast<void>(pool->cluster()->library().rbd_close(of));
  });
  return {};
}

Status RbdDevice::lock(const RbdAddress& address) {
  std::uint64_t features = 0;
  if (const int rc = library().rbd_get_features(image_, &features); rc < 0) {
    return rbd_error(-rc, name_ + ": its features");
  }
  if ((features & kRbdFeatureExclusiveLock) == 0) {
    return Error{ErrorCode::kUnsupported,
                 name_ + ": the image has no exclusive lock, which keeps a second writer away",
                 "rbd feature enable " + image_name(address) + " exclusive-lock"};
  }
  const std::uint64_t self = library().rados_get_instance_id(pool_->cluster()->handle());
  const int rc = library().rbd_lock_acquire(image_, kRbdLockExclusive);
  if (rc == 0) {
    leave_locker(library(), image_, self);
    return {};
  }
  if (rc != -EROFS && rc != -EBUSY && rc != -EAGAIN) {
    return rbd_error(-rc, name_ + ": cannot lock");
  }
  HEXAD_TRY_ASSIGN(const RbdLockers lockers, find_lockers(library(), image_, self, name_));
  return Error{ErrorCode::kBusy,
               name_ + " is open for writing by the client at " + lockers.to_string(),
               "Close the store there first."};
}

Status RbdDevice::check_writers(const RbdAddress& address) const {
  HEXAD_TRY_ASSIGN(const RbdLockers lockers, find_lockers(library(), image_, 0, name_));
  for (const std::string& owner : lockers.owners) {
    // What a client has that is gone is free.
    if (!lockers.is_alive(owner)) continue;
    return Error{ErrorCode::kBusy,
                 name_ + " is open for writing by the client at " + lockers.to_string(),
                 "Close the store there first, or read a snapshot of all its images, which is made "
                 "meanwhile, too: hexad snapshot-group create POOL NAME; open rbd:" +
                     address.pool + "/GROUP@NAME" + address.keys() + "."};
  }
  return {};
}

Result<std::uint64_t> RbdDevice::image_size() const {
  std::uint64_t size = 0;
  if (const int rc = library().rbd_get_size(image_, &size); rc < 0) {
    return rbd_error(-rc, name_ + ": its size");
  }
  return size;
}

Status RbdDevice::grow(std::uint64_t new_size) {
  if (read_only()) return Error{ErrorCode::kReadOnly, name_ + " is open for reading only", ""};
  if (new_size < geometry_.size || !is_multiple(new_size, kBlock) ||
      new_size > std::uint64_t{LLONG_MAX}) {
    return Error{ErrorCode::kInvalidArgument,
                 name_ + ": cannot grow from " + std::to_string(geometry_.size) + " to " +
                     std::to_string(new_size) + " bytes",
                 "Sizes only grow, in whole blocks of " + format_size(kBlock)};
  }
  const Call call(*this);
  HEXAD_TRY(call.may_begin());
  if (is_fenced()) return fenced_error(name_);
  // The image may be larger by less than a block.
  HEXAD_TRY_ASSIGN(const std::uint64_t now, image_size());
  if (now < new_size) {
    if (const int rc = library().rbd_resize(image_, new_size); rc < 0) {
      return error_of(-rc, name_ + ": cannot grow");
    }
  }
  geometry_.size = new_size;
  return {};
}

// Of what has failed; RD1 from then on.
Error RbdDevice::error_of(int number, const std::string& subject) {
  if (read_only() || !is_loss_of_lock(number)) return rbd_error(number, subject);
  note_fenced();
  return fenced_error(subject);
}

void RbdDevice::start(std::span<const IoRequest> row, Answer answer) {
  auto started = std::make_unique<Started>(*this, row, std::move(answer));
  const IoRequest& request = started->request;
  if (is_fenced()) return started->answer(fenced_error(subject_of(request)));
  if (read_only() && request.op == IoOp::kFlush) return started->answer(Status());
  {
    const OsLock lock(mutex_);
    ++started_;  // this call
    if (started->writes() && paused_) {
      kept_.push_back(std::move(started));
      return;
    }
    if (started->writes()) ++writing_;
  }
  begin(std::move(started));
}

// In a call that is counted, of a write that is.
void RbdDevice::begin(std::unique_ptr<Started> started) {
  RbdLibrary::Handle completion = nullptr;
  int rc = is_fenced() ? -ESHUTDOWN
                       : library().rbd_aio_create_completion(started.get(), &RbdDevice::answered,
                                                             &completion);
  if (rc >= 0) {
    {
      const OsLock lock(mutex_);
      ++started_;  // the answer's call
    }
    rc = ask(*started, completion);
    if (rc >= 0) {
      static_cast<void>(started.release());  // answered() has it, or had
      return call_is_over();
    }
    library().rbd_aio_release(completion);
    call_is_over();
  }
  write_is_over(*started);
  started->answer(outcome(*started, rc));
  call_is_over();
}

void RbdDevice::write_is_over(const Started& started) {
  if (!started.writes()) return;
  const OsLock lock(mutex_);
  if (--writing_ == 0) none_writes_.notify_all();
}

void RbdDevice::pause() {
  const OsLock lock(mutex_);
  paused_ = true;
}

Status RbdDevice::drain(std::chrono::steady_clock::time_point until) {
  OsLock lock(mutex_);
  if (none_writes_.wait_until(lock, until, [&]() HEXAD_REQUIRES(mutex_) { return writing_ == 0; }))
    return {};
  return Error{ErrorCode::kUnavailable,
               name_ + ": " + std::to_string(writing_) + " writes have not been answered for " +
                   std::to_string(kDrainPatience) + " s",
               "Check the cluster: ceph -s."};
}

void RbdDevice::go_on() {
  std::vector<std::unique_ptr<Started>> kept;
  {
    const OsLock lock(mutex_);
    paused_ = false;
    kept.swap(kept_);
    writing_ += kept.size();
  }
  for (std::unique_ptr<Started>& started : kept) begin(std::move(started));
}

// One that comes when nobody waits for it any more is none of that moment: it is removed by
// whoever learns last that it is there.
Status RbdDevice::take_snapshot(const std::string& name) {
  if (is_fenced()) return fenced_error(name_);
  const std::string what = name_ + ": cannot take the snapshot " + name;
  const auto settled = std::make_shared<std::atomic<bool>>(false);
  const auto rc = ask_rbd<Result<int>>(
      pool_->cluster(), what, std::chrono::seconds(kSnapshotPatience),
      [pool = pool_, image = opened_, name, settled]() -> Result<int> {
        const RbdLibrary& library = pool->cluster()->library();
        const int created = library.rbd_snap_create(image.get(), name.c_str());
        const bool late = settled->exchange(true);
        if (created == 0 && late) {
          static_cast<void>(library.rbd_snap_remove(image.get(), name.c_str()));
        }
        return created;
      });
  if (!rc.ok()) {
    if (settled->exchange(true)) drop_snapshot(name);
    return rc.error();
  }
  if (*rc == 0) return {};
  // EROFS may be of the snapshot alone.
  return *rc == -ESHUTDOWN ? error_of(ESHUTDOWN, what) : rbd_error(-*rc, what);
}

void RbdDevice::drop_snapshot(const std::string& name) {
  wait_for_rbd(
      pool_->cluster(), name_ + ": cannot remove the snapshot " + name,
      std::chrono::seconds(kSnapshotPatience),
      [pool = pool_, image = opened_, name] {
        static_cast<void>(pool->cluster()->library().rbd_snap_remove(image.get(), name.c_str()));
      })
      .ignore();  // snapshot-group ls shows that it is not of all images
}

// RD2
void RbdDevice::call_is_over() {
  const OsLock lock(mutex_);
  if (--started_ == 0) none_started_.notify_all();
}

int RbdDevice::ask(const Started& started, RbdLibrary::Handle completion) const {
  const IoRequest& request = started.request;
  if (!started.pieces.empty()) {
    return library().rbd_aio_writev(image_, started.pieces.data(),
                                    static_cast<int>(started.pieces.size()), request.offset,
                                    completion);
  }
  char* const bytes = reinterpret_cast<char*>(request.data);
  switch (request.op) {
    case IoOp::kRead:
      return library().rbd_aio_read(image_, request.offset, request.length, bytes, completion);
    case IoOp::kWrite:
      return library().rbd_aio_write(image_, request.offset, request.length, bytes, completion);
    case IoOp::kFlush:
      return library().rbd_aio_flush(image_, completion);
    case IoOp::kDiscard:
      return library().rbd_aio_discard(image_, request.offset, request.length, completion);
  }
  return -EINVAL;
}

void RbdDevice::answered(RbdLibrary::Handle completion, void* argument) {
  const std::unique_ptr<Started> started(static_cast<Started*>(argument));
  RbdDevice& device = started->device;
  const ssize_t result = device.library().rbd_aio_get_return_value(completion);
  device.library().rbd_aio_release(completion);
  device.write_is_over(*started);
  started->answer(device.outcome(*started, result));
  device.call_is_over();
}

Status RbdDevice::outcome(const Started& started, ssize_t result) {
  const IoRequest& request = started.request;
  if (result < 0) return error_of(static_cast<int>(-result), subject_of(request));
  if (is_fenced()) return fenced_error(subject_of(request));
  const auto moved = static_cast<std::uint64_t>(result);
  if (request.op == IoOp::kRead && moved != request.length) {
    return Error{ErrorCode::kIo,
                 subject_of(request) + ": only " + format_size(moved) + " are there",
                 "The image has become shorter since it was opened."};
  }
  return {};
}

}  // namespace hexad::io
