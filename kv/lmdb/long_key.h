// Long keys in a table whose keys are short (LMDB: 511 bytes), in unchanged bytewise order
// (doc/format.md, "LMDB index").
//
// A key of up to kInlineKey bytes is stored as it is. A longer one is cut after kInlineKey bytes:
// its head P is marked by one entry "P\0", which sorts right after P itself and before everything
// that follows, and which names a segment; the rest of the key lies in the table of segments under
// {segment id, big-endian} + rest, cut again in the same way when it is long. All keys with the
// head P share the segment, so n names with one long prefix cost n + 1 entries.
//
//   LK1 inline keys have 1 to kInlineKey bytes, markers have kInlineKey + 1: never confused
//   LK2 a marker exists exactly while its segment has entries; segment ids are never reused
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kv/walk.h"

namespace hexad::kv {

inline constexpr std::size_t kInlineKey = 480;  // bytes

enum class ShortTable : std::uint8_t { kTop, kSegments };

// What lies below: two ordered tables of short keys. Values are opaque here.
class ShortCursor {
 public:
  virtual ~ShortCursor() = default;
  virtual Status seek(std::string_view key) = 0;  // the first >= key
  virtual Status seek_to_last() = 0;
  virtual Status next() = 0;
  virtual Status prev() = 0;  // from past the end: to the last
  // As IndexCursor::advance() (kv/index.h). Stops on a key that is longer than kInlineKey.
  virtual Result<std::size_t> advance(Direction direction, std::span<KeyValue> into) {
    HEXAD_TRY(direction == Direction::kForward ? next() : prev());
    if (!valid_) return std::size_t{0};
    into[0] = {key_, value_};
    return std::size_t{1};
  }
  bool valid() const { return valid_; }
  // Until the next step.
  std::string_view key() const { return key_; }
  std::string_view value() const { return value_; }

 protected:
  // Where it stands now.
  bool valid_ = false;
  std::string_view key_;
  std::string_view value_;
};

class ShortKeyStore {
 public:
  virtual ~ShortKeyStore() = default;
  virtual Result<std::optional<std::string_view>> get(ShortTable table, std::string_view key) = 0;
  virtual Result<std::unique_ptr<ShortCursor>> cursor(ShortTable table) = 0;
  // Only in a store that is being written.
  virtual Status put(ShortTable table, std::string_view key, std::string_view value) = 0;
  virtual Status erase(ShortTable table, std::string_view key) = 0;  // missing is fine
  // Never the same twice in one store, also after a crash.
  virtual Result<std::uint64_t> new_segment() = 0;
};

// What is stored as a value: {crc32c, kind, bytes}; the crc covers the whole logical key.
// Errors of the readers below: kCorruption when it does not match, with the key in the message.

// `key` is the whole logical key.
Result<std::string_view> decode_long_value(std::string_view key, std::string_view stored);
// Of entries with inline keys, stored values as the table has them: makes values of these, as many
// from the first on as are sound, and returns how many.
std::size_t decode_long_values(std::span<KeyValue> entries);
// The segment id; `name` is the whole head and the byte \0.
Result<std::uint64_t> decode_long_marker(std::string_view name, std::string_view stored);

Result<std::optional<std::string_view>> long_get(ShortKeyStore& store, std::string_view key);
Status long_put(ShortKeyStore& store, std::string_view key, std::string_view value);
Status long_erase(ShortKeyStore& store, std::string_view key);

// Walks the logical keys in order, down into segments and up again.
class LongCursor {
 public:
  explicit LongCursor(ShortKeyStore& store) : store_(store) {}
  Status seek(std::string_view key);         // the first key >= `key`
  Status seek_before(std::string_view key);  // the last key < `key`
  Status seek_to_first();
  Status seek_to_last();
  Status next();
  Status prev();
  Result<std::size_t> advance(Direction direction,
                              std::span<KeyValue> into);  // as kv/index.h has it
  bool valid() const { return valid_; }
  std::string_view key() const { return whole_; }
  std::string_view value() const { return value_; }

 private:
  // One open segment, or the top table.
  struct Level {
    std::unique_ptr<ShortCursor> cursor;
    std::string prefix;     // of the keys in its table: "" or the segment id
    std::size_t depth = 0;  // bytes of the logical key that lie above this level
  };
  Status push(std::uint64_t segment, std::size_t depth);
  Status settle(Direction direction);
  bool inside(const Level& level) const;

  ShortKeyStore& store_;
  std::vector<Level> levels_;  // [0] is the top table
  std::string key_;            // the heads of all open levels, then the rest
  std::string_view whole_;     // the key: in the top table, as it stands there; else of key_
  std::string_view value_;
  bool valid_ = false;
};

}  // namespace hexad::kv
