#include "core/space/members.h"

#include <map>
#include <set>
#include <utility>

namespace hexad::core {

Members::Members(io::Executor& executor, std::vector<Member> members, FlushSharing sharing)
    : mutex_(executor),
      members_(std::move(members)),
      usable_(std::make_unique<std::atomic<bool>[]>(members_.size())),
      behind_(std::make_unique<std::atomic<bool>[]>(members_.size())),
      domain_of_(members_.size(), kNoFlushDomain) {
  std::map<std::uint64_t, FlushDomain> shared;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Member& member = members_[i];
    usable_[i].store(member.device != nullptr && !member.returning, std::memory_order_relaxed);
    behind_[i].store(member.behind, std::memory_order_relaxed);
    if (member.id >= index_of_.size()) index_of_.resize(member.id + 1, -1);
    index_of_[member.id] = static_cast<int>(i);
    if (member.device == nullptr) continue;
    index_of_device_.emplace(member.device.get(), i);
    const io::Geometry& geometry = member.device->geometry();
    if (!geometry.volatile_cache) continue;
    auto domain = static_cast<FlushDomain>(domain_size_.size());
    if (geometry.flush_domain != 0 && sharing == FlushSharing::kWhereSafe) {
      domain = shared.emplace(geometry.flush_domain, domain).first->second;
    }
    if (domain == domain_size_.size()) domain_size_.push_back(0);
    ++domain_size_[domain];
    domain_of_[i] = domain;
  }
}

Members::~Members() {
  std::set<io::IoQueue*> queues;
  for (Member& member : members_) {
    if (member.device == nullptr) continue;
    io::IoQueue& queue = member.device->queue();
    if (queues.insert(&queue).second) queue.wait_for_abandoned();
    queue.close(std::move(member.device));
  }
}

const Member* Members::find(DeviceId id) const {
  if (id >= index_of_.size() || index_of_[id] < 0) return nullptr;
  return &members_[static_cast<std::size_t>(index_of_[id])];
}

bool Members::usable(DeviceId id) const {
  if (id >= index_of_.size() || index_of_[id] < 0) return false;
  return usable_[static_cast<std::size_t>(index_of_[id])].load(std::memory_order_acquire);
}

io::Device* Members::device(DeviceId id) const {
  return usable(id) ? find(id)->device.get() : nullptr;
}

void Members::lose(DeviceId id, const std::string& why) {
  const Member* member = find(id);
  HEXAD_ASSERT(member != nullptr);
  const auto index = static_cast<std::size_t>(member - members_.data());
  const io::Lock lock(mutex_);
  if (!usable_[index].exchange(false, std::memory_order_acq_rel)) return;
  members_[index].state = "failed";
  members_[index].detail = why;
}

void Members::blame(DeviceId id, const std::string& why) {
  const Member* member = find(id);
  HEXAD_ASSERT(member != nullptr);
  const io::Lock lock(mutex_);
  Member& changed = members_[static_cast<std::size_t>(member - members_.data())];
  changed.state = "failed";
  changed.detail = why;
}

void Members::note(DeviceId id, const std::string& what) {
  const Member* member = find(id);
  HEXAD_ASSERT(member != nullptr);
  const io::Lock lock(mutex_);
  Member& changed = members_[static_cast<std::size_t>(member - members_.data())];
  // Why it has failed says more.
  if (usable(id) && changed.state == "ok") changed.detail = what;
}

void Members::note_bad_header_slots(DeviceId id, std::uint32_t slots) {
  const Member* member = find(id);
  HEXAD_ASSERT(member != nullptr);
  const io::Lock lock(mutex_);
  members_[static_cast<std::size_t>(member - members_.data())].bad_header_slots = slots;
}

std::uint32_t Members::bad_header_slots(std::size_t index) const {
  const io::Lock lock(mutex_);
  return members_[index].bad_header_slots;
}

std::set<DeviceId> Members::returning() const {
  std::set<DeviceId> ids;
  for (const Member& member : members_) {
    if (member.returning && member.device != nullptr && !usable(member.id)) ids.insert(member.id);
  }
  return ids;
}

void Members::take_in(DeviceId id) {
  const Member* member = find(id);
  HEXAD_ASSERT(member != nullptr && member->returning && member->device != nullptr);
  const auto index = static_cast<std::size_t>(member - members_.data());
  const io::Lock lock(mutex_);
  members_[index].returning = false;
  members_[index].state = "behind";
  members_[index].detail = "";
  behind_[index].store(true, std::memory_order_release);
  usable_[index].store(true, std::memory_order_release);
}

bool Members::is_behind(DeviceId id) const {
  if (!usable(id)) return false;
  const auto index = static_cast<std::size_t>(index_of_[id]);
  return behind_[index].load(std::memory_order_acquire);
}

std::set<DeviceId> Members::behind() const {
  std::set<DeviceId> ids;
  for (const Member& member : members_) {
    if (is_behind(member.id)) ids.insert(member.id);
  }
  return ids;
}

void Members::note_whole(DeviceId id) {
  const Member* member = find(id);
  HEXAD_ASSERT(member != nullptr);
  const auto index = static_cast<std::size_t>(member - members_.data());
  const io::Lock lock(mutex_);
  behind_[index].store(false, std::memory_order_release);
  if (members_[index].state == "behind") members_[index].state = "ok";
}

std::uint32_t Members::lost_data_devices() const {
  std::uint32_t lost = 0;
  for (const Member& member : members_) {
    if (member.role != alloc::DeviceRole::kData) continue;
    if (!usable(member.id) || is_behind(member.id)) ++lost;
  }
  return lost;
}

std::vector<alloc::LaidOutDevice> Members::usable_devices() const {
  std::vector<alloc::LaidOutDevice> devices;
  for (const Member& member : members_) {
    if (usable(member.id)) devices.push_back({member.device.get(), member.layout.device_size});
  }
  return devices;
}

std::vector<DeviceId> Members::usable_ids() const {
  std::vector<DeviceId> ids;
  for (const Member& member : members_) {
    if (usable(member.id)) ids.push_back(member.id);
  }
  return ids;
}

std::string Members::state(std::size_t index) const {
  const io::Lock lock(mutex_);
  return members_[index].state;
}

std::string Members::detail(std::size_t index) const {
  const io::Lock lock(mutex_);
  return members_[index].detail;
}

const Member* Members::owner(const io::Device* device) const {
  const auto found = index_of_device_.find(device);
  return found == index_of_device_.end() ? nullptr : &members_[found->second];
}

FlushDomain Members::flush_domain(const io::Device* device) const {
  const auto found = index_of_device_.find(device);
  return found == index_of_device_.end() ? kNoFlushDomain : domain_of_[found->second];
}

bool Members::flush_failed(FlushDomain domain) const {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (domain_of_[i] == domain &&
        members_[i].device->traffic().failed_flushes.load(std::memory_order_relaxed) > 0) {
      return true;
    }
  }
  return false;
}

std::set<DeviceId> Members::poisoned() const {
  std::set<DeviceId> ids;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (domain_of_[i] == kNoFlushDomain || !usable(members_[i].id)) continue;
    if (flush_failed(domain_of_[i])) ids.insert(members_[i].id);
  }
  return ids;
}

}  // namespace hexad::core
