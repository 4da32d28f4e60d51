// Images of a Ceph cluster as io::Device, by librbd.
//
// Requests are librbd's (io/starter.h), which answers them on threads of its own. Its cache is off,
// so a write that is answered is durable.
//
// An image that is opened for writing is locked by its exclusive lock, which the cluster keeps and
// this client gives to nobody who asks for it. Who breaks it shuts this client out first: what it
// sends from then on fails, at the cluster, and the device is fenced. A lock whose client is gone
// is broken by whoever opens the image next, when the cluster has missed the client for 30 s.
// Whoever opens it for reading has no lock, and is refused while another one writes.
//
// Invariants
//   RD1 a fenced device asks the cluster for nothing more, and answers nothing as done
//   RD2 the image is closed after the last answer has been given, and the call that gave it is over
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/os_mutex.h"
#include "io/device.h"
#include "io/fork_mark.h"
#include "io/rbd/rbd_address.h"
#include "io/rbd/rbd_cluster.h"
#include "io/rbd/rbd_writers.h"
#include "io/starter.h"
#include "io/system.h"

namespace hexad::io {

class RbdDevice final : public Device, private Starter, private WrittenImage {
 public:
  // `path`: the address. Errors: as System::open_device, kUnsupported (no librbd; an image that has
  // no exclusive lock), kUnavailable (the cluster does not answer).
  static Result<std::unique_ptr<RbdDevice>> open(const std::string& path, OpenMode mode,
                                                 IoQueue& queue, RbdClusters& clusters);
  // As System::create_device: an image of its own, of which nothing is allocated; one that is there
  // is opened instead, and grown where it is shorter.
  static Result<std::unique_ptr<RbdDevice>> create(const std::string& path, std::uint64_t size,
                                                   IoQueue& queue, RbdClusters& clusters);
  // As System::remove_created.
  static Status remove(const std::string& path, RbdClusters& clusters);
  ~RbdDevice() override;

  const Geometry& geometry() const override { return geometry_; }
  const std::string& name() const override { return name_; }
  IoQueue& queue() override { return queue_; }
  Status grow(std::uint64_t new_size) override;
  bool direct() const override { return true; }
  bool read_only() const override { return mode_ != OpenMode::kReadWrite; }
  // The cluster gives space when something is written.
  Result<Room> reserve_room(std::uint64_t, std::uint64_t) override { return Room::kNotPromised; }
  Starter* starter() override { return this; }

 private:
  struct Started;
  // What a request of a client to the cluster costs does not depend on its length; a row as long as
  // an object is, most often, one request or two.
  static constexpr std::uint64_t kLongestRow = 4 << 20;

  RbdDevice(std::string path, OpenMode mode, IoQueue& queue, std::shared_ptr<RbdPool> pool);
  using Opened = Result<std::unique_ptr<RbdDevice>>;
  static Opened open_in(const std::string& path, const RbdAddress& address, OpenMode mode,
                        IoQueue& queue, const std::shared_ptr<RbdPool>& pool);
  const RbdLibrary& library() const { return pool_->cluster()->library(); }

  Status open_image(const RbdAddress& address);
  Status take(const RbdAddress& address);
  Status lock(const RbdAddress& address);
  Status check_writers(const RbdAddress& address) const;
  Result<std::uint64_t> image_size() const;
  std::uint32_t stripe_of_data() const;
  Status learn_geometry();
  Error error_of(int number, const std::string& subject);

  void start(std::span<const IoRequest> row, Answer answer) override;
  std::uint64_t longest_row() const override { return kLongestRow; }
  int ask(const Started& started, RbdLibrary::Handle completion) const;
  static void answered(RbdLibrary::Handle completion, void* argument);
  Status outcome(const Started& started, ssize_t result);
  void release() override;
  void begin(std::unique_ptr<Started> started);
  void call_is_over();
  void write_is_over(const Started& started);

  const std::string& path() const override { return name_; }
  RbdLibrary::Handle pool() const override { return pool_->handle(); }
  void pause() override;
  Status drain(std::chrono::steady_clock::time_point until) override;
  void go_on() override;
  Status take_snapshot(const std::string& name) override;
  void drop_snapshot(const std::string& name) override;

  const std::string name_;
  const OpenMode mode_;
  IoQueue& queue_;
  const std::shared_ptr<RbdPool> pool_;
  ForkMark process_;  // whose lock it is
  RbdLibrary::Handle image_ = nullptr;
  std::shared_ptr<void> opened_;  // closes it, with the last call that has it
  Geometry geometry_;
  OsMutex mutex_;
  std::condition_variable none_started_;
  // Calls that are not over, of requests and answers (RD2).
  std::size_t started_ HEXAD_GUARDED_BY(mutex_) = 0;
  std::condition_variable none_writes_;
  std::size_t writing_ HEXAD_GUARDED_BY(mutex_) = 0;  // writes and discards under way
  bool paused_ HEXAD_GUARDED_BY(mutex_) = false;
  std::vector<std::unique_ptr<Started>> kept_ HEXAD_GUARDED_BY(mutex_);  // what waits meanwhile
};

}  // namespace hexad::io
