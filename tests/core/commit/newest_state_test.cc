#include "core/commit/newest_state.h"

#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>

#include "core/record/keys.h"
#include "io/executor.h"
#include "kv/index.h"

namespace hexad::core {
namespace {

// Has the same value under every key, and reads a device for it.
class SlowIndex final : public kv::Index {
 public:
  class Reader final : public kv::IndexReader {
   public:
    explicit Reader(SlowIndex& index) : index_(index) {}
    Result<std::optional<std::string_view>> get(std::string_view) override {
      ++index_.reads;
      return std::optional<std::string_view>(index_.value);
    }
    Result<Peeked> peek(std::string_view) override { return Peeked{false, std::nullopt}; }
    Result<std::unique_ptr<kv::IndexCursor>> cursor() override {
      return Error{ErrorCode::kUnavailable, "no cursor", ""};
    }
    Lsn applied_lsn() const override { return 1; }
    Epoch applied_epoch() const override { return 1; }

   private:
    SlowIndex& index_;
  };

  Result<std::unique_ptr<kv::IndexReader>> snapshot() override {
    return std::unique_ptr<kv::IndexReader>(std::make_unique<Reader>(*this));
  }
  bool reads_devices() const override { return true; }
  Status apply(Lsn, Epoch, std::span<const kv::IndexChange>) override { return {}; }
  Lsn applied_lsn() const override { return 1; }
  Epoch applied_epoch() const override { return 1; }
  Result<kv::IndexStats> stats() override { return kv::IndexStats(); }
  Status verify() override { return {}; }

  std::string value;
  int reads = 0;
};

// As a plan reads it.
class WarmSource final : public PlanSource {
 public:
  WarmSource(NewestState& newest, const WarmKeys& warm) : newest_(newest), warm_(warm) {}
  Result<std::optional<std::string>> get(std::string_view key) override {
    HEXAD_TRY_ASSIGN(Metadata::Peeked found, newest_.peek(key, warm_));
    if (found.known) return std::move(found.value);
    return Error{ErrorCode::kUnavailable, "not in memory", ""};
  }
  Status scan(std::string_view, const Visit&) override {
    return Error{ErrorCode::kUnavailable, "not in memory", ""};
  }

 private:
  NewestState& newest_;
  const WarmKeys& warm_;
};

std::string object_of(std::uint64_t size) {
  ObjectRecord record;
  record.version = 1;
  record.size = size;
  return encode_object(record, RecordShape());
}

// C12
TEST_CASE("newest state: who counts names is told of what was there without reading the index") {
  const std::unique_ptr<io::Executor> executor = io::make_thread_executor(1);
  SlowIndex index;
  index.value = object_of(100);
  Metadata metadata(*executor, index);
  Counters counters;
  NewestState newest(metadata, counters, 100);
  const auto counted = std::make_shared<CountedNames>();
  counted->keys.push_back({object_key(1, "a"), object_key(1, "z")});
  newest.add_count(counted);

  const std::vector<PostImage> images = {{object_key(1, "b"), object_of(300)}};
  WarmKeys warm;
  REQUIRE(metadata.warm(std::vector<std::string>{images[0].key}, warm).ok());
  index.reads = 0;
  WarmSource source(newest, warm);
  newest.record_concurrent_changes(images, source);
  CHECK_FALSE(counted->lost);
  CHECK(counted->gone.bytes == 100);
  CHECK(counted->come.bytes == 300);
  CHECK(index.reads == 0);

  // It is not there any more: then it is counted anew.
  const WarmKeys nothing;
  WarmSource cold(newest, nothing);
  newest.record_concurrent_changes(images, cold);
  CHECK(counted->lost);
  CHECK(index.reads == 0);
}

}  // namespace
}  // namespace hexad::core
