// Metadata over a real index that counts what it is asked, and lets a test step between.
#pragma once

#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/metadata/metadata.h"
#include "io/executor.h"
#include "kv/lmdb/lmdb_index.h"
#include "tests/io/temporary.h"
#include "tests/kv/forwarding_index.h"

namespace hexad::core::testing {

// A real index; `before_snapshot` runs first whenever somebody asks for a snapshot, once.
class HookedIndex final : public hexad::testing::ForwardingIndex {
 public:
  using ForwardingIndex::ForwardingIndex;

  Result<std::unique_ptr<kv::IndexReader>> snapshot() override {
    ++snapshots;
    if (before_snapshot) std::exchange(before_snapshot, nullptr)();
    Result<std::unique_ptr<kv::IndexReader>> reader = ForwardingIndex::snapshot();
    if (after_snapshot) std::exchange(after_snapshot, nullptr)();
    if (!reader.ok()) return reader;
    return std::unique_ptr<kv::IndexReader>(
        std::make_unique<Reader>(std::move(*reader), gets, knows_nothing));
  }

  std::function<void()> before_snapshot;
  std::function<void()> after_snapshot;
  int snapshots = 0;
  int gets = 0;
  bool knows_nothing = false;  // without reading devices

 private:
  class Reader final : public kv::IndexReader {
   public:
    Reader(std::unique_ptr<kv::IndexReader> inner, int& gets, bool knows_nothing)
        : inner_(std::move(inner)), gets_(gets), knows_nothing_(knows_nothing) {}
    Result<Peeked> peek(std::string_view key) override {
      return knows_nothing_ ? Peeked{false, std::nullopt} : inner_->peek(key);
    }
    Result<std::optional<std::string_view>> get(std::string_view key) override {
      ++gets_;
      return inner_->get(key);
    }
    Result<std::unique_ptr<kv::IndexCursor>> cursor() override { return inner_->cursor(); }
    Lsn applied_lsn() const override { return inner_->applied_lsn(); }
    Epoch applied_epoch() const override { return inner_->applied_epoch(); }

   private:
    std::unique_ptr<kv::IndexReader> inner_;
    int& gets_;
    bool knows_nothing_;
  };
};

struct MetadataFixture {
  io::testing::TemporaryDirectory directory;
  std::unique_ptr<io::Executor> executor = io::make_thread_executor(1);
  std::unique_ptr<HookedIndex> index;
  std::unique_ptr<Metadata> metadata;

  MetadataFixture() {
    kv::LmdbOptions options;
    options.dir = directory.path("index");
    options.uuid.bytes.fill(7);
    Result<std::unique_ptr<kv::Index>> opened = kv::open_lmdb_index(options, *executor);
    REQUIRE(opened.ok());
    index = std::make_unique<HookedIndex>(std::move(opened).value());
    metadata = std::make_unique<Metadata>(*executor, *index);
  }

  void to_index(const kv::Memtable& frozen, Lsn lsn) {
    std::vector<kv::IndexChange> changes;
    kv::Memtable::Iterator it = frozen.iterate();
    for (it.seek_to_first(); it.valid(); it.next()) changes.push_back({it.key(), it.value()});
    REQUIRE(index->apply(lsn, 1, changes).ok());
  }
  void checkpoint(Lsn lsn) {
    to_index(*metadata->freeze(lsn), lsn);
    metadata->drop_frozen();
  }
  // All keys and values, by cursor, each also looked up.
  std::map<std::string, std::string> all(Lsn at) {
    Result<std::unique_ptr<MetaView>> view = metadata->view(at);
    REQUIRE(view.ok());
    std::map<std::string, std::string> found;
    Result<MetaView::Cursor> cursor = (*view)->cursor();
    REQUIRE(cursor.ok());
    REQUIRE(cursor->seek("").ok());
    while (cursor->valid()) {
      found[std::string(cursor->key())] = cursor->value();
      const auto value = (*view)->get(cursor->key());
      REQUIRE(value.ok());
      REQUIRE(*value == cursor->value());
      REQUIRE(cursor->next().ok());
    }
    std::map<std::string, std::string> backwards;
    REQUIRE(cursor->seek_before("\xff\xff").ok());
    while (cursor->valid()) {
      REQUIRE((backwards.empty() || cursor->key() < backwards.begin()->first));
      backwards[std::string(cursor->key())] = cursor->value();
      REQUIRE(cursor->prev().ok());
    }
    REQUIRE(backwards == found);
    return found;
  }
};

}  // namespace hexad::core::testing
