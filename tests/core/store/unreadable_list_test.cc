// KL5 of core/clean/compactor.h: a list of extents that cannot be read keeps what it hides, and
// nothing else. Before, one such key ended every step of the cleaner, and nothing came back any
// more.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>

#include "base/units.h"
#include "core/engine/engine.h"
#include "core/opening/opening.h"
#include "core/record/keys.h"
#include "core/report/counter_report.h"
#include "core/report/status_report.h"
#include "tests/core/noise.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

constexpr std::size_t kBlock = 4096;

Error refusal() { return {ErrorCode::kCorruption, "the block of this key is damaged", ""}; }

// Hands on what another index says, but for keys that begin with `refused`.
class RefusingReader final : public kv::IndexReader {
 public:
  RefusingReader(std::unique_ptr<kv::IndexReader> inner, const std::string& refused)
      : inner_(std::move(inner)), refused_(refused) {}

  Result<std::optional<std::string_view>> get(std::string_view key) override {
    if (!refused_.empty() && key.starts_with(refused_)) return refusal();
    return inner_->get(key);
  }
  Result<std::unique_ptr<kv::IndexCursor>> cursor() override { return inner_->cursor(); }
  Lsn applied_lsn() const override { return inner_->applied_lsn(); }
  Epoch applied_epoch() const override { return inner_->applied_epoch(); }

 private:
  std::unique_ptr<kv::IndexReader> inner_;
  const std::string& refused_;
};

class RefusingIndex final : public kv::Index {
 public:
  explicit RefusingIndex(kv::Index& inner) : inner_(inner) {}

  Result<std::unique_ptr<kv::IndexReader>> snapshot() override {
    HEXAD_TRY_ASSIGN(std::unique_ptr<kv::IndexReader> reader, inner_.snapshot());
    return std::unique_ptr<kv::IndexReader>(
        std::make_unique<RefusingReader>(std::move(reader), refused));
  }
  Status apply(Lsn lsn, Epoch epoch, std::span<const kv::IndexChange> changes) override {
    return inner_.apply(lsn, epoch, changes);
  }
  Lsn applied_lsn() const override { return inner_.applied_lsn(); }
  Epoch applied_epoch() const override { return inner_.applied_epoch(); }
  Result<kv::IndexStats> stats() override { return inner_.stats(); }
  Status verify() override { return inner_.verify(); }

  std::string refused;  // set before the engine starts

 private:
  kv::Index& inner_;
};

// A store whose index refuses some keys from the opening on.
struct RefusingEngine {
  std::unique_ptr<RefusingIndex> index;
  std::unique_ptr<core::Engine> engine;

  RefusingEngine(StoreFixture& fixture, std::string refused) {
    Result<core::StoreParts> parts = core::open_parts(fixture.pool, {}, fixture.system);
    REQUIRE(parts.ok());
    index = std::make_unique<RefusingIndex>(*parts->index);
    index->refused = std::move(refused);
    parts->metadata = std::make_unique<core::Metadata>(parts->system->executor(), *index);
    engine = std::make_unique<core::Engine>(std::move(parts).value());
    REQUIRE(engine->start().ok());
  }
  std::uint64_t counted(std::string_view name) const {
    for (const Counter& counter : engine->counter_report().all()) {
      if (counter.name == name) return counter.since_open;
    }
    return 0;
  }
  std::string problem_of_cleaning() const {
    for (const JobStatus& job : engine->status_report().status().jobs) {
      if (job.name == "clean") return job.problem;
    }
    return "no such job";
  }
};

// Objects of a page each, of which every second block is written again: half of each is hidden.
std::string cut_up(Store& store, int objects) {
  for (int i = 0; i < objects; ++i) {
    const std::string name = "o" + std::to_string(i);
    if (!put(store, name, noise(1_MiB, i)).ok()) return "put";
    for (std::size_t at = 0; at < 1_MiB; at += 16 * kBlock) {
      Transaction t;
      for (std::size_t block = at; block < at + 16 * kBlock; block += 2 * kBlock) {
        t.write(kBucket, name, block, as_bytes(noise(kBlock, 100 + i)));
      }
      const Status written = store.commit(std::move(t)).status();
      if (!written.ok()) return message_of(written);
    }
  }
  return "";
}

TEST_CASE("unreadable lists: what all the others hide comes back, and the job says what does not") {
  FormatOptions format = small_format();
  format.device_size = 16_MiB;
  StoreFixture fixture(format);
  constexpr int kObjects = 4;
  {
    Store store = fixture.open();
    REQUIRE(cut_up(store, kObjects) == "");
    REQUIRE(message_of(store.close()) == "");
  }
  RefusingEngine refusing(fixture, core::object_key(1, "o1"));
  core::Engine& engine = *refusing.engine;
  REQUIRE_FALSE(engine.reads().get(kBucket, "o1").ok());
  // Until there is no space any more: then commits have had all cleaned that can be.
  Status last;
  for (int i = 0; last.ok(); ++i) {
    REQUIRE(i < 1000);
    Transaction t;
    t.put(kBucket, "more" + std::to_string(i), noise(256_KiB, i));
    last = engine.commit(std::move(t)).status();
  }
  REQUIRE(code_of(last) == ErrorCode::kNoSpace);
  CHECK(refusing.counted("compact_unreadable") >= 1);
  CHECK(refusing.counted("compacted_lists") >= kObjects - 1);
  INFO(refusing.problem_of_cleaning());
  CHECK(refusing.problem_of_cleaning().find("could not be read") != std::string::npos);
  CHECK(engine.reads().get(kBucket, "o0").ok());
  REQUIRE(message_of(engine.close()) == "");
}

}  // namespace
}  // namespace hexad::testing
