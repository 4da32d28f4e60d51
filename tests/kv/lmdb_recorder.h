// Records what a test program writes to one file, by standing in front of the C library's write
// calls: a program that links this library calls our pwrite, write, writev, pwritev, fdatasync,
// fsync, ftruncate and fallocate, and so does LMDB inside it. Calls on other files pass through.
//
// From the record a test builds the file as any crash could have left it. The record is complete
// when replaying all of it gives the file byte for byte; the test of this library shows that.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace hexad::kv::testing {

// A write call is one event per page of 4 KiB that it touches.
struct FileEvent {
  enum class Kind { kWrite, kSync, kResize };
  Kind kind = Kind::kWrite;
  std::uint64_t offset = 0;  // of a write
  std::string bytes;         // of a write
  std::uint64_t size = 0;    // of a resize: the new size
  bool grow_only = false;    // of a resize: fallocate
  bool durable = false;      // of a write: through an O_DSYNC or O_SYNC descriptor
};

// Every event on the file at `path` goes to `sink`, after it has happened; any thread, one at a
// time. One recording at once.
void start_recording(const std::string& path, std::function<void(FileEvent)> sink);
void stop_recording();

void replay(std::string& image, const FileEvent& event);

// The indexes of the events before `cut` that no later sync before `cut` covers and that are not
// durable by themselves: a crash after `cut` events keeps any subset of them.
std::vector<std::size_t> unsynced(const std::vector<FileEvent>& events, std::size_t cut);

// The file after a crash: all durable events before `cut`, and those unsynced ones for which
// keep[i] is set (as many as unsynced() names), in order.
std::string crash_image(const std::vector<FileEvent>& events, std::size_t cut,
                        const std::vector<bool>& keep);

}  // namespace hexad::kv::testing
