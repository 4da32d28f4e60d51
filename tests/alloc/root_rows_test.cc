// Devices are added to a store and removed (P12), and writers crash amid the roots of that: no two
// of them go on apart, whichever devices are there, and with at most m away nothing that was
// acknowledged is lost.
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "alloc/failure_domains.h"
#include "alloc/root_choice.h"
#include "io/rng.h"
#include "tests/alloc/root_samples.h"

using namespace hexad;
using namespace hexad::alloc;
using namespace hexad::alloc::testing;

namespace {

const Uuid kStore = kSampleStore;

using Set = unsigned;  // of devices, by number

DeviceId lowest(Set set) { return static_cast<DeviceId>(std::countr_zero(set)); }
std::uint32_t count(Set set) { return static_cast<std::uint32_t>(std::popcount(set)); }
Set only(DeviceId id) { return Set{1} << id; }

std::vector<DeviceId> ids(Set set) {
  std::vector<DeviceId> list;
  for (; set != 0; set &= set - 1) list.push_back(lowest(set));
  return list;
}

// Two slots; ends of their own are the matter of root_histories_test.
struct Disk {
  std::optional<Root> slot[2];

  void write(const Root& root) { slot[target()] = root; }
  void tear() { slot[target()].reset(); }
  int target() const {
    if (slot[0] && slot[1]) return is_newer(*slot[0], *slot[1]) ? 1 : 0;
    return slot[0] ? 1 : 0;
  }
};

// Where a round of writes got to: all others were not reached, or hit amid the write.
struct Reach {
  Set written = ~Set{0};
  Set torn = 0;
};
constexpr Reach kAll = {};

enum class Change { kNone, kAdd, kRemove };

// What a writer does when it has opened the store, and where it is cut.
struct Plan {
  Change change = Change::kNone;
  DeviceId removed = 0;
  Reach promise = kAll;
  Reach opened = kAll;
  // Adding: the root with the row. Removing: that by which the device leaves.
  Reach first = kAll;
  // Devices that fail at that root, which they and others may have; none: the power does.
  Set fails = 0;
  // The attempt without it; the root that drops the row.
  Reach second = kAll;
};

struct Shape {
  std::uint32_t k;
  std::uint32_t m;
  std::string_view domains = "";  // a letter for each device, and for one more
  std::uint32_t domain_cells = 0;

  std::uint32_t devices() const {
    return domains.empty() ? k + m : static_cast<std::uint32_t>(domains.size()) - 1;
  }
};

class World {
 public:
  World(const Shape& shape, std::uint32_t n, std::uint32_t most)
      : k_(shape.k),
        m_(shape.m),
        domains_(shape.domains),
        domain_cells_(shape.domain_cells),
        disks_(most) {
    Root root = first_root(n, domains_, domain_cells_);
    root.log_trim.position = name_root(0);
    for (DeviceId id = 0; id < n; ++id) disks_[id].write(root);
    acknowledged_ = root;
    Set all = 0;
    for (DeviceId id = 0; id < most; ++id) all |= only(id);
    numbers_ = all;
  }

  const std::string& problem() const { return problem_; }
  const Root& acknowledged() const { return acknowledged_; }

  // Devices that a table lists which somebody may find, as of the last write.
  Set listed() const { return rows_of(acknowledged_) | attempted_; }

  void write(Set present, const Plan& plan) {
    const auto choice = look(present);
    if (!choice.ok()) return;
    const Set live = healthy(*choice);
    if (cells_on(rows_of(choice->root) & ~live) > m_) return;
    const Ground ground = ground_of(*choice, m_);
    if (ground == Ground::kNone) return;
    nonce_ = ++openings_ + kMaker;
    Root current = promise_root(*choice);
    sent_ = current.sequence;
    current.log_trim.position = name_root(choice->root.log_trim.position);
    if (!store(current, live, plan.promise)) return;
    if (!may_go_on(ground, choice->root, ids(live), {}, m_)) return;
    record_written(current, ids(live));
    Root next = begin_epoch(current);
    for (const DeviceId id : ids(rows_of(next) & ~live)) mark_left(next, id, 5);
    if (!send(current, next, live, plan.opened)) return;
    if (plan.change == Change::kAdd) add(current, live, plan);
    if (plan.change == Change::kRemove) remove(current, live, plan);
  }

