#include "alloc/root_choice.h"

#include <bit>
#include <catch2/catch.hpp>

#include "io/rng.h"

using namespace hexad;
using namespace hexad::alloc;

namespace {

const Uuid kStore{{1, 2, 3}};

Uuid device_uuid(DeviceId id) { return Uuid{{9, static_cast<std::uint8_t>(id)}}; }

// As mkfs leaves it.
Root first_root(std::uint32_t n) {
  Root root;
  root.store = kStore;
  root.epoch = 1;
  root.sequence = kMade;
  root.promised_epoch = 1;
  for (DeviceId id = 0; id < n; ++id) {
    RootDevice row;
    row.id = id;
    row.uuid = device_uuid(id);
    root.devices.push_back(row);
  }
  return root;
}

std::vector<DeviceRoots> all_with(const Root& root) {
  std::vector<DeviceRoots> devices;
  for (const RootDevice& row : root.devices) devices.push_back({row.id, row.uuid, kStore, {root}});
  return devices;
}

Standing standing_of(const RootChoice& choice, DeviceId id) {
  for (const DeviceStanding& device : choice.devices) {
    if (device.id == id) return device.standing;
  }
  FAIL("no such device");
  return Standing::kMissing;
}

// The slots at one end of a device, written by the rule of write_root().
struct End {
  std::optional<Root> slot[2];

  int target() const {
    if (slot[0] && slot[1]) return is_newer(*slot[0], *slot[1]) ? 1 : 0;
    return slot[0] ? 1 : 0;
  }
  void write(const Root& root) { slot[target()] = root; }
  void tear() { slot[target()].reset(); }
};

// Which ends of a device a round of writes reaches; which are lost.
enum class Ends { kBoth, kHead, kTail };

// A device (P10). What was only torn at one end may have been written, torn or not reached at the
// other.
struct Disk {
  End ends[2];
  Ends there = Ends::kBoth;  // the other is lost

  void write(const Root& root) {
    for (End& end : ends) end.write(root);
  }
  void tear(const Root& root, Ends reached) {
    for (const int end : {0, 1}) {
      const bool written =
          (reached == Ends::kHead && end == 0) || (reached == Ends::kTail && end == 1);
      if (written) {
        ends[end].write(root);
      } else {
        ends[end].tear();
      }
    }
  }
  std::vector<Root> roots() const {
    std::vector<Root> found;
    for (const int end : {0, 1}) {
      if ((there == Ends::kHead && end == 1) || (there == Ends::kTail && end == 0)) continue;
      for (const auto& root : ends[end].slot) {
        if (root) found.push_back(*root);
      }
    }
    return found;
  }
};

// What a crash left of a round of root writes: the devices written, and whether the others were
// hit in the middle of the write.
struct Outcome {
  unsigned written = 0;
  unsigned torn = 0;
  // Of a device that is torn: whether one end has the root whole.
  Ends reached = Ends::kBoth;
};

// Where in the protocol the writer is when the power fails.
enum class Phase { kPromise, kEpoch, kCheckpoint, kLeave, kLeaveTwice, kDone };

// Versions before P6 gave both attempts of kLeaveTwice one sequence.
enum class Attempts { kTold, kTied };

// A store of n devices whose writers follow P1 to P6. log_trim.position serves as the name of a
// root, so that descent can be checked.
class World {
 public:
  World(std::uint32_t n, std::uint32_t m) : n_(n), m_(m), disks_(n) {
    Root root = first_root(n);
    root.log_trim.position = name_root(0);
    for (Disk& disk : disks_) disk.write(root);
    acknowledged_ = root;
  }

  static std::vector<std::uint64_t>& parents() {
    static std::vector<std::uint64_t> all;
    return all;
  }

  Result<RootChoice> look(unsigned present) const {
    std::vector<DeviceRoots> found;
    for (DeviceId id = 0; id < n_; ++id) {
      if ((present >> id & 1) == 0) continue;
      found.push_back({id, device_uuid(id), kStore, disks_[id].roots()});
    }
    return choose_root(kStore, found, m_);
  }

  // Of these devices one end cannot be read, of all others both can.
  void lose_ends(unsigned devices, Ends there) {
    for (DeviceId id = 0; id < n_; ++id) {
      disks_[id].there = (devices >> id & 1) != 0 ? there : Ends::kBoth;
    }
  }

  // Of these devices the other end is written over, and can be written again.
  void destroy_ends(unsigned devices, Ends left) {
    for (DeviceId id = 0; id < n_; ++id) {
      if ((devices >> id & 1) != 0) disks_[id].ends[left == Ends::kHead ? 1 : 0] = {};
    }
  }

