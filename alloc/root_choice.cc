#include "alloc/root_choice.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "alloc/failure_domains.h"
#include "base/assert.h"

namespace hexad::alloc {

namespace {

// The newest root of this store that the device carries, or nullptr.
const Root* newest_of(const DeviceRoots& device, const Uuid& store) {
  const Root* newest = nullptr;
  for (const Root& root : device.roots) {
    if (root.store != store) continue;
    if (newest == nullptr || is_newer(root, *newest)) newest = &root;
  }
  return newest;
}

// A device that left with `other` and is live in `root`, or nullptr.
const RootDevice* back_again(const Root& root, const Root& other) {
  for (const RootDevice& row : root.devices) {
    const RootDevice* there = other.find(row.id);
    if (row.state == MemberState::kLive && there != nullptr && there->state == MemberState::kLeft) {
      return &row;
    }
  }
  return nullptr;
}

std::string epoch_text(const Root& root) {
  return "epoch " + std::to_string(root.epoch) + " sequence " + std::to_string(root.sequence);
}

std::string place_text(Epoch epoch, std::uint64_t sequence) {
  return "epoch " + std::to_string(epoch) +
         (sequence == 0 ? "" : " sequence " + std::to_string(sequence));
}

// Whether a root that came to the device behind the one that its row confirms says that less had
// been written there: who wrote it has read the device, so that was another one (P11).
bool was_elsewhere(const Root& own, const RootDevice& row) {
  const RootDevice* const there = own.find(row.id);
  if (own.writers.empty() || there == nullptr || there->uuid != row.uuid) return false;
  return own.epoch > row.confirmed_epoch && row.confirmed_sequence != 0 &&
         std::pair(there->confirmed_epoch, there->confirmed_sequence) <
             std::pair(row.confirmed_epoch, row.confirmed_sequence);
}

// Why what the device shows is not what its row confirms; empty: it is (P5, P11).
std::string lost_or_strange(const DeviceRoots& device, const Uuid& store, const RootDevice& row) {
  bool shown = row.confirmed_epoch == 0;
  for (const Root& root : device.roots) {
    if (root.store != store) continue;
    shown = shown || std::pair(root.epoch, root.sequence) >=
                         std::pair(row.confirmed_epoch, row.confirmed_sequence);
    const bool known = root.epoch == row.confirmed_epoch && row.confirmed_nonce != 0;
    const bool other = known && root.nonce() != 0 && root.nonce() != row.confirmed_nonce;
    // Of one that has left, no root since then tells.
    const bool left = row.state == MemberState::kLeft;
    if (other || (left && was_elsewhere(root, row))) {
      return "shows a root of " + epoch_text(root) +
             " by another writer: it is a copy that was written to elsewhere";
    }
  }
  if (shown) return {};
  const Root* const own = newest_of(device, store);
  return (own == nullptr ? "has no readable root" : "shows " + epoch_text(*own)) + " although " +
         place_text(row.confirmed_epoch, row.confirmed_sequence) + " had been written to it";
}

DeviceStanding judge(const DeviceRoots& device, const Uuid& store, const Root& root) {
  DeviceStanding result;
  result.id = device.id;
  const auto say = [&](Standing standing, std::string reason) {
    result.standing = standing;
    result.reason = std::move(reason);
    return result;
  };
  const std::string name = "device " + std::to_string(device.id);
  if (device.store != store) {
    return say(Standing::kForeign, name + " belongs to store " + to_string(device.store));
  }
  const RootDevice* row = root.find(device.id);
  if (row == nullptr) {
    return say(Standing::kForeign,
               name + (device.id < root.next_device ? " is no device of the store any more: it "
                                                      "was removed"
                                                    : " is not in the device table"));
  }
  if (row->uuid != device.uuid) {
    return say(Standing::kForeign, name + " was replaced: the table has " + to_string(row->uuid) +
                                       ", this one is " + to_string(device.uuid));
  }
  const Root* const own = newest_of(device, store);
  const std::string fault = lost_or_strange(device, store, *row);
  if (row->state == MemberState::kLeft) {
    const bool explained = own != nullptr && fault.empty();
    return say(explained ? Standing::kAway : Standing::kStale,
               name + " left in epoch " + std::to_string(row->left_epoch) + " after LSN " +
                   std::to_string(row->left_lsn) +
                   (explained ? ""
                              : ", and has lost what had been written to it before: it " +
                                    (fault.empty() ? "has no readable root" : fault)));
  }
  if (own == nullptr) return say(Standing::kStale, name + " has no readable root");
  if (!fault.empty()) return say(Standing::kStale, name + " " + fault);
  result.behind = is_newer(root, *own);
  if (result.behind) result.reason = name + " is at " + epoch_text(*own);
  return result;
}

// The most cells of a zone on those data devices of the table that are chosen (FD2).
template <typename Chosen>
std::uint32_t cells_where(const Root& table, const Chosen& chosen) {
  MostCells cells(table.domain_cells);
  for (const RootDevice& row : table.devices) {
    if (row.role == DeviceRole::kData && chosen(row)) cells.add(row.domain);
  }
  return cells.count();
}

// Data devices of the chosen table that are themselves present with some root (P1). A device given
// twice counts once, a replaced one not at all.
std::vector<DeviceId> find_readable(const Uuid& store, std::span<const DeviceRoots> devices,
                                    const Root& root) {
  std::vector<DeviceId> found;
  for (const RootDevice& row : root.devices) {
    const bool readable =
        std::any_of(devices.begin(), devices.end(), [&](const DeviceRoots& device) {
          return device.id == row.id && device.uuid == row.uuid && device.store == store &&
                 newest_of(device, store) != nullptr;
        });
    if (row.role == DeviceRole::kData && readable) found.push_back(row.id);
  }
  return found;
}

bool contains(std::span<const DeviceId> set, DeviceId id) {
  return std::find(set.begin(), set.end(), id) != set.end();
}

std::string list_absent(const std::vector<DeviceStanding>& devices) {
  std::string text;
  for (const DeviceStanding& device : devices) {
    if (device.input >= 0 && device.standing == Standing::kHealthy) continue;
    text += (text.empty() ? "" : "; ") + device.reason;
  }
  return text;
}

std::vector<DeviceStanding> judge_all(const Uuid& store, std::span<const DeviceRoots> devices,
                                      const Root& root) {
  std::vector<DeviceStanding> standings;
  std::map<DeviceId, int> claims;  // devices that could be the member of this id
  for (std::size_t i = 0; i < devices.size(); ++i) {
    standings.push_back(judge(devices[i], store, root));
    standings.back().input = static_cast<int>(i);
    if (standings.back().standing != Standing::kForeign) ++claims[devices[i].id];
  }
  // Which of two is the original cannot be told from here: neither is used.
  for (DeviceStanding& standing : standings) {
    if (standing.standing == Standing::kForeign || claims[standing.id] == 1) continue;
    standing.standing = Standing::kDuplicate;
    standing.behind = false;
    standing.reason = "device " + std::to_string(standing.id) + " is present " +
                      std::to_string(claims[standing.id]) + " times";
  }
  for (const RootDevice& row : root.devices) {
    if (claims.contains(row.id)) continue;
    const bool left = row.state == MemberState::kLeft;
    standings.push_back(
        {row.id, left ? Standing::kLeft : Standing::kMissing, -1, false,
         "device " + std::to_string(row.id) + (left ? " has left" : " is missing")});
  }
  return standings;
}

// P11: for no epoch do the two name different writers.
bool have_same_writers(const Root& a, const Root& b) {
  for (const Writer& one : a.writers) {
    for (const Writer& other : b.writers) {
      const bool overlap =
          one.first_epoch <= other.last_epoch && other.first_epoch <= one.last_epoch;
      if (overlap && one.nonce != other.nonce) return false;
    }
  }
  return true;
}

// P9: nothing is known of `other` that `root`, the newest, did not go on from.
bool goes_on_from(const Root& root, const Root& other) {
  if (!have_same_writers(root, other)) return false;
  const std::size_t common = std::min(root.forks.size(), other.forks.size());
  if (!std::equal(other.forks.begin(), other.forks.begin() + static_cast<std::ptrdiff_t>(common),
                  root.forks.begin())) {
    return false;
  }
  if (other.forks.size() > common) return false;
  if (root.forks.size() == common) return true;
  const Fork& fork = root.forks[common];
  return std::tuple(other.epoch, other.left_count(), other.sequence) <=
         std::tuple(fork.from_epoch, fork.from_left, fork.from_sequence);
}

// P11, where epochs do not tell. In the first epoch of a writer the row of a live device confirms
// its promise, or what came after that. Whoever wrote to the device behind the promise has read it,
// and so promised more, or is that writer.
bool knows_of_promise(const DeviceRoots& device, const Root& root) {
  const RootDevice* const row = root.find(device.id);
  if (row == nullptr || row->uuid != device.uuid || row->state != MemberState::kLive) return true;
  // Later, one that has just been taken in again has not got the promise.
  if (root.writers.empty() || root.writers.back().first_epoch != root.epoch) return true;
  if (row->confirmed_epoch >= root.epoch || row->confirmed_sequence == 0) return true;
  const std::pair confirmed(row->confirmed_epoch, row->confirmed_sequence);
  return std::none_of(device.roots.begin(), device.roots.end(), [&](const Root& own) {
    if (own.store != root.store || own.epoch >= root.epoch) return false;
    const std::pair place(own.epoch, own.sequence);
    return place > confirmed ? own.promised_epoch <= root.epoch
                             : place == confirmed && own.promised_epoch != root.epoch;
  });
}

Status check_one_lineage(const Uuid& store, std::span<const DeviceRoots> devices,
                         const Root& root) {
  std::string here;
  std::string apart;
  for (const DeviceRoots& device : devices) {
    if (device.store != store) continue;
    bool strange = !knows_of_promise(device, root);
    for (const Root& other : device.roots) {
      strange = strange || (other.store == store && !goes_on_from(root, other));
    }
    std::string& list = strange ? apart : here;
    list += (list.empty() ? "" : ", ") + std::to_string(device.id);
  }
  if (apart.empty()) return {};
  return Error{ErrorCode::kInvalidArgument,
               "the pool was written apart: devices " + here + " and devices " + apart +
                   " went on without each other, and each may have commits that the others lack; "
                   "they are never joined",
               "Open it with the devices of one half alone, also where the other one is a copy of "
               "before that was opened elsewhere, and with the fast directory moved away where its "
               "log is of the other half. What only that has can be fetched with hexad "
               "export POOL DIR, opened in the same way."};
}

// "Ties": all roots of the epoch of `root`, the newest, are of its writer.
Status check_one_writer(const Uuid& store, std::span<const DeviceRoots> devices, const Root& root) {
  for (const DeviceRoots& device : devices) {
    if (device.store != store) continue;
    for (const Root& other : device.roots) {
      if (other.store != store || other.epoch != root.epoch) continue;
      const RootDevice* const again = back_again(root, other);
      if (again == nullptr) continue;
      return Error{ErrorCode::kCorruption,
                   "two roots of epoch " + std::to_string(root.epoch) +
                       " contradict each other: on device " + std::to_string(device.id) +
                       " sequence " + std::to_string(other.sequence) + " says that device " +
                       std::to_string(again->id) + " has left, elsewhere sequence " +
                       std::to_string(root.sequence) + " has it live and " +
                       std::to_string(root.left_count()) + " others as left",
                   "Nothing was changed. Open the store without device " +
                       std::to_string(device.id) + ", or without those that say otherwise."};
    }
  }
  return {};
}

// P7.
Status check_made(const RootChoice& choice, std::uint32_t m) {
  if (choice.root.epoch != 1 || choice.root.sequence != kMaking) return {};
  // Whoever has written it without these devices has left a promise on one of them only where any
  // two read quorums meet (P1).
  const std::uint32_t all = cells_where(choice.root, [](const RootDevice&) { return true; });
  const bool unwritten = all > 2 * m;
  for (const RootDevice& row : choice.root.devices) {
    for (const DeviceStanding& device : choice.devices) {
      const bool missed =
          device.standing == Standing::kMissing || device.standing == Standing::kStale;
      if (device.id != row.id || !missed) continue;
      return Error{ErrorCode::kUnavailable,
                   std::string(unwritten ? "the pool was never opened for writing"
                                         : "these devices have not seen the pool being opened for "
                                           "writing, though others may have") +
                       ", and perhaps it was never made to the end: " + list_absent(choice.devices),
                   std::string("Attach all its devices.") +
                       (!unwritten ? ""
                        : choice.root.domain_cells == 0
                            ? " It holds nothing yet: it can also be made again, with hexad mkfs "
                              "POOL --device PATH... --force."
                            : " It holds nothing yet: it can also be made again, with hexad mkfs "
                              "POOL --failure-domain NAME=PATH... --force.")};
    }
  }
  return {};
}

Error too_few_readable(const RootChoice& choice, std::uint32_t missing, std::uint32_t m) {
  const std::uint32_t all = choice.root.data_device_count();
  std::string message = "roots are readable on " + std::to_string(choice.readable) + " of " +
                        std::to_string(all) + " data devices, ";
  if (choice.root.domain_cells == 0) {
    message += std::to_string(all > m ? all - m : 1) + " are needed: ";
  } else {
    message += "by their failure domains a stripe may have " + std::to_string(missing) +
               " cells on the others, and the profile survives " + std::to_string(m) + ": ";
  }
  return Error{ErrorCode::kUnavailable, message + list_absent(choice.devices),
               m == 0 ? "The devices of this pool are said to be redundant themselves, so it has "
                        "no parity and needs all of them: bring back those that are named."
                      : "Attach the devices that are named."};
}

}  // namespace

std::string_view to_string(Standing standing) {
  switch (standing) {
    case Standing::kHealthy:
      return "healthy";
    case Standing::kStale:
      return "stale";
    case Standing::kAway:
      return "away";
    case Standing::kLeft:
      return "left";
    case Standing::kMissing:
      return "missing";
    case Standing::kForeign:
      return "foreign";
    case Standing::kDuplicate:
      return "duplicate";
  }
  return "unknown";
}

std::uint32_t cells_on(const Root& table, std::span<const DeviceId> set) {
  return cells_where(table, [&](const RootDevice& row) { return contains(set, row.id); });
}

std::uint32_t cells_without(const Root& table, std::span<const DeviceId> set) {
  return cells_where(table, [&](const RootDevice& row) { return !contains(set, row.id); });
}

bool is_read_quorum(const Root& table, std::span<const DeviceId> set, std::uint32_t m) {
  return cells_without(table, set) <= m && cells_on(table, set) > 0;
}

bool is_write_quorum(const Root& table, std::span<const DeviceId> set, std::uint32_t m) {
  const std::uint32_t missing = cells_without(table, set);
  return missing == 0 || (missing <= m && cells_on(table, set) > m);
}

Result<RootChoice> choose_root(const Uuid& store, std::span<const DeviceRoots> devices,
                               std::uint32_t m) {
  const Root* best = nullptr;
  Epoch promised = 0;
  std::uint64_t sequence = 0;
  for (const DeviceRoots& device : devices) {
    if (device.store != store) continue;
    for (const Root& root : device.roots) {
      if (root.store != store) continue;
      promised = std::max(promised, root.promised_epoch);
      sequence = std::max(sequence, root.sequence);
      if (best == nullptr || is_newer(root, *best)) best = &root;
    }
  }
  if (best == nullptr) {
    return Error{ErrorCode::kNotFound,
                 "no root of store " + to_string(store) + " on " + std::to_string(devices.size()) +
                     " devices",
                 "Name the devices of this store."};
  }
  HEXAD_TRY(check_one_lineage(store, devices, *best));
  HEXAD_TRY(check_one_writer(store, devices, *best));
  RootChoice choice;
  choice.root = *best;
  choice.promised_epoch = promised;
  choice.sequence = sequence;
  choice.devices = judge_all(store, devices, choice.root);
  const std::vector<DeviceId> readable = find_readable(store, devices, choice.root);
  choice.readable = static_cast<std::uint32_t>(readable.size());
  if (!is_read_quorum(choice.root, readable, m)) {
    return too_few_readable(choice, cells_without(choice.root, readable), m);
  }
  HEXAD_TRY(check_made(choice, m));
  return choice;
}

Ground ground_of(const RootChoice& choice, std::uint32_t m) {
  std::vector<DeviceId> usable;
  bool all_live = true;
  for (const RootDevice& row : choice.root.devices) {
    if (row.role != DeviceRole::kData || row.state != MemberState::kLive) continue;
    const bool here = std::any_of(
        choice.devices.begin(), choice.devices.end(), [&](const DeviceStanding& device) {
          return device.id == row.id && device.standing == Standing::kHealthy;
        });
    if (here) usable.push_back(row.id);
    all_live = all_live && here;
  }
  if (all_live) return Ground::kWitness;
  return is_write_quorum(choice.root, usable, m) ? Ground::kQuorum : Ground::kNone;
}

bool may_go_on(Ground ground, const Root& chosen, std::span<const DeviceId> written,
               std::span<const DeviceId> informed, std::uint32_t m) {
  if (is_write_quorum(chosen, written, m)) return true;
  if (!is_read_quorum(chosen, written, m)) return false;
  if (ground == Ground::kWord) return true;
  if (ground != Ground::kWitness) return false;
  return std::all_of(chosen.devices.begin(), chosen.devices.end(), [&](const RootDevice& row) {
    return row.role != DeviceRole::kData || row.state != MemberState::kLive ||
           contains(written, row.id) || contains(informed, row.id);
  });
}

bool is_committed(const Root& previous, const Root& next, std::span<const DeviceId> written,
                  std::uint32_t m) {
  for (const RootDevice& row : next.devices) {
    if (row.state == MemberState::kLive && !contains(written, row.id)) return false;
  }
  // P13
  const bool before =
      m == 0 ? cells_on(previous, written) > 0 : is_read_quorum(previous, written, m);
  return before && is_read_quorum(next, written, m);
}

Root next_root(const Root& current) {
  Root next = current;
  ++next.sequence;
  next.clean_close = false;
  return next;
}

Root promise_root(const RootChoice& choice) {
  Root next = choice.root;
  next.sequence = std::max(next.sequence, choice.sequence) + 1;
  next.promised_epoch = choice.promised_epoch + 1;
  return next;
}

Root next_epoch_root(const Root& current, std::uint64_t nonce) {
  HEXAD_ASSERT(nonce != 0);
  Root next = next_root(current);
  next.epoch = current.promised_epoch;
  HEXAD_ASSERT(next.epoch > current.epoch);
  next.promised_epoch = next.epoch + 1;
  if (current.nonce() == nonce) {
    next.writers.back().last_epoch = next.epoch;
    return next;
  }
  if (next.writers.size() == kMaxWriters) next.writers.erase(next.writers.begin());
  next.writers.push_back({next.epoch, next.epoch, nonce});
  return next;
}

Status fork(Root& next, const Root& before) {
  if (next.forks.size() >= kMaxForks) {
    return Error{ErrorCode::kTooBig,
                 "the pool has been opened " + std::to_string(kMaxForks) +
                     " times without knowing what became of its other devices; no more",
                 "Attach the missing devices."};
  }
  next.forks.push_back({before.epoch, before.left_count(), before.sequence, next.epoch});
  return {};
}

Root next_attempt(Root next, std::uint64_t& sent) {
  sent = next.sequence = std::max(next.sequence, sent + 1);
  return next;
}

namespace {

bool counts_as_lost(const RootDevice& row) {
  return row.role == DeviceRole::kData &&
         (row.state == MemberState::kLeft || (row.behind && !row.filling));
}

// Without a device that is filling the rows alone say what is lost.
void forget_lost_in_zone(Root& root) {
  const bool filling = std::any_of(root.devices.begin(), root.devices.end(),
                                   [](const RootDevice& row) { return row.filling; });
  if (!filling) root.lost_in_zone = 0;
}

}  // namespace

void mark_left(Root& root, DeviceId id, Lsn last_lsn) {
  RootDevice* row = root.find(id);
  HEXAD_ASSERT(row != nullptr);
  if (row->state == MemberState::kLeft) return;
  const bool more = row->role == DeviceRole::kData && !counts_as_lost(*row);
  row->state = MemberState::kLeft;
  row->left_lsn = last_lsn;
  row->left_epoch = root.epoch;
  row->behind = false;
  row->filling = false;
  if (more) root.lost_in_zone = std::min(root.lost_in_zone + 1, kMaxZoneSlots);
  forget_lost_in_zone(root);
}

void mark_back(Root& root, DeviceId id, const Uuid& uuid) {
  RootDevice* row = root.find(id);
  HEXAD_ASSERT(row != nullptr);
  if (row->state == MemberState::kLive) return;
  row->state = MemberState::kLive;
  row->left_lsn = 0;
  row->left_epoch = 0;
  row->behind = true;
  if (row->uuid == uuid) return;
  row->uuid = uuid;
  row->confirmed_epoch = 0;
  row->confirmed_sequence = 0;
  row->confirmed_nonce = 0;
}

void mark_whole(Root& root, DeviceId id) {
  RootDevice* row = root.find(id);
  HEXAD_ASSERT(row != nullptr);
  row->behind = false;
  row->filling = false;
  forget_lost_in_zone(root);
}

void mark_filling(Root& root, DeviceId id) {
  RootDevice* row = root.find(id);
  HEXAD_ASSERT(row != nullptr && row->role == DeviceRole::kData);
  if (row->state == MemberState::kLeft || row->behind) return;
  row->behind = true;
  row->filling = true;
}

void set_lost_in_zone(Root& root, std::uint32_t slabs, const std::set<DeviceId>& counted) {
  slabs += cells_where(root, [&](const RootDevice& row) {
    return counts_as_lost(row) && !counted.contains(row.id);
  });
  root.lost_in_zone = std::min(slabs, kMaxZoneSlots);
  forget_lost_in_zone(root);
}

std::uint32_t lost_cells(const Root& root, const std::set<DeviceId>& attached) {
  const auto is_there = [&](const RootDevice& row) { return attached.contains(row.id); };
  const std::uint32_t lost = cells_where(
      root, [&](const RootDevice& row) { return !is_there(row) || counts_as_lost(row); });
  const std::uint32_t since = cells_where(
      root, [&](const RootDevice& row) { return !is_there(row) && !counts_as_lost(row); });
  const auto is_filling = [](const RootDevice& row) { return row.filling; };
  if (std::none_of(root.devices.begin(), root.devices.end(), is_filling)) return lost;
  // Whatever a zone has lost is on one of these.
  const std::uint32_t most = cells_where(root, [&](const RootDevice& row) {
    return !is_there(row) || counts_as_lost(row) || row.filling;
  });
  return std::max(lost, std::min(root.lost_in_zone + since, most));
}

void add_row(Root& root, DeviceId id, const Uuid& uuid, DeviceRole role, std::uint32_t slabs,
             const std::string& domain) {
  HEXAD_ASSERT(id == root.next_device && id <= kMaxDeviceId);
  HEXAD_ASSERT(root.devices.size() < kMaxDevices);
  HEXAD_ASSERT(root.devices.empty() || root.devices.back().id < id);
  RootDevice row;
  row.id = id;
  row.uuid = uuid;
  row.role = role;
  row.slabs = slabs;
  row.domain = domain;
  root.devices.push_back(row);
  root.next_device = id + 1;
}

void drop_row(Root& root, DeviceId id) {
  const RootDevice* const row = root.find(id);
  HEXAD_ASSERT(row != nullptr && row->state == MemberState::kLeft);
  root.devices.erase(root.devices.begin() + (row - root.devices.data()));
}

namespace {

RootDevice& data_row(Root& root, DeviceId id) {
  RootDevice* const row = root.find(id);
  HEXAD_ASSERT(row != nullptr && row->role == DeviceRole::kData);
  return *row;
}

}  // namespace

void begin_draining(Root& root, DeviceId id) { data_row(root, id).draining = true; }

void end_draining(Root& root, DeviceId id) { data_row(root, id).draining = false; }

void record_written(Root& root, std::span<const DeviceId> written) {
  for (const DeviceId id : written) {
    RootDevice* const row = root.find(id);
    if (row == nullptr) continue;
    const std::pair before(row->confirmed_epoch, row->confirmed_sequence);
    if (before >= std::pair(root.epoch, root.sequence)) continue;
    row->confirmed_epoch = root.epoch;
    // A root of the older form has no room for them.
    row->confirmed_sequence = root.writers.empty() ? 0 : root.sequence;
    row->confirmed_nonce = root.nonce();
  }
}

}  // namespace hexad::alloc
