#include "core/space/members.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace hexad::core {

bool Members::Handles::failed(FlushDomain domain) const {
  const std::vector<const io::Device*>& devices = domains[domain].devices;
  return std::any_of(devices.begin(), devices.end(), [](const io::Device* device) {
    return device->traffic().failed_flushes.load(std::memory_order_relaxed) > 0;
  });
}

// One that comes back joins the domain that it was in, unless that has failed (R11).
void Members::Handles::add(const Member& member, FlushSharing sharing) {
  const io::Device* const device = member.device.get();
  if (device == nullptr) return;
  of_member[member.id].push_back(device);
  Handle& handle = of[device];
  handle.member = &member;
  const io::Geometry& geometry = device->geometry();
  if (!geometry.volatile_cache) return;
  handle.domain = static_cast<FlushDomain>(domains.size());
  if (geometry.flush_domain != 0 && sharing == FlushSharing::kWhereSafe) {
    FlushDomain& known = shared.emplace(geometry.flush_domain, handle.domain).first->second;
    if (known < domains.size() && failed(known)) known = handle.domain;
    handle.domain = known;
  }
  if (handle.domain == domains.size()) domains.emplace_back();
  domains[handle.domain].devices.push_back(device);
  domains[handle.domain].members.insert(member.id);
}

Members::Members(io::Executor& executor, std::vector<Member> members, FlushSharing sharing)
    : sharing_(sharing),
      mutex_(executor),
      size_(members.size()),
      slots_(std::make_unique<Slot[]>(members.size())) {
  auto handles = std::make_unique<Handles>();
  for (std::size_t i = 0; i < size_; ++i) {
    const Member& member = *versions_.emplace_back(std::make_unique<Member>(std::move(members[i])));
    Slot& slot = slots_[i];
    slot.now.store(&member, std::memory_order_relaxed);
    slot.usable.store(member.device != nullptr && !member.returning, std::memory_order_relaxed);
    slot.behind.store(member.behind, std::memory_order_relaxed);
    slot.returning = member.returning && member.device != nullptr;
    slot.bad_header_slots = member.bad_header_slots;
    slot.state = member.state;
    slot.detail = member.detail;
    if (member.id >= index_of_.size()) index_of_.resize(member.id + 1, -1);
    index_of_[member.id] = static_cast<int>(i);
    handles->add(member, sharing_);
  }
  handles_.store(handles.get(), std::memory_order_release);
  all_handles_.push_back(std::move(handles));
}

Members::~Members() {
  std::set<io::IoQueue*> queues;
  for (const std::unique_ptr<Member>& member : versions_) {
    if (member->device == nullptr) continue;
    io::IoQueue& queue = member->device->queue();
    if (queues.insert(&queue).second) queue.wait_for_abandoned();
    queue.close(std::move(member->device));
  }
}

const Member* Members::find(DeviceId id) const {
  if (id >= index_of_.size() || index_of_[id] < 0) return nullptr;
  return &at(static_cast<std::size_t>(index_of_[id]));
}

bool Members::usable(DeviceId id) const {
  if (id >= index_of_.size() || index_of_[id] < 0) return false;
  return slots_[static_cast<std::size_t>(index_of_[id])].usable.load(std::memory_order_acquire);
}

Members::Slot& Members::slot_of(DeviceId id) {
  HEXAD_ASSERT(id < index_of_.size() && index_of_[id] >= 0);
  return slots_[static_cast<std::size_t>(index_of_[id])];
}

io::Device* Members::device(DeviceId id) const {
  return usable(id) ? find(id)->device.get() : nullptr;
}

void Members::lose(DeviceId id, const std::string& why) {
  Slot& slot = slot_of(id);
  const io::Lock lock(mutex_);
  if (!slot.usable.exchange(false, std::memory_order_acq_rel)) return;
  slot.state = "failed";
  slot.detail = why;
}

void Members::blame(DeviceId id, const std::string& why) {
  Slot& slot = slot_of(id);
  const io::Lock lock(mutex_);
  slot.state = "failed";
  slot.detail = why;
}

void Members::note(DeviceId id, const std::string& what) {
  Slot& slot = slot_of(id);
  const io::Lock lock(mutex_);
  // Why it has failed says more.
  if (usable(id) && slot.state == "ok") slot.detail = what;
}

void Members::note_bad_header_slots(DeviceId id, std::uint32_t slots) {
  Slot& slot = slot_of(id);
  const io::Lock lock(mutex_);
  slot.bad_header_slots = slots;
}

std::uint32_t Members::bad_header_slots(std::size_t index) const {
  const io::Lock lock(mutex_);
  return slots_[index].bad_header_slots;
}

Status Members::let_go(DeviceId id) {
  HEXAD_ASSERT(!usable(id));
  const Member& member = *find(id);
  if (member.device == nullptr || member.device->queue().retire(*member.device)) return {};
  const std::uint64_t left = member.device->traffic().under_way.load();
  return Error{ErrorCode::kUnavailable,
               std::to_string(left) + (left == 1 ? " request" : " requests") +
                   " from before it left have not been answered, and may still be carried out",
               "Try again when it has answered, or when it is out of the machine."};
}

