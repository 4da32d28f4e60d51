#include "core/membership/membership_change.h"

#include <catch2/catch.hpp>
#include <functional>
#include <optional>
#include <string>

#include "tests/core/membership/membership_world.h"

namespace hexad::core {
namespace {

using testing::MembershipWorld;

// A log of one store that writes nothing but fences; notes the steps.
class TestSteps : public MembershipSteps {
 public:
  explicit TestSteps(MembershipWorld& world)
      : world_(world),
        roots(*world.members, MembershipWorld::kParities, world.first_root(),
              MembershipWorld::kNonce),
        log(make_log()) {}

  Status stop_using(const std::set<DeviceId>& failed) override {
    for (const DeviceId id : failed) world_.members->mark_failed(id, "told to");
    steps += "stop" + names(failed) + " ";
    if (world_.members->lost_cells() > MembershipWorld::kParities) {
      return Error{ErrorCode::kUnavailable, "too many", ""};
    }
    return {};
  }
  Status complete_log(const std::vector<kv::LogArea>& areas, const std::vector<DeviceId>& ids,
                      std::set<DeviceId>& failed) override {
    CHECK(areas.size() == ids.size());
    steps += "log" + names({ids.begin(), ids.end()}) + " ";
    if (fails_log.has_value()) failed.insert(*std::exchange(fails_log, std::nullopt));
    return {};
  }
  Lsn last_counted() const override { return 17; }
  Status describe(alloc::Root& next) const override {
    next.previous_epoch_end = 21;
    return {};
  }
  Status write(const alloc::Root& next, std::set<DeviceId>& failed) override {
    steps += "root ";
    if (before_root) before_root();
    const RootAttempt attempt = roots.send(next);
    failed = attempt.failed;
    CHECK((attempt.committed || !failed.empty()));
    return attempt.refused;
  }
  Result<kv::PreparedBlock> begin_epoch(const std::vector<kv::LogArea>& areas,
                                        Epoch epoch) override {
    steps += "fence ";
    HEXAD_TRY(log.set_areas(areas));
    if (before_fence) before_fence();
    return log.fence(log.last(), epoch);
  }
  Status send_again(io::IoBatch&) override { return {}; }

  Status change(const std::set<DeviceId>& failed) {
    return change_membership(*world_.members, MembershipWorld::kParities, roots, *this, failed);
  }

 private:
  static std::string names(const std::set<DeviceId>& ids) {
    std::string text;
    for (const DeviceId id : ids) text += std::to_string(id);
    return text;
  }
  kv::LogWriter make_log() {
    kv::LogWriterOptions options;
    options.uuid = world_.store;
    options.areas = {world_.members->find(0)->log_area(), world_.members->find(1)->log_area()};
    options.epoch = world_.first_root().epoch;
    return kv::LogWriter::create(std::move(options)).value();
  }

  MembershipWorld& world_;

 public:
  RootWriter roots;
  kv::LogWriter log;
  std::string steps;
  std::optional<DeviceId> fails_log;
  std::function<void()> before_root;
  std::function<void()> before_fence;
};

bool has_left(const alloc::Root& root, DeviceId id) {
  return root.find(id)->state == alloc::MemberState::kLeft;
}

TEST_CASE("membership change: a device leaves, a new epoch begins without it") {
  MembershipWorld w;
  TestSteps steps(w);
  REQUIRE(steps.change({1}).ok());
  CHECK(steps.steps == "stop1 log02 root fence ");
  const alloc::Root& root = steps.roots.current();
  CHECK(root.epoch == w.first_root().epoch + 1);
  CHECK(root.log_devices == std::vector<DeviceId>{0, 2});  // another one has the log for it
  CHECK(root.previous_epoch_end == 21);
  CHECK(has_left(root, 1));
  CHECK_FALSE(has_left(root, 2));
  CHECK(root.find(1)->left_lsn == 17);
  CHECK(w.newest_root(0) == w.newest_root(3));
  CHECK(w.newest_root(1).epoch == w.first_root().epoch);  // it is not asked any more
}

TEST_CASE("membership change: without a failed device a new epoch alone begins") {
  MembershipWorld w;
  TestSteps steps(w);
  REQUIRE(steps.change({}).ok());
  CHECK(steps.steps == "stop log01 root fence ");
  CHECK(steps.roots.current().epoch == w.first_root().epoch + 1);
}

// Each of them leaves, and no two roots that were sent have one epoch and one sequence.
TEST_CASE("membership change: a device that fails a step leaves, and the steps are done again") {
  MembershipWorld w;
  TestSteps steps(w);
  SECTION("the log") {
    steps.fails_log = 2;
    REQUIRE(steps.change({}).ok());
    CHECK(steps.steps == "stop log01 stop2 log01 root fence ");
  }
  SECTION("the root") {
    steps.before_root = [&] { w.fail(2, ErrorCode::kIo); };
    REQUIRE(steps.change({}).ok());
    CHECK(steps.steps == "stop log01 root stop2 log01 root fence ");
    // The one that was given up was of the same epoch, and an earlier one.
    CHECK(steps.roots.current().epoch == w.first_root().epoch + 1);
    CHECK(steps.roots.current().sequence == w.first_root().sequence + 2);
  }
  SECTION("the fence") {
    steps.before_fence = [&] { w.fail(0, ErrorCode::kIo); };
    REQUIRE(steps.change({}).ok());
    CHECK(steps.steps == "stop log01 root fence stop0 log12 root fence ");
    // The first one was committed.
    CHECK(steps.roots.current().epoch == w.first_root().epoch + 2);
    CHECK(has_left(steps.roots.current(), 0));
    return;
  }
  CHECK(has_left(steps.roots.current(), 2));
}

TEST_CASE("membership change: when too many have failed nothing is written") {
  MembershipWorld w;
  TestSteps steps(w);
  CHECK(steps.change({1, 2}).error().code == ErrorCode::kUnavailable);
  CHECK(steps.steps == "stop12 ");
  CHECK(w.newest_root(0) == w.first_root());
}

}  // namespace
}  // namespace hexad::core