  // With at most m devices away, of those that any table may list: what is found goes on from what
  // was acknowledged, live devices that are there are usable, and no others.
  bool is_sound(Set present) {
    const auto choice = look(present);
    // Half of the devices may know nothing of the other half: see acknowledge().
    if (cells_on(rows_of(acknowledged_)) <= 2 * m_ && (present & live_of(acknowledged_)) == 0) {
      return true;
    }
    if (!choice.ok()) return false;
    if (!descends(choice->root.log_trim.position, acknowledged_.log_trim.position)) return false;
    for (const DeviceStanding& device : choice->devices) {
      const RootDevice* const row = choice->root.find(device.id);
      const bool usable = device.standing == Standing::kHealthy;
      if (row == nullptr) {
        if (device.standing != Standing::kForeign) return false;
        continue;
      }
      const bool here = (present & only(device.id)) != 0;
      if (usable != (here && row->state == MemberState::kLive)) return false;
      // It has all that was acknowledged, or nothing is on it.
      const RootDevice* const known = acknowledged_.find(device.id);
      const bool is_new = known == nullptr && device.id >= acknowledged_.next_device;
      if (usable && !is_new && (known == nullptr || known->state != MemberState::kLive)) {
        return false;
      }
    }
    return true;
  }

  // Without up to m of them.
  bool is_sound_without_any() {
    const Set rows = listed();
    for (Set away = rows;; away = (away - 1) & rows) {
      if (cells_on(away) <= m_ && !is_sound(numbers_ & ~away)) {
        problem_ = "not sound with " + std::to_string(numbers_ & ~away);
        return false;
      }
      if (away == 0) return true;
    }
  }

  static std::vector<std::uint64_t>& parents() {
    static std::vector<std::uint64_t> all;
    return all;
  }

 private:
  Result<RootChoice> look(Set present) const {
    std::vector<DeviceRoots> found;
    for (DeviceId id = 0; id < disks_.size(); ++id) {
      if ((present & only(id)) == 0) continue;
      DeviceRoots device{id, device_uuid(id), kStore, {}};
      for (const auto& root : disks_[id].slot) {
        if (root) device.roots.push_back(*root);
      }
      if (!device.roots.empty()) found.push_back(std::move(device));
    }
    return choose_root(kStore, found, m_);
  }
  static Set healthy(const RootChoice& choice) {
    Set set = 0;
    for (const DeviceStanding& device : choice.devices) {
      if (device.standing == Standing::kHealthy) set |= only(device.id);
    }
    return set;
  }

  // The device is wiped, and shows the root of now before a root has its row.
  void add(const Root& current, Set live, const Plan& plan) {
    const DeviceId id = current.next_device;
    if (id >= disks_.size() || cells_on(rows_of(current) & ~live) >= std::max(m_, 1U)) return;
    disks_[id] = {};
    disks_[id].write(current);
    const Set with = live | only(id);
    Root next = begin_epoch(current);
    add_row(next, id, device_uuid(id), DeviceRole::kData, 9, domain_of(id, domains_));
    Root before = current;
    Reach first = plan.first;
    if (m_ == 0 && (first.written & only(id)) == 0) {  // P13: it is the first to get it
      first = {0, first.torn & only(id)};
    }
    if (send(before, next, with, first) || plan.fails == 0) return;
    retry(current, next, with, plan);
  }

  // In the same epoch, without the devices that have failed, which the next attempt lists.
  void retry(Root current, Root next, Set with, const Plan& plan) {
    // P13: the row goes again, where it alone has failed.
    const DeviceId added = current.next_device;
    if (m_ == 0 && plan.fails == only(added) && next.find(added) != nullptr) {
      mark_left(next, added, 6);
      drop_row(next, added);
      next = next_attempt(std::move(next), sent_);
      next.log_trim.position = name_root(current.log_trim.position);
      send(current, next, with & ~plan.fails, plan.second);
      return;
    }
    for (const DeviceId id : ids(plan.fails & rows_of(next))) mark_left(next, id, 6);
    const Set rest = with & ~plan.fails;
    if (cells_on(rows_of(next) & ~rest) > m_) return;
    next = next_attempt(std::move(next), sent_);
    next.log_trim.position = name_root(current.log_trim.position);
    send(current, next, rest, plan.second);
  }

