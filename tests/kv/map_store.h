// Tables of short keys in maps, as strict about key lengths as LMDB is.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "kv/lmdb/long_key.h"

namespace hexad::kv::testing {

class MapStore final : public ShortKeyStore {
 public:
  using Table = std::map<std::string, std::string, std::less<>>;

  Result<std::optional<std::string_view>> get(ShortTable table, std::string_view key) override {
    const auto it = of(table).find(key);
    if (it == of(table).end()) return std::optional<std::string_view>{};
    return std::optional<std::string_view>(it->second);
  }
  Result<std::unique_ptr<ShortCursor>> cursor(ShortTable table) override {
    ++cursors;
    return std::unique_ptr<ShortCursor>(std::make_unique<Cursor>(of(table), steps));
  }
  Status put(ShortTable table, std::string_view key, std::string_view value) override {
    HEXAD_ASSERT(!key.empty() && key.size() <= 511);
    of(table).insert_or_assign(std::string(key), std::string(value));
    return {};
  }
  Status erase(ShortTable table, std::string_view key) override {
    of(table).erase(std::string(key));
    return {};
  }
  Result<std::uint64_t> new_segment() override { return next_segment++; }

  Table& of(ShortTable table) { return table == ShortTable::kTop ? top : segments; }

  Table top;
  Table segments;
  std::uint64_t next_segment = 1;
  std::uint64_t cursors = 0;  // opened
  std::uint64_t steps = 0;    // moves of all cursors

 private:
  class Cursor final : public ShortCursor {
   public:
    Cursor(const Table& table, std::uint64_t& steps)
        : table_(table), at_(table.end()), steps_(steps) {}
    Status seek(std::string_view key) override { return to(table_.lower_bound(key)); }
    Status seek_to_last() override {
      return to(table_.empty() ? table_.end() : std::prev(table_.end()));
    }
    Status next() override { return to(std::next(at_)); }
    Status prev() override {
      if (at_ != table_.begin()) return to(std::prev(at_));
      valid_ = false;
      return {};
    }

   private:
    Status to(Table::const_iterator at) {
      ++steps_;
      at_ = at;
      valid_ = at != table_.end();
      if (valid_) {
        key_ = at->first;
        value_ = at->second;
      }
      return {};
    }
    const Table& table_;
    Table::const_iterator at_;
    std::uint64_t& steps_;
  };
};

}  // namespace hexad::kv::testing
