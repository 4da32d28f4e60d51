// Openings, failures and crashes of stores with N <= 2m data devices, where two sets of devices
// that can each be read need not meet (alloc/root_choice.h, P8 and P9): without a word of the user
// there is one lineage, whoever opens with whatever devices; with it, lineages that were written
// apart are never taken for one another.
//
// What happens is decided by an oracle: by chance, or so that everything happens in turn.
#include <catch2/catch.hpp>
#include <map>
#include <optional>
#include <vector>

#include "alloc/root_choice.h"
#include "io/rng.h"
#include "tests/alloc/root_samples.h"

using namespace hexad;
using namespace hexad::alloc;

namespace {

const Uuid kStore = testing::kSampleStore;

using Set = unsigned;  // of devices, by bits

std::vector<DeviceId> ids_of(Set set) {
  std::vector<DeviceId> ids;
  for (DeviceId id = 0; set >> id != 0; ++id) {
    if ((set >> id & 1) != 0) ids.push_back(id);
  }
  return ids;
}

Set live_of(const Root& root) {
  Set live = 0;
  for (const RootDevice& row : root.devices) {
    if (row.state == MemberState::kLive) live |= 1u << row.id;
  }
  return live;
}

class Oracle {
 public:
  virtual ~Oracle() = default;
  // Below n.
  virtual unsigned choose(unsigned n) = 0;
  // Anything that goes wrong: rare by chance, and once in each of the histories that are
  // enumerated.
  virtual bool goes_wrong() = 0;
  Set subset(Set of) {
    Set chosen = 0;
    for (const DeviceId id : ids_of(of)) chosen |= choose(2) << id;
    return chosen;
  }
};

class Chance final : public Oracle {
 public:
  explicit Chance(std::uint64_t seed) : rng_(seed) {}
  unsigned choose(unsigned n) override { return static_cast<unsigned>(rng_.below(n)); }
  bool goes_wrong() override { return rng_.chance(1, 4); }

 private:
  io::Rng rng_;
};

// All sequences of answers, one after the other, with at most `faults` faults in each.
class Everything final : public Oracle {
 public:
  explicit Everything(int faults) : faults_(faults) {}
  unsigned choose(unsigned n) override {
    if (at_ == answers_.size()) answers_.push_back({0, n});
    return answers_[at_++].chosen;
  }
  bool goes_wrong() override {
    if (gone_wrong_ == faults_ || choose(2) == 0) return false;
    ++gone_wrong_;
    return true;
  }
  // To the next sequence; false when there was the last one.
  bool next() {
    at_ = 0;
    gone_wrong_ = 0;
    while (!answers_.empty() && answers_.back().chosen + 1 == answers_.back().of) {
      answers_.pop_back();
    }
    if (answers_.empty()) return false;
    ++answers_.back().chosen;
    return true;
  }

 private:
  struct Answer {
    unsigned chosen;
    unsigned of;
  };
  const int faults_;
  int gone_wrong_ = 0;
  std::vector<Answer> answers_;
  std::size_t at_ = 0;
};

struct Disk {
  std::optional<Root> slot[2];

  unsigned target() const {
    if (slot[0] && slot[1]) return is_newer(*slot[0], *slot[1]) ? 1 : 0;
    return slot[0] ? 1 : 0;
  }
  std::vector<Root> roots() const {
    std::vector<Root> found;
    for (const auto& root : slot) {
      if (root) found.push_back(*root);
    }
    return found;
  }
};

enum class Word { kNone, kGiven };

struct Shape {
  std::uint32_t n;
  std::uint32_t m;
  const char* domains = "";  // a letter for each device
  std::uint32_t domain_cells = 0;
};

// A store whose roots have names, in log_trim.position, so that descent can be told.
class Store {
 public:
  Store(const Shape& shape, Oracle& oracle)
      : n_(shape.n),
        m_(shape.m),
        all_((1u << shape.n) - 1),
        table_(testing::first_root(shape.n, shape.domains, shape.domain_cells)),
        oracle_(oracle),
        disks_(shape.n) {
    Root root = table_;
    name(root, 0);
    for (Disk& disk : disks_) disk.slot[0] = root;
    leaves_ = {root.log_trim.position};
    acknowledged_ = root;
  }

  // What was acknowledged and nothing acknowledged descends from. One, as long as nobody gave a
  // word.
  std::size_t lineages() const { return leaves_.size(); }
  const Root& acknowledged() const { return acknowledged_; }
  Set all() const { return all_; }
  bool may_be_read(Set present) const { return is_read_quorum(table_, ids_of(present), m_); }

  Result<RootChoice> look(Set present) const {
    std::vector<DeviceRoots> found;
    for (const DeviceId id : ids_of(present)) {
      found.push_back({id, testing::device_uuid(id), kStore, disks_[id].roots()});
    }
    return choose_root(kStore, found, m_);
  }

