#include "kv/lmdb/lmdb_check.h"

#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/codec.h"
#include "kv/index.h"
#include "kv/lmdb/lmdb_state.h"
#include "kv/lmdb/long_key.h"

namespace hexad::kv {
namespace {

constexpr std::size_t kPageHeader = 16;  // bytes: number, padding, flags, lower, upper
constexpr std::size_t kNodeHeader = 8;   // bytes: low, high, flags, key size
constexpr std::uint16_t kBranch = 0x01;
constexpr std::uint16_t kLeaf = 0x02;
constexpr std::uint16_t kOverflow = 0x04;
constexpr std::uint16_t kBigData = 0x01;
constexpr std::uint16_t kSubData = 0x02;
constexpr std::size_t kMaxDepth = 32;         // LMDB's own limit
constexpr std::uint16_t kIntegerKeys = 0x08;  // of a tree; all others are about several values

struct Node {
  std::uint16_t flags = 0;
  std::uint64_t low_high = 0;  // 32 bits: data size, or the low part of a page number
  std::string_view key;
  std::string_view inline_data;  // to the end of the page; the size is in low_high
};

// What every page begins with; what stands in the rest of its header depends on its kind.
struct PageHead {
  std::uint64_t number = 0;
  std::uint16_t flags = 0;
};

PageHead decode_page_head(Decoder& in) {
  PageHead head;
  head.number = in.le64();
  in.le16();
  head.flags = in.le16();
  return head;
}

enum class KeyOrder { kBytes, kInteger };

class Checker {
 public:
  Checker(const LmdbFile& file, const LmdbMeta& meta)
      : file_(file), meta_(meta), seen_(meta.last_page + 1) {}

  // Called for each entry of a tree, in order.
  using Visit = std::function<Status(std::string_view key, std::string_view data, bool sub)>;

  Status walk(const LmdbTree& tree, KeyOrder order, const Visit& visit) {
    HEXAD_TRY(check_flags(tree, order));
    if (tree.root == kNoLmdbPage) {
      return tree.entries == 0 ? Status() : corrupt(0, "an empty tree with entries");
    }
    if (tree.depth == 0 || tree.depth > kMaxDepth) return corrupt(tree.root, "impossible depth");
    order_ = order;
    before_.reset();
    entries_ = 0;
    HEXAD_TRY(walk_page(tree.root, tree.depth, std::nullopt, std::nullopt, visit));
    if (entries_ != tree.entries) {
      return corrupt(tree.root, std::to_string(entries_) + " entries where " +
                                    std::to_string(tree.entries) + " are recorded");
    }
    return {};
  }

  // They say how keys are ordered and whether one may have several values, and LMDB acts on it.
  Status check_flags(const LmdbTree& tree, KeyOrder order) const {
    if (tree.flags == (order == KeyOrder::kInteger ? kIntegerKeys : 0)) return {};
    return corrupt(tree.root, "the root of a tree with flags " + std::to_string(tree.flags));
  }

  // Marks pages as taken, each at most once.
  Status take(std::uint64_t page, std::uint64_t count = 1) {
    if (page < 2 || count > seen_.size() || page > seen_.size() - count) {
      return corrupt(page, "outside the file");
    }
    for (std::uint64_t i = page; i < page + count; ++i) {
      if (seen_[i]) return corrupt(i, "in two places");
      seen_[i] = true;
    }
    return {};
  }

  Error corrupt(std::uint64_t page, const std::string& what) const {
    return Error{ErrorCode::kCorruption,
                 file_.path() + ": page " + std::to_string(page) + ": " + what,
                 "the index is a copy: drop its directory and let it be built again"};
  }

 private:
  using Bound = std::optional<std::string>;

  bool less(std::string_view a, std::string_view b) const {
    if (order_ == KeyOrder::kBytes) return a < b;
    return Decoder(a).le64() < Decoder(b).le64();
  }

  Status walk_page(std::uint64_t number, std::size_t depth, const Bound& low, const Bound& high,
                   const Visit& visit) {
    HEXAD_TRY(take(number));
    Bytes page(meta_.page_size);
    HEXAD_TRY(file_.read(number * meta_.page_size, page));
    Decoder header(page);
    const PageHead head = decode_page_head(header);
    const std::uint16_t lower = header.le16();
    const std::uint16_t upper = header.le16();
    if (head.number != number) return corrupt(number, "says it is another page");
    if (head.flags != (depth > 1 ? kBranch : kLeaf)) return corrupt(number, "of another kind");
    if (lower < kPageHeader || lower % 2 != 0 || lower > upper || upper > meta_.page_size) {
      return corrupt(number, "its bounds do not fit");
    }
    const std::size_t count = (lower - kPageHeader) / 2;
    if (count < (depth > 1 ? 2 : 1)) return corrupt(number, "too few entries");
    std::vector<Node> nodes(count);
    for (std::size_t i = 0; i < count; ++i) {
      HEXAD_TRY_ASSIGN(nodes[i], node_at(number, page, upper, header.le16()));
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (depth > 1) {
        const std::uint64_t child = nodes[i].low_high | static_cast<std::uint64_t>(nodes[i].flags)
                                                            << 32;
        const Bound from = i == 0 ? low : Bound(nodes[i].key);
        const Bound to = i + 1 == count ? high : Bound(nodes[i + 1].key);
        HEXAD_TRY(walk_page(child, depth - 1, from, to, visit));
      } else {
        HEXAD_TRY(visit_leaf(number, nodes[i], low, high, visit));
      }
    }
    return {};
  }