  void remove(Root& current, Set live, const Plan& plan) {
    const RootDevice* const row = current.find(plan.removed);
    if (row == nullptr) return;
    if (cells_on(rows_of(current) & ~only(plan.removed)) < k_ + m_) return;
    if (m_ == 0) {  // P13: it leaves and goes with one root
      Root next = begin_epoch(current);
      mark_left(next, plan.removed, 6);
      drop_row(next, plan.removed);
      const Set rest = live & ~only(plan.removed);
      const Reach reach{plan.first.written & plan.second.written,
                        plan.first.torn | plan.second.torn};
      send(current, next, rest, reach);
      return;
    }
    if (row->state == MemberState::kLive) {
      const Set rest = live & ~only(plan.removed);
      if (cells_on(rows_of(current) & ~rest) > m_) return;
      Root next = begin_epoch(current);
      mark_left(next, plan.removed, 6);
      if (!send(current, next, rest, plan.first)) return;
      live = rest;
    }
    Root next = begin_epoch(current);
    drop_row(next, plan.removed);
    const Root before = current;
    if (send(current, next, live, plan.second) || plan.fails == 0) return;
    Plan rest = plan;
    rest.second = kAll;
    retry(before, next, live, rest);
  }

  Root begin_epoch(const Root& current) {
    Root next = next_epoch_root(current, nonce_);
    next.log_trim.position = name_root(current.log_trim.position);
    return next;
  }
  // Whether it was committed; `current` is it then.
  bool send(Root& current, Root next, Set to, const Reach& reach) {
    next = next_attempt(std::move(next), sent_);
    if (!store(next, to, reach)) return false;
    if (!is_committed(current, next, ids(to), m_)) return false;
    acknowledge(next);
    current = next;
    record_written(current, ids(to));
    return true;
  }
  // Two that were acknowledged, of which neither goes on from the other, are of stores apart.
  void acknowledge(const Root& root) {
    const bool apart = !descends(root.log_trim.position, acknowledged_.log_trim.position);
    if (apart && problem_.empty()) {
      problem_ = "apart: " + text_of(root) + " and " + text_of(acknowledged_);
    }
    acknowledged_ = root;
    attempted_ = 0;
  }
  bool store(const Root& root, Set to, const Reach& reach) {
    attempted_ |= rows_of(root);
    for (const DeviceId id : ids(to)) {
      if ((reach.written & only(id)) != 0) {
        disks_[id].write(root);
      } else if ((reach.torn & only(id)) != 0) {
        disks_[id].tear();
      }
    }
    return (to & ~reach.written) == 0;
  }

  static std::string text_of(const Root& root) {
    return "root " + std::to_string(root.log_trim.position) + " of epoch " +
           std::to_string(root.epoch);
  }
  static std::uint64_t name_root(std::uint64_t parent) {
    parents().push_back(parent);
    return parents().size();
  }
  static bool descends(std::uint64_t name, std::uint64_t from) {
    while (name > from) name = parents()[name - 1];
    return name == from;
  }
  static Set rows_of(const Root& root) {
    Set set = 0;
    for (const RootDevice& row : root.devices) set |= only(row.id);
    return set;
  }
  static Set live_of(const Root& root) {
    Set set = 0;
    for (const RootDevice& row : root.devices) {
      if (row.state == MemberState::kLive) set |= only(row.id);
    }
    return set;
  }

  // The most cells of a stripe on them.
  std::uint32_t cells_on(Set set) const {
    MostCells cells(domain_cells_);
    for (const DeviceId id : ids(set)) cells.add(domain_of(id, domains_));
    return cells.count();
  }

  std::uint32_t k_;
  std::uint32_t m_;
  std::string domains_;
  std::uint32_t domain_cells_;
  std::vector<Disk> disks_;
  Set numbers_ = 0;
  Root acknowledged_;
  Set attempted_ = 0;  // rows of what was sent since
  std::uint64_t openings_ = 0;
  std::uint64_t nonce_ = 0;
  std::uint64_t sent_ = 0;
  std::string problem_;
};

// The last two: 1+1 in enclosures of two, and 2+2 with at most two cells of a stripe in each of
// two.
constexpr Shape kShapes[] = {{1, 0},
                             {2, 0},
                             {4, 0},
                             {1, 1},
                             {2, 1},
                             {1, 2},
                             {2, 2},
                             {4, 2},
                             {1, 1, "AABBA", 1},
                             {2, 2, "AABBB", 2}};

// Sets of devices that have left before, of which there may be m - 1.
Set away_before(std::uint32_t m) { return m == 0 ? 1 : only(m - 1); }

void require(World& world) {
  const bool sound = world.is_sound_without_any();
  REQUIRE(world.problem() == "");
  REQUIRE(sound);
}

// Everybody who can, whatever is there, goes on from what the change has left.
void go_on_with_any(const World& changed, Set all) {
  for (Set there = 1; there <= all; ++there) {
    World after = changed;
    after.write(there, {});
    CAPTURE(there);
    REQUIRE(after.problem() == "");
  }
}

}  // namespace

