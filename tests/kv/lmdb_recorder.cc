#include "tests/kv/lmdb_recorder.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <mutex>

#include "base/assert.h"

namespace hexad::kv::testing {
namespace {

std::atomic<bool> recording{false};
std::mutex mutex;  // held over a call and its record, so that the order of both is one
std::string recorded_path;
std::function<void(FileEvent)> recorded_sink;

bool is_recorded(int fd) {
  if (!recording.load(std::memory_order_relaxed)) return false;
  char target[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t length = ::readlink(link.c_str(), target, sizeof(target));
  return length > 0 && recorded_path == std::string(target, static_cast<std::size_t>(length));
}

void note(FileEvent event) {
  if (recorded_sink) recorded_sink(std::move(event));
}

// A crash may keep any pages of one call, so each page is an event.
void note_write(int fd, std::uint64_t offset, std::string_view bytes) {
  constexpr std::uint64_t kPage = 4096;
  while (!bytes.empty()) {
    const std::size_t length = std::min<std::size_t>(bytes.size(), kPage - offset % kPage);
    FileEvent event;
    event.offset = offset;
    event.bytes = std::string(bytes.substr(0, length));
    event.durable = (::fcntl(fd, F_GETFL) & O_DSYNC) != 0;
    note(std::move(event));
    offset += length;
    bytes.remove_prefix(length);
  }
}

std::string gather(const iovec* parts, int count, ssize_t written) {
  std::string bytes;
  for (int i = 0; i < count; ++i) {
    bytes.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
  }
  bytes.resize(static_cast<std::size_t>(written));
  return bytes;
}

}  // namespace

void start_recording(const std::string& path, std::function<void(FileEvent)> sink) {
  const std::lock_guard<std::mutex> lock(mutex);
  HEXAD_ASSERT(!recording);
  // The descriptors' links say where the file really is.
  char* const real = ::realpath(path.substr(0, path.rfind('/')).c_str(), nullptr);
  HEXAD_ASSERT(real != nullptr);
  recorded_path = real + path.substr(path.rfind('/'));
  ::free(real);
  recorded_sink = std::move(sink);
  recording = true;
}

void stop_recording() {
  const std::lock_guard<std::mutex> lock(mutex);
  recording = false;
  recorded_sink = nullptr;
}

void replay(std::string& image, const FileEvent& event) {
  switch (event.kind) {
    case FileEvent::Kind::kWrite:
      image.resize(std::max<std::size_t>(image.size(), event.offset + event.bytes.size()));
      image.replace(event.offset, event.bytes.size(), event.bytes);
      break;
    case FileEvent::Kind::kResize:
      if (!event.grow_only || event.size > image.size()) image.resize(event.size);
      break;
    case FileEvent::Kind::kSync:
      break;
  }
}

std::vector<std::size_t> unsynced(const std::vector<FileEvent>& events, std::size_t cut) {
  std::size_t synced = cut;
  while (synced > 0 && events[synced - 1].kind != FileEvent::Kind::kSync) --synced;
  std::vector<std::size_t> found;
  for (std::size_t i = synced; i < cut; ++i) {
    if (!events[i].durable) found.push_back(i);
  }
  return found;
}

std::string crash_image(const std::vector<FileEvent>& events, std::size_t cut,
                        const std::vector<bool>& keep) {
  const std::vector<std::size_t> open = unsynced(events, cut);
  HEXAD_ASSERT(open.size() == keep.size());
  std::string image;
  std::size_t next = 0;
  for (std::size_t i = 0; i < cut; ++i) {
    if (next < open.size() && open[next] == i && !keep[next++]) continue;
    replay(image, events[i]);
  }
  return image;
}

}  // namespace hexad::kv::testing

// --- what stands in front of the C library -------------------------------------------------------

using hexad::kv::testing::FileEvent;
namespace recorder = hexad::kv::testing;

namespace {

// Runs a call, and if it did something to the recorded file, says what.
template <typename Call, typename Note>
auto recorded(int fd, Call call, Note note_it) {
  if (!recorder::recording.load(std::memory_order_relaxed)) return call();
  const std::lock_guard<std::mutex> lock(recorder::mutex);
  const bool ours = recorder::is_recorded(fd);
  const auto result = call();
  if (ours && result >= 0) {
    const int saved = errno;
    note_it(result);
    errno = saved;
  }
  return result;
}

std::uint64_t position_of(int fd) {
  return static_cast<std::uint64_t>(::syscall(SYS_lseek, fd, 0, SEEK_CUR));
}

template <typename Call>
int recorded_sync(int fd, Call call) {
  return recorded(fd, call, [](int) {
    FileEvent event;
    event.kind = FileEvent::Kind::kSync;
    recorder::note(std::move(event));
  });
}

void note_resize(std::uint64_t size, bool grow_only) {
  FileEvent event;
  event.kind = FileEvent::Kind::kResize;
  event.size = size;
  event.grow_only = grow_only;
  recorder::note(std::move(event));
}

}  // namespace

extern "C" {

ssize_t pwrite(int fd, const void* data, size_t size, off_t offset) {
  return recorded(
      fd, [&] { return static_cast<ssize_t>(::syscall(SYS_pwrite64, fd, data, size, offset)); },
      [&](ssize_t done) {
        recorder::note_write(fd, static_cast<std::uint64_t>(offset),
                             std::string(static_cast<const char*>(data), done));
      });
}

ssize_t write(int fd, const void* data, size_t size) {
  return recorded(
      fd, [&] { return static_cast<ssize_t>(::syscall(SYS_write, fd, data, size)); },
      [&](ssize_t done) {
        recorder::note_write(fd, position_of(fd) - static_cast<std::uint64_t>(done),
                             std::string(static_cast<const char*>(data), done));
      });
}

ssize_t writev(int fd, const iovec* parts, int count) {
  return recorded(
      fd, [&] { return static_cast<ssize_t>(::syscall(SYS_writev, fd, parts, count)); },
      [&](ssize_t done) {
        recorder::note_write(fd, position_of(fd) - static_cast<std::uint64_t>(done),
                             recorder::gather(parts, count, done));
      });
}

ssize_t pwritev(int fd, const iovec* parts, int count, off_t offset) {
  return recorded(
      fd, [&] { return static_cast<ssize_t>(::syscall(SYS_pwritev, fd, parts, count, offset, 0)); },
      [&](ssize_t done) {
        recorder::note_write(fd, static_cast<std::uint64_t>(offset),
                             recorder::gather(parts, count, done));
      });
}

int fdatasync(int fd) {
  return recorded_sync(fd, [&] { return static_cast<int>(::syscall(SYS_fdatasync, fd)); });
}

int fsync(int fd) {
  return recorded_sync(fd, [&] { return static_cast<int>(::syscall(SYS_fsync, fd)); });
}

int ftruncate(int fd, off_t size) noexcept {
  return recorded(
      fd, [&] { return static_cast<int>(::syscall(SYS_ftruncate, fd, size)); },
      [&](int) { note_resize(static_cast<std::uint64_t>(size), false); });
}

int fallocate(int fd, int mode, off_t offset, off_t length) {
  return recorded(
      fd, [&] { return static_cast<int>(::syscall(SYS_fallocate, fd, mode, offset, length)); },
      [&](int) { note_resize(static_cast<std::uint64_t>(offset + length), true); });
}

}  // extern "C"
