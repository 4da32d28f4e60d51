// Asks the process that has a pool, over its control socket.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "core/api/damage.h"
#include "core/api/pool.h"
#include "core/api/types.h"
#include "core/control/control_messages.h"

namespace hexad::core {

class ControlClient {
 public:
  // Looks for the socket of the store that the devices are of, by their labels: no lock is taken,
  // and nothing is written. `go_on`: asked while an answer is waited for; false ends that with
  // kClosed. Errors: kNotFound (nobody serves one), kUnavailable (no answer), kUnsupported (another
  // version), and those of looking at the devices.
  static Result<ControlClient> find(const PoolDescription& pool, std::function<bool()> go_on = {});

  // Who has answered find().
  const ControlHolder& holder() const { return holder_; }

  // As those of Store. Errors: theirs; kBusy (the process is closing the store, or has, and maybe
  // another one has it), kUnavailable (no answer in time).
  Result<StoreStatus> status() const;
  Result<SpaceUsage> space(SpaceDetail detail = SpaceDetail::kTotals) const;
  Status set_cache_size(std::uint64_t bytes) const;
  Result<ObjectRoom> room_for(std::uint64_t object_size) const;
  Result<std::vector<Counter>> counters() const;
  // Pages may be shorter than asked for.
  Result<ListPage> list(const std::string& collection, const ListOptions& options) const;
  Result<ObjectLook> look(const std::string& collection, const std::string& name,
                          LookFor what) const;
  Result<std::vector<CollectionInfo>> collections() const;
  // At most kMaxControlDamage ranges.
  Result<std::vector<Damage>> damage() const;
  Result<std::vector<Damage>> acknowledge_damage(const std::vector<ObjectName>& objects) const;
  Result<std::vector<Damage>> acknowledge_all_damage() const;
  Status bring_back_device(DeviceId device, const std::string& path) const;
  Result<DeviceId> add_device(const std::string& path, const std::string& failure_domain) const;
  Result<DeviceId> add_fast_device(const std::string& directory) const;
  // The number of the new device. Where it is another one, it is one more, the old one is drained
  // in the background from then on, and is to be removed when it is empty.
  Result<DeviceId> replace_device(DeviceId device, const std::string& path) const;
  Status drain_device(DeviceId device) const;
  Status undrain_device(DeviceId device) const;
  Status remove_device(DeviceId device) const;
  // Nothing: of all of them.
  Status clear_device_errors(std::optional<DeviceId> device) const;
  // Of the scrub that the process does when it is asked to: as those of AskedScrub.
  Result<ControlScrub> start_scrub(std::uint64_t rate, const std::string& from) const;
  Result<ControlScrub> pause_scrub() const;
  Result<ControlScrub> resume_scrub(std::uint64_t rate) const;
  Result<ControlScrub> stop_scrub() const;
  Result<ControlScrub> scrub() const;

 private:
  // The result of one question.
  Result<std::string> ask(const ControlRequest& request) const;
  Status ask_of(const char* ask, DeviceId device) const;
  Result<DeviceId> add_at(const char* ask, const std::string& path,
                          const std::string& failure_domain) const;
  Result<ControlReply> exchange(const ControlRequest& request) const;

  std::vector<std::string> directories_;
  std::function<bool()> go_on_;
  ControlHolder holder_;
};

}  // namespace hexad::core
