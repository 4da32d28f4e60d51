// A block device over a file, for as long as the object lives: needs root and loop devices.
#pragma once

#include <fcntl.h>

#include <array>
#include <cstdio>
#include <string>

#include "io/os/file_device.h"
#include "io/os/preallocate.h"
#include "tests/io/temporary.h"

namespace hexad::io::testing {

// What a command prints, without the last line feed; empty when it failed.
inline std::string output_of(const std::string& command) {
  FILE* pipe = popen((command + " 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return "";
  std::string text;
  std::array<char, 256> part{};
  while (std::fgets(part.data(), part.size(), pipe) != nullptr) text += part.data();
  const bool ok = pclose(pipe) == 0;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return ok ? text : "";
}

class LoopDevice {
 public:
  LoopDevice(std::uint64_t size, int sector) {
    const std::string file = directory_.path("file");
    // With room of its own: a write that finds none is an I/O error of the loop device.
    const Fd backing(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!preallocate(backing.get(), file, 0, size).ok()) return;
    path_ = output_of("losetup --find --show --sector-size " + std::to_string(sector) + " " + file);
  }
  ~LoopDevice() {
    if (usable()) output_of("losetup --detach " + path_);
  }
  LoopDevice(const LoopDevice&) = delete;
  LoopDevice& operator=(const LoopDevice&) = delete;
  bool usable() const { return !path_.empty(); }
  const std::string& path() const { return path_; }

 private:
  TemporaryDirectory directory_;
  std::string path_;
};

}  // namespace hexad::io::testing