  // What must hold whenever at most m devices are absent. Plain comparisons: this runs millions of
  // times.
  bool is_sound(unsigned present) const {
    const auto choice = look(present);
    if (!choice.ok()) return false;
    // Half of the devices may know nothing of the other half; who may write then is seen in
    // root_lineage_test.
    if (n_ <= 2 * m_ && (present & live_of(acknowledged_)) == 0) return true;
    if (!descends(choice->root.log_trim.position, acknowledged_.log_trim.position)) return false;
    for (const DeviceStanding& device : choice->devices) {
      const RootDevice* row = choice->root.find(device.id);
      const bool here = (present >> device.id & 1) != 0;
      const bool live = row->state == MemberState::kLive;
      // Nothing was rolled back, so every present live device is usable, and nobody else is.
      if (here != (device.input >= 0)) return false;
      if ((device.standing == Standing::kHealthy) != (here && live)) return false;
      // Usable devices have everything that was acknowledged.
      if (here && live && acknowledged_.find(device.id)->state != MemberState::kLive) return false;
    }
    return true;
  }

  // For a failing test: every root on every device, and the standings.
  std::string describe(unsigned present) const {
    std::string text = "acknowledged " + name_of(acknowledged_);
    for (DeviceId id = 0; id < n_; ++id) {
      text += "\n" + std::to_string(id) + ":";
      for (const Root& root : disks_[id].roots()) text += " " + name_of(root);
    }
    const auto choice = look(present);
    if (!choice.ok()) return text + "\n" + choice.error().message;
    text += "\nchosen " + name_of(choice->root);
    for (const DeviceStanding& device : choice->devices) {
      text += "\n" + std::to_string(device.id) + " " + std::string(to_string(device.standing)) +
              " " + device.reason;
    }
    return text;
  }

  // Opens for writing with the devices in `present`, up to `phase`, where a crash leaves `outcome`.
  // kDone: no crash, the root of the new epoch is committed and something is acknowledged.
  // kLeaveTwice: the first attempt gets to the devices in `given_up`.
  void write(unsigned present, Phase phase, Outcome outcome, unsigned given_up = ~0u,
             Attempts attempts = Attempts::kTold) {
    const auto choice = look(present);
    if (!choice.ok()) return;
    unsigned healthy = 0;
    for (const DeviceStanding& device : choice->devices) {
      if (device.standing == Standing::kHealthy) healthy |= 1u << device.id;
    }
    if (static_cast<std::uint32_t>(std::popcount(healthy)) < read_quorum(n_, m_)) return;
    const Ground ground = ground_of(*choice, m_);
    if (ground == Ground::kNone) return;
    Root current = promise_root(*choice);
    current.log_trim.position = name_root(choice->root.log_trim.position);
    if (phase == Phase::kPromise) return store(current, healthy, outcome);
    store(current, healthy, {healthy, 0});
    if (!may_go_on(ground, choice->root, ids(healthy), {}, m_)) return;
    record_written(current, ids(healthy));

    const Root before = current;
    current = next_epoch_root(before);
    current.log_trim.position = name_root(before.log_trim.position);
    for (DeviceId id = 0; id < n_; ++id) {
      if ((healthy >> id & 1) == 0) mark_left(current, id, 5);
    }
    if (phase == Phase::kEpoch) return store(current, healthy, outcome);
    store(current, healthy, {healthy, 0});
    if (!is_committed(before, current, ids(healthy), m_)) return;
    acknowledged_ = current;
    if (phase == Phase::kDone) return;

    // Two checkpoints, the first of them whole, the second cut.
    if (phase == Phase::kCheckpoint) {
      for (const Outcome& reached : {Outcome{healthy, 0}, outcome}) {
        record_written(current, ids(healthy));
        const std::uint64_t parent = current.log_trim.position;
        current = next_root(current);
        ++current.checkpoint_lsn;
        current.log_trim.position = name_root(parent);
        store(current, healthy, reached);
        if ((reached.written & healthy) == healthy) acknowledged_ = current;
      }
      return;
    }

    // The lowest live device fails; the others are told.
    record_written(current, ids(healthy));
    const Root next_before = current;
    current = next_epoch_root(next_before);
    current.log_trim.position = name_root(next_before.log_trim.position);
    mark_left(current, static_cast<DeviceId>(std::countr_zero(healthy)), 6);
    unsigned rest = healthy & (healthy - 1);
    if (phase == Phase::kLeaveTwice && rest != 0) {
      // The next one does not take that root, which all others have, and is left out, too.
      std::uint64_t sent = current.sequence;
      const auto second = static_cast<DeviceId>(std::countr_zero(rest));
      store(current, rest, {given_up == ~0u ? rest & (rest - 1) : given_up, 0});
      rest &= rest - 1;
      if (attempts == Attempts::kTold) current = next_attempt(std::move(current), sent);
      current.log_trim.position = name_root(next_before.log_trim.position);
      mark_left(current, second, 6);
    }
    store(current, rest, outcome);
    if ((outcome.written & rest) == rest && is_committed(next_before, current, ids(rest), m_)) {
      acknowledged_ = current;
    }
  }

