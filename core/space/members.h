// The devices of an open store: what each label says, whether it is attached, whether it may be
// used. Usability changes from yes to no, and back for a device that comes back. One that is added
// stands behind the others, in the order of their numbers too; one that is removed keeps its place
// and counts no more. So an index is of one member for good, and is not its number.
//
// Whoever has a member, or a device of one, keeps it as long as the store is open: a device that is
// opened again is a new version of its member, with a handle of its own, and the older ones stay,
// their handles retired (io::IoQueue::retire()). So nobody takes a lock to look.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "alloc/header_slot.h"
#include "alloc/label.h"
#include "alloc/root.h"
#include "base/error.h"
#include "base/ids.h"
#include "core/api/options.h"
#include "core/api/types.h"
#include "io/device.h"
#include "io/executor.h"
#include "kv/log/log_area.h"

namespace hexad::core {

// Does not change once it is a version of Members.
struct Member {
  DeviceId id = 0;
  Uuid uuid;
  alloc::DeviceRole role = alloc::DeviceRole::kData;
  alloc::DeviceLayout layout;
  std::optional<alloc::Label> label;   // that the opening took it with, or gave it
  std::string path;                    // as opened, or as last known
  std::string domain;                  // its failure domain, the number's for good; empty: its own
  std::unique_ptr<io::Device> device;  // null when absent or unusable from the start
  // Returning, and a new device in the place of another one, with how many slabs that had.
  bool replaced = false;
  std::uint32_t slabs_before = 0;
  // As it is handed over, changes are Members' own.
  // It had left, and is attached again: not usable until Members::take_in().
  bool returning = false;
  bool behind = false;                 // live, and lacks cells
  bool filling = false;                // behind, and only in slabs of devices that were lost
  bool draining = false;               // it is given no more slabs
  std::uint32_t bad_header_slots = 0;  // as in DeviceStatus
  std::string state = "ok";            // as in DeviceStatus
  std::string detail;

  kv::LogArea log_area() const { return {device.get(), layout.log_offset, layout.log_size}; }
};

// Counts the flush domains of the devices that have been attached, from 0.
using FlushDomain = Id<struct FlushDomainTag, std::uint32_t>;
inline constexpr FlushDomain kNoFlushDomain = ~FlushDomain{0};  // completed writes are durable

// What is left of the redundancy when a zone may have lost so many cells: one for each data device
// that does not have everything, or fewer by their failure domains.
inline Health health_with(std::uint32_t lost, std::uint32_t m) {
  if (lost == 0) return Health::kOk;
  return lost <= m ? Health::kDegraded : Health::kUnavailable;
}
inline std::uint32_t tolerated_with(std::uint32_t lost, std::uint32_t m) {
  return lost > m ? 0 : m - lost;
}
// "3 data devices"; with failure domains "data devices with 3 cells of a stripe". Of one it is said
// as of several.
std::string describe_lost(std::uint32_t lost, std::uint32_t domain_cells);

// For messages about too many that are lost.
inline std::string survives(std::uint32_t m) {
  if (m > 0) return "the profile survives " + std::to_string(m);
  return "the pool has no parity, for its devices are said to be redundant themselves";
}

class Members {
 public:
  // Those removed while the store is open included.
  static constexpr std::size_t kMost = 2 * alloc::kMaxDevices;

  // `members`: one per row of the root's table, sorted by id. A member is usable when its device is
  // attached and not returning.
  // `domain_cells`: as the root has it.
  Members(io::Executor& executor, std::vector<Member> members,
          FlushSharing sharing = FlushSharing::kWhereSafe, std::uint32_t domain_cells = 0);
  // Waits for the answers to all that nobody waits for any more (io::IoQueue::abandon()), for
  // io::kReadPatience at most; devices that owe one then stay open, and locked, until they give it.
  ~Members();

