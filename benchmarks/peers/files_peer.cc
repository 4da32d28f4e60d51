// Plain files: one for each object, and six for each object with parity.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <functional>

#include "base/aligned_buffer.h"
#include "base/units.h"
#include "benchmarks/commit_path/must.h"
#include "benchmarks/peers/peer.h"
#include "ec/codec.h"
#include "ec/profile.h"

namespace hexad::bench {

namespace {

constexpr std::size_t kFolders = 64;

void check(bool ok, const std::string& what) {
  if (!ok) die("files: cannot " + what);
}

// Files by name in folders, each replaced as a whole: written beside its place, renamed over it.
class Files {
 public:
  explicit Files(const std::filesystem::path& directory) {
    for (std::size_t i = 0; i < kFolders; ++i) {
      const std::filesystem::path folder = directory / fmt::format("{:02}", i);
      std::filesystem::create_directories(folder);
      folders_[i] = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      check(folders_[i] >= 0, "open " + folder.string());
    }
  }
  ~Files() {
    for (const int folder : folders_) close(folder);
  }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  // The steps of a durable put, for one file of several to be told apart.
  struct Writing {
    int folder = -1;
    int fd = -1;
    std::string name;
    std::string temporary;
  };
  Writing write(const std::string& name, ByteView data) {
    Writing writing{folder(name), -1, name, fmt::format("{}.new{}", name, ++temporaries_)};
    writing.fd = openat(writing.folder, writing.temporary.c_str(),
                        O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    check(writing.fd >= 0, "create " + writing.temporary);
    check(::write(writing.fd, data.data(), data.size()) == static_cast<ssize_t>(data.size()),
          "write " + writing.temporary);
    return writing;
  }
  static void sync_data(const Writing& writing) {
    check(fsync(writing.fd) == 0, "sync " + writing.temporary);
  }
  static void put_in_place(const Writing& writing) {
    close(writing.fd);
    check(renameat(writing.folder, writing.temporary.c_str(), writing.folder,
                   writing.name.c_str()) == 0,
          "rename " + writing.temporary);
  }
  static void sync_folder(const Writing& writing) {
    check(fsync(writing.folder) == 0, "sync a folder");
  }
  // Of the whole file system.
  void sync_all() const { check(syncfs(folders_[0]) == 0, "sync the file system"); }

  std::size_t read(const std::string& name, MutByteView into) {
    const int fd = openat(folder(name), name.c_str(), O_RDONLY | O_CLOEXEC);
    check(fd >= 0, "open " + name);
    const ssize_t size = ::read(fd, into.data(), into.size());
    check(size >= 0, "read " + name);
    close(fd);
    return static_cast<std::size_t>(size);
  }
  void remove(const std::string& name) {
    check(unlinkat(folder(name), name.c_str(), 0) == 0, "remove " + name);
  }
  void sync_folder_of(const std::string& name) { check(fsync(folder(name)) == 0, "sync a folder"); }

 private:
  int folder(const std::string& name) const { return folders_[folder_of(name, kFolders)]; }

  std::array<int, kFolders> folders_;
  std::atomic<std::uint64_t> temporaries_{0};
};

class FilesPeer final : public Peer {
 public:
  explicit FilesPeer(const PeerPlace& place) : files_(place.directory) {}

  void put(const std::string& name, ByteView data) override {
    const Files::Writing writing = files_.write(name, data);
    Files::sync_data(writing);
    Files::put_in_place(writing);
    Files::sync_folder(writing);
  }
  void remove(const std::string& name) override {
    files_.remove(name);
    files_.sync_folder_of(name);
  }
  Bytes get(const std::string& name) override {
    Bytes data(64_KiB);
    data.resize(files_.read(name, data));
    return data;
  }
  void fill(const std::vector<std::string>& names, ByteView data) override {
    for (const std::string& name : names) Files::put_in_place(files_.write(name, data));
    files_.sync_all();
  }
  void reopen() override {}

 private:
  Files files_;
};

// The shards of an object, each a file below a directory of its own, which stands for a disk.
class CodedFilesPeer final : public Peer {
 public:
  explicit CodedFilesPeer(const PeerPlace& place) : codec_(must(ec::make_codec(ec::Profile()))) {
    for (std::size_t i = 0; i < kShards; ++i) {
      disks_[i] = std::make_unique<Files>(place.directory / fmt::format("disk{}", i));
    }
  }

  void put(const std::string& name, ByteView data) override {
    const std::array<Files::Writing, kShards> writings = write(name, data);
    for (const auto& writing : writings) Files::sync_data(writing);
    for (const auto& writing : writings) Files::put_in_place(writing);
    for (const auto& writing : writings) Files::sync_folder(writing);
  }
  void remove(const std::string& name) override {
    for (const auto& disk : disks_) disk->remove(name);
    for (const auto& disk : disks_) disk->sync_folder_of(name);
  }
  Bytes get(const std::string& name) override {
    Bytes data(64_KiB);
    std::size_t size = 0;
    for (std::size_t i = 0; i < kData; ++i) {
      size += disks_[i]->read(name, MutByteView(data).subspan(size));
    }
    data.resize(size);
    return data;
  }
  void fill(const std::vector<std::string>& names, ByteView data) override {
    for (const std::string& name : names) {
      for (const auto& writing : write(name, data)) Files::put_in_place(writing);
    }
    disks_[0]->sync_all();
  }
  void reopen() override {}

 private:
  static constexpr std::size_t kData = 4;
  static constexpr std::size_t kShards = 6;

  // All are on their way to the disk before the first one is waited for.
  std::array<Files::Writing, kShards> write(const std::string& name, ByteView data) {
    if (data.size() % (kData * 512) != 0) die("coded files: no padding here");
    const std::size_t cell = data.size() / kData;
    AlignedBuffer parity((kShards - kData) * cell);
    std::vector<ByteView> from;
    std::vector<MutByteView> to;
    for (std::size_t i = 0; i < kData; ++i) from.push_back(data.subspan(i * cell, cell));
    for (std::size_t i = kData; i < kShards; ++i) {
      to.push_back(parity.bytes().subspan((i - kData) * cell, cell));
    }
    must(codec_->encode(from, to));
    std::array<Files::Writing, kShards> writings;
    for (std::size_t i = 0; i < kShards; ++i) {
      writings[i] = disks_[i]->write(name, i < kData ? from[i] : ByteView(to[i - kData]));
    }
    return writings;
  }

  const std::unique_ptr<const ec::Codec> codec_;
  std::array<std::unique_ptr<Files>, kShards> disks_;
};

}  // namespace

std::size_t folder_of(const std::string& name, std::size_t folders) {
  return std::hash<std::string>()(name) % folders;
}

PeerKind files_peer() {
  return {"files", "files",
          "one for each object, in 64 folders: written beside its place, fsync, rename, fsync of "
          "the folder",
          [](const PeerPlace& place) { return std::make_unique<FilesPeer>(place); }};
}

PeerKind coded_files_peer() {
  return {"coded_files", "files, ISA-L 4+2",
          "six for each object, each below a directory of its own: all written, all synced, all "
          "renamed, the six folders synced",
          [](const PeerPlace& place) { return std::make_unique<CodedFilesPeer>(place); }};
}

std::vector<PeerKind> all_peers() {
  return {hexad_peer(),  lmdb_peer(),  lmdb_grouped_peer(), rocksdb_peer(),
          sqlite_peer(), files_peer(), coded_files_peer()};
}

}  // namespace hexad::bench
