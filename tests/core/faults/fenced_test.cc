// Another process takes the disks of an open store over, one after the other, at any request: the
// store is shut out. Whatever it has acknowledged, the other one has; nothing that it does later
// reaches the disks; and it says so, instead of taking the disks for lost (TO1 to TO3).
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/base/campaign.h"
#include "tests/base/thinned.h"
#include "tests/core/faults/replaced_world.h"
#include "tests/core/numbered_ledger.h"
#include "tests/core/rules_world.h"
#include "tests/core/sim_origin.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

constexpr std::uint64_t kNever = ~std::uint64_t{0};
constexpr std::uint64_t kRounds = 12;

// When the disks go to another process: the first one at a request, the next ones each so many
// requests later.
struct TakeOver {
  std::uint64_t at = kNever;
  std::uint64_t apart = 0;
  std::size_t first = 0;  // the disk
};

constexpr std::uint64_t kAparts[] = {0, 1, 9};

// Which requests a sweep tries: all of them with HEXAD_THOROUGH, else other ones for each seed.
bool is_tried(std::uint64_t at) { return at % kThinned == 0 && campaign_picks(at / kThinned, 3); }

// How far apart: one of these for each request, all of them where all requests are tried.
std::vector<std::uint64_t> aparts_of(std::uint64_t at) {
  if (campaign_is_thorough() && kThinned == 1) return {std::begin(kAparts), std::end(kAparts)};
  return {kAparts[at / 3 % std::size(kAparts)]};
}

// Counts requests, and gives the disks away when it is time.
class Taker {
 public:
  Taker(SimSystem& system, std::vector<std::string> disks, const TakeOver& when)
      : system_(system), disks_(std::move(disks)), when_(when) {}

  void begin() {
    system_.set_hook([this](const SimOp&) -> std::optional<FaultKind> {
      const std::uint64_t now = requests_++;
      while (taken_ < disks_.size() && now >= when_.at + taken_ * when_.apart) {
        system_.disk(disks_[(when_.first + taken_++) % disks_.size()]).fence();
      }
      return std::nullopt;
    });
  }
  std::uint64_t requests() const { return requests_; }
  std::size_t taken() const { return taken_; }
  std::size_t left() const { return disks_.size() - taken_; }
  bool comes() const { return when_.at != kNever; }

 private:
  SimSystem& system_;
  const std::vector<std::string> disks_;
  const TakeOver when_;
  std::uint64_t requests_ = 0;
  std::size_t taken_ = 0;
};

// The fast directory of the former owner, which the new one does not have. Put back at the end,
// when both stores are closed.
class FastDirectory {
 public:
  explicit FastDirectory(const SimOrigin& origin) : path_(origin.pool().fast_directories[0]) {}
  FastDirectory(const FastDirectory&) = delete;
  FastDirectory& operator=(const FastDirectory&) = delete;
  ~FastDirectory() {
    if (!std::filesystem::exists(elsewhere())) return;
    std::filesystem::remove_all(path_);
    std::filesystem::rename(elsewhere(), path_);
  }
  void take_away() const { std::filesystem::rename(path_, elsewhere()); }

 private:
  std::string elsewhere() const { return path_ + ".other"; }
  const std::string path_;
};

// `crash_after`: so many requests after an opening the power fails; what is taken over is the store
// that was opened then, and that recovers first.
class FencedLife {
 public:
  FencedLife(SimOrigin& origin, const TakeOver& when, std::uint64_t seed,
             std::uint64_t crash_after = kNever)
      : origin_(origin),
        crash_after_(crash_after),
        system_(origin.start(seed)),
        taker_(*system_, origin.disks(), when),
        fast_(origin) {}

  // Nothing, or what went wrong.
  std::string run() {
    std::string problem;
    if (crash_after_ != kNever) {
      system_->run([&] { problem = crash(); });
      system_->set_hook(nullptr);
      system_->power_cut();
      if (!problem.empty()) return problem;
    }
    taker_.begin();
    system_->run([&] { problem = live(); });
    return problem;
  }
  std::uint64_t requests() const { return taker_.requests(); }
  std::uint64_t requests_of_opening() const { return requests_of_opening_; }
  std::uint64_t acknowledged() const { return ledger_.count(); }
  std::uint64_t shut_out() const { return shut_out_; }

 private:
  using Answers = std::map<std::uint64_t, Answer>;