 private:
  static std::uint64_t name_root(std::uint64_t parent) {
    parents().push_back(parent);
    return parents().size();
  }
  static std::string name_of(const Root& root) {
    const std::uint64_t name = root.log_trim.position;
    return "[root " + std::to_string(name) + " from " + std::to_string(parents()[name - 1]) +
           " epoch " + std::to_string(root.epoch) + " sequence " + std::to_string(root.sequence) +
           " promised " + std::to_string(root.promised_epoch) + "]";
  }
  static bool descends(std::uint64_t name, std::uint64_t from) {
    while (name > from) name = parents()[name - 1];
    return name == from;
  }
  static unsigned live_of(const Root& root) {
    unsigned live = 0;
    for (const RootDevice& row : root.devices) {
      if (row.state == MemberState::kLive) live |= 1u << row.id;
    }
    return live;
  }
  std::vector<DeviceId> ids(unsigned set) const {
    std::vector<DeviceId> list;
    for (DeviceId id = 0; id < n_; ++id) {
      if ((set >> id & 1) != 0) list.push_back(id);
    }
    return list;
  }
  void store(const Root& root, unsigned to, Outcome outcome) {
    for (DeviceId id = 0; id < n_; ++id) {
      if ((to >> id & 1) == 0) continue;
      if ((outcome.written >> id & 1) != 0) {
        disks_[id].write(root);
      } else if ((outcome.torn >> id & 1) != 0) {
        disks_[id].tear(root, outcome.reached);
      }
    }
  }

  std::uint32_t n_;
  std::uint32_t m_;
  std::vector<Disk> disks_;
  Root acknowledged_;
};

// Sets of present devices with at most m absent.
std::vector<unsigned> presences(std::uint32_t n, std::uint32_t m) {
  std::vector<unsigned> all;
  for (unsigned set = 0; set < 1u << n; ++set) {
    if (static_cast<std::uint32_t>(std::popcount(set)) + m >= n) all.push_back(set);
  }
  return all;
}

constexpr Phase kCrashes[] = {Phase::kPromise, Phase::kEpoch, Phase::kCheckpoint, Phase::kLeave,
                              Phase::kLeaveTwice};

void require_sound(const World& world, const std::vector<unsigned>& presences_to_try) {
  for (const unsigned present : presences_to_try) {
    if (world.is_sound(present)) continue;
    CAPTURE(present, world.describe(present));
    FAIL("an acknowledged root or a usable device is lost");
  }
}

}  // namespace

TEST_CASE("root_choice: 4+2, every set of roots that a crash leaves, then an epoch without them") {
  const auto present = presences(6, 2);
  const World fresh(6, 2);
  const std::size_t mark = World::parents().size();
  for (const unsigned first : present) {
    for (const Phase phase : kCrashes) {
      for (unsigned written = 0; written < 64; ++written) {
        if ((written & ~first) != 0) continue;
        World crashed = fresh;
        crashed.write(first, phase, {written, 0});
        require_sound(crashed, present);
        // The devices that got the root may all stay away while others go on, and come back.
        for (const unsigned second : present) {
          World after = crashed;
          after.write(second, Phase::kDone, {});
          require_sound(after, {63u, first, second, 15u, 60u, 51u});
        }
        World::parents().resize(mark);
      }
    }
  }
}

TEST_CASE("root_choice: 4+2, two root updates in a row cut at every pair of sets") {
  const auto present = presences(6, 2);
  const World fresh(6, 2);
  const std::size_t mark = World::parents().size();
  io::Rng rng(5);
  for (const Phase phase : kCrashes) {
    for (unsigned first = 0; first < 64; ++first) {
      World once = fresh;
      once.write(63, phase, {first, rng.chance(1, 2) ? 63u : 0u});
      for (const Phase second_phase : kCrashes) {
        for (unsigned second = 0; second < 64; ++second) {
          World twice = once;
          const unsigned with = present[rng.below(present.size())];
          twice.write(with, second_phase, {second, static_cast<unsigned>(rng.below(64))});
          CAPTURE(static_cast<int>(phase), first, with, static_cast<int>(second_phase), second);
          require_sound(twice, {63u, present[rng.below(present.size())], 15u, 60u});
        }
      }
      World::parents().resize(mark);
    }
  }
}

