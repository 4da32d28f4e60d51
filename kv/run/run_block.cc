#include "kv/run/run_block.h"

#include <algorithm>
#include <utility>

#include "base/codec.h"
#include "kv/index.h"
#include "kv/run/run_columns.h"

namespace hexad::kv {
namespace {

constexpr std::size_t kMaxHead = 2 + 2 + 5;   // bytes of the varints of an entry: two of key sizes
constexpr std::size_t kFormAndCount = 1 + 5;  // bytes before the first head

std::size_t shared_prefix(std::string_view a, std::string_view b) {
  const std::size_t limit = std::min(a.size(), b.size());
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.begin() + limit, b.begin()).first -
                                  a.begin());
}

Error corrupt(std::string what) { return Error{ErrorCode::kCorruption, std::move(what), ""}; }

}  // namespace

void RunBlockBuilder::add(std::string_view key, std::optional<std::string_view> value) {
  const std::size_t shared = shared_prefix(last_key_, key);
  HEXAD_ASSERT(key.size() > shared && (shared == last_key_.size() || last_key_ < key));  // RB1
  Encoder heads(heads_);
  heads.varint(shared);
  heads.varint(key.size() - shared);
  heads.varint(value.has_value() ? value->size() + 1 : 0);
  rests_.append(key.substr(shared));
  if (value.has_value()) values_.append(*value);
  last_key_.assign(key);
  sizes_.push_back(static_cast<std::uint32_t>(value.has_value() ? value->size() : 0));
}

std::size_t RunBlockBuilder::growth(std::string_view key, std::optional<std::string_view> value) {
  return kMaxHead + key.size() + (value.has_value() ? value->size() : 0);
}

std::size_t RunBlockBuilder::size() const {
  return kFormAndCount + heads_.size() + rests_.size() + values_.size();
}

std::string RunBlockBuilder::encode(RunBlockForm form) const {
  std::string bytes;
  bytes.reserve(size());
  Encoder out(bytes);
  out.u8(static_cast<std::uint8_t>(form));
  out.varint(count());
  out.raw(heads_);
  out.raw(rests_);
  out.raw(form == RunBlockForm::kRows ? values_ : to_columns(values_, sizes_));
  return bytes;
}

void RunBlockBuilder::clear() {
  heads_.clear();
  rests_.clear();
  values_ = std::string();  // what one large value took is not kept
  sizes_.clear();
  last_key_.clear();
}

Result<RunBlock> RunBlock::parse(std::string bytes) {
  RunBlock block;
  block.bytes_ = std::move(bytes);
  if (block.bytes_.size() > ~std::uint32_t{0}) return corrupt("longer than a block can be");
  Decoder in(block.bytes_);
  const std::uint8_t form = in.u8();
  if (form > static_cast<std::uint8_t>(RunBlockForm::kColumns)) return corrupt("unknown form");
  const std::uint64_t count = in.count(4);  // a head and a byte of the key
  block.entries_.reserve(count);
  std::uint64_t rests = 0;   // bytes
  std::uint64_t values = 0;  // bytes
  for (std::uint64_t i = 0; i < count; ++i) {
    Entry entry;
    entry.shared = static_cast<std::uint32_t>(in.varint_up_to(kMaxIndexKey));
    entry.rest_size = static_cast<std::uint32_t>(in.varint_up_to(kMaxIndexKey - entry.shared));
    const std::uint64_t value = in.varint_up_to(kMaxIndexValue + 1);
    entry.tombstone = value == 0;
    entry.value_size = static_cast<std::uint32_t>(entry.tombstone ? 0 : value - 1);
    if (!in.ok() || entry.rest_size == 0) return corrupt("an entry that cannot be");
    rests += entry.rest_size;
    values += entry.value_size;
    if (entry.tombstone) ++block.tombstones_;
    // The sums stay far below 64 bits: each is at most `count` times a bound.
    block.entries_.push_back(entry);
  }
  if (!in.ok() || count == 0 || rests + values != in.remaining()) {
    return corrupt("entries and bytes do not agree");
  }
  std::uint64_t rest = block.bytes_.size() - rests - values;
  std::uint64_t value = rest + rests;
  if (form == static_cast<std::uint8_t>(RunBlockForm::kColumns)) {
    std::vector<std::uint32_t> sizes;
    sizes.reserve(count);
    for (const Entry& entry : block.entries_) sizes.push_back(entry.value_size);
    block.bytes_.replace(value, values,
                         from_columns(std::string_view(block.bytes_).substr(value), sizes));
  }
  std::string key;
  for (Entry& entry : block.entries_) {
    entry.rest = static_cast<std::uint32_t>(rest);
    entry.value = static_cast<std::uint32_t>(value);
    rest += entry.rest_size;
    value += entry.value_size;
    const bool ascends =
        entry.shared == key.size() ||
        (entry.shared < key.size() && static_cast<unsigned char>(block.bytes_[entry.rest]) >
                                          static_cast<unsigned char>(key[entry.shared]));
    if (!ascends) return corrupt("keys are not in order");  // RB1
    key.replace(entry.shared, std::string::npos, block.rest(entry));
  }
  return block;
}

std::size_t RunBlock::lower_bound(std::string_view key) const {
  std::size_t match = 0;  // bytes that `key` shares with the entry before, which is below it
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    if (entry.shared > match) continue;  // differs from `key` where the entry before does
    // It is above the entry before at a byte that `key` and that one share.
    if (entry.shared < match) return i;
    const std::string_view rest_of_key = key.substr(match);
    const std::string_view rest_of_entry = rest(entry);
    const std::size_t more = shared_prefix(rest_of_key, rest_of_entry);
    if (rest_of_entry.substr(more) >= rest_of_key.substr(more)) return i;
    match += more;
  }
  return entries_.size();
}

bool RunBlock::key_equals(std::size_t at, std::string_view key) const {
  std::string here;
  read_key(at, here);
  return here == key;
}

void RunBlock::read_key(std::size_t at, std::string& key) const {
  std::size_t missing = entries_[at].shared + entries_[at].rest_size;  // the head of the key
  key.resize(missing);
  // Whatever an entry does not say itself, one of those before it says.
  for (std::size_t i = at;; --i) {
    const Entry& entry = entries_[i];
    if (entry.shared < missing) {
      rest(entry).copy(key.data() + entry.shared, missing - entry.shared);
      missing = entry.shared;
    }
    if (missing == 0) return;
    HEXAD_ASSERT(i > 0);  // parse(): the first entry shares nothing
  }
}

void RunBlock::step_key(std::size_t at, std::string& key) const {
  key.replace(entries_[at].shared, std::string::npos, rest(entries_[at]));
}

std::optional<std::string_view> RunBlock::value(std::size_t at) const {
  const Entry& entry = entries_[at];
  if (entry.tombstone) return std::nullopt;
  return std::string_view(bytes_).substr(entry.value, entry.value_size);
}

std::uint64_t RunBlock::memory() const {
  return sizeof(*this) + bytes_.capacity() + entries_.capacity() * sizeof(Entry);
}

}  // namespace hexad::kv
