// A file system of a test's own, in memory, gone with it.
#pragma once

#include <sys/mount.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "tests/io/temporary.h"

namespace hexad::io::testing {

class Mount {
 public:
  // `type`: "tmpfs" or "ramfs"; `options`: as for mount(8).
  Mount(const TemporaryDirectory& directory, const char* type, const char* options)
      : path_(directory.path("mount")) {
    std::filesystem::create_directory(path_);
    mounted_ = ::mount(type, path_.c_str(), type, 0, options) == 0;
    if (!mounted_) WARN("SKIPPED: mounting a " << type << " needs root");
  }
  ~Mount() {
    if (mounted_) unmount();
  }
  Mount(const Mount&) = delete;
  Mount& operator=(const Mount&) = delete;

  bool mounted() const { return mounted_; }
  std::string path(const std::string& name) const { return path_ + "/" + name; }
  // Whether that worked, as for unmount().
  bool make_read_only(const char* options) {
    return ::mount("none", path_.c_str(), "none", MS_REMOUNT | MS_RDONLY, options) == 0;
  }
  // Works when nobody has a file on it open.
  bool unmount() {
    mounted_ = ::umount(path_.c_str()) != 0;
    return !mounted_;
  }

 private:
  std::string path_;
  bool mounted_;
};

}  // namespace hexad::io::testing