TEST_CASE("root_choice: 2+1, two openings cut in every way, torn writes included, then a third") {
  const auto present = presences(3, 1);
  const World fresh(3, 1);
  const std::size_t mark = World::parents().size();
  std::vector<Outcome> outcomes;
  for (unsigned code = 0; code < 27; ++code) {
    Outcome outcome;
    for (unsigned id = 0, rest = code; id < 3; ++id, rest /= 3) {
      if (rest % 3 == 1) outcome.written |= 1u << id;
      if (rest % 3 == 2) outcome.torn |= 1u << id;
    }
    outcomes.push_back(outcome);
  }
  for (const unsigned first_present : present) {
    for (const Phase first_phase : kCrashes) {
      for (const Outcome& first : outcomes) {
        World once = fresh;
        once.write(first_present, first_phase, first);
        require_sound(once, present);
        for (const unsigned second_present : present) {
          for (const Phase second_phase : kCrashes) {
            for (unsigned second = 0; second < 8; ++second) {
              World twice = once;
              twice.write(second_present, second_phase, {second, first.torn});
              require_sound(twice, {7u, 3u});
              twice.write(6, Phase::kDone, {});
              require_sound(twice, {7u, 5u});
            }
          }
        }
        World::parents().resize(mark);
      }
    }
  }
}

TEST_CASE(
    "root_choice: 2+1, writes cut between the two ends, then one end of any devices is lost") {
  const auto present = presences(3, 1);
  const World fresh(3, 1);
  const std::size_t mark = World::parents().size();
  constexpr Ends kReached[] = {Ends::kBoth, Ends::kHead, Ends::kTail};
  for (const Phase first_phase : kCrashes) {
    for (unsigned written = 0; written < 8; ++written) {
      for (const Ends first : kReached) {
        World once = fresh;
        once.write(7, first_phase, {written, 7u & ~written, first});
        for (unsigned lost = 0; lost < 8; ++lost) {
          for (const Ends there : {Ends::kHead, Ends::kTail}) {
            World seen = once;
            seen.destroy_ends(lost, there);
            CAPTURE(static_cast<int>(first_phase), written, static_cast<int>(first), lost,
                    static_cast<int>(there));
            require_sound(seen, present);
            // The next opening goes on from what is left, and is cut in the same way.
            for (const Phase second_phase : kCrashes) {
              for (const Ends second : kReached) {
                World twice = seen;
                twice.write(present[(written + lost) % present.size()], second_phase,
                            {lost, 7u & ~lost, second});
                require_sound(twice, {7u, 3u, 6u});
              }
            }
          }
        }
        World::parents().resize(mark);
      }
    }
  }
}

TEST_CASE(
    "root_choice: 3+2, attempts of one sequence, as older versions left them, go on opening") {
  // Two devices fail one after the other, the second one at the root that leaves the first behind.
  // The first attempt is on any devices, the second one's too, whether or not it was acknowledged;
  // the next opening is cut anywhere as well, and tears what it was writing.
  const auto present = presences(5, 2);
  const World fresh(5, 2);
  const std::size_t mark = World::parents().size();
  constexpr unsigned kAll = 31;
  for (const Attempts attempts : {Attempts::kTied, Attempts::kTold}) {
    for (unsigned given_up = 0; given_up <= kAll; given_up += 2) {  // device 0 has failed
      for (unsigned written = 0; written <= kAll; written += 4) {   // and then device 1
        World tied = fresh;
        tied.write(kAll, Phase::kLeaveTwice, {written, 0}, given_up, attempts);
        require_sound(tied, present);
        for (const unsigned second : present) {
          for (const Phase phase : {Phase::kPromise, Phase::kEpoch}) {
            for (unsigned reached = 0; reached <= kAll; ++reached) {
              if ((reached & ~second) != 0) continue;
              World after = tied;
              after.write(second, phase, {reached, kAll & ~reached});
              require_sound(after, {kAll, 7u, 28u, 21u, second});
            }
          }
        }
        World::parents().resize(mark);
      }
    }
  }
}

TEST_CASE("root_choice: long random histories of crashes never lose what was acknowledged") {
  const std::uint64_t seed = GENERATE(1, 2, 3, 4);
  CAPTURE(seed);
  io::Rng rng(seed);
  for (int round = 0; round < 150; ++round) {
    const std::uint32_t k = 1 + static_cast<std::uint32_t>(rng.below(4));
    const std::uint32_t m = 1 + static_cast<std::uint32_t>(rng.below(3));
    const std::uint32_t n = k + m;
    const auto present = presences(n, m);
    World world(n, m);
    for (int step = 0; step < 12; ++step) {
      const auto all = std::uint64_t{1} << n;
      const Outcome outcome{static_cast<unsigned>(rng.below(all)),
                            static_cast<unsigned>(rng.below(all)), static_cast<Ends>(rng.below(3))};

      const Phase phase = static_cast<Phase>(rng.below(6));
      world.write(present[rng.below(present.size())], phase, outcome);
      CAPTURE(round, step, k, m);
      require_sound(world, present);
      world.lose_ends(static_cast<unsigned>(rng.below(all)), static_cast<Ends>(rng.below(3)));
      require_sound(world, present);
      world.lose_ends(0, Ends::kBoth);
    }
    World::parents().clear();
  }
}