  Result<Node> node_at(std::uint64_t number, ByteView page, std::size_t upper,
                       std::size_t offset) const {
    if (offset < upper || offset + kNodeHeader > page.size()) {
      return corrupt(number, "a node outside it");
    }
    Decoder in(page.subspan(offset));
    Node node;
    node.low_high = in.le32();
    node.flags = in.le16();
    node.key = in.raw(in.le16());
    node.inline_data = in.rest();
    if (!in.ok()) return corrupt(number, "a key that leaves it");
    if (order_ == KeyOrder::kInteger && !node.key.empty() && node.key.size() != 8) {
      return corrupt(number, "a key that is no number");
    }
    return node;
  }

  Status visit_leaf(std::uint64_t number, const Node& node, const Bound& low, const Bound& high,
                    const Visit& visit) {
    if (node.key.empty()) return corrupt(number, "an empty key");
    if ((before_.has_value() && !less(*before_, node.key)) ||
        (low.has_value() && less(node.key, *low)) || (high.has_value() && !less(node.key, *high))) {
      return corrupt(number, "keys out of order");
    }
    before_ = std::string(node.key);
    ++entries_;
    if ((node.flags & ~(kBigData | kSubData)) != 0) return corrupt(number, "unknown node flags");
    const bool sub = (node.flags & kSubData) != 0;
    if ((node.flags & kBigData) == 0) {
      if (node.low_high > node.inline_data.size()) return corrupt(number, "data that leaves it");
      return visit(node.key, node.inline_data.substr(0, node.low_high), sub);
    }
    if (node.inline_data.size() < 8) return corrupt(number, "data that leaves it");
    HEXAD_TRY_ASSIGN(const Bytes data,
                     read_overflow(Decoder(node.inline_data.substr(0, 8)).le64(), node.low_high));
    return visit(node.key, as_text(data), sub);
  }

  Result<Bytes> read_overflow(std::uint64_t number, std::uint64_t size) {
    if (number < 2 || number > meta_.last_page) return corrupt(number, "outside the file");
    Bytes header(kPageHeader);
    HEXAD_TRY(file_.read(number * meta_.page_size, header));
    Decoder in(header);
    const PageHead head = decode_page_head(in);
    const std::uint64_t pages = in.le32();
    if (head.number != number || head.flags != kOverflow) {
      return corrupt(number, "not the overflow page that it should be");
    }
    HEXAD_TRY(take(number, pages));
    if (pages == 0 || size > pages * meta_.page_size - kPageHeader) {
      return corrupt(number, "a value longer than its pages");
    }
    Bytes data(size);
    HEXAD_TRY(file_.read(number * meta_.page_size + kPageHeader, data));
    return data;
  }

  const LmdbFile& file_;
  const LmdbMeta& meta_;
  std::vector<bool> seen_;  // by page number
  KeyOrder order_ = KeyOrder::kBytes;
  std::optional<std::string> before_;
  std::uint64_t entries_ = 0;
};

// The meaning of the entries, on top of a sound structure.
class Meaning {
 public:
  explicit Meaning(const Uuid& uuid) : uuid_(uuid) {}

  Status state_entry(std::string_view key, std::string_view data) {
    if (key != kLmdbStateKey) return corrupt("an unknown entry beside the LSN marker");
    HEXAD_TRY_ASSIGN(state_, decode_lmdb_state(data));
    if (state_->uuid != uuid_) return corrupt("it belongs to store " + to_string(state_->uuid));
    return {};
  }
  Status key_entry(std::string_view key, std::string_view data) {
    prints_ += lmdb_print(LmdbTable::kKeys, key, data);
    return entry("", key, data);
  }
  Status segment_entry(std::string_view key, std::string_view data) {
    prints_ += lmdb_print(LmdbTable::kSegments, key, data);
    if (key.size() <= 8) return corrupt("a segment entry without a key");
    const std::uint64_t segment = read_be64(key);
    // Segments are made outside in, so a marker's segment has a higher id than the one it is in.
    const auto head = heads_.find(segment);
    if (head == heads_.end())
      return corrupt("segment " + std::to_string(segment) + " has no marker");
    filled_.insert(segment);
    return entry(head->second, key.substr(8), data);
  }
  Status has_state() const {
    return state_.has_value() ? Status() : Status(corrupt("no LSN marker"));
  }
  Status finish() const {
    HEXAD_TRY(has_state());
    if (filled_.size() != heads_.size()) return corrupt("a marker without a segment");  // LK2
    if (!heads_.empty() && heads_.rbegin()->first >= state_->next_segment) {
      return corrupt("a segment id that was never given out");
    }
    if (prints_ != state_->prints) {
      return corrupt("its entries are not all of one state: writes of some pages were lost");
    }
    return {};
  }

