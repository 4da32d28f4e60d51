// Another process that holds the lock of a file.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

namespace hexad::io::testing {

class LockingProcess {
 public:
  // Returns when the lock is held, and fails the test when it cannot be.
  explicit LockingProcess(const std::string& path) {
    int ready[2];
    int go[2];
    REQUIRE(::pipe(ready) == 0);
    REQUIRE(::pipe(go) == 0);
    id_ = ::fork();
    if (id_ == 0) {
      ::close(go[1]);  // so that it ends with this process at the latest
      const int fd = ::open(path.c_str(), O_RDWR);
      char byte = ::flock(fd, LOCK_EX) == 0 ? 'y' : 'n';
      ::_exit(::write(ready[1], &byte, 1) == 1 && ::read(go[0], &byte, 1) == 1 ? 0 : 1);
    }
    go_ = go[1];
    char byte = 0;
    REQUIRE(::read(ready[0], &byte, 1) == 1);
    REQUIRE(byte == 'y');
  }
  LockingProcess(const LockingProcess&) = delete;
  LockingProcess& operator=(const LockingProcess&) = delete;

  pid_t id() const { return id_; }
  // Once: lets go of the lock and ends.
  void end() {
    REQUIRE(::write(go_, "g", 1) == 1);
    int status = 0;
    REQUIRE(::waitpid(id_, &status, 0) == id_);
    REQUIRE(status == 0);
  }

 private:
  pid_t id_ = 0;
  int go_ = -1;  // writing a byte here ends it
};

}  // namespace hexad::io::testing