TEST_CASE("root_choice: devices that are away are missing, or have left when the table says so") {
  Root root = first_root(6);
  auto devices = all_with(root);
  devices.erase(devices.begin() + 1);
  const auto missing = choose_root(kStore, devices, 2);
  REQUIRE(missing.ok());
  CHECK(missing->readable == 5);
  CHECK(standing_of(*missing, 1) == Standing::kMissing);
  mark_left(root, 1, 77);
  devices = all_with(root);
  devices.erase(devices.begin() + 1);
  CHECK(standing_of(*choose_root(kStore, devices, 2), 1) == Standing::kLeft);
}

TEST_CASE("root_choice: a device that left is away when it returns, unless it has lost roots") {
  const Root old = first_root(6);
  Root now = next_epoch_root(promise_root({old, 1, 6, {}}));
  mark_left(now, 4, 77);
  auto devices = all_with(now);
  devices[4].roots = {old};
  const auto choice = choose_root(kStore, devices, 2);
  REQUIRE(choice.ok());
  CHECK(choice->root == now);
  CHECK(standing_of(*choice, 4) == Standing::kAway);
  CHECK(choice->devices[4].reason == "device 4 left in epoch 2 after LSN 77");
  devices[4].roots = {now};
  CHECK(standing_of(*choose_root(kStore, devices, 2), 4) == Standing::kAway);
  // An older image of it has not what counted on it.
  Root later = next_epoch_root(promise_root({now, 3, 6, {}}));
  later.find(4)->confirmed_epoch = 2;
  devices = all_with(later);
  devices[4].roots = {old};
  CHECK(standing_of(*choose_root(kStore, devices, 2), 4) == Standing::kStale);
  devices[4].roots = {};
  CHECK(standing_of(*choose_root(kStore, devices, 2), 4) == Standing::kStale);
}

TEST_CASE(
    "root_choice: who is taken in again is live and behind, and another device under its id") {
  Root root = first_root(6);
  mark_left(root, 4, 77);
  const Uuid before = root.find(4)->uuid;
  root.find(4)->confirmed_epoch = 1;
  mark_back(root, 4, before);
  CHECK(root.find(4)->state == MemberState::kLive);
  CHECK(root.find(4)->behind);
  CHECK(root.find(4)->left_lsn == 0);
  CHECK(root.find(4)->left_epoch == 0);
  CHECK(root.find(4)->confirmed_epoch == 1);
  CHECK(check_root(root).ok());
  CHECK(decode_root(as_bytes(encode_root(root))).value() == root);
  mark_left(root, 4, 80);
  CHECK_FALSE(root.find(4)->behind);
  CHECK(check_root(root).ok());
  Uuid other = before;
  other.bytes[3] ^= 1;
  mark_back(root, 4, other);
  CHECK(root.find(4)->uuid == other);
  CHECK(root.find(4)->confirmed_epoch == 0);
  mark_whole(root, 4);
  CHECK_FALSE(root.find(4)->behind);
  CHECK(root.features == Features{});
  CHECK(decode_root(as_bytes(encode_root(root))).value() == root);
}

TEST_CASE("root_choice: an old image put back is stale, a device one epoch behind is not") {
  const Root old = first_root(6);
  Root now = next_epoch_root(promise_root({old, 1, 6, {}}));
  auto devices = all_with(now);
  devices[2].roots = {old};
  const auto behind = choose_root(kStore, devices, 2);
  REQUIRE(behind.ok());
  CHECK(standing_of(*behind, 2) == Standing::kHealthy);
  CHECK(behind->devices[2].behind);
  CHECK(!behind->devices[1].behind);
  record_written(now, std::vector<DeviceId>{2});
  devices = all_with(now);
  devices[2].roots = {old};
  const auto stale = choose_root(kStore, devices, 2);
  REQUIRE(stale.ok());
  CHECK(standing_of(*stale, 2) == Standing::kStale);
  CHECK(stale->devices[2].reason.find("epoch 2 had been written") != std::string::npos);
}

TEST_CASE("root_choice: a device without a readable root is not trusted and not counted") {
  auto devices = all_with(first_root(6));
  devices[0].roots.clear();
  const auto choice = choose_root(kStore, devices, 2);
  REQUIRE(choice.ok());
  CHECK(choice->readable == 5);
  CHECK(standing_of(*choice, 0) == Standing::kStale);
}

TEST_CASE("root_choice: the highest promise counts, also one that the newest root does not carry") {
  auto devices = all_with(next_epoch_root(promise_root({first_root(6), 4, 6, {}})));
  devices[3].roots = {first_root(6)};
  devices[3].roots[0].promised_epoch = 99;
  const auto choice = choose_root(kStore, devices, 2);
  REQUIRE(choice.ok());
  CHECK(choice->root.promised_epoch == 6);
  CHECK(choice->promised_epoch == 99);
  CHECK(promise_root(*choice).promised_epoch == 100);
}