  // As core/membership/membership_change.h has it: opens for writing, then
  // makes checkpoints and loses devices, until a crash or the end. Whether it came to be open.
  bool open(Set present, Word word, int steps) {
    const Result<RootChoice> choice = look(present);
    if (!choice.ok()) return false;
    Set healthy = 0;
    Set informed = 0;
    for (const DeviceStanding& device : choice->devices) {
      if (device.standing != Standing::kHealthy) continue;
      healthy |= 1u << device.id;
      if (!device.behind) informed |= 1u << device.id;
    }
    members_ = healthy;
    if (!may_be_read(members_)) return false;
    Ground ground = ground_of(*choice, m_);
    if (ground == Ground::kNone && word == Word::kGiven) ground = Ground::kWord;
    if (ground == Ground::kNone) return false;

    ++openings_;
    Root promise = promise_root(*choice);
    if (ground == Ground::kWord)
      promise.promised_epoch += Epoch{1} << (32 + 4 * ++words_);  // no two sums are equal
    name(promise, choice->root.log_trim.position);
    if (!send(promise)) return false;
    if (!may_go_on(ground, choice->root, ids_of(members_), ids_of(informed), m_)) return false;
    informed |= members_;
    record_written(promise, ids_of(members_));
    current_ = promise;
    sent_ = promise.sequence;
    for (;;) {
      Root next = next_epoch_root(current_, nonce());
      if (ground == Ground::kWord && !fork(next, current_).ok()) return false;
      const Set before = members_;
      if (!send_without_lost(next)) return false;
      if (members_ != before) {
        if (!may_be_read(members_)) return false;
        continue;
      }
      if (!is_committed(current_, next, ids_of(members_), m_) ||
          !may_go_on(ground, choice->root, ids_of(members_), ids_of(informed), m_)) {
        return false;
      }
      commit(next);
      break;
    }
    for (int step = 0; step < steps; ++step) {
      if (oracle_.choose(2) == 0) {
        Root next = next_root(current_);
        ++next.checkpoint_lsn;
        const Set before = members_;
        if (!send_without_lost(next)) return true;
        if (members_ == before) {
          commit(next);
          continue;
        }
      } else {
        members_ &= ~oracle_.subset(members_);
      }
      if (!leave()) return true;
    }
    return true;
  }

  // Nothing, or why what these devices show is wrong.
  std::string problem_of(Set present) const {
    const Result<RootChoice> choice = look(present);
    if (!choice.ok()) {
      // Also where one half has begun to open, and nothing rests on that.
      if (choice.error().code == ErrorCode::kInvalidArgument && words_ > 0) return "";
      return choice.error().message;
    }
    for (const std::uint64_t leaf : leaves_) {
      for (const DeviceId id : ids_of(present)) {
        for (const Root& root : disks_[id].roots()) {
          if (!descends(root.log_trim.position, leaf)) continue;
          if (!descends(choice->root.log_trim.position, leaf)) return "acknowledged roots are lost";
        }
      }
    }
    // Whoever has the devices that count may go on.
    const Set live = live_of(acknowledged_);
    if (lineages() == 1 && (present & live) == live && ground_of(*choice, m_) == Ground::kNone) {
      return "the devices that know it all may not go on";
    }
    return "";
  }

  std::string describe() const {
    std::string text;
    for (DeviceId id = 0; id < n_; ++id) {
      text += "\n" + std::to_string(id) + ":";
      for (const Root& root : disks_[id].roots()) {
        text += " [" + std::to_string(root.log_trim.position) + " epoch " +
                std::to_string(root.epoch) + " sequence " + std::to_string(root.sequence) +
                " live " + std::to_string(live_of(root)) + "]";
      }
    }
    return text;
  }

 private:
  std::uint64_t nonce() const { return 1 + openings_; }
  void name(Root& root, std::uint64_t parent) {
    parents_.push_back(parent);
    root.log_trim.position = parents_.size();
  }
  bool descends(std::uint64_t name, std::uint64_t from) const {
    while (name > from) name = parents_[name - 1];
    return name == from;
  }
  void put(const Root& root, Set to) {
    for (const DeviceId id : ids_of(to)) disks_[id].slot[disks_[id].target()] = root;
  }

  // To all members. Those that fail, some of them with all of the effect, are none any more. False:
  // a crash.
  bool send(const Root& root) {
    if (!oracle_.goes_wrong()) {
      put(root, members_);
      return true;
    }
    if (oracle_.choose(2) == 0) {
      put(root, oracle_.subset(members_));
      return false;
    }
    const Set failed = oracle_.subset(members_);
    put(root, (members_ & ~failed) | oracle_.subset(failed));
    members_ &= ~failed;
    return true;
  }

  bool send_without_lost(Root& next) {
    for (const DeviceId id : ids_of(live_of(next) & ~members_)) mark_left(next, id, 5);
    next = next_attempt(std::move(next), sent_);
    name(next, current_.log_trim.position);
    return send(next);
  }