 private:
  static Error corrupt(std::string what) {
    return Error{ErrorCode::kCorruption, "index: " + std::move(what),
                 "the index is a copy: drop its directory and let it be built again"};
  }
  Status entry(const std::string& head, std::string_view rest, std::string_view data) {
    const std::string key = head + std::string(rest);
    if (key.size() > kMaxIndexKey + 1)
      return corrupt("a key of " + std::to_string(key.size()) + " bytes");
    if (rest.size() <= kInlineKey) return decode_long_value(key, data).status();
    if (rest.size() != kInlineKey + 1 || rest.back() != '\0') {
      return corrupt("neither an inline key nor a marker");  // LK1
    }
    HEXAD_TRY_ASSIGN(const std::uint64_t segment, decode_long_marker(key, data));
    if (!heads_.emplace(segment, key.substr(0, key.size() - 1)).second) {
      return corrupt("segment " + std::to_string(segment) + " has two markers");
    }
    return {};
  }

  Uuid uuid_;
  std::optional<LmdbState> state_;
  std::map<std::uint64_t, std::string> heads_;  // segment -> the key bytes above it
  std::set<std::uint64_t> filled_;
  std::uint64_t prints_ = 0;  // of the entries so far
};

}  // namespace

namespace {

using Tables = std::map<std::string, LmdbTree>;

// The table of tables; all three are in it.
Result<Tables> read_tables(Checker& checker, const LmdbMeta& meta) {
  Tables tables;
  const auto note_table = [&](std::string_view key, std::string_view data, bool sub) -> Status {
    if (!sub || data.size() != kLmdbTreeSize) {
      return checker.corrupt(0, "an entry that is no table");
    }
    tables[std::string(key)] = decode_lmdb_tree(as_bytes(data));
    return checker.check_flags(tables[std::string(key)], KeyOrder::kBytes);
  };
  HEXAD_TRY(checker.walk(meta.trees[1], KeyOrder::kBytes, note_table));
  for (const char* name : {kLmdbStateTable, kLmdbKeysTable, kLmdbSegmentsTable}) {
    if (!tables.contains(name)) {
      return checker.corrupt(0, "no table \"" + std::string(name) + "\"");
    }
  }
  return tables;
}

using Entry = Status (Meaning::*)(std::string_view, std::string_view);

Status check_table(Checker& checker, const LmdbTree& table, Meaning& meaning, Entry entry) {
  return checker.walk(table, KeyOrder::kBytes,
                      [&](std::string_view key, std::string_view data, bool sub) {
                        return sub ? Status(checker.corrupt(0, "a table inside a table"))
                                   : (meaning.*entry)(key, data);
                      });
}

}  // namespace

Status check_lmdb_head(const LmdbFile& file, const Uuid& uuid) {
  HEXAD_TRY_ASSIGN(const LmdbMeta meta, file.read_meta());
  Checker checker(file, meta);
  HEXAD_TRY(checker.check_flags(meta.trees[0], KeyOrder::kInteger));
  HEXAD_TRY_ASSIGN(const Tables tables, read_tables(checker, meta));
  Meaning meaning(uuid);
  HEXAD_TRY(check_table(checker, tables.at(kLmdbStateTable), meaning, &Meaning::state_entry));
  return meaning.has_state();
}

Status check_lmdb_file(const LmdbFile& file, const Uuid& uuid) {
  HEXAD_TRY_ASSIGN(const LmdbMeta meta, file.read_meta());
  Checker checker(file, meta);
  const auto take_free_pages = [&](std::string_view, std::string_view data, bool) -> Status {
    Decoder in(data);
    const std::uint64_t count = in.le64();
    if (!in.ok() || count > in.remaining() / 8) {
      return checker.corrupt(0, "a list of free pages that is cut");
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      HEXAD_TRY(checker.take(in.le64()));
    }
    return {};
  };
  HEXAD_TRY(checker.walk(meta.trees[0], KeyOrder::kInteger, take_free_pages));
  HEXAD_TRY_ASSIGN(const Tables tables, read_tables(checker, meta));
  Meaning meaning(uuid);
  HEXAD_TRY(check_table(checker, tables.at(kLmdbStateTable), meaning, &Meaning::state_entry));
  // The keys first: segments are judged by the markers among them.
  HEXAD_TRY(check_table(checker, tables.at(kLmdbKeysTable), meaning, &Meaning::key_entry));
  HEXAD_TRY(check_table(checker, tables.at(kLmdbSegmentsTable), meaning, &Meaning::segment_entry));
  return meaning.finish();
}

}  // namespace hexad::kv
