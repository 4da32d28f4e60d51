#include "io/os/lone_ring.h"

#include <liburing.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

namespace hexad::io {

namespace {

constexpr Nanos kSecond = 1'000'000'000;

Nanos steady_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

struct LoneRing::Ring {
  io_uring ring{};
  bool made = false;
  ~Ring() {
    if (made) io_uring_queue_exit(&ring);
  }
};

LoneRing::LoneRing(std::unique_ptr<Ring> ring) : ring_(std::move(ring)) {}
LoneRing::~LoneRing() { HEXAD_ASSERT(!late_); }
int LoneRing::fd() const { return ring_->ring.ring_fd; }

Result<std::unique_ptr<LoneRing>> LoneRing::make() {
  auto ring = std::make_unique<Ring>();
  const int rc = io_uring_queue_init(1, &ring->ring, 0);
  if (rc < 0) {
    return Error{ErrorCode::kUnsupported,
                 std::string("io_uring is not available: ") + std::strerror(-rc), ""};
  }
  ring->made = true;
  if ((ring->ring.features & IORING_FEAT_EXT_ARG) == 0) {
    return Error{ErrorCode::kUnsupported, "io_uring cannot wait for a limited time here", ""};
  }
  return std::unique_ptr<LoneRing>(new LoneRing(std::move(ring)));
}

LoneRing::Answer LoneRing::read(int fd, MutByteView into, std::uint64_t offset, How how,
                                Nanos limit) {
  HEXAD_ASSERT(!late_);
  io_uring* ring = &ring_->ring;
  io_uring_sqe* sqe = io_uring_get_sqe(ring);
  HEXAD_ASSERT(sqe != nullptr);
  io_uring_prep_read(sqe, fd, into.data(), static_cast<unsigned>(into.size()), offset);
  if (how == How::kMayWait) io_uring_sqe_set_flags(sqe, IOSQE_ASYNC);
  late_ = true;
  const Nanos begin = limit > 0 ? steady_now() : 0;
  for (Nanos left = limit;;) {
    io_uring_cqe* cqe = nullptr;
    const Nanos wait = std::max<Nanos>(left, 0);
    __kernel_timespec time{wait / kSecond, wait % kSecond};
    const int rc = io_uring_submit_and_wait_timeout(ring, &cqe, 1, &time, nullptr);
    if (cqe != nullptr || io_uring_cq_ready(ring) > 0) return take();
    if (io_uring_sq_ready(ring) > 0 && rc != -EINTR) {
      late_ = false;
      return {Outcome::kNotSent};
    }
    // An interrupted call has sent it, or does so now.
    left = limit - (limit > 0 ? steady_now() - begin : 0);
    if (left <= 0 && io_uring_sq_ready(ring) == 0) return {Outcome::kLate};
  }
}

LoneRing::Answer LoneRing::take() {
  HEXAD_ASSERT(late_);
  io_uring_cqe* cqe = nullptr;
  if (io_uring_peek_cqe(&ring_->ring, &cqe) != 0) return {Outcome::kLate};
  const Answer answer{Outcome::kAnswered, cqe->res};
  io_uring_cqe_seen(&ring_->ring, cqe);
  late_ = false;
  return answer;
}

LoneRing* LoneRings::take() {
  const OsLock lock(mutex_);
  if (free_.empty()) {
    if (refused_ || all_.size() == most_) return nullptr;
    Result<std::unique_ptr<LoneRing>> made = LoneRing::make();
    if (!made.ok()) {
      refused_ = true;
      return nullptr;
    }
    all_.push_back(std::move(made).value());
    return all_.back().get();
  }
  LoneRing* ring = free_.back();
  free_.pop_back();
  return ring;
}

void LoneRings::release(LoneRing* ring) {
  HEXAD_ASSERT(!ring->is_late());
  const OsLock lock(mutex_);
  free_.push_back(ring);
}

void LoneRings::discard(LoneRing* ring) {
  const OsLock lock(mutex_);
  std::erase_if(all_, [&](const std::unique_ptr<LoneRing>& one) { return one.get() == ring; });
}

}  // namespace hexad::io