TEST_CASE(
    "root_choice: of two attempts of one sequence the one that leaves more devices behind wins") {
  Root given_up = next_epoch_root(promise_root({first_root(6), 1, 6, {}}));
  mark_left(given_up, 0, 5);
  Root last = given_up;
  mark_left(last, 1, 5);
  given_up.checkpoint_lsn = 9;  // whatever else they say
  auto devices = all_with(last);
  for (DeviceRoots& device : devices) device.roots = {given_up, last};
  CHECK(choose_root(kStore, devices, 2)->root == last);
  for (DeviceRoots& device : devices) std::swap(device.roots[0], device.roots[1]);
  CHECK(choose_root(kStore, devices, 2)->root == last);
  // An opening that did not see the last one has promised on top of the other, twice.
  Root promise = promise_root({given_up, given_up.promised_epoch, 6, {}});
  promise = promise_root({promise, promise.promised_epoch, 6, {}});
  CHECK(promise.sequence > last.sequence);
  devices[4].roots = {promise};
  const auto choice = choose_root(kStore, devices, 2);
  REQUIRE(choice.ok());
  CHECK(choice->root == last);
  CHECK(choice->sequence == promise.sequence);
  const Root next = promise_root(*choice);
  CHECK(next.sequence == promise.sequence + 1);
  CHECK(next.promised_epoch == promise.promised_epoch + 1);
}

TEST_CASE("root_choice: two roots of one epoch that no writer makes are refused by name") {
  Root one = next_epoch_root(promise_root({first_root(6), 1, 6, {}}));
  Root other = one;
  mark_left(one, 2, 5);
  mark_left(other, 3, 5);
  ++other.sequence;
  auto devices = all_with(one);
  devices[5].roots = {other};
  const auto refused = choose_root(kStore, devices, 2);
  REQUIRE(!refused.ok());
  CHECK(refused.error().code == ErrorCode::kCorruption);
  CHECK(refused.error().message ==
        "two roots of epoch 2 contradict each other: on device 0 sequence 4 says that device 2 has "
        "left, elsewhere sequence 5 has it live and 1 others as left");
  CHECK(refused.error().hint ==
        "Nothing was changed. Open the store without device 0, or without those that say "
        "otherwise.");
  // Of different epochs they say when each device left and came back.
  devices[5].roots = {next_epoch_root(other)};
  CHECK(choose_root(kStore, devices, 2).ok());
}

TEST_CASE("root_choice: a store that was not made to the end opens with all its devices only") {
  Root root = first_root(6);
  root.sequence = kMaking;
  auto devices = all_with(root);
  CHECK(choose_root(kStore, devices, 2).ok());
  devices.pop_back();
  const auto refused = choose_root(kStore, devices, 2);
  REQUIRE(!refused.ok());
  CHECK(refused.error().code == ErrorCode::kUnavailable);
  CHECK(refused.error().message ==
        "the pool was never opened for writing, and perhaps it was never made to the end: device 5 "
        "is missing");
  CHECK_THAT(refused.error().hint, Catch::Contains("holds nothing yet"));
  // Where k <= m, a version without P8 may have gone on with the devices that are not here.
  Root half = first_root(4);
  half.sequence = kMaking;
  auto here = all_with(half);
  here.resize(2);
  const auto unsure = choose_root(kStore, here, 2);
  REQUIRE(!unsure.ok());
  CHECK_THAT(unsure.error().message, Catch::Contains("others may have"));
  CHECK(unsure.error().hint == "Attach all its devices.");
  // One device says that all had that root.
  devices[2].roots[0].sequence = kMade;
  CHECK(choose_root(kStore, devices, 2).ok());
  // Versions that made stores in one round left this root; an opening for writing went on from it.
  root.sequence = kMaking;
  devices = all_with(next_epoch_root(promise_root({root, 1, 6, {}})));
  devices.pop_back();
  CHECK(choose_root(kStore, devices, 2).ok());
}

TEST_CASE("root_choice: strangers, replaced devices and clones are told apart") {
  const Root root = first_root(6);
  auto devices = all_with(root);
  const Uuid other{{7}};
  devices.push_back({1, device_uuid(1), other, {}});              // another store
  devices.push_back({9, device_uuid(9), kStore, {root}});         // never a member
  devices.push_back({3, Uuid{{8, 8}}, kStore, {first_root(6)}});  // the device that 3 replaced
  devices.push_back(devices[5]);                                  // a copy of 5
  const auto choice = choose_root(kStore, devices, 2);
  REQUIRE(choice.ok());
  REQUIRE(choice->devices.size() == 10);
  CHECK(choice->devices[1].standing == Standing::kHealthy);
  CHECK(choice->devices[3].standing == Standing::kHealthy);
  CHECK(choice->devices[5].standing == Standing::kDuplicate);
  CHECK(choice->devices[6].standing == Standing::kForeign);
  CHECK(choice->devices[7].standing == Standing::kForeign);
  CHECK(choice->devices[8].standing == Standing::kForeign);
  CHECK(choice->devices[9].standing == Standing::kDuplicate);
  CHECK(choice->readable == 6);
  for (const Standing standing :
       {Standing::kHealthy, Standing::kStale, Standing::kAway, Standing::kLeft, Standing::kMissing,
        Standing::kForeign, Standing::kDuplicate}) {
    CHECK(to_string(standing) != "unknown");
  }
}

