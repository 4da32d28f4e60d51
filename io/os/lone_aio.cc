#include "io/os/lone_aio.h"

#include <linux/aio_abi.h>
#include <linux/fs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
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

Result<std::unique_ptr<LoneAio>> LoneAio::make() {
  aio_context_t context = 0;
  if (syscall(SYS_io_setup, 1, &context) != 0) {
    return Error{ErrorCode::kUnsupported,
                 std::string("asynchronous I/O is not available: ") + std::strerror(errno), ""};
  }
  return std::unique_ptr<LoneAio>(new LoneAio(context));
}

LoneAio::~LoneAio() {
  HEXAD_ASSERT(!late_);
  syscall(SYS_io_destroy, context_);
}

LoneAio::Answer LoneAio::read(int fd, MutByteView into, std::uint64_t offset, Nanos limit) {
  HEXAD_ASSERT(!late_);
  iocb request{};
  request.aio_lio_opcode = IOCB_CMD_PREAD;
  request.aio_fildes = static_cast<std::uint32_t>(fd);
  request.aio_buf = reinterpret_cast<std::uint64_t>(into.data());
  request.aio_nbytes = into.size();
  request.aio_offset = static_cast<std::int64_t>(offset);
  // Else this thread would wait for room in the device's queue.
  request.aio_rw_flags = RWF_NOWAIT;
  iocb* requests[] = {&request};
  if (syscall(SYS_io_submit, context_, 1, requests) != 1) return {Outcome::kNotSent};
  late_ = true;
  const Answer answer = wait(std::max<Nanos>(limit, 0));
  const bool would_wait = answer.outcome == Outcome::kAnswered && answer.result == -EAGAIN;
  return would_wait ? Answer{Outcome::kNotSent} : answer;
}

std::int64_t LoneAio::take() {
  HEXAD_ASSERT(late_);
  return wait(-1).result;
}

LoneAio::Answer LoneAio::wait(Nanos limit) {
  const Nanos end = limit > 0 ? steady_now() + limit : 0;
  for (Nanos left = limit;;) {
    io_event event{};
    timespec time{left / kSecond, left % kSecond};
    const long rc = syscall(SYS_io_getevents, context_, 1, 1, &event, limit < 0 ? nullptr : &time);
    if (rc == 1) {
      late_ = false;
      return {Outcome::kAnswered, event.res};
    }
    HEXAD_ASSERT(rc == 0 || errno == EINTR);
    if (limit < 0) continue;
    left = limit > 0 ? end - steady_now() : 0;
    if (left <= 0) return {Outcome::kLate};
  }
}

LoneAio* LoneAios::take() {
  const OsLock lock(mutex_);
  if (free_.empty()) {
    if (refused_ || all_.size() == most_) return nullptr;
    Result<std::unique_ptr<LoneAio>> made = LoneAio::make();
    if (!made.ok()) {
      refused_ = true;
      return nullptr;
    }
    all_.push_back(std::move(made).value());
    return all_.back().get();
  }
  LoneAio* const one = free_.back();
  free_.pop_back();
  return one;
}

void LoneAios::release(LoneAio* one) {
  const OsLock lock(mutex_);
  free_.push_back(one);
}

}  // namespace hexad::io