  std::string crash() {
    Result<Store> opened = Store::open(origin_.pool(), {}, system_.get());
    if (!opened.ok()) return "the first opening: " + opened.error().to_string();
    Cut cut{crash_after_, ""};
    arm(*system_, cut);
    for (bool failed = false; !failed;) {
      if (next_ > 10'000) return "the power has not failed";
      const std::uint64_t first = next_;
      Answers answers;
      submit_round(*opened, answers);
      wait_for(answers);
      for (const auto& [number, answer] : answers) {
        failed = failed || answer.code.has_value();
        if (!answer.code.has_value()) ledger_.acknowledge(number);
      }
      // What may or may not have happened is what is tried first again.
      if (failed) next_ = first;
    }
    return cut.struck ? "" : "a commit has failed";
  }

  // One of each writer.
  void submit_round(Store& store, Answers& answers) {
    for (std::uint64_t i = 0; i < NumberedLedger::kWriters; ++i) {
      const std::uint64_t number = next_++;
      store.submit(NumberedLedger::transaction(number), answers[number].callback());
    }
  }
  void wait_for(const Answers& answers) {
    const auto waits = [&] {
      return std::any_of(answers.begin(), answers.end(),
                         [](const auto& entry) { return !entry.second.given; });
    };
    while (waits()) system_->executor().sleep_for(1'000'000);
  }

  std::string live() {
    std::optional<Store> old;
    {
      Result<Store> opened = Store::open(origin_.pool(), {}, system_.get());
      requests_of_opening_ = taker_.requests();
      const bool knows = !opened.ok() && opened.error().code == ErrorCode::kFenced;
      if (!opened.ok() && !knows) return "open: " + opened.error().to_string();
      if (knows && taker_.taken() == 0) return "open: nobody has been shut out";
      if (knows) ++shut_out_;
      if (opened.ok()) old.emplace(std::move(*opened));
    }
    if (old.has_value()) {
      if (const std::string problem = write(*old); !problem.empty()) return problem;
    }
    if (!taker_.comes()) return "";
    system_->set_hook(nullptr);
    // The rest of them.
    const Result<std::vector<DeviceHolder>> holders =
        Store::take_over(origin_.pool(), system_.get());
    if (!holders.ok()) return "take over: " + holders.error().to_string();
    if (holders->size() > taker_.left()) return "more had it than have it";
    return take_over(old.has_value() ? &*old : nullptr);
  }

  std::string write(Store& store) {
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      Answers answers;
      submit_round(store, answers);
      const Status checkpoint = round % 4 == 3 ? store.checkpoint() : Status();
      wait_for(answers);
      for (const auto& [number, answer] : answers) {
        if (!answer.code.has_value()) {
          ledger_.acknowledge(number);
          continue;
        }
        ++shut_out_;
        const ErrorCode code = *answer.code;
        if (taker_.taken() == 0) return "nobody has been shut out: " + std::string(to_string(code));
        if (code != ErrorCode::kFenced && code != ErrorCode::kUnknown) {
          return "a commit: " + std::string(to_string(code));
        }
      }
      if (!checkpoint.ok() && taker_.taken() == 0) {
        return "checkpoint: " + checkpoint.error().to_string();
      }
    }
    const StoreStatus status = store.status();
    for (const DeviceStatus& device : status.devices) {
      if (device.state != "ok") return device.path + " counts as " + device.state;
    }
    return shut_out_ > 0 && !status.read_only ? "a store that is shut out takes commits" : "";
  }

  std::string take_over(Store* old) {
    fast_.take_away();
    Result<Store> opened = Store::open(origin_.pool(), {}, system_.get());
    if (!opened.ok()) return "the new owner opens: " + opened.error().to_string();
    Store& store = *opened;
    if (const std::string lost = ledger_.difference(store); !lost.empty()) return lost;
    for (std::uint64_t i = 0; i < NumberedLedger::kNames; ++i) {
      const std::uint64_t number = NumberedLedger::kNames * 100 + i;
      const Result<Lsn> done = store.commit(NumberedLedger::transaction(number));
      if (!done.ok()) return "the new owner: " + done.error().to_string();
      newer_.acknowledge(number);
      if (old != nullptr && i % 7 == 0) {
        if (const std::string problem = ask(*old, i); !problem.empty()) return problem;
      }
    }
    if (!store.checkpoint().ok()) return "the new owner's checkpoint";
    if (old != nullptr) old->close().ignore();
    if (const std::string lost = newer_.difference(store); !lost.empty()) return lost;
    return findings(store);
  }

