// What a test writes to standard output and standard error, as bytes.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "base/assert.h"

namespace hexad::tools::testing {

// From its making to text(), `fd` leads into a file of its own.
class Capture {
 public:
  explicit Capture(int fd) : fd_(fd), saved_(dup(fd)), file_(std::tmpfile()) {
    HEXAD_ASSERT(saved_ >= 0 && file_ != nullptr);
    HEXAD_ASSERT(dup2(fileno(file_), fd_) == fd_);
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  ~Capture() {
    restore();
    std::fclose(file_);
  }

  // What was written so far; from here on `fd` is what it was before.
  std::string text() {
    restore();
    std::rewind(file_);
    std::string found;
    for (int c = std::fgetc(file_); c != EOF; c = std::fgetc(file_)) {
      found.push_back(static_cast<char>(c));
    }
    return found;
  }

 private:
  void restore() {
    if (saved_ < 0) return;
    HEXAD_ASSERT(dup2(saved_, fd_) == fd_);
    close(saved_);
    saved_ = -1;
  }

  int fd_;
  int saved_;  // -1: restored
  std::FILE* file_;
};

}  // namespace hexad::tools::testing
