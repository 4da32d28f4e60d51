// Histories of a store that crashes amid roots, enumerated and at random: nothing that was
// acknowledged is lost, whatever was torn, and whichever devices are away.
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <string>
#include <string_view>

#include "alloc/failure_domains.h"
#include "alloc/root_choice.h"
#include "io/rng.h"
#include "tests/alloc/root_samples.h"

using namespace hexad;
using namespace hexad::alloc;
using namespace hexad::alloc::testing;

namespace {

const Uuid kStore = kSampleStore;

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
  World(std::uint32_t n, std::uint32_t m, std::string_view domains = "",
        std::uint32_t domain_cells = 0)
      : n_(n), m_(m), disks_(n) {
    Root root = first_root(n, domains, domain_cells);
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
    const bool apart = cells_without(acknowledged_, {}) <= 2 * m_;
    if (apart && (present & live_of(acknowledged_)) == 0) return true;
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
    if (!is_read_quorum(choice->root, ids(healthy), m_)) return;
    const Ground ground = ground_of(*choice, m_);
    if (ground == Ground::kNone) return;
    const std::uint64_t nonce = ++openings_ + kMaker;
    Root current = promise_root(*choice);
    current.log_trim.position = name_root(choice->root.log_trim.position);
    if (phase == Phase::kPromise) return store(current, healthy, outcome);
    store(current, healthy, {healthy, 0});
    if (!may_go_on(ground, choice->root, ids(healthy), {}, m_)) return;
    record_written(current, ids(healthy));

    const Root before = current;
    current = next_epoch_root(before, nonce);
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
    current = next_epoch_root(next_before, nonce);
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
  std::uint64_t openings_ = 0;
};

// Sets of present devices without which a stripe has lost at most m cells.
std::vector<unsigned> presences(std::uint32_t n, std::uint32_t m, std::string_view domains = "",
                                std::uint32_t domain_cells = 0) {
  std::vector<unsigned> all;
  for (unsigned set = 0; set < 1u << n; ++set) {
    MostCells absent(domain_cells);
    for (DeviceId id = 0; id < n; ++id) {
      if ((set >> id & 1) == 0) absent.add(domain_of(id, domains));
    }
    if (absent.count() <= m) all.push_back(set);
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

TEST_CASE("root histories: every set of roots that a crash leaves, then an epoch without them") {
  // 4+2; in failure domains 2+1 on three shelves of two, and 2+2 on two of three, with two cells of
  // a stripe on each.
  const bool in_domains = GENERATE(false, true);
  const std::uint32_t m =
      GENERATE_COPY(filter([=](int one) { return in_domains || one == 2; }, values({1, 2})));
  const std::string_view domains = !in_domains ? "" : m == 1 ? "AABBCC" : "AAABBB";
  const std::uint32_t domain_cells = in_domains ? m : 0;
  CAPTURE(in_domains, m);
  const auto present = presences(6, m, domains, domain_cells);
  const World fresh(6, m, domains, domain_cells);
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

TEST_CASE("root histories: 4+2, two root updates in a row cut at every pair of sets") {
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

TEST_CASE(
    "root histories: 2+1, two openings cut in every way, torn writes included, then a third") {
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
    "root histories: 2+1, writes cut between the two ends, then one end of any devices is lost") {
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

TEST_CASE("root histories: without parity, two openings cut in every way, and any that are tried") {
  constexpr Phase kPhases[] = {Phase::kPromise, Phase::kEpoch, Phase::kCheckpoint};
  for (std::uint32_t n = 1; n <= 3; ++n) {
    const unsigned all = (1U << n) - 1;
    const World fresh(n, 0);
    const std::size_t mark = World::parents().size();
    std::vector<Outcome> outcomes;
    for (unsigned written = 0; written <= all; ++written) {
      for (const Ends reached : {Ends::kBoth, Ends::kHead, Ends::kTail}) {
        outcomes.push_back({written, all & ~written, reached});
        outcomes.push_back({written, 0, reached});
      }
    }
    for (const Phase first_phase : kPhases) {
      for (const Outcome& first : outcomes) {
        World once = fresh;
        once.write(all, first_phase, first);
        require_sound(once, {all});
        // Without one of them nobody goes on, or finds anything.
        for (unsigned some = 0; some < all; ++some) {
          REQUIRE_FALSE(once.look(some).ok());
          once.write(some, Phase::kDone, {});
        }
        require_sound(once, {all});
        for (const Phase second_phase : kPhases) {
          for (const Outcome& second : outcomes) {
            World twice = once;
            twice.write(all, second_phase, second);
            CAPTURE(n, static_cast<int>(first_phase), first.written, second.written);
            require_sound(twice, {all});
            twice.write(all, Phase::kDone, {});
            require_sound(twice, {all});
          }
        }
        World::parents().resize(mark);
      }
    }
  }
}

TEST_CASE(
    "root histories: 3+2, attempts of one sequence, as older versions left them, go on opening") {
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

TEST_CASE("root histories: long random histories of crashes never lose what was acknowledged") {
  const std::uint64_t seed = GENERATE(1, 2, 3, 4);
  CAPTURE(seed);
  io::Rng rng(seed);
  for (int round = 0; round < 150; ++round) {
    const std::uint32_t k = 1 + static_cast<std::uint32_t>(rng.below(4));
    const std::uint32_t m = 1 + static_cast<std::uint32_t>(rng.below(3));
    // In some, each domain has up to three devices, and one or two cells of a stripe.
    const bool in_domains = rng.chance(1, 2);
    std::string domains;
    std::uint32_t n = k + m;
    std::uint32_t domain_cells = 0;
    if (in_domains) {
      domain_cells = 1 + static_cast<std::uint32_t>(rng.below(std::min(m, 2U)));
      MostCells cells(domain_cells);
      while (cells.count() < k + m) {
        domains += static_cast<char>('A' + domains.size() / (1 + k % 3));
        cells.add(domains.substr(domains.size() - 1));
      }
      n = static_cast<std::uint32_t>(domains.size());
    }
    const auto present = presences(n, m, domains, domain_cells);
    World world(n, m, domains, domain_cells);
    for (int step = 0; step < 12; ++step) {
      const auto all = std::uint64_t{1} << n;
      const Outcome outcome{static_cast<unsigned>(rng.below(all)),
                            static_cast<unsigned>(rng.below(all)), static_cast<Ends>(rng.below(3))};

      const Phase phase = static_cast<Phase>(rng.below(6));
      world.write(present[rng.below(present.size())], phase, outcome);
      CAPTURE(round, step, k, m, domains, domain_cells);
      require_sound(world, present);
      world.lose_ends(static_cast<unsigned>(rng.below(all)), static_cast<Ends>(rng.below(3)));
      require_sound(world, present);
      world.lose_ends(0, Ends::kBoth);
    }
    World::parents().clear();
  }
}
