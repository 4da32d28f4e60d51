#include "core/space/members.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "alloc/failure_domains.h"
#include "io/os_error.h"

namespace hexad::core {

bool Members::Handles::failed(FlushDomain domain) const {
  const std::vector<const io::Device*>& devices = domains[domain].devices;
  return std::any_of(devices.begin(), devices.end(), [](const io::Device* device) {
    return device->traffic().failed_flushes.load(std::memory_order_relaxed) > 0;
  });
}

void Members::Handles::forget(DeviceId id) {
  for (Domain& domain : domains) domain.members.erase(id);
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

std::string describe_lost(std::uint32_t lost, std::uint32_t domain_cells) {
  const std::string count = std::to_string(lost);
  if (domain_cells == 0) return count + " data devices";
  return "data devices with " + count + (lost == 1 ? " cell" : " cells") + " of a stripe";
}

Members::Members(io::Executor& executor, std::vector<Member> members, FlushSharing sharing,
                 std::uint32_t domain_cells)
    : sharing_(sharing),
      domain_cells_(domain_cells),
      mutex_(executor),
      slots_(std::make_unique<Slot[]>(kMost)) {
  const io::Lock lock(mutex_);
  all_indexes_.push_back(std::make_unique<std::vector<int>>());
  index_of_.store(all_indexes_.back().get(), std::memory_order_release);
  auto handles = std::make_unique<Handles>();
  handles_.store(handles.get(), std::memory_order_release);
  for (Member& member : members) fill_slot(std::move(member), *handles);
  all_handles_.push_back(std::move(handles));
}

// Who finds it in the index of numbers finds its slot as it is to be; who counts does, too.
const Member& Members::fill_slot(Member member, Handles& handles) {
  const std::size_t index = size_.load(std::memory_order_relaxed);
  HEXAD_ASSERT(index < kMost);
  const Member& version = *versions_.emplace_back(std::make_unique<Member>(std::move(member)));
  handles.add(version, sharing_);
  // First: who finds the device of a member may ask for its domain.
  handles_.store(&handles, std::memory_order_release);
  Slot& slot = slots_[index];
  slot.returning = version.returning && version.device != nullptr;
  slot.bad_header_slots = version.bad_header_slots;
  slot.state = version.state;
  slot.detail = version.detail;
  slot.behind.store(version.behind, std::memory_order_relaxed);
  slot.filling.store(version.filling, std::memory_order_relaxed);
  slot.draining.store(version.draining, std::memory_order_relaxed);
  slot.now.store(&version, std::memory_order_release);
  slot.usable.store(version.device != nullptr && !version.returning, std::memory_order_release);
  auto indexes = std::make_unique<std::vector<int>>(*index_of_.load(std::memory_order_relaxed));
  if (version.id >= indexes->size()) indexes->resize(version.id + 1, -1);
  (*indexes)[version.id] = static_cast<int>(index);
  index_of_.store(indexes.get(), std::memory_order_release);
  all_indexes_.push_back(std::move(indexes));
  size_.store(index + 1, std::memory_order_release);
  return version;
}

void Members::add(Member member) {
  HEXAD_ASSERT(!has(member.id));
  const io::Lock lock(mutex_);
  auto handles = std::make_unique<Handles>(handles_now());
  fill_slot(std::move(member), *handles);
  all_handles_.push_back(std::move(handles));
}

void Members::remove(DeviceId id) {
  Slot& slot = slot_of(id);
  const io::Lock lock(mutex_);
  HEXAD_ASSERT(!usable(id));
  auto handles = std::make_unique<Handles>(handles_now());
  handles->forget(id);
  handles_.store(handles.get(), std::memory_order_release);
  all_handles_.push_back(std::move(handles));
  slot.returning = false;
  slot.removed.store(true, std::memory_order_release);
}

bool Members::has(DeviceId id) const {
  const Slot* const slot = find_slot(id);
  return slot != nullptr && !slot->removed.load(std::memory_order_acquire);
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
  const Slot* const slot = find_slot(id);
  return slot == nullptr ? nullptr : slot->now.load(std::memory_order_acquire);
}

bool Members::usable(DeviceId id) const {
  const Slot* const slot = find_slot(id);
  return slot != nullptr && slot->usable.load(std::memory_order_acquire);
}

int Members::index_of(DeviceId id) const {
  const std::vector<int>& indexes = *index_of_.load(std::memory_order_acquire);
  return id < indexes.size() ? indexes[id] : -1;
}

const Members::Slot* Members::find_slot(DeviceId id) const {
  const int index = index_of(id);
  return index < 0 ? nullptr : &slots_[static_cast<std::size_t>(index)];
}

Members::Slot& Members::slot_of(DeviceId id) {
  const int index = index_of(id);
  HEXAD_ASSERT(index >= 0);
  return slots_[static_cast<std::size_t>(index)];
}

io::Device* Members::device(DeviceId id) const {
  return usable(id) ? find(id)->device.get() : nullptr;
}

void Members::mark_failed(DeviceId id, const std::string& why) {
  Slot& slot = slot_of(id);
  const io::Lock lock(mutex_);
  if (!slot.usable.exchange(false, std::memory_order_acq_rel)) return;
  slot.state = "failed";
  slot.detail = why;
}

void Members::dismiss(DeviceId id, const std::string& why) {
  Slot& slot = slot_of(id);
  const io::Lock lock(mutex_);
  if (!slot.usable.exchange(false, std::memory_order_acq_rel)) return;
  slot.state = "away";
  slot.detail = why;
}

void Members::report_failure(DeviceId id, const std::string& why) {
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
  std::vector<io::Device*> devices;
  {
    const Uuid uuid = find(id)->uuid;
    const io::Lock lock(mutex_);
    for (const std::unique_ptr<Member>& version : versions_) {
      const bool its = version->id == id && version->uuid == uuid;
      if (its && version->device != nullptr) devices.push_back(version->device.get());
    }
  }
  std::uint64_t left = 0;
  bool owes = false;
  for (io::Device* const device : devices) {
    if (device->queue().retire(*device)) continue;
    owes = true;
    left += device->traffic().under_way.load();
  }
  if (!owes) return {};
  return Error{ErrorCode::kUnavailable,
               std::to_string(left) + (left == 1 ? " request" : " requests") +
                   " from before it left have not been answered, and may still be carried out",
               "Try again when it has answered, or when it is out of the machine."};
}

void Members::attach(Member member) {
  Slot& slot = slot_of(member.id);
  HEXAD_ASSERT(!usable(member.id));
  member.domain = find(member.id)->domain;  // FD3
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

Status Members::check_not_fenced() const {
  for (std::size_t i = 0; i < size(); ++i) {
    const io::Device* const device = at(i).device.get();
    if (device != nullptr && device->is_fenced()) return io::fenced_error(device->name());
  }
  return {};
}

std::set<DeviceId> Members::returning() const {
  const io::Lock lock(mutex_);
  std::set<DeviceId> ids;
  for (std::size_t i = 0; i < size(); ++i) {
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
  slot.filling.store(false, std::memory_order_release);
  slot.behind.store(true, std::memory_order_release);
  slot.usable.store(true, std::memory_order_release);
}

bool Members::is_behind(DeviceId id) const {
  return usable(id) && find_slot(id)->behind.load(std::memory_order_acquire);
}

std::set<DeviceId> Members::behind() const {
  std::set<DeviceId> ids;
  for (std::size_t i = 0; i < size(); ++i) {
    const bool lacks = slots_[i].behind.load(std::memory_order_acquire);
    if (is_usable(i) && lacks) ids.insert(at(i).id);
  }
  return ids;
}

bool Members::is_filling(DeviceId id) const {
  return is_behind(id) && find_slot(id)->filling.load(std::memory_order_acquire);
}

void Members::fill(DeviceId id) {
  Slot& slot = slot_of(id);
  const io::Lock lock(mutex_);
  if (!usable(id) || slot.behind.load(std::memory_order_acquire)) return;
  slot.filling.store(true, std::memory_order_release);
  slot.behind.store(true, std::memory_order_release);
  if (slot.state == "ok") slot.state = "filling";
}

void Members::note_whole(DeviceId id) {
  Slot& slot = slot_of(id);
  const io::Lock lock(mutex_);
  slot.behind.store(false, std::memory_order_release);
  slot.filling.store(false, std::memory_order_release);
  if (slot.state == "behind" || slot.state == "filling") slot.state = "ok";
}

bool Members::is_draining(DeviceId id) const {
  const Slot* const slot = find_slot(id);
  return slot != nullptr && slot->draining.load(std::memory_order_acquire);
}

void Members::begin_draining(DeviceId id) {
  slot_of(id).draining.store(true, std::memory_order_release);
}

void Members::end_draining(DeviceId id) {
  slot_of(id).draining.store(false, std::memory_order_release);
}

std::set<DeviceId> Members::lost() const {
  std::set<DeviceId> lost;
  for (std::size_t i = 0; i < size(); ++i) {
    const Member& member = at(i);
    if (is_removed(i) || member.role != alloc::DeviceRole::kData) continue;
    if (counts_as_lost(member.id)) lost.insert(member.id);
  }
  return lost;
}

std::uint32_t Members::cells_on(const std::set<DeviceId>& ids) const {
  alloc::MostCells cells(domain_cells_);
  for (const DeviceId id : ids) {
    if (const Member* const member = find(id); member != nullptr) cells.add(member->domain);
  }
  return cells.count();
}

bool Members::counts_as_lost(DeviceId id) const {
  return !usable(id) || (is_behind(id) && !is_filling(id));
}

bool Members::any_filling() const {
  const std::set<DeviceId> lacking = behind();
  return std::any_of(lacking.begin(), lacking.end(),
                     [this](DeviceId id) { return is_filling(id); });
}

std::vector<alloc::LaidOutDevice> Members::usable_devices() const {
  std::vector<alloc::LaidOutDevice> devices;
  for (std::size_t i = 0; i < size(); ++i) {
    const Member& member = at(i);
    if (is_usable(i)) devices.push_back({member.device.get(), member.layout.device_size});
  }
  return devices;
}

std::vector<DeviceId> Members::usable_ids() const {
  std::vector<DeviceId> ids;
  for (std::size_t i = 0; i < size(); ++i) {
    const Member& member = at(i);
    if (is_usable(i)) ids.push_back(member.id);
  }
  return ids;
}

std::string Members::state(std::size_t index) const {
  const io::Lock lock(mutex_);
  const Slot& slot = slots_[index];
  const bool drains = slot.state == "ok" && slot.draining.load(std::memory_order_relaxed);
  return drains ? "draining" : slot.state;
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
  std::vector<const io::Device*> all = all_handles(id);
  const Member* const member = find(id);
  const Handles& handles = handles_now();
  std::erase_if(all, [&](const io::Device* device) {
    return handles.of.at(device).member->uuid != member->uuid;
  });
  return all;
}

std::vector<const io::Device*> Members::all_handles(DeviceId id) const {
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
  for (std::size_t i = 0; i < size(); ++i) {
    const Member& member = at(i);
    if (!is_usable(i)) continue;
    const FlushDomain domain = domain_of(handles, member.device.get());
    if (domain != kNoFlushDomain && handles.failed(domain)) ids.insert(member.id);
  }
  return ids;
}

}  // namespace hexad::core