void Members::attach(Member member) {
  Slot& slot = slot_of(member.id);
  HEXAD_ASSERT(!usable(member.id));
  auto version = std::make_unique<Member>(std::move(member));
  const io::Lock lock(mutex_);
  auto handles = std::make_unique<Handles>(handles_now());
  handles->add(*version, sharing_);
  handles_.store(handles.get(), std::memory_order_release);
  slot.now.store(version.get(), std::memory_order_release);
  slot.returning = true;
  slot.bad_header_slots = version->bad_header_slots;
  slot.state = "away";
  slot.detail = "it is being taken in again";
  all_handles_.push_back(std::move(handles));
  versions_.push_back(std::move(version));
}

void Members::keep_out(DeviceId id, const std::string& state, const std::string& why) {
  Slot& slot = slot_of(id);
  const io::Lock lock(mutex_);
  HEXAD_ASSERT(!usable(id));
  slot.returning = false;
  slot.state = state;
  slot.detail = why;
}

std::set<DeviceId> Members::returning() const {
  const io::Lock lock(mutex_);
  std::set<DeviceId> ids;
  for (std::size_t i = 0; i < size_; ++i) {
    if (slots_[i].returning) ids.insert(at(i).id);
  }
  return ids;
}

void Members::take_in(DeviceId id) {
  Slot& slot = slot_of(id);
  const io::Lock lock(mutex_);
  HEXAD_ASSERT(slot.returning && find(id)->device != nullptr);
  slot.returning = false;
  slot.state = "behind";
  slot.detail = "";
  slot.behind.store(true, std::memory_order_release);
  slot.usable.store(true, std::memory_order_release);
}

bool Members::is_behind(DeviceId id) const {
  if (!usable(id)) return false;
  return slots_[static_cast<std::size_t>(index_of_[id])].behind.load(std::memory_order_acquire);
}

std::set<DeviceId> Members::behind() const {
  std::set<DeviceId> ids;
  for (std::size_t i = 0; i < size_; ++i) {
    if (is_behind(at(i).id)) ids.insert(at(i).id);
  }
  return ids;
}

void Members::note_whole(DeviceId id) {
  Slot& slot = slot_of(id);
  const io::Lock lock(mutex_);
  slot.behind.store(false, std::memory_order_release);
  if (slot.state == "behind") slot.state = "ok";
}

std::uint32_t Members::lost_data_devices() const {
  std::uint32_t lost = 0;
  for (std::size_t i = 0; i < size_; ++i) {
    const Member& member = at(i);
    if (member.role != alloc::DeviceRole::kData) continue;
    if (!usable(member.id) || is_behind(member.id)) ++lost;
  }
  return lost;
}

std::vector<alloc::LaidOutDevice> Members::usable_devices() const {
  std::vector<alloc::LaidOutDevice> devices;
  for (std::size_t i = 0; i < size_; ++i) {
    const Member& member = at(i);
    if (usable(member.id)) devices.push_back({member.device.get(), member.layout.device_size});
  }
  return devices;
}

std::vector<DeviceId> Members::usable_ids() const {
  std::vector<DeviceId> ids;
  for (std::size_t i = 0; i < size_; ++i) {
    const Member& member = at(i);
    if (usable(member.id)) ids.push_back(member.id);
  }
  return ids;
}

std::string Members::state(std::size_t index) const {
  const io::Lock lock(mutex_);
  return slots_[index].state;
}

std::string Members::detail(std::size_t index) const {
  const io::Lock lock(mutex_);
  return slots_[index].detail;
}

const Member* Members::owner(const io::Device* device) const {
  const Handles& handles = handles_now();
  const auto found = handles.of.find(device);
  return found == handles.of.end() ? nullptr : found->second.member;
}

std::vector<const io::Device*> Members::handles(DeviceId id) const {
  const Handles& handles = handles_now();
  const auto found = handles.of_member.find(id);
  return found == handles.of_member.end() ? std::vector<const io::Device*>() : found->second;
}

FlushDomain Members::domain_of(const Handles& handles, const io::Device* device) {
  const auto found = handles.of.find(device);
  return found == handles.of.end() ? kNoFlushDomain : found->second.domain;
}

FlushDomain Members::flush_domain(const io::Device* device) const {
  return domain_of(handles_now(), device);
}

bool Members::flush_failed(FlushDomain domain) const { return handles_now().failed(domain); }

std::set<DeviceId> Members::poisoned() const {
  const Handles& handles = handles_now();
  std::set<DeviceId> ids;
  for (std::size_t i = 0; i < size_; ++i) {
    const Member& member = at(i);
    if (!usable(member.id)) continue;
    const FlushDomain domain = domain_of(handles, member.device.get());
    if (domain != kNoFlushDomain && handles.failed(domain)) ids.insert(member.id);
  }
  return ids;
}

}  // namespace hexad::core