  // The former owner goes on asking.
  std::string ask(Store& old, std::uint64_t i) {
    Transaction t;
    t.put(kDefaultCollection, NumberedLedger::name_of(i), "late");
    const Result<Lsn> late = old.commit(std::move(t));
    if (late.ok()) return "a commit of the former owner was acknowledged";
    const ErrorCode code = late.error().code;
    if (code != ErrorCode::kFenced && code != ErrorCode::kUnknown) {
      return "the former owner: " + late.error().to_string();
    }
    shut_out_ += 1;
    const Result<Bytes> read = old.get(kDefaultCollection, NumberedLedger::name_of(i));
    if (read.ok()) return "";  // of its memory
    const bool knows = read.error().code == ErrorCode::kFenced;
    const bool never = read.error().code == ErrorCode::kNotFound;
    return knows || never ? "" : "a read of the former owner: " + read.error().to_string();
  }

  SimOrigin& origin_;
  const std::uint64_t crash_after_;
  std::unique_ptr<SimSystem> system_;
  Taker taker_;
  FastDirectory fast_;
  std::uint64_t requests_of_opening_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t shut_out_ = 0;
  NumberedLedger ledger_;
  NumberedLedger newer_;
};

TEST_CASE("fenced: taken over at any request, all that was acknowledged is with the new owner") {
  SimOrigin origin;
  std::uint64_t requests = 0;
  {
    FencedLife life(origin, {}, 1);
    REQUIRE(life.run() == "");
    requests = life.requests();
    REQUIRE(life.acknowledged() == kRounds * NumberedLedger::kWriters);
  }
  REQUIRE(requests > 300);
  std::uint64_t shut_out = 0;
  std::uint64_t tried = 0;
  for (std::uint64_t at = 0; at < requests; ++at) {
    if (!is_tried(at)) continue;
    ++tried;
    for (const std::uint64_t apart : kAparts) {
      CAPTURE(at, apart);
      FencedLife life(origin, {at, apart, at % 7}, at);
      REQUIRE(life.run() == "");
      shut_out += life.shut_out();
    }
  }
  REQUIRE(shut_out > tried);
}

TEST_CASE("fenced: taken over at any request while it recovers after a crash") {
  SimOrigin origin;
  for (const std::uint64_t crash_after : {40, 155, 290}) {
    std::uint64_t requests = 0;
    {
      FencedLife life(origin, {}, crash_after, crash_after);
      REQUIRE(life.run() == "");
      requests = life.requests_of_opening();
    }
    REQUIRE(requests > 30);
    std::uint64_t shut_out = 0;
    for (std::uint64_t at = 0; at < requests; ++at) {
      if (!is_tried(at)) continue;
      for (const std::uint64_t apart : aparts_of(at)) {
        CAPTURE(crash_after, at, apart);
        FencedLife life(origin, {at, apart, at % 7}, crash_after, crash_after);
        REQUIRE(life.run() == "");
        shut_out += life.shut_out();
      }
    }
    REQUIRE(shut_out > 0);
  }
}

enum class Change : std::uint8_t { kAdd, kReplace };

// A device is added, or takes the place of one that answers, when another process takes the pool
// over; it goes on with the change.
class FencedChange {
 public:
  FencedChange(SimOrigin& origin, Change change, const TakeOver& when, std::uint64_t seed)
      : change_(change),
        system_(start(origin, seed)),
        world_{*system_, origin.pool()},
        taker_(*system_, all_disks(origin), when),
        fast_(origin) {}

  // Nothing, or what went wrong.
  std::string run() {
    system_->run([this] { live(); });
    return world_.problem;
  }
  std::uint64_t requests() const { return requests_; }
  bool was_shut_out() const { return was_shut_out_; }
  bool was_there() const { return was_there_; }

 private:
  using World = ReplacedWorld;
  static constexpr const char* kLate = "late";

  static std::vector<std::string> all_disks(const SimOrigin& origin) {
    std::vector<std::string> disks = origin.disks();
    disks.emplace_back(kNew);
    return disks;
  }
  Result<DeviceId> begin(Store& store) const {
    return change_ == Change::kAdd ? store.add_device(kNew) : store.replace_device({kGone, kNew});
  }
  void expect_shut_out(const Status& status, const std::string& what) {
    const auto code = code_of(status);
    world_.expect(code == ErrorCode::kFenced || code == ErrorCode::kUnknown,
                  what + ": " + (status.ok() ? "went well" : status.error().to_string()));
  }
  // Nobody counts as lost. The one that goes leaves with one root and has no row in the next.
  void expect_no_loss(Store& store, const std::string& whose) {
    for (const DeviceStatus& one : store.status().devices) {
      if (one.role != "data" || one.state == "ok" || one.state == "draining") continue;
      if (change_ == Change::kReplace && one.path == kOld && one.state == "away") continue;
      world_.expect(false, one.path + " counts as " + one.state + whose);
    }
  }

