// For tests of what may not be read or written: root may do everything, and is bound by the modes
// of files here.
#pragma once

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>

namespace hexad::io::testing {

// As long as it lives, files let this thread, and those that it starts, do what their modes say.
// Its owner makes and removes files before and after.
class BoundByModes {
 public:
  BoundByModes() {
    REQUIRE(::syscall(SYS_capget, &header_, before_.data()) == 0);
    Sets sets = before_;
    sets[0].effective &= ~((1U << CAP_DAC_OVERRIDE) | (1U << CAP_DAC_READ_SEARCH));
    REQUIRE(::syscall(SYS_capset, &header_, sets.data()) == 0);
  }
  ~BoundByModes() { ::syscall(SYS_capset, &header_, before_.data()); }
  BoundByModes(const BoundByModes&) = delete;
  BoundByModes& operator=(const BoundByModes&) = delete;

 private:
  using Sets = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;

  __user_cap_header_struct header_{_LINUX_CAPABILITY_VERSION_3, 0};  // of this thread
  Sets before_{};
};

}  // namespace hexad::io::testing