  void commit(const Root& next) {
    current_ = next;
    record_written(current_, ids_of(members_));
    // Something rests on it from now on.
    const std::uint64_t done = next.log_trim.position;
    bool continues = false;
    for (std::uint64_t& leaf : leaves_) {
      if (!descends(done, leaf)) continue;
      leaf = done;
      continues = true;
    }
    if (!continues) leaves_.push_back(done);
    acknowledged_ = next;
  }

  // A change of membership. False: a crash, or too many are lost.
  bool leave() {
    for (;;) {
      if (!may_be_read(members_)) return false;
      Root next = next_epoch_root(current_, nonce());
      const Set before = members_;
      if (!send_without_lost(next)) return false;
      if (members_ != before) continue;
      if (!is_committed(current_, next, ids_of(members_), m_)) return false;
      commit(next);
      return true;
    }
  }

  const std::uint32_t n_;
  const std::uint32_t m_;
  const Set all_;
  const Root table_;  // whose rows stay the same
  Oracle& oracle_;
  std::vector<Disk> disks_;
  std::vector<std::uint64_t> parents_;
  std::vector<std::uint64_t> leaves_;
  Root acknowledged_;
  std::uint64_t words_ = 0;
  std::uint64_t openings_ = 0;
  // Of the writer.
  Root current_;
  std::uint64_t sent_ = 0;
  Set members_ = 0;
};

void require_sound(const Store& store, const Shape& shape) {
  for (Set present = 1; present <= store.all(); ++present) {
    if (!store.may_be_read(present)) continue;
    const std::string problem = store.problem_of(present);
    if (problem.empty()) continue;
    CAPTURE(shape.n, shape.m, shape.domains, present, store.describe(),
            live_of(store.acknowledged()));
    REQUIRE(problem == "");
  }
}

constexpr Shape kShapes[] = {{2, 1},
                             {3, 2},
                             {4, 2},
                             {5, 3},
                             {3, 1},
                             // 1+1 in two enclosures of two, 1+2 in three, 2+2 in two of three of
                             // which a stripe has two cells in each, 2+1 in three of two.
                             {4, 1, "AABB", 1},
                             {5, 2, "AABBC", 1},
                             {6, 2, "AAABBB", 2},
                             {6, 1, "AABBCC", 1}};

TEST_CASE("root_lineage: whatever fails, and whoever opens with what, there is one lineage") {
  std::map<bool, int> opened;
  for (const Shape& shape : kShapes) {
    for (std::uint64_t seed = 0; seed < 40'000; ++seed) {
      Chance chance(seed);
      Store store(shape, chance);
      for (int i = 0; i < 5; ++i) {
        const Set present = chance.subset(store.all());
        ++opened[store.open(present, Word::kNone, static_cast<int>(chance.choose(4)))];
        if (store.lineages() == 1) continue;
        CAPTURE(shape.n, shape.m, shape.domains, seed, i, present, store.describe());
        FAIL("two writers went on apart");
      }
      CAPTURE(seed);
      require_sound(store, shape);
    }
  }
  REQUIRE(opened[true] > 100'000);
  REQUIRE(opened[false] > 100'000);
}

TEST_CASE("root_lineage: 1+1, 1+2, and 1+1 on two shelves, faults anywhere in their openings") {
  for (const Shape& shape : {Shape{2, 1}, Shape{3, 2}, Shape{4, 1, "AABB", 1}}) {
    std::uint64_t histories = 0;
    Everything everything(shape.n == 2 ? 3 : shape.n == 3 ? 2 : 1);
    do {
      Store store(shape, everything);
      for (int i = 0; i < (shape.n == 2 ? 3 : 2); ++i) {
        store.open(everything.subset(store.all()), Word::kNone, 1);
      }
      ++histories;
      if (store.lineages() == 1 && histories % 16 != 0) continue;
      CAPTURE(shape.n, shape.m, shape.domains, histories, store.describe());
      REQUIRE(store.lineages() == 1);
      require_sound(store, shape);
    } while (everything.next());
    REQUIRE(histories > 10'000);
  }
}

TEST_CASE("root_lineage: with a word there may be several, and none is taken for another") {
  std::map<std::size_t, int> seen;
  for (const Shape& shape : kShapes) {
    for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
      Chance chance(seed);
      Store store(shape, chance);
      for (int i = 0; i < 5; ++i) {
        const Word word = chance.choose(2) == 0 ? Word::kGiven : Word::kNone;
        store.open(chance.subset(store.all()), word, static_cast<int>(chance.choose(3)));
      }
      ++seen[store.lineages()];
      CAPTURE(seed);
      require_sound(store, shape);
    }
  }
  REQUIRE(seen[1] > 1000);
  REQUIRE(seen[2] > 1000);
}

}  // namespace