  // Those removed included; it grows.
  std::size_t size() const { return size_.load(std::memory_order_acquire); }
  const Member& at(std::size_t index) const {
    return *slots_[index].now.load(std::memory_order_acquire);
  }
  // nullptr for an id that no member has, or had while the store was open. Any thread.
  const Member* find(DeviceId id) const;
  // One more, usable from now on, and the last of size(). Preconditions: its id is above those of
  // all others, or that of one that was removed; there are fewer than kMost.
  void add(Member member);
  // It is no device of the store any more: nobody counts or shows it. Precondition: it is not
  // usable. Any thread looks.
  void remove(DeviceId id);
  bool is_removed(std::size_t index) const {
    return slots_[index].removed.load(std::memory_order_acquire);
  }
  // Of an id that was never a member's, too.
  bool has(DeviceId id) const;
  // The same of this one as usable() of its number, which another one may have when it was removed:
  // then no. For those who look at all.
  bool is_usable(std::size_t index) const {
    return slots_[index].usable.load(std::memory_order_acquire);
  }
  // A live member, attached, whose bytes may be used. Any thread; one atomic load.
  bool usable(DeviceId id) const;
  io::Device* device(DeviceId id) const;  // null when not usable
  // From now on the device is not used. Idempotent. Any thread.
  void mark_failed(DeviceId id, const std::string& why);
  // The same of one that goes since somebody wants it to, and has not failed.
  void dismiss(DeviceId id, const std::string& why);
  // The device has failed and is used all the same, for reading: there are too few without it.
  // Shown as failed. Any thread.
  void report_failure(DeviceId id, const std::string& why);
  // Something about a usable device that people should see; it goes on being used. Any thread.
  void note(DeviceId id, const std::string& what);
  // As in DeviceStatus. Any thread.
  void note_bad_header_slots(DeviceId id, std::uint32_t slots);
  std::uint32_t bad_header_slots(std::size_t index) const;
  // Nothing is asked any more of the handles of a device that is not usable, and its lock is given
  // back. Errors: kUnavailable (some request of it has not been answered; it may be tried again).
  Status let_go(DeviceId id);
  // The device has been opened again: returning. Precondition: let_go(), or it was never attached.
  // Or another device takes its place, and the number; what the former one owes, it owes for
  // itself. Or, without a handle, the former one has the number again. Whichever it is, it has the
  // failure domain that the number has (FD3).
  void attach(Member member);
  // One that is returning, or was, is not; shown as `state`.
  void keep_out(DeviceId id, const std::string& state, const std::string& why);
  // kFenced when somebody else has taken an attached device over: then nothing more is
  // acknowledged, and no device counts as lost (TO1). Any thread.
  Status check_not_fenced() const;
  // Those that are attached and not usable, since they had left.
  std::set<DeviceId> returning() const;
  // A returning device is usable from now on, and behind. Precondition: nothing is in flight (BK2).
  void take_in(DeviceId id);
  // Usable, and lacks cells. Any thread.
  bool is_behind(DeviceId id) const;
  std::set<DeviceId> behind() const;
  // Behind, and lacks cells only in slabs that zones have moved to it from devices that were lost:
  // zones say how much of them is lost with it (Space::lost_cells()). Any thread.
  bool is_filling(DeviceId id) const;
  // A usable device is, unless it is behind already.
  void fill(DeviceId id);
  // It lacks nothing any more, and a root says so. Any thread.
  void note_whole(DeviceId id);
  // It is given no more slabs, whether or not it is usable. Any thread.
  bool is_draining(DeviceId id) const;
  void begin_draining(DeviceId id);
  void end_draining(DeviceId id);
  // Data members that are not usable, or behind and not filling (BK4).
  std::set<DeviceId> lost() const;
  std::uint32_t lost_cells() const { return cells_on(lost()); }
  // The most cells that a zone has on these data devices (FD2 of alloc/failure_domains.h).
  std::uint32_t cells_on(const std::set<DeviceId>& ids) const;
  // FD1; 0: there are no failure domains.
  std::uint32_t domain_cells() const { return domain_cells_; }
  bool counts_as_lost(DeviceId id) const;
  bool any_filling() const;
  std::vector<alloc::LaidOutDevice> usable_devices() const;
  std::vector<DeviceId> usable_ids() const;
  // State and detail of one, which mark_failed() and note() change. Any thread.
  std::string state(std::size_t index) const;
  std::string detail(std::size_t index) const;
  // The device behind a request, for messages and failure handling.
  const Member* owner(const io::Device* device) const;
  // All handles that the device of that number has had, the present one last.
  std::vector<const io::Device*> handles(DeviceId id) const;
  // The same of all devices that have had the number.
  std::vector<const io::Device*> all_handles(DeviceId id) const;

