#include "kv/lmdb/long_key.h"

#include <utility>

#include "base/checksum.h"
#include "base/codec.h"

namespace hexad::kv {
namespace {

constexpr std::size_t kStoredHeader = 5;  // crc32c, kind
enum class StoredKind : std::uint8_t { kValue = 1, kMarker = 2 };

struct Stored {
  StoredKind kind = StoredKind::kValue;
  std::string_view bytes;
};

Error corrupt(std::string_view key, const std::string& what) {
  return Error{ErrorCode::kCorruption, "index: key \"" + printable(key, 64) + "\": " + what,
               "the index is a copy: drop its directory and let it be built again"};
}

// The crc is over the logical key, then kind and bytes: an entry that turns up under another key
// does not pass.
std::uint32_t stored_crc(std::string_view key, std::string_view kind_and_bytes) {
  return crc32c(as_bytes(kind_and_bytes), crc32c(as_bytes(key)));
}

std::string encode_stored(std::string_view key, StoredKind kind, std::string_view bytes) {
  std::string stored(4, '\0');
  stored.reserve(kStoredHeader + bytes.size());
  stored.push_back(static_cast<char>(kind));
  stored.append(bytes);
  std::string crc;
  Encoder(crc).le32(stored_crc(key, std::string_view(stored).substr(4)));
  stored.replace(0, 4, crc);
  return stored;
}

Result<Stored> decode_stored(std::string_view key, std::string_view stored) {
  if (stored.size() < kStoredHeader) return corrupt(key, "the entry is too short");
  const std::uint32_t crc = Decoder(stored.substr(0, 4)).le32();
  if (crc != stored_crc(key, stored.substr(4))) return corrupt(key, "checksum mismatch");
  Stored result;
  result.kind = static_cast<StoredKind>(stored[4]);
  result.bytes = stored.substr(kStoredHeader);
  if (result.kind != StoredKind::kValue &&
      (result.kind != StoredKind::kMarker || result.bytes.size() != 8)) {
    return corrupt(key, "unknown kind of entry");
  }
  return result;
}

// As far as can be told without its checksum.
bool may_be_value(const KeyValue& entry) {
  return entry.key.size() <= kInlineKey && entry.value.size() >= kStoredHeader &&
         static_cast<StoredKind>(entry.value[4]) == StoredKind::kValue;
}

std::uint32_t crc_of(const KeyValue& entry) { return Decoder(entry.value.substr(0, 4)).le32(); }

std::string segment_prefix(std::uint64_t segment) {
  std::string prefix;
  append_be64(prefix, segment);
  return prefix;
}

// A place on the way down: which table, what goes in front, how much of the key lies above.
struct Step {
  ShortTable table = ShortTable::kTop;
  std::string prefix;
  std::size_t depth = 0;

