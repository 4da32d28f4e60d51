// Loaded into the program before libc (LD_PRELOAD): counts its calls that touch local files, ends
// it at one of them as a power failure of its own would, and changes a file while it is read.
//
//   HEXAD_FAULT_KILL_AT=N       SIGKILL instead of the N-th counted call
//   HEXAD_FAULT_COUNT=PATH      writes how many there were there, at the end
//   HEXAD_FAULT_CHANGE=PATH     this file is changed behind each of its first reads,
//   HEXAD_FAULT_CHANGES=N       N of them
//   HEXAD_FAULT_FOLD=1          names are looked up without regard to case, in ASCII, as some file
//                               systems do: what is there keeps its spelling
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <string>

namespace {

std::atomic<long> g_calls{0};
std::atomic<long> g_changes{0};

long number(const char* name) {
  const char* const text = getenv(name);
  return text == nullptr ? 0 : atol(text);
}

void count() {
  static const long kill_at = number("HEXAD_FAULT_KILL_AT");
  if (++g_calls == kill_at) kill(getpid(), SIGKILL);
}

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

// The byte that is there already, written again: only the times tell.
void change_if_read(int fd) {
  static const char* const path = getenv("HEXAD_FAULT_CHANGE");
  static const long most = number("HEXAD_FAULT_CHANGES");
  if (path == nullptr || g_changes >= most) return;
  struct stat read_from = {};
  struct stat changed = {};
  if (fstat(fd, &read_from) != 0 || stat(path, &changed) != 0) return;
  if (read_from.st_dev != changed.st_dev || read_from.st_ino != changed.st_ino) return;
  const int writable = open(path, O_WRONLY);
  static const auto really_pwrite = next<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite");
  const char byte = static_cast<char>('0' + ++g_changes);
  if (really_pwrite(writable, &byte, 1, changed.st_size - 1) != 1) abort();
  close(writable);
}

int really_openat(int directory, const char* path, int flags, mode_t mode) {
  static const auto really = next<int (*)(int, const char*, int, ...)>("openat");
  return really(directory, path, flags, mode);
}

// The name that the folding file system finds for this one.
std::string folded(int directory, const char* path) {
  static const bool fold = number("HEXAD_FAULT_FOLD") != 0;
  if (!fold || directory < 0 || strchr(path, '/') != nullptr) return path;
  const int own = really_openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  DIR* const stream = own < 0 ? nullptr : fdopendir(own);
  if (stream == nullptr) return path;
  std::string found = path;
  while (const dirent* entry = readdir(stream)) {
    if (strcasecmp(entry->d_name, path) == 0) found = entry->d_name;
  }
  closedir(stream);
  return found;
}

struct Report {
  ~Report() {
    const char* const path = getenv("HEXAD_FAULT_COUNT");
    FILE* const file = path == nullptr ? nullptr : fopen(path, "w");
    if (file == nullptr) return;
    fprintf(file, "%ld\n", g_calls.load());
    fclose(file);
  }
} g_report;

}  // namespace

extern "C" {

int openat(int directory, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  count();
  return really_openat(directory, folded(directory, path).c_str(), flags, mode);
}

int fstatat(int directory, const char* path, struct stat* into, int flags) {
  static const auto really = next<int (*)(int, const char*, struct stat*, int)>("fstatat");
  return really(directory, folded(directory, path).c_str(), into, flags);
}

int mkdirat(int directory, const char* path, mode_t mode) {
  static const auto really = next<int (*)(int, const char*, mode_t)>("mkdirat");
  return really(directory, folded(directory, path).c_str(), mode);
}

int unlinkat(int directory, const char* path, int flags) {
  static const auto really = next<int (*)(int, const char*, int)>("unlinkat");
  return really(directory, folded(directory, path).c_str(), flags);
}

ssize_t pread(int fd, void* into, size_t size, off_t offset) {
  static const auto really = next<ssize_t (*)(int, void*, size_t, off_t)>("pread");
  count();
  const ssize_t done = really(fd, into, size, offset);
  change_if_read(fd);
  return done;
}

ssize_t write(int fd, const void* from, size_t size) {
  static const auto really = next<ssize_t (*)(int, const void*, size_t)>("write");
  count();
  return really(fd, from, size);
}

int renameat(int from_directory, const char* from, int to_directory, const char* to) {
  static const auto really = next<int (*)(int, const char*, int, const char*)>("renameat");
  count();
  return really(from_directory, from, to_directory, folded(to_directory, to).c_str());
}

int linkat(int from_directory, const char* from, int to_directory, const char* to, int flags) {
  static const auto really = next<int (*)(int, const char*, int, const char*, int)>("linkat");
  count();
  return really(from_directory, from, to_directory, folded(to_directory, to).c_str(), flags);
}

int symlinkat(const char* target, int directory, const char* path) {
  static const auto really = next<int (*)(const char*, int, const char*)>("symlinkat");
  count();
  return really(target, directory, folded(directory, path).c_str());
}

int fchmod(int fd, mode_t mode) {
  static const auto really = next<int (*)(int, mode_t)>("fchmod");
  count();
  return really(fd, mode);
}

int ftruncate(int fd, off_t size) {
  static const auto really = next<int (*)(int, off_t)>("ftruncate");
  count();
  return really(fd, size);
}

int futimens(int fd, const timespec times[2]) {
  static const auto really = next<int (*)(int, const timespec*)>("futimens");
  count();
  return really(fd, times);
}

}  // extern "C"