  void live() {
    Result<Store> opened = Store::open(world_.pool, replacing(), system_.get());
    world_.expect_ok(opened.status(), "open");
    if (!opened.ok()) return;
    Store& old = *opened;
    world_.churn(old, 4);
    taker_.begin();
    const Result<DeviceId> done = begin(old);
    requests_ = taker_.requests();
    if (!taker_.comes()) {
      world_.expect_ok(done.status(), "the change");
      system_->set_hook(nullptr);
      return;
    }
    world_.expect(taker_.taken() > 0, "nobody was shut out");
    if (!done.ok()) expect_shut_out(done.status(), "the change");
    was_shut_out_ = !done.ok();
    for (int i = 0; i < 3 && world_.put(old); ++i) continue;
    expect_no_loss(old, " for the former owner");
    system_->set_hook(nullptr);
    world_.pool.devices.emplace_back(kNew);
    const auto holders = Store::take_over(world_.pool, system_.get());
    world_.expect_ok(holders.status(), "take over");
    fast_.take_away();
    if (world_.problem.empty()) go_on(old);
  }

  void late(Store& old) {
    Transaction t;
    t.put(kDefaultCollection, kLate, "late");
    expect_shut_out(old.commit(std::move(t)).status(), "a commit of the former owner");
  }

  void go_on(Store& old) {
    world_.open([&](Store& store) {
      world_.problem += world_.model.check(store);
      expect_no_loss(store, " for the new owner");
      late(old);
      world_.churn(store, 3);
      finish(store);
      late(old);
      old.close().ignore();
      world_.churn(store, 3);
      world_.expect_ok(store.checkpoint(), "checkpoint");
      world_.problem += world_.model.check(store);
      world_.expect(!store.get(kDefaultCollection, kLate).ok(), "what came late is there");
      world_.look_deep(store);
    });
  }

  void finish(Store& store) {
    for (const DeviceStatus& one : store.status().devices) {
      if (one.role == "data" && one.path == kNew) was_there_ = true;
    }
    if (World::state(store, kGone) == "away") {
      world_.expect_ok(store.bring_back_device(kGone), "back");
      world_.catch_up(store);
    }
    const bool over = change_ == Change::kAdd ? was_there_ : World::state(store, kGone) == "none";
    if (!over) world_.expect_ok(begin(store).status(), "the change by the new owner");
  }

  const Change change_;
  std::unique_ptr<SimSystem> system_;
  World world_;
  Taker taker_;
  FastDirectory fast_;
  std::uint64_t requests_ = 0;
  bool was_shut_out_ = false;
  bool was_there_ = false;  // the new device, when the new owner has opened the pool
};

void sweep(Change change, std::uint64_t growth) {
  SimOrigin origin(large_disks(), fill);
  std::uint64_t requests = 0;
  {
    FencedChange whole(origin, change, {}, 1);
    REQUIRE(whole.run() == "");
    requests = whole.requests();
  }
  REQUIRE(requests > 20);
  std::uint64_t shut_out = 0;
  std::set<bool> there;
  std::uint64_t number = 0;
  for (std::uint64_t at = 0; at < requests; at += 1 + (growth == 0 ? 0 : at / growth)) {
    if (!is_tried(number++)) continue;
    for (const std::uint64_t apart : aparts_of(at)) {
      CAPTURE(at, apart);
      FencedChange life(origin, change, {at, apart, at % 8}, 1);
      REQUIRE(life.run() == "");
      shut_out += life.was_shut_out() ? 1 : 0;
      there.insert(life.was_there());
    }
  }
  CHECK(shut_out > 0);
  CHECK(there.size() == 2);
}

TEST_CASE("fenced: taken over at any request while a device is added") { sweep(Change::kAdd, 0); }

// It has thousands of requests; the more have been answered, the fewer of the next ones are tried.
TEST_CASE("fenced: taken over while a device that answers is replaced") {
  sweep(Change::kReplace, 20);
}

