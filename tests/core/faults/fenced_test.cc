// Another process takes the disks of an open store over, one after the other, at any request: the
// store is shut out. Whatever it has acknowledged, the other one has; nothing that it does later
// reaches the disks; and it says so, instead of taking the disks for lost (TO1 to TO3).
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "tests/base/thinned.h"
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

class FencedLife {
 public:
  FencedLife(SimOrigin& origin, const TakeOver& when, std::uint64_t seed)
      : origin_(origin), when_(when), system_(origin.start(seed)) {
    system_->set_hook([this](const SimOp&) -> std::optional<FaultKind> {
      const std::uint64_t now = requests_++;
      while (fenced_ < origin_.disks().size() && now >= when_.at + fenced_ * when_.apart) {
        fence_next();
      }
      return std::nullopt;
    });
  }

  // Nothing, or what went wrong.
  std::string run() {
    std::string problem;
    system_->run([&] { problem = live(); });
    const std::filesystem::path fast = origin_.pool().fast_directories[0];
    if (std::filesystem::exists(other())) {
      std::filesystem::remove_all(fast);
      std::filesystem::rename(other(), fast);
    }
    return problem;
  }
  std::uint64_t requests() const { return requests_; }
  std::uint64_t acknowledged() const { return ledger_.count(); }
  std::uint64_t shut_out() const { return shut_out_; }

 private:
  std::string other() const { return origin_.pool().fast_directories[0] + ".other"; }
  void fence_next() {
    const std::size_t disk = (when_.first + fenced_++) % origin_.disks().size();
    system_->disk(origin_.disks()[disk]).fence();
  }

  std::string live() {
    std::optional<Store> old;
    {
      Result<Store> opened = Store::open(origin_.pool(), {}, system_.get());
      if (!opened.ok() && opened.error().code != ErrorCode::kFenced) {
        return "open: " + opened.error().to_string();
      }
      if (opened.ok()) old.emplace(std::move(*opened));
    }
    if (old.has_value()) {
      if (const std::string problem = write(*old); !problem.empty()) return problem;
    }
    if (when_.at == kNever) return "";
    system_->set_hook(nullptr);
    // The rest of them.
    const Result<std::vector<DeviceHolder>> holders =
        Store::take_over(origin_.pool(), system_.get());
    if (!holders.ok()) return "take over: " + holders.error().to_string();
    if (holders->size() > origin_.disks().size() - fenced_) return "more had it than have it";
    return take_over(old.has_value() ? &*old : nullptr);
  }

  std::string write(Store& store) {
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      std::map<std::uint64_t, Answer> answers;
      for (std::uint64_t i = 0; i < NumberedLedger::kWriters; ++i) {
        const std::uint64_t number = next_++;
        store.submit(NumberedLedger::transaction(number), answers[number].callback());
      }
      const Status checkpoint = round % 4 == 3 ? store.checkpoint() : Status();
      const auto waits = [&] {
        return std::any_of(answers.begin(), answers.end(),
                           [](const auto& entry) { return !entry.second.given; });
      };
      while (waits()) system_->executor().sleep_for(1'000'000);
      for (const auto& [number, answer] : answers) {
        if (!answer.code.has_value()) {
          ledger_.acknowledge(number);
          continue;
        }
        ++shut_out_;
        const ErrorCode code = *answer.code;
        if (fenced_ == 0) return "nobody has been shut out: " + std::string(to_string(code));
        if (code != ErrorCode::kFenced && code != ErrorCode::kUnknown) {
          return "a commit: " + std::string(to_string(code));
        }
      }
      if (!checkpoint.ok() && fenced_ == 0) return "checkpoint: " + checkpoint.error().to_string();
    }
    const StoreStatus status = store.status();
    for (const DeviceStatus& device : status.devices) {
      if (device.state != "ok") return device.path + " counts as " + device.state;
    }
    return shut_out_ > 0 && !status.read_only ? "a store that is shut out takes commits" : "";
  }

  std::string take_over(Store* old) {
    // The fast directory is the other machine's.
    std::filesystem::rename(origin_.pool().fast_directories[0], other());
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
  const TakeOver when_;
  std::unique_ptr<SimSystem> system_;
  std::size_t fenced_ = 0;
  std::uint64_t requests_ = 0;
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
  for (std::uint64_t at = 0; at < requests; at += 3 * kThinned) {
    for (const std::uint64_t apart : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{9}}) {
      CAPTURE(at, apart);
      FencedLife life(origin, {at, apart, at % 7}, at);
      REQUIRE(life.run() == "");
      shut_out += life.shut_out();
    }
  }
  REQUIRE(shut_out > requests / 3 / kThinned);
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
  for (std::size_t disk = 0; disk < 6; ++disk) {
    CAPTURE(disk);
    const auto system = origin.start(disk);
    const auto use = [&](Store& store) -> std::string {
      for (int i = 0; i < 6; ++i) {  // in packs, and in stripes of their own
        const std::size_t size = i % 2 == 0 ? 9000 : kLarge;
        if (!store.commit(put_of(std::to_string(i), noise(size, i))).ok()) return "commit";
      }
      if (!store.checkpoint().ok()) return "checkpoint";
      system->disk(origin.disks()[disk]).fence();
      const Result<FsckReport> fsck = store.fsck({.deep = true});
      if (code_of(fsck) != ErrorCode::kFenced) return "fsck: " + message_of(fsck.status());
      const Result<ScrubReport> scrub = store.scrub();
      if (code_of(scrub) != ErrorCode::kFenced) return "scrub: " + message_of(scrub.status());
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