TEST_CASE("root_choice: too few roots are refused by name, none at all differently") {
  auto devices = all_with(first_root(6));
  devices.resize(4);
  CHECK(choose_root(kStore, devices, 2).ok());
  devices.resize(3);
  const auto few = choose_root(kStore, devices, 2);
  REQUIRE(!few.ok());
  CHECK(few.error().code == ErrorCode::kUnavailable);
  CHECK(few.error().message ==
        "roots are readable on 3 of 6 data devices, 4 are needed: device 3 is missing; device 4 is "
        "missing; device 5 is missing");
  CHECK(choose_root(Uuid{{5}}, devices, 2).error().code == ErrorCode::kNotFound);
  CHECK(choose_root(kStore, {}, 2).error().code == ErrorCode::kNotFound);
}

TEST_CASE("root_choice: log devices give their root but do not count for a quorum") {
  Root root = first_root(6);
  RootDevice log;
  log.id = 6;
  log.uuid = device_uuid(6);
  log.role = DeviceRole::kLog;
  root.devices.push_back(log);
  Root newer = next_root(root);
  auto devices = all_with(root);
  devices[6].roots = {newer};
  devices.erase(devices.begin() + 1, devices.begin() + 3);
  const auto choice = choose_root(kStore, devices, 2);
  REQUIRE(choice.ok());
  CHECK(choice->root == newer);
  CHECK(choice->readable == 4);
  devices.erase(devices.begin());
  CHECK(choose_root(kStore, devices, 2).error().code == ErrorCode::kUnavailable);
}

TEST_CASE("root_choice: any readable set meets any written set") {
  for (std::uint32_t m = 0; m <= 8; ++m) {
    for (std::uint32_t k = 1; k <= 32; ++k) {
      for (std::uint32_t n = k + m; n < k + m + 6; ++n) {
        REQUIRE(read_quorum(n, m) + write_quorum(n, m) > n);
        REQUIRE(write_quorum(n, m) <= n);
      }
    }
  }
}

TEST_CASE("root_choice: a root is committed on every live device and on a quorum of both tables") {
  const Root before = first_root(6);
  Root next = next_root(before);
  const std::vector<DeviceId> all = {0, 1, 2, 3, 4, 5};
  const std::vector<DeviceId> five = {0, 1, 2, 3, 4};
  const std::vector<DeviceId> three = {0, 1, 2};
  CHECK(is_committed(before, next, all, 2));
  CHECK_FALSE(is_committed(before, next, five, 2));
  mark_left(next, 5, 3);
  CHECK(is_committed(before, next, five, 2));
  mark_left(next, 4, 3);
  mark_left(next, 3, 3);
  CHECK_FALSE(is_committed(before, next, three, 2));
  CHECK_FALSE(may_go_on(Ground::kWitness, next, three, {}, 2));
  // Four devices of a table of seven would do, had the table before not been smaller.
  Root grown = next_root(before);
  for (DeviceId id = 6; id < 9; ++id) {
    RootDevice row;
    row.id = id;
    row.uuid = device_uuid(id);
    grown.devices.push_back(row);
  }
  for (const DeviceId id : {3u, 4u, 5u}) mark_left(grown, id, 3);
  CHECK_FALSE(is_committed(before, grown, std::vector<DeviceId>{0, 1, 2, 6, 7, 8}, 2));
}

