// Images of the cluster that the part `ceph` has started (tools/test_parts/85-ceph), removed again.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/assert.h"
#include "io/system.h"

namespace hexad::io::testing {

inline std::string ceph_conf() {
  const char* const conf = std::getenv("HEXAD_CEPH_CONF");
  HEXAD_ASSERT(conf != nullptr);  // ./run test ceph sets it
  return conf;
}

class CephImages {
 public:
  // In the pool; `more`: keys of the address, as "&data_pool=data".
  explicit CephImages(std::string pool = "log", std::string more = "")
      : pool_(std::move(pool)), more_(std::move(more)) {}
  ~CephImages() {
    for (const std::string& address : used_) system_->remove_created(address).ignore();
  }
  CephImages(const CephImages&) = delete;
  CephImages& operator=(const CephImages&) = delete;

  // "a" as the address of an image of this test's own.
  std::string address(const std::string& name) {
    const std::string address = "rbd:" + image(name) + "?conf=" + ceph_conf() + more_;
    used_.push_back(address);
    return address;
  }
  // The same for Ceph's own programs.
  std::string image(const std::string& name) const {
    return pool_ + "/" + name + "-" + std::to_string(getpid());
  }

 private:
  const std::string pool_;
  const std::string more_;
  std::vector<std::string> used_;
  std::unique_ptr<System> system_ = make_real_system(QueueKind::kThreads).value();
};

}  // namespace hexad::io::testing