  std::string inline_key(std::string_view key) const {
    return prefix + std::string(key.substr(depth));
  }
  std::string marker_key(std::string_view key) const {
    return prefix + std::string(key.substr(depth, kInlineKey)) + '\0';
  }
  // What the marker's checksum covers: the whole key as far as its head, and the byte.
  std::string marker_name(std::string_view key) const {
    return std::string(key.substr(0, depth + kInlineKey)) + '\0';
  }
  bool is_long(std::string_view key) const { return key.size() - depth > kInlineKey; }
};

// Follows one marker; nothing when it does not exist.
Result<std::optional<Step>> descend(ShortKeyStore& store, const Step& step, std::string_view key) {
  HEXAD_TRY_ASSIGN(const std::optional<std::string_view> stored,
                   store.get(step.table, step.marker_key(key)));
  if (!stored.has_value()) return std::optional<Step>{};
  HEXAD_TRY_ASSIGN(const std::uint64_t segment, decode_long_marker(step.marker_name(key), *stored));
  return std::optional<Step>(
      Step{ShortTable::kSegments, segment_prefix(segment), step.depth + kInlineKey});
}

Result<bool> segment_is_empty(ShortKeyStore& store, const Step& step) {
  HEXAD_TRY_ASSIGN(const std::unique_ptr<ShortCursor> cursor, store.cursor(step.table));
  HEXAD_TRY(cursor->seek(step.prefix));
  return !cursor->valid() || !cursor->key().starts_with(step.prefix);
}

}  // namespace

Result<std::string_view> decode_long_value(std::string_view key, std::string_view stored) {
  HEXAD_TRY_ASSIGN(const Stored value, decode_stored(key, stored));
  if (value.kind != StoredKind::kValue) return corrupt(key, "a marker where a value belongs");
  return value.bytes;
}

std::size_t decode_long_values(std::span<KeyValue> entries) {
  std::size_t at = 0;
  // The checksums of three entries take little longer than that of one.
  for (; entries.size() - at >= 3; at += 3) {
    KeyValue* const three = &entries[at];
    if (!may_be_value(three[0]) || !may_be_value(three[1]) || !may_be_value(three[2])) break;
    std::uint32_t crcs[3] = {};
    crc32c_three({as_bytes(three[0].key), as_bytes(three[1].key), as_bytes(three[2].key)}, crcs);
    crc32c_three({as_bytes(three[0].value.substr(4)), as_bytes(three[1].value.substr(4)),
                  as_bytes(three[2].value.substr(4))},
                 crcs);
    if (crcs[0] != crc_of(three[0]) || crcs[1] != crc_of(three[1]) || crcs[2] != crc_of(three[2])) {
      break;
    }
    for (std::size_t i = 0; i < 3; ++i) three[i].value.remove_prefix(kStoredHeader);
  }
  for (; at < entries.size(); ++at) {
    KeyValue& entry = entries[at];
    if (!may_be_value(entry)) break;
    if (crc_of(entry) != stored_crc(entry.key, entry.value.substr(4))) break;
    entry.value.remove_prefix(kStoredHeader);
  }
  return at;
}

Result<std::uint64_t> decode_long_marker(std::string_view key, std::string_view stored) {
  HEXAD_TRY_ASSIGN(const Stored marker, decode_stored(key, stored));
  if (marker.kind != StoredKind::kMarker) return corrupt(key, "a value where a marker belongs");
  const std::uint64_t segment = Decoder(marker.bytes).le64();
  if (segment == ~std::uint64_t{0}) return corrupt(key, "a segment id that is never given out");
  return segment;
}

Result<std::optional<std::string_view>> long_get(ShortKeyStore& store, std::string_view key) {
  std::optional<std::string_view> stored;
  if (key.size() <= kInlineKey) {  // the usual case, without a copy of the key
    HEXAD_TRY_ASSIGN(stored, store.get(ShortTable::kTop, key));
  } else {
    Step step;
    while (step.is_long(key)) {
      HEXAD_TRY_ASSIGN(std::optional<Step> below, descend(store, step, key));
      if (!below.has_value()) return std::optional<std::string_view>{};
      step = std::move(*below);
    }
    HEXAD_TRY_ASSIGN(stored, store.get(step.table, step.inline_key(key)));
  }
  if (!stored.has_value()) return std::optional<std::string_view>{};
  HEXAD_TRY_ASSIGN(const std::string_view value, decode_long_value(key, *stored));
  return std::optional<std::string_view>(value);
}

Status long_put(ShortKeyStore& store, std::string_view key, std::string_view value) {
  Step step;
  while (step.is_long(key)) {
    HEXAD_TRY_ASSIGN(std::optional<Step> below, descend(store, step, key));
    if (!below.has_value()) {
      HEXAD_TRY_ASSIGN(const std::uint64_t segment, store.new_segment());
      std::string id;
      Encoder(id).le64(segment);
      HEXAD_TRY(store.put(step.table, step.marker_key(key),
                          encode_stored(step.marker_name(key), StoredKind::kMarker, id)));
      below = Step{ShortTable::kSegments, segment_prefix(segment), step.depth + kInlineKey};
    }
    step = std::move(*below);
  }
  return store.put(step.table, step.inline_key(key), encode_stored(key, StoredKind::kValue, value));
}

Status long_erase(ShortKeyStore& store, std::string_view key) {
  std::vector<Step> path(1);
  while (path.back().is_long(key)) {
    HEXAD_TRY_ASSIGN(std::optional<Step> below, descend(store, path.back(), key));
    if (!below.has_value()) return {};
    path.push_back(std::move(*below));
  }
  HEXAD_TRY(store.erase(path.back().table, path.back().inline_key(key)));
  for (; path.size() > 1; path.pop_back()) {  // LK2, from the innermost segment outwards
    HEXAD_TRY_ASSIGN(const bool empty, segment_is_empty(store, path.back()));
    if (!empty) return {};
    const Step& above = path[path.size() - 2];
    HEXAD_TRY(store.erase(above.table, above.marker_key(key)));
  }
  return {};
}

Status LongCursor::push(std::uint64_t segment, std::size_t depth) {
  // Each level holds kInlineKey bytes of the key, so a damaged marker cannot make this endless.
  if (levels_.size() > 64) return corrupt(key_, "segments inside one another without end");
  Level level;
  HEXAD_TRY_ASSIGN(level.cursor,
                   store_.cursor(levels_.empty() ? ShortTable::kTop : ShortTable::kSegments));
  if (!levels_.empty()) level.prefix = segment_prefix(segment);
  level.depth = depth;
  levels_.push_back(std::move(level));
  return {};
}

bool LongCursor::inside(const Level& level) const {
  return level.cursor->valid() && level.cursor->key().starts_with(level.prefix);
}

// Goes on from wherever the innermost cursor stands to the nearest value in the direction of
// travel: up where a segment has ended, down where there is a marker.
Status LongCursor::settle(Direction direction) {
  const bool forward = direction == Direction::kForward;
  valid_ = false;
  for (;;) {
    Level& level = levels_.back();
    if (!inside(level)) {
      if (levels_.size() == 1) return {};
      levels_.pop_back();
      HEXAD_TRY(forward ? levels_.back().cursor->next() : levels_.back().cursor->prev());
      continue;
    }
    const std::string_view rest = level.cursor->key().substr(level.prefix.size());
    const bool inline_key = rest.size() <= kInlineKey;
    if (inline_key && levels_.size() == 1) {
      whole_ = rest;
    } else {
      key_.resize(level.depth);
      key_.append(rest);
      whole_ = key_;
    }
    if (inline_key) {
      HEXAD_TRY_ASSIGN(value_, decode_long_value(whole_, level.cursor->value()));
      valid_ = true;
      return {};
    }
    if (rest.size() != kInlineKey + 1 || rest.back() != '\0') {
      return corrupt(key_, "neither an inline key nor a marker");  // LK1
    }
    HEXAD_TRY_ASSIGN(const std::uint64_t segment, decode_long_marker(key_, level.cursor->value()));
    key_.pop_back();
    HEXAD_TRY(push(segment, key_.size()));
    Level& below = levels_.back();
    if (forward) {
      HEXAD_TRY(below.cursor->seek(below.prefix));
    } else {
      // The last entry of the segment is the one before the next segment id.
      HEXAD_TRY(below.cursor->seek(segment_prefix(segment + 1)));
      HEXAD_TRY(below.cursor->prev());
    }
    if (!inside(below)) return corrupt(key_, "a marker without a segment");  // LK2
  }
}

Status LongCursor::seek(std::string_view wanted) {
  valid_ = false;
  const std::string key(wanted);  // it may be a view of what this cursor stands on
  if (levels_.empty()) HEXAD_TRY(push(0, 0));
  levels_.resize(1);
  for (;;) {
    Level& level = levels_.back();
    const std::string_view rest = std::string_view(key).substr(level.depth);
    if (rest.size() <= kInlineKey) {
      HEXAD_TRY(level.cursor->seek(level.prefix + std::string(rest)));
      return settle(Direction::kForward);
    }
    const std::string marker = level.prefix + std::string(rest.substr(0, kInlineKey)) + '\0';
    HEXAD_TRY(level.cursor->seek(marker));
    if (!level.cursor->valid() || level.cursor->key() != marker) return settle(Direction::kForward);
    key_.assign(key.substr(0, level.depth + kInlineKey));
    HEXAD_TRY_ASSIGN(const std::uint64_t segment,
                     decode_long_marker(key_ + '\0', level.cursor->value()));
    HEXAD_TRY(push(segment, key_.size()));
  }
}

Status LongCursor::seek_before(std::string_view key) {
  HEXAD_TRY(seek(key));
  if (valid_) return prev();
  return seek_to_last();
}

Status LongCursor::seek_to_first() { return seek(std::string_view()); }

Status LongCursor::seek_to_last() {
  valid_ = false;
  if (levels_.empty()) HEXAD_TRY(push(0, 0));
  levels_.resize(1);
  HEXAD_TRY(levels_.back().cursor->seek_to_last());
  return settle(Direction::kBackward);
}

Status LongCursor::next() {
  HEXAD_ASSERT(valid_);
  HEXAD_TRY(levels_.back().cursor->next());
  return settle(Direction::kForward);
}

Status LongCursor::prev() {
  HEXAD_ASSERT(valid_);
  HEXAD_TRY(levels_.back().cursor->prev());
  return settle(Direction::kBackward);
}

// Many at once where no segment is open, as nearly everywhere; a marker, damage and the end are
// left to what a single step does about them.
Result<std::size_t> LongCursor::advance(Direction direction, std::span<KeyValue> into) {
  HEXAD_ASSERT(valid_ && !into.empty());
  const bool forward = direction == Direction::kForward;
  if (levels_.size() > 1) {
    HEXAD_TRY(forward ? next() : prev());
  } else {
    valid_ = false;
    ShortCursor& top = *levels_.back().cursor;
    HEXAD_TRY_ASSIGN(const std::size_t passed, top.advance(direction, into));
    if (const std::size_t sound = decode_long_values(into.first(passed)); sound > 0) {
      whole_ = into[sound - 1].key;
      value_ = into[sound - 1].value;
      if (sound < passed) HEXAD_TRY(top.seek(whole_));
      valid_ = true;
      return sound;
    }
    if (passed > 1) HEXAD_TRY(top.seek(into[0].key));
    HEXAD_TRY(settle(direction));
  }
  if (!valid_) return std::size_t{0};
  into[0] = {key(), value()};
  return std::size_t{1};
}

}  // namespace hexad::kv