TEST_CASE("root rows: a device is added, cut at every set of roots, then any devices go on") {
  for (const Shape& shape : kShapes) {
    const std::uint32_t m = shape.m;
    const std::uint32_t n = shape.devices();
    const Set all = only(n + 1) - 1;
    const World fresh(shape, n, n + 1);
    const std::size_t mark = World::parents().size();
    // Before, up to m - 1 devices have left.
    for (Set away = 0; away < away_before(m); ++away) {
      for (Set written = 0; written <= all; written += n > 5 ? 3 : 1) {
        if ((written & away) != 0) continue;
        for (Set fails = 0; fails <= all; ++fails) {
          // Of many devices, one, or those that are with the new one.
          if (count(fails) > m + 1 || (n > 5 && count(fails) > 1 && (fails & only(n)) == 0)) {
            continue;
          }
          Plan plan{.change = Change::kAdd, .first = {written}, .fails = fails};
          // The attempt without them reaches all, or one device alone.
          for (const Set second : {all, only(n), only(n - 1)}) {
            if (count(fails) != 1 && second != all) continue;
            plan.second = {second};
            World world = fresh;
            world.write(all & ~away, plan);
            CAPTURE(shape.k, m, shape.domains, away, written, fails, second);
            require(world);
            // P13: the others do not need it before it has the root.
            if (m == 0 && (written & only(n)) == 0) REQUIRE(world.is_sound(all & ~only(n)));
            go_on_with_any(world, all);
            World::parents().resize(mark);
          }
        }
      }
    }
  }
}

TEST_CASE("root rows: a device is removed, cut at every set of roots, then any devices go on") {
  for (const Shape& shape : kShapes) {
    const std::uint32_t m = shape.m;
    const std::uint32_t n = shape.devices() + 1;
    const Set all = only(n) - 1;
    const World fresh(shape, n, n);
    const std::size_t mark = World::parents().size();
    for (Set away = 0; away < away_before(m); ++away) {
      for (Set written = 0; written <= all; ++written) {
        for (const bool leaves : {true, false}) {
          for (const Set fails : {Set{0}, only(n - 2), only(n - 1) - only(n - 1 - m)}) {
            Plan plan{.change = Change::kRemove, .removed = n - 1, .fails = fails};
            (leaves ? plan.first : plan.second) = {written};
            World world = fresh;
            world.write(all & ~away, plan);
            CAPTURE(shape.k, m, shape.domains, away, written, leaves, fails);
            require(world);
            go_on_with_any(world, all);
            World::parents().resize(mark);
          }
        }
      }
    }
  }
}

TEST_CASE("root rows: a removed device stays foreign, and the others survive the loss of m") {
  for (const Shape& shape : kShapes) {
    const std::uint32_t n = shape.devices() + 1;
    const Set all = only(n) - 1;
    World world(shape, n, n + 1);
    world.write(all, {.change = Change::kRemove, .removed = n - 1});
    REQUIRE(world.acknowledged().find(n - 1) == nullptr);
    REQUIRE(world.acknowledged().data_device_count() == n - 1);
    require(world);
    // Its number is not given again.
    world.write(all, {.change = Change::kAdd});
    REQUIRE(world.acknowledged().devices.back().id == n);
    require(world);
  }
}

TEST_CASE("root rows: long random histories never come apart, and lose nothing") {
  const std::uint64_t seed = GENERATE(range(1, 25));
  CAPTURE(seed);
  io::Rng rng(seed);
  for (int round = 0; round < 1500; ++round) {
    const Shape& shape = kShapes[rng.below(std::size(kShapes))];
    const auto n = static_cast<std::uint32_t>(shape.devices() + rng.below(2));
    const std::uint32_t most = n + 3;
    World world(shape, n, most);
    for (int step = 0; step < 12; ++step) {
      const auto set = [&] { return static_cast<Set>(rng.below(std::uint64_t{1} << most)); };
      const auto reach = [&](std::uint64_t of) {
        return rng.chance(1, of) ? Reach{set(), set()} : kAll;
      };
      Plan plan;
      plan.change = static_cast<Change>(rng.below(3));
      plan.removed = static_cast<DeviceId>(rng.below(most));
      plan.promise = reach(8);
      plan.opened = reach(6);
      plan.first = reach(3);
      plan.second = reach(3);
      if (rng.chance(1, 2)) plan.fails = set() & set();
      // Mostly few are away, so that something happens; sometimes any are.
      const Set there = rng.chance(2, 3) ? set() | set() | set() : set();
      world.write(there, plan);
      CAPTURE(round, step, shape.k, shape.m, shape.domains, n);
      require(world);
    }
    World::parents().clear();
  }
}