// Of one disk alone: the others would do, and may be another owner's by now.
TEST_CASE("fenced: a read that a disk shuts out says so, and notes no damage") {
  SimOrigin origin;
  int shut_out = 0;
  for (std::size_t disk = 0; disk < 6; ++disk) {
    const auto system = origin.start(1);
    RuntimeOptions options;
    options.cache_size = 0;
    const auto use = [&](Store& store) -> std::string {
      if (!store.commit(put_of("a", noise(kLarge, 1))).ok()) return "commit";
      if (!store.checkpoint().ok()) return "checkpoint";
      system->disk(origin.disks()[disk]).fence();
      const Result<Bytes> read = store.get(kDefaultCollection, "a");
      if (read.ok()) return "";  // it has parity there
      if (read.error().code != ErrorCode::kFenced) return read.error().to_string();
      ++shut_out;
      const StoreStatus status = store.status();
      if (!status.read_only) return "not read-only";
      if (status.read_only_reason.find("taken") == std::string::npos) return "no reason";
      if (status.damaged_blobs != 0) return "damage was noted";
      for (const DeviceStatus& device : status.devices) {
        if (device.state != "ok") return device.path + " counts as " + device.state;
      }
      const Result<Lsn> late = store.commit(put_of("b", noise(kLarge, 2)));
      if (late.ok()) return "a commit was acknowledged";
      const Result<Lsn> later = store.commit(put_of("c", "x"));
      return code_of(later) == ErrorCode::kFenced ? "" : "a later commit";
    };
    CAPTURE(disk);
    REQUIRE(with_store(*system, origin.pool(), use, options) == "");
  }
  REQUIRE(shut_out == 4);
}

// Who looks at all of it learns the same, and finds nothing wrong.
TEST_CASE("fenced: a scrub and a check of a store that is shut out are no findings") {
  SimOrigin origin;
  const bool packs_alone = GENERATE(false, true);
  for (std::size_t disk = 0; disk < 6; ++disk) {
    CAPTURE(disk, packs_alone);
    const auto system = origin.start(disk);
    const auto use = [&](Store& store) -> std::string {
      for (int i = 0; i < 6; ++i) {  // in packs, and in stripes of their own
        const std::size_t size = packs_alone || i % 2 == 0 ? 9000 : kLarge;
        if (!store.commit(put_of(std::to_string(i), noise(size, i))).ok()) return "commit";
      }
      if (!store.checkpoint().ok()) return "checkpoint";
      system->disk(origin.disks()[disk]).fence();
      const Result<ScrubReport> scrub = store.scrub();
      if (code_of(scrub) != ErrorCode::kFenced) return "scrub: " + message_of(scrub.status());
      if (counter(store, "scrub_findings") != 0) return "the scrub found something";
      const Result<FsckReport> fsck = store.fsck({.deep = true});
      if (code_of(fsck) != ErrorCode::kFenced) return "fsck: " + message_of(fsck.status());
      const StoreStatus status = store.status();
      for (const DeviceStatus& device : status.devices) {
        if (device.state != "ok") return device.path + " counts as " + device.state;
      }
      return status.damaged_blobs == 0 ? "" : "damage was noted";
    };
    REQUIRE(with_store(*system, origin.pool(), use) == "");
  }
}

TEST_CASE("fenced: buffered commits that were answered and are lost are told of first") {
  SimOrigin origin;
  const auto system = origin.start(1);
  const auto use = [&](Store& store) -> std::string {
    for (const std::string& disk : origin.disks()) system->disk(disk).fence();
    Transaction t;
    t.put(kDefaultCollection, "a", "buffered");
    const Result<Lsn> answered = store.commit(std::move(t), {.durability = Durability::kBuffered});
    if (!answered.ok()) return "buffered: " + answered.error().to_string();
    system->executor().sleep_for(1'000'000'000);  // its group has met the fence
    const Result<Lsn> durable = store.commit(put_of("b", "x"));
    if (code_of(durable) != ErrorCode::kIo) return "durable: " + message_of(durable.status());
    const std::string lsn = "LSN " + std::to_string(*answered) + " to";
    if (durable.error().message.find(lsn) == std::string::npos) return durable.error().message;
    return code_of(store.sync()) == ErrorCode::kIo ? "" : "sync";
  };
  REQUIRE(with_store(*system, origin.pool(), use) == "");
}

}  // namespace
}  // namespace hexad::testing