  // --- flush domains: that of a handle is fixed while the store is open, and more may come with
  // devices that come back ---

  std::size_t flush_domains() const { return handles_now().domains.size(); }
  FlushDomain flush_domain(const io::Device* device) const;
  // Whether a flush of one of its devices covers writes to others.
  bool is_shared(FlushDomain domain) const {
    return handles_now().domains[domain].members.size() > 1;
  }
  // A flush of a device of the domain has failed, whoever asked for it. What its devices had not
  // made durable is unknown, and no later flush covers it (R11). Any thread.
  bool flush_failed(FlushDomain domain) const;
  // The usable members of all such domains: they count as failed.
  std::set<DeviceId> poisoned() const;

 private:
  // Of one member, by index.
  struct Slot {
    std::atomic<const Member*> now{nullptr};
    std::atomic<bool> usable{false};
    std::atomic<bool> behind{false};
    std::atomic<bool> filling{false};
    std::atomic<bool> draining{false};
    std::atomic<bool> removed{false};
    // Guarded by mutex_.
    bool returning = false;
    std::uint32_t bad_header_slots = 0;
    std::string state;
    std::string detail;
  };
  // Of all devices that have been attached: never changed, another one takes its place.
  struct Handles {
    struct Handle {
      const Member* member = nullptr;
      FlushDomain domain = kNoFlushDomain;
    };
    struct Domain {
      std::vector<const io::Device*> devices;
      std::set<DeviceId> members;
    };
    std::unordered_map<const io::Device*, Handle> of;
    std::map<DeviceId, std::vector<const io::Device*>> of_member;
    std::vector<Domain> domains;
    std::map<std::uint64_t, FlushDomain> shared;  // by io::Geometry::flush_domain

    bool failed(FlushDomain domain) const;
    // Nobody's flush is shared with it any more.
    void forget(DeviceId id);
    void add(const Member& member, FlushSharing sharing);
  };

  const Handles& handles_now() const { return *handles_.load(std::memory_order_acquire); }
  // -1: no member has it.
  int index_of(DeviceId id) const;
  Slot& slot_of(DeviceId id);
  const Slot* find_slot(DeviceId id) const;
  // The next one, without a word to anybody.
  const Member& fill_slot(Member member, Handles& handles) HEXAD_REQUIRES(mutex_);
  static FlushDomain domain_of(const Handles& handles, const io::Device* device);

  const FlushSharing sharing_;
  const std::uint32_t domain_cells_;
  mutable io::Mutex mutex_;
  std::atomic<std::size_t> size_{0};
  std::unique_ptr<Slot[]> slots_;                           // by index; kMost of them
  std::atomic<const std::vector<int>*> index_of_{nullptr};  // by id; -1: none
  std::atomic<const Handles*> handles_{nullptr};
  // What is looked at, and what was before.
  std::vector<std::unique_ptr<Member>> versions_ HEXAD_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<const Handles>> all_handles_ HEXAD_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<const std::vector<int>>> all_indexes_ HEXAD_GUARDED_BY(mutex_);
};

}  // namespace hexad::core
