// Loaded into the program before libc (LD_PRELOAD): sends it a signal in the middle of its work,
// which no clock tells but the requests that it has sent to local files.
//
//   HEXAD_SIGNAL=N              the signal's number
//   HEXAD_SIGNAL_AT=N           sent to the thread that makes the N-th counted request, before
//   that;
//                               from then on time stands still, so that nothing ends by patience
//   HEXAD_SIGNAL_SILENT=1       ... and neither that request nor any later one is answered; time
//                               goes on
//   HEXAD_SIGNAL_COUNT=PATH     how many requests there were, and whether the signal was sent, at
//                               the end
//
// Requests go through threads: the program is refused its ring.
#include <dlfcn.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace {

std::atomic<long> g_requests{0};
std::atomic<bool> g_sent{false};
std::atomic<long> g_looks{0};  // at the clock, since then

long number(const char* name) {
  const char* const text = getenv(name);
  return text == nullptr ? 0 : atol(text);
}

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

void refuse_rings() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    perror("preload_signal: rings cannot be refused");
    abort();
  }
}

void count() {
  static const long at = number("HEXAD_SIGNAL_AT");
  static const bool silent = number("HEXAD_SIGNAL_SILENT") != 0;
  const long now = ++g_requests;
  if (now == at) {
    g_sent = true;
    raise(static_cast<int>(number("HEXAD_SIGNAL")));
  }
  while (silent && at > 0 && now >= at) pause();
}

struct Program {
  Program() { refuse_rings(); }
  ~Program() {
    const char* const path = getenv("HEXAD_SIGNAL_COUNT");
    FILE* const file = path == nullptr ? nullptr : fopen(path, "w");
    if (file == nullptr) return;
    fprintf(file, "%ld %d\n", g_requests.load(), g_sent ? 1 : 0);
    fclose(file);
  }
} g_program;

}  // namespace

extern "C" {

ssize_t preadv2(int fd, const iovec* parts, int count_of_parts, off_t offset, int flags) {
  static const auto really = next<ssize_t (*)(int, const iovec*, int, off_t, int)>("preadv2");
  count();
  return really(fd, parts, count_of_parts, offset, flags);
}

ssize_t pwritev2(int fd, const iovec* parts, int count_of_parts, off_t offset, int flags) {
  static const auto really = next<ssize_t (*)(int, const iovec*, int, off_t, int)>("pwritev2");
  count();
  return really(fd, parts, count_of_parts, offset, flags);
}

int fdatasync(int fd) {
  static const auto really = next<int (*)(int)>("fdatasync");
  count();
  return really(fd);
}

ssize_t pread(int fd, void* into, size_t size, off_t offset) {
  static const auto really = next<ssize_t (*)(int, void*, size_t, off_t)>("pread");
  count();
  return really(fd, into, size, offset);
}

ssize_t pwrite(int fd, const void* from, size_t size, off_t offset) {
  static const auto really = next<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite");
  count();
  return really(fd, from, size, offset);
}

ssize_t write(int fd, const void* from, size_t size) {
  static const auto really = next<ssize_t (*)(int, const void*, size_t)>("write");
  if (fd != STDERR_FILENO) count();
  return really(fd, from, size);
}

int clock_gettime(clockid_t clock, timespec* time) {
  static const auto really = next<int (*)(clockid_t, timespec*)>("clock_gettime");
  static timespec stands;
  static std::atomic<int> standing{0};
  static const bool silent = number("HEXAD_SIGNAL_SILENT") != 0;
  if (clock != CLOCK_MONOTONIC || !g_sent || silent) return really(clock, time);
  int expected = 0;
  if (standing.compare_exchange_strong(expected, 1)) {
    really(clock, &stands);
    standing = 2;
  }
  while (standing != 2) {
  }
  // Never twice the same, so that nothing turns in a circle for ever.
  *time = stands;
  time->tv_nsec += ++g_looks;
  if (time->tv_nsec >= 1'000'000'000) {
    time->tv_nsec -= 1'000'000'000;
    ++time->tv_sec;
  }
  return 0;
}

}  // extern "C"
