// The block of a run before compression: sorted entries, each key without what it shares with the
// one before (doc/format.md, "Run block"). Blocks of data and of the index have the same form.
//
//   RB1 keys ascend strictly, and each says all that it shares with the one before: a block that
//       parses is sorted, and every content has one encoding
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace hexad::kv {

// How the values lie in a block. On disk; never reused.
enum class RunBlockForm : std::uint8_t {
  kRows = 0,     // one behind the other
  kColumns = 1,  // kv/run/run_columns.h
};

class RunBlockBuilder {
 public:
  // Preconditions: `key` is not empty and above the last one (RB1). Nothing: a tombstone.
  void add(std::string_view key, std::optional<std::string_view> value);
  bool empty() const { return sizes_.empty(); }
  std::size_t count() const { return sizes_.size(); }
  const std::string& last_key() const { return last_key_; }
  // At most this many bytes longer when the entry were added.
  static std::size_t growth(std::string_view key, std::optional<std::string_view> value);
  std::size_t size() const;  // bytes of encode(), or a few more
  // The block's bytes.
  std::string encode(RunBlockForm form) const;
  void clear();

 private:
  std::string heads_;                 // three varints per entry
  std::string rests_;                 // what keys do not share
  std::string values_;                // one behind the other
  std::vector<std::uint32_t> sizes_;  // of them; 0 for a tombstone
  std::string last_key_;
};

// A block in memory, every entry looked at once. Immutable.
class RunBlock {
 public:
  RunBlock() = default;
  // Survives any input; takes at most 8 times its bytes. Errors: kCorruption.
  static Result<RunBlock> parse(std::string bytes);

  std::size_t count() const { return entries_.size(); }
  std::size_t tombstones() const { return tombstones_; }  // of these
  // Of the first entry whose key is >= `key`; count() when there is none. Cost: one pass over the
  // heads.
  std::size_t lower_bound(std::string_view key) const;
  bool key_equals(std::size_t at, std::string_view key) const;
  // Preconditions of these: at < count().
  void read_key(std::size_t at, std::string& key) const;
  // `key` holds the key before `at` and gets the one at `at`.
  void step_key(std::size_t at, std::string& key) const;
  std::optional<std::string_view> value(std::size_t at) const;
  std::uint64_t memory() const;  // bytes

 private:
  struct Entry {
    std::uint32_t shared = 0;  // bytes of the key before
    std::uint32_t rest = 0;    // where the others are in bytes_
    std::uint32_t rest_size = 0;
    std::uint32_t value = 0;
    std::uint32_t value_size = 0;
    bool tombstone = false;
  };
  std::string_view rest(const Entry& entry) const {
    return std::string_view(bytes_).substr(entry.rest, entry.rest_size);
  }

  std::string bytes_;
  std::vector<Entry> entries_;
  std::size_t tombstones_ = 0;
};

}  // namespace hexad::kv
