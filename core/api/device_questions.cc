#include "core/api/device_questions.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "alloc/failure_domains.h"

namespace hexad {

namespace {

bool is_data(const DeviceStatus& device) { return device.role == "data"; }
bool is_member(const DeviceStatus& device) { return !device.role.empty(); }
// The store uses it, and so does the root: it has to be there, or to be seen to fail.
bool is_live(const DeviceStatus& device) {
  return device.state == "ok" || device.state == "draining" || device.state == "behind" ||
         device.state == "filling";
}
// Of its cells none may be counted on. (What one that is filling lacks is in faults_tolerated.)
bool is_lost(const DeviceStatus& device) {
  return device.state != "ok" && device.state != "draining" && device.state != "filling";
}

std::string plural(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

template <typename Ids>
std::string name_devices(const Ids& ids) {
  std::string text = ids.size() == 1 ? "device" : "devices";
  const char* before = " ";
  for (const DeviceId id : ids) text += std::exchange(before, ", ") + std::to_string(id);
  return text;
}

// What is left of the store when some devices are away. Numbers but the first are of cells that a
// stripe can have on data devices: of as many as there are, where there are no failure domains.
struct Left {
  std::uint32_t all = 0;       // data devices
  std::uint32_t parity = 0;    // m; not known, and 0, when more than that are lost already
  std::uint32_t lost = 0;      // without them
  std::uint32_t newly = 0;     // of these, what is not lost now
  std::uint32_t live = 0;      // that remain for an opening to write its root to
  bool live_taken = false;     // some that the newest root lists as live are taken
  bool fast_taken = false;     // a fast device that is used
  bool lost_too_many = false;  // without any of them
};

class Question {
 public:
  Question(const StoreStatus& status, std::span<const DeviceId> ids, StoreUse use)
      : status_(status), use_(use), asked_(ids.begin(), ids.end()) {}

  Status check() const {
    if (asked_.empty()) {
      return Error{ErrorCode::kInvalidArgument, "no devices were named", "Name at least one."};
    }
    for (const DeviceId id : asked_) {
      const bool known = std::any_of(
          status_.devices.begin(), status_.devices.end(),
          [id](const DeviceStatus& device) { return is_member(device) && device.id == id; });
      if (known) continue;
      return Error{ErrorCode::kNotFound, "the store has no device " + std::to_string(id),
                   "hexad device ls POOL names those that it has."};
    }
    return {};
  }

  const std::set<DeviceId>& asked() const { return asked_; }

  // While the store is used a flush that fails on one device of a domain is the loss of all (R11).
  std::set<DeviceId> together() const {
    std::set<DeviceId> mates;
    if (use_ == StoreUse::kNobody) return mates;
    std::set<std::int64_t> domains;
    for (const DeviceStatus& device : status_.devices) {
      const bool taken = is_member(device) && asked_.contains(device.id) && is_live(device);
      if (taken && device.flush_domain >= 0) domains.insert(device.flush_domain);
    }
    for (const DeviceStatus& device : status_.devices) {
      if (!is_member(device) || !is_live(device) || asked_.contains(device.id)) continue;
      if (domains.contains(device.flush_domain)) mates.insert(device.id);
    }
    return mates;
  }

  Left left_without(const std::set<DeviceId>& taken) const {
    Left left;
    alloc::MostCells lost_now(status_.domain_cells);
    alloc::MostCells lost(status_.domain_cells);
    alloc::MostCells live(status_.domain_cells);
    for (const DeviceStatus& device : status_.devices) {
      if (!is_member(device)) continue;
      const bool goes = taken.contains(device.id);
      if (!is_data(device)) {
        left.fast_taken = left.fast_taken || (goes && is_live(device));
        continue;
      }
      ++left.all;
      if (is_lost(device)) lost_now.add(device.failure_domain);
      if (is_lost(device) || goes) lost.add(device.failure_domain);
      if (goes && is_live(device)) left.live_taken = true;
      if (!goes && is_live(device)) live.add(device.failure_domain);
    }
    left.lost = lost.count();
    left.newly = lost.count() - lost_now.count();
    left.live = live.count();
    left.lost_too_many = status_.health == Health::kUnavailable;
    if (!left.lost_too_many) left.parity = status_.faults_tolerated + lost_now.count();
    return left;
  }

  // P8: who goes on where nobody has seen the others go needs more than m devices, so that no other
  // half can do the same. Who has the store open sees them go, and its root says so.
  bool has_ground(const Left& left) const {
    return use_ == StoreUse::kWriter || !left.live_taken || left.live >= left.parity + 1;
  }

 private:
  const StoreStatus& status_;
  const StoreUse use_;
  const std::set<DeviceId> asked_;
};

class OfflinePlan {
 public:
  OfflinePlan(const StoreStatus& status, const Question& question, StoreUse use, std::string pool)
      : status_(status), question_(question), use_(use), pool_(std::move(pool)) {}

  DeviceAnswer answer() {
    const std::set<DeviceId> mates = question_.together();
    answer_.together.assign(mates.begin(), mates.end());
    std::set<DeviceId> taken = question_.asked();
    taken.insert(mates.begin(), mates.end());
    left_ = question_.left_without(taken);
    left_.fast_taken = question_.left_without(question_.asked()).fast_taken;
    answer_.readable = !left_.lost_too_many && left_.lost <= left_.parity;
    answer_.faults_tolerated = answer_.readable ? left_.parity - left_.lost : 0;
    answer_.writable =
        answer_.readable && question_.has_ground(left_) && status_.read_only_reason.empty();
    answer_.allowed = answer_.writable;
    explain();
    return std::move(answer_);
  }

 private:
  void explain() {
    const std::string names = name_devices(question_.asked());
    if (left_.lost_too_many) {
      refuse("the store is unavailable as it is: too few data devices have all that was written",
             "hexad doctor " + pool_ + " says what to do about that.");
    } else if (use_ == StoreUse::kWriter && left_.fast_taken) {
      answer_.allowed = false;
      refuse(
          "a process has the pool open, and the index on the fast device in its memory: it may "
          "be ended by that (SIGBUS)",
          "Close the pool first. Without the fast device it opens all the same: metadata and log "
          "are on the data devices, too.");
    } else if (!answer_.readable) {
      refuse_loss(names);
    } else if (!status_.read_only_reason.empty()) {
      refuse("the store has turned read-only, so nothing notes which devices go: " +
                 status_.read_only_reason,
             "Close it and open it again.");
    } else if (!answer_.writable) {
      refuse("without " + names + " " + live_text() + " left, and an opening for writing needs " +
                 std::to_string(left_.parity + 1) +
                 ": fewer cannot know whether the others have been written without them",
             "Everything can be read meanwhile. A process that has the pool open for writing when "
             "they go notes that, and goes on.");
    } else {
      allow(names);
    }
  }

  std::string live_text() const {
    if (status_.domain_cells != 0) {
      return "data devices that can have " + plural(left_.live, "cell") + " of a stripe are";
    }
    return std::to_string(left_.live) + " of " + std::to_string(left_.all) + " data devices are";
  }

  void refuse(std::string reason, std::string hint) {
    answer_.reason = std::move(reason);
    answer_.hint = std::move(hint);
  }

  void refuse_loss(const std::string& names) {
    const std::uint32_t lost_now = left_.lost - left_.newly;
    std::string reason = "without " + names;
    if (!answer_.together.empty()) {
      reason += " and " + name_devices(answer_.together) + ", which share their flush domain,";
    }
    reason += status_.domain_cells == 0
                  ? " " + plural(left_.newly, "more data device") + " would be lost"
                  : " a stripe would lose " + plural(left_.newly, "more cell");
    reason +=
        lost_now == 0 ? "" : ", beside " + std::to_string(lost_now) + " that count as lost now";
    reason += is_filling()
                  ? "; while what a lost device held is built again, " +
                        std::to_string(left_.parity - std::min(left_.parity, lost_now)) + " may be"
              : no_parity() ? "; the pool has no parity, for its devices are said to be redundant "
                              "themselves"
                            : "; the profile survives the loss of " + std::to_string(left_.parity);
    if (no_parity()) {
      refuse(
          reason,
          "Close the pool first, and bring it back before it is opened again. To take it away for "
          "good: hexad device drain " +
              pool_ + " ID, or hexad device replace " + pool_ + " ID NEW.");
    } else if (lost_now > 0) {
      refuse(reason, "hexad doctor " + pool_ + " says what becomes of those first.");
    } else if (!answer_.together.empty()) {
      refuse(reason,
             "When the pool is closed, each of them may be taken away without the others: "
             "ask again then.");
    } else {
      refuse(reason, "Take fewer of them away at once.");
    }
  }

  bool no_parity() const { return status_.redundant_devices && status_.parity_cells == 0; }
  bool is_filling() const {
    return std::any_of(status_.devices.begin(), status_.devices.end(),
                       [](const DeviceStatus& device) { return device.state == "filling"; });
  }

  void allow(const std::string& names) {
    answer_.reason = "the store can be read and written without " + names;
    if (!answer_.together.empty()) {
      answer_.reason +=
          " and " + name_devices(answer_.together) + ", which may fail with it (one flush domain)";
    }
    answer_.reason += answer_.faults_tolerated == 0
                          ? "; no other data device may be lost meanwhile"
                          : "; " + plural(answer_.faults_tolerated, "more data device") +
                                " may be lost meanwhile";
    if (left_.newly == 0 && !left_.live_taken && !left_.fast_taken) {
      answer_.reason += "; nothing changes by that, since it is not used now";
    }
    // As inspect() has it, which opens nothing.
    const bool caches_known =
        std::any_of(status_.devices.begin(), status_.devices.end(),
                    [](const DeviceStatus& device) { return !device.durability.empty(); });
    if (use_ == StoreUse::kWriter && !caches_known) {
      answer_.hint =
          "Which devices have one cache, and may fail together, is not known here: ask the "
          "process that has the pool.";
    } else if (left_.live_taken && left_.live < left_.parity + 1) {
      answer_.hint =
          "The process that has the pool notes that they go with the next commit. Without "
          "such a note no opening for writing goes on with what is left.";
    } else if (left_.live_taken) {
      answer_.hint =
          "When it is attached again, the next opening for writing takes it in, or hexad device "
          "online " +
          pool_ + " ID; hexad wait " + pool_ +
          " --for rebuild says when it lacks nothing any more.";
    } else if (left_.fast_taken) {
      answer_.hint =
          "Metadata and log are on the data devices, too; reading metadata is slower "
          "meanwhile. After a crash with log_durability = fast, open the pool for writing "
          "once before: the last 50 ms may be on the fast device alone.";
    }
  }

  const StoreStatus& status_;
  const Question& question_;
  const StoreUse use_;
  const std::string pool_;
  Left left_;
  DeviceAnswer answer_;
};

void add(std::string& text, const std::string& sentence) {
  text += (text.empty() ? "" : " ") + sentence;
}

// Whether one device may be taken away for good, and what has to be done before.
class RemovalPlan {
 public:
  RemovalPlan(StoreUse use, std::string pool) : use_(use), pool_(std::move(pool)) {}

  void look_at(const DeviceStatus& device) {
    const std::string id = std::to_string(device.id);
    if (!is_data(device)) {
      fast_ = true;
      add(hints_, "hexad device remove " + pool_ + " " + id +
                      " does it: log and metadata are on the data devices, too." +
                      (use_ == StoreUse::kWriter
                           ? " The process that has the pool may have the index there in its "
                             "memory: leave the directory until it has closed the pool."
                           : ""));
    } else if (device.draining) {
      look_at_draining(device);
    } else if (device.state == "ok") {
      refuse("device " + id + has_slabs(device),
             "hexad device drain " + pool_ + " " + id + " has that moved to the others.");
    } else if (device.state != "behind" && device.state != "filling" && device.slabs > 0 &&
               device.slabs_used == 0) {
      add(hints_, "hexad device remove " + pool_ + " " + id +
                      " does it, where k + m other data devices are left.");
    } else if (device.state == "behind" || device.state == "filling" || device.state == "away") {
      refuse("device " + id + " is " + device.state, "hexad device catch-up " + pool_ +
                                                         " first, then hexad device drain " +
                                                         pool_ + " " + id + ".");
    } else {
      refuse("device " + id + " is " + device.state + ", and" + has_slabs(device),
             "hexad device drain " + pool_ + " " + id +
                 " has what it held built again on the others, where they have room; hexad device "
                 "replace " +
                 pool_ + " " + id + " NEW puts a new device in its place" +
                 (use_ == StoreUse::kWriter ? ", when the process that has the pool has closed it."
                                            : "."));
    }
  }

  DeviceAnswer answer(DeviceAnswer meanwhile, const StoreStatus& status,
                      const std::set<DeviceId>& ids) {
    DeviceAnswer answer = std::move(meanwhile);
    answer.allowed = reasons_.empty();
    if (answer.allowed) {
      answer.reason = fast_ ? "nothing is on " + name_devices(ids) + " that is not on others, too"
                            : "nothing is left on " + name_devices(ids);
      answer.readable = status.health != Health::kUnavailable;
      answer.writable = answer.readable && status.read_only_reason.empty();
      answer.faults_tolerated = status.faults_tolerated;
      answer.together.clear();
    } else {
      answer.reason = reasons_;
    }
    answer.hint = hints_;
    return answer;
  }

 private:
  void refuse(const std::string& reason, const std::string& hint) {
    reasons_ += (reasons_.empty() ? "" : "; ") + reason;
    add(hints_, hint);
  }

  static std::string has_slabs(const DeviceStatus& device) {
    if (device.slabs == 0) return " has not been drained";
    return " has not been drained: " + std::to_string(device.slabs_used) + " of " +
           plural(device.slabs, "slab") + " are used";
  }

  void look_at_draining(const DeviceStatus& device) {
    const std::string id = std::to_string(device.id);
    if (device.slabs > 0 && device.slabs_used == 0) {
      add(hints_, "hexad device remove " + pool_ + " " + id + " does it.");
      return;
    }
    // The root does not count them.
    const std::string left = device.slabs == 0 ? ""
                                               : ": " + std::to_string(device.slabs_used) + " of " +
                                                     plural(device.slabs, "slab") + " left";
    refuse("device " + id + " is being drained" + left,
           use_ == StoreUse::kWriter
               ? "hexad wait " + pool_ + " --for drain says when that is over."
               : "hexad device move " + pool_ + " moves what is left.");
  }

  const StoreUse use_;
  const std::string pool_;
  std::string reasons_;
  std::string hints_;
  bool fast_ = false;  // one of them is
};

}  // namespace

Result<DeviceAnswer> can_offline(const StoreStatus& status, std::span<const DeviceId> ids,
                                 StoreUse use, const std::string& pool) {
  const Question question(status, ids, use);
  HEXAD_TRY(question.check());
  return OfflinePlan(status, question, use, pool).answer();
}

std::vector<std::string> survivable_domains(const StoreStatus& status) {
  std::map<std::string, std::vector<DeviceId>> domains;
  for (const DeviceStatus& device : status.devices) {
    const bool counts = is_data(device) && !is_lost(device) && !device.failure_domain.empty();
    if (counts) domains[device.failure_domain].push_back(device.id);
  }
  std::vector<std::string> survivable;
  for (const auto& [name, ids] : domains) {
    const Left left =
        Question(status, ids, StoreUse::kWriter).left_without({ids.begin(), ids.end()});
    if (!left.lost_too_many && left.lost <= left.parity) survivable.push_back(name);
  }
  return survivable;
}

Result<DeviceAnswer> can_remove(const StoreStatus& status, std::span<const DeviceId> ids,
                                StoreUse use, const std::string& pool) {
  HEXAD_TRY_ASSIGN(DeviceAnswer answer, can_offline(status, ids, use, pool));
  const Question question(status, ids, use);
  RemovalPlan plan(use, pool);
  for (const DeviceStatus& device : status.devices) {
    if (is_member(device) && question.asked().contains(device.id)) plan.look_at(device);
  }
  return plan.answer(std::move(answer), status, question.asked());
}

}  // namespace hexad