TEST_CASE("root_choice: what an opening stands on, and how far it has to come") {
  // 2+2: three usable devices, or all that are live, or nothing.
  Root root = next_epoch_root(promise_root({first_root(4), 1, 4, {}}));
  const auto ground = [&](const std::vector<DeviceId>& here) {
    std::vector<DeviceRoots> devices;
    for (const DeviceId id : here) devices.push_back({id, device_uuid(id), kStore, {root}});
    return ground_of(choose_root(kStore, devices, 2).value(), 2);
  };
  CHECK(ground({0, 1, 2, 3}) == Ground::kWitness);
  CHECK(ground({0, 1, 3}) == Ground::kQuorum);
  CHECK(ground({2, 3}) == Ground::kNone);
  mark_left(root, 0, 5);
  CHECK(ground({1, 2, 3}) == Ground::kWitness);
  CHECK(ground({1, 2}) == Ground::kNone);
  mark_left(root, 1, 5);
  CHECK(ground({2, 3}) == Ground::kWitness);
  CHECK(ground({0, 2, 3}) == Ground::kWitness);
  CHECK(ground({0, 2}) == Ground::kNone);
  // A profile with k > m has a quorum whenever it can be read.
  CHECK(ground_of(choose_root(kStore, all_with(first_root(6)), 2).value(), 2) == Ground::kWitness);
  auto four = all_with(first_root(6));
  four.resize(4);
  CHECK(ground_of(choose_root(kStore, four, 2).value(), 2) == Ground::kQuorum);

  using Ids = std::vector<DeviceId>;
  const Root whole = first_root(4);
  const auto goes_on = [&](Ground stands_on, const Ids& written, const Ids& informed) {
    return may_go_on(stands_on, whole, written, informed, 2);
  };
  for (const Ground any : {Ground::kQuorum, Ground::kWitness, Ground::kWord}) {
    CHECK(goes_on(any, {0, 1, 3}, {}));
    CHECK_FALSE(goes_on(any, {3}, {0, 1, 2, 3}));
  }
  CHECK(goes_on(Ground::kWord, {0, 1}, {}));
  // Device 2 was away: it may have a root of an attempt that device 3 had left behind as well.
  CHECK_FALSE(goes_on(Ground::kQuorum, {0, 1}, {0, 1, 3}));
  CHECK(goes_on(Ground::kWitness, {0, 1}, {0, 1, 2, 3}));
  CHECK(goes_on(Ground::kWitness, {0, 1}, {2, 3}));
  CHECK_FALSE(goes_on(Ground::kWitness, {0, 1}, {0, 1, 3}));
}

TEST_CASE("root_choice: devices that were written apart are named, and chosen by nobody") {
  const Root common = promise_root({first_root(4), 1, 4, {}});
  Root one = next_epoch_root(common);
  REQUIRE(fork(one, common).ok());
  mark_left(one, 2, 5);
  mark_left(one, 3, 5);
  auto devices = all_with(one);
  devices[2].roots = devices[3].roots = {common};
  // They wrote nothing.
  const auto choice = choose_root(kStore, devices, 2);
  REQUIRE(choice.ok());
  CHECK(choice->root == one);
  CHECK(standing_of(*choice, 2) == Standing::kAway);
  // They went on as well, from the same root, in an epoch that is older, or newer.
  for (const bool newer : {false, true}) {
    Root other = next_epoch_root(common);
    if (newer) other.epoch = other.promised_epoch = one.epoch + 100;
    mark_left(other, 0, 5);
    mark_left(other, 1, 5);
    devices[2].roots = {common};
    devices[3].roots = {common, other};
    const auto refused = choose_root(kStore, devices, 2);
    REQUIRE(!refused.ok());
    CHECK(refused.error().code == ErrorCode::kInvalidArgument);
    CAPTURE(refused.error().message);
    CHECK(refused.error().message.find("was written apart") != std::string::npos);
    CHECK(refused.error().hint.find("one half alone") != std::string::npos);
  }
  // An attempt with more devices left, of the epoch that the fork went on from, is apart, too.
  Root attempt = common;
  mark_left(attempt, 0, 5);
  devices[3].roots = {attempt};
  CHECK(choose_root(kStore, devices, 2).error().code == ErrorCode::kInvalidArgument);
  for (std::uint32_t i = 1; i < kMaxForks; ++i) REQUIRE(fork(one, one).ok());
  CHECK(fork(one, one).error().code == ErrorCode::kTooBig);
}

TEST_CASE("root_choice: successors keep the rules of epochs, sequences and marks") {
  Root root = first_root(3);
  root.clean_close = true;
  const Root next = next_root(root);
  CHECK(next.sequence == kMade + 1);
  CHECK(next.epoch == 1);
  CHECK(!next.clean_close);
  RootChoice choice;
  choice.root = root;
  choice.promised_epoch = 9;
  const Root promise = promise_root(choice);
  CHECK(promise.epoch == 1);
  CHECK(promise.promised_epoch == 10);
  Root bumped = next_epoch_root(promise);
  CHECK(bumped.epoch == 10);
  CHECK(bumped.sequence == kMade + 2);
  CHECK(bumped.promised_epoch == 11);
  mark_left(bumped, 1, 44);
  const RootDevice left = bumped.devices[1];
  CHECK(left.left_epoch == 10);
  CHECK(left.left_lsn == 44);
  mark_left(bumped, 1, 55);
  CHECK(bumped.devices[1] == left);
  record_written(bumped, std::vector<DeviceId>{0, 77});
  CHECK(bumped.devices[0].confirmed_epoch == 10);
  CHECK(bumped.devices[2].confirmed_epoch == 0);
  CHECK(check_root(bumped).ok());
  // P6: whatever else was written since.
  std::uint64_t sent = 3;
  CHECK(next_attempt(bumped, sent).sequence == 4);
  CHECK(next_attempt(bumped, sent).sequence == 5);
  CHECK(next_attempt(next_root(root), sent).sequence == 6);
  CHECK(sent == 6);
}
