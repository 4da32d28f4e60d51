// Loaded into Python before libc (LD_PRELOAD): while the file $HEXAD_SILENCE is there, no request
// to a local file is answered, nor sent. The first one that waits makes the file
// $HEXAD_SILENCE.met. Requests go through threads: the process is refused its ring.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <string>

namespace {

const std::string* silence = nullptr;

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

void refuse_rings() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 38),  // ENOSYS
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    perror("silence: rings cannot be refused");
    abort();
  }
}

void wait_while_silent() {
  if (silence == nullptr || access(silence->c_str(), F_OK) != 0) return;
  close(open((*silence + ".met").c_str(), O_CREAT | O_WRONLY, 0600));
  while (access(silence->c_str(), F_OK) == 0) usleep(1000);
}

struct Process {
  Process() {
    if (const char* const path = getenv("HEXAD_SILENCE")) silence = new std::string(path);
    refuse_rings();
  }
} process;

}  // namespace

extern "C" {

ssize_t preadv2(int fd, const iovec* parts, int count, off_t offset, int flags) {
  static const auto really = next<ssize_t (*)(int, const iovec*, int, off_t, int)>("preadv2");
  wait_while_silent();
  return really(fd, parts, count, offset, flags);
}

ssize_t pwritev2(int fd, const iovec* parts, int count, off_t offset, int flags) {
  static const auto really = next<ssize_t (*)(int, const iovec*, int, off_t, int)>("pwritev2");
  wait_while_silent();
  return really(fd, parts, count, offset, flags);
}

int fdatasync(int fd) {
  static const auto really = next<int (*)(int)>("fdatasync");
  wait_while_silent();
  return really(fd);
}

}  // extern "C"
