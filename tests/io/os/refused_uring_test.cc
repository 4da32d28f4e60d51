// A program in which the kernel refuses io_uring, as containers commonly make it do. A program of
// its own, because the refusal cannot be taken back.

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstddef>

#include "base/units.h"
#include "io/os/uring_queue.h"
#include "io/system.h"
#include "tests/io/device_contract.h"
#include "tests/io/temporary.h"

using namespace hexad;
using namespace hexad::io;

namespace {

bool refuse_uring(unsigned number) {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | number),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{4, program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

}  // namespace

TEST_CASE("real_system: where io_uring is refused, threads serve, and asking for it says so") {
  if (!refuse_uring(EPERM)) {
    WARN("SKIPPED: this kernel has no seccomp filters");
    return;
  }
  REQUIRE(make_uring_queue().error().code == ErrorCode::kUnsupported);
  const auto refused = make_real_system(QueueKind::kUring);
  REQUIRE(refused.error().code == ErrorCode::kUnsupported);
  REQUIRE_FALSE(refused.error().hint.empty());
  const auto system = make_real_system(QueueKind::kAuto).value();
  REQUIRE(system->queue().name() == "threads");
  const io::testing::TemporaryDirectory directory;
  const auto device = system->create_device(directory.path("device"), 1_MiB).value();
  const AlignedBuffer data = io::testing::pattern(1, 4096);
  REQUIRE(device->write(0, data, WriteMode::kDurable).ok());
}
