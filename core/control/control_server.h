// The control socket of an open store: answers the questions of other processes, and scrubs when
// they ask for it. doc/control.md, doc/decisions/060-control-socket.md
//
// Four threads. Those of the two sockets (io/lines/line_service.h) answer what takes no time: the
// status, and all about the scrub. One answers what may read devices or walk over all objects, one
// question after the other. One scrubs (core/control/asked_scrub.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "core/api/types.h"
#include "core/control/asked_scrub.h"
#include "core/control/control_messages.h"
#include "io/executor.h"
#include "io/lines/line_service.h"

namespace hexad::core {

// What the store does for it. All but `status` may wait for devices.
struct ControlWork {
  std::function<StoreStatus()> status;
  // `go_on`: asked now and then; false ends it with kClosed.
  std::function<Result<SpaceUsage>(SpaceDetail detail, const std::function<bool()>& go_on)> space;
  std::function<Status(std::uint64_t bytes)> set_cache_size;
  std::function<Result<ObjectRoom>(std::uint64_t object_size)> room_for;
  std::function<std::vector<Counter>()> counters;
  std::function<Result<ListPage>(const std::string& collection, const ListOptions& options)> list;
  std::function<Result<ObjectLook>(const std::string& collection, const std::string& name,
                                   LookFor what)>
      look;
  std::function<Result<std::vector<CollectionInfo>>()> collections;
  // `go_on`: as above.
  std::function<Result<std::vector<Damage>>(const std::function<bool()>& go_on)> damage;
  // Nothing: of all of them.
  std::function<Result<std::vector<Damage>>(std::optional<std::span<const ObjectName>> objects,
                                            const std::function<bool()>& go_on)>
      acknowledge_damage;
  std::function<Result<ScrubReport>(const ScrubOptions& options)> scrub;
  std::function<Status(DeviceId device, const std::string& path)> bring_back;
  std::function<Result<DeviceId>(const std::string& path, const std::string& failure_domain)>
      add_device;
  std::function<Result<DeviceId>(const std::string& directory)> add_fast_device;
  // Begins it: where the number is another one, slabs are moved in the background from then on, and
  // the old one is to be removed.
  std::function<Result<DeviceId>(DeviceId device, const std::string& path)> replace_device;
  std::function<Status(DeviceId device)> drain_device;
  std::function<Status(DeviceId device)> undrain_device;
  std::function<Status(DeviceId device)> remove_device;
  // Nothing: of all of them.
  std::function<Status(std::optional<DeviceId> device)> clear_device_errors;
};

class ControlServer {
 public:
  // `executor` and what the work needs outlive it.
  ControlServer(io::Executor& executor, ControlHolder holder, ControlWork work);
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;
  // Waits for the step that an answer or a scrub is at.
  ~ControlServer();

  // `directories`: as control_directories() has them; serves beside the index and in the shared
  // ones, where each is possible, one will do.
  // Precondition: the store's lock is held for writing. Once. Errors: those of io::serve_lines();
  // the system refuses a thread.
  Status start(const std::vector<std::string>& directories);
  // Nobody is heard any more, and what goes on ends at its next step. Waits for no device. Any
  // number of times; any thread.
  void stop();
  // Of the sockets; empty: there are none. Any thread.
  std::vector<std::string> paths();
  // Why one of the two places has none; empty: both have. Any thread.
  std::string refused();
  // Of the scrub; nothing: none has been asked for. Any thread.
  std::optional<JobStatus> scrub_status() { return scrub_.job(); }
  // How many questions wait for the one that is worked on. Any thread.
  std::size_t waiting();

 private:
  struct Question {
    ControlRequest request;
    std::shared_ptr<io::LineAnswer> answer;
  };

  void hear(std::string_view line, std::shared_ptr<io::LineAnswer> answer);
  void answer_all();
  Result<std::string> find_out(const Question& question);
  Result<std::string> change_device(const ControlRequest& request);
  std::string reply(const Result<std::string>& result) const;
  bool ended() const { return ended_.load(); }

  io::Executor& executor_;
  const ControlHolder holder_;
  const ControlWork work_;
  std::atomic<bool> ended_{false};
  AskedScrub scrub_;

  io::Mutex mutex_;  // a leaf
  io::CondVar changed_;
  std::deque<Question> questions_ HEXAD_GUARDED_BY(mutex_);
  std::vector<std::string> paths_ HEXAD_GUARDED_BY(mutex_);
  std::string refused_ HEXAD_GUARDED_BY(mutex_);
  std::unique_ptr<io::Thread> answers_;
  std::vector<std::unique_ptr<io::LineService>> services_;
};

}  // namespace hexad::core
