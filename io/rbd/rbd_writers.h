// The images that a client of a cluster has open for writing, and snapshots of them that it takes
// when somebody asks, on whatever host that runs.
//
// Only who has an image's lock can stop writes to it, and no lock is given away, so the question
// goes to the writer: by a notification of an object that belongs to the image and that the writer
// watches. It lets no write begin at any of the images asked for, waits for those under way, takes
// a snapshot of each, and goes on: the snapshots together are what a crash at that moment would
// leave (decision 077).
//
// Invariants
//   SG1 while the first of the snapshots is taken, and until the last one is, no write and no
//       discard is under way at any of the images
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/os_mutex.h"
#include "io/os_thread.h"
#include "io/rbd/rbd_library.h"

namespace hexad::io {

// What is asked, and what is answered.
struct SnapshotRequest {
  std::string nonce;                // of who asks: the same question may arrive twice
  std::string name;                 // of the snapshots, as the images will have it
  std::vector<std::string> images;  // "pool/image"

  std::string encode() const;
  static Result<SnapshotRequest> decode(std::string_view text);
};
std::string encode_answer(const Status& status);
Status decode_answer(std::string_view text);

// The object that the writer of an image watches: it has the image's id, and goes with the image.
std::string notified_object(const std::string& image);

// How long writes that are under way are waited for, and then the snapshots, in seconds: meanwhile
// none begin.
inline constexpr int kDrainPatience = 10;
inline constexpr int kSnapshotPatience = 20;

// An image that is locked by this client.
class WrittenImage {
 public:
  virtual const std::string& path() const = 0;
  virtual RbdLibrary::Handle pool() const = 0;
  // Writes and discards that come now wait.
  virtual void pause() = 0;
  // After pause(): of those, none is under way any more when this returns. Errors: kUnavailable
  // (some have not been answered by then).
  virtual Status drain(std::chrono::steady_clock::time_point until) = 0;
  // What waits goes on.
  virtual void go_on() = 0;
  // Errors: kUnavailable (not within kSnapshotPatience), and others.
  virtual Status take_snapshot(const std::string& name) = 0;
  virtual void drop_snapshot(const std::string& name) = 0;

 protected:
  ~WrittenImage() = default;
};

class RbdWriters {
 public:
  RbdWriters(const RbdLibrary& library, RbdLibrary::Handle cluster)
      : library_(library), cluster_(cluster) {}
  // After the cluster's threads have ended.
  ~RbdWriters();
  RbdWriters(const RbdWriters&) = delete;
  RbdWriters& operator=(const RbdWriters&) = delete;

  // `image` is one of them from then on. Where it cannot be asked it is written all the same.
  void add(const std::string& pool, const std::string& name, WrittenImage& image);
  using Watch = std::uint64_t;
  // It is none from then on; waits for a snapshot that is being taken. Returns what end() takes
  // before the pool is closed, if anything.
  std::optional<Watch> remove(const WrittenImage& image);
  // Asks the cluster, and waits.
  void end(RbdLibrary::Handle pool, Watch watch) const;

 private:
  struct Entry {
    std::string name;
    WrittenImage* image;
    std::uint64_t watch = 0;
    bool watched = false;
  };
  struct Question {
    std::uint64_t notification;
    std::uint64_t watch;
    std::string text;
  };

  static void notified(void* argument, std::uint64_t notification, std::uint64_t watch,
                       std::uint64_t sender, void* bytes, std::size_t length);
  static void watch_failed(void*, std::uint64_t, int) {}
  void answer_questions();
  void answer(const Question& question);
  Status take(const SnapshotRequest& request) HEXAD_REQUIRES(images_mutex_);
  Result<std::vector<WrittenImage*>> find(const std::vector<std::string>& names) const
      HEXAD_REQUIRES(images_mutex_);

  const RbdLibrary& library_;
  const RbdLibrary::Handle cluster_;
  OsMutex images_mutex_;  // held while snapshots are taken
  std::map<std::string, Entry> images_ HEXAD_GUARDED_BY(images_mutex_);  // by "pool/image"
  std::string last_nonce_ HEXAD_GUARDED_BY(images_mutex_);
  std::string last_answer_ HEXAD_GUARDED_BY(images_mutex_);

  OsMutex mutex_;
  std::condition_variable asked_;
  std::deque<Question> questions_ HEXAD_GUARDED_BY(mutex_);
  bool ending_ HEXAD_GUARDED_BY(mutex_) = false;
  std::unique_ptr<OsThread> thread_ HEXAD_GUARDED_BY(images_mutex_);
};

}  // namespace hexad::io
