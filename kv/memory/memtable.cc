#include "kv/memory/memtable.h"

#include <algorithm>
#include <new>

#include "base/assert.h"
#include "kv/memory/memtable_tree.h"

namespace hexad::kv {
namespace {

const MemtableVersion* newest_at(const MemtableEntry& entry, Lsn at) {
  const MemtableVersion* version = entry.newest;
  while (version != nullptr && version->lsn > at) version = version->older;
  return version;
}

}  // namespace

Memtable::Memtable() : tree_(std::make_unique<MemtableTree>()) {}
Memtable::~Memtable() = default;

std::uint64_t Memtable::bytes() const { return tree_->bytes(); }

void Memtable::apply(Lsn lsn, std::string_view key, std::optional<std::string_view> value) {
  HEXAD_ASSERT(!frozen_);
  bool created = false;
  MemtableEntry* const entry = tree_->find_or_add(key, &created);
  if (created) ++keys_;
  MemtableVersion** place = &entry->newest;
  while (*place != nullptr && (*place)->lsn > lsn) place = &(*place)->older;
  MemtableArena& arena = tree_->arena();
  auto* const version = new (arena.allocate(sizeof(MemtableVersion))) MemtableVersion;
  version->lsn = lsn;
  version->tombstone = !value.has_value();
  if (value.has_value()) {
    version->data = arena.copy(*value);
    version->size = value->size();
  }
  if (*place != nullptr && (*place)->lsn == lsn) {
    version->older = (*place)->older;
  } else {
    version->older = *place;
    ++versions_;
  }
  *place = version;
  max_lsn_ = std::max(max_lsn_, lsn);
}

std::optional<Memtable::Found> Memtable::get(std::string_view key, Lsn at) const {
  const MemtableEntry* const entry = tree_->find(key);
  if (entry == nullptr) return std::nullopt;
  const MemtableVersion* const version = newest_at(*entry, at);
  if (version == nullptr) return std::nullopt;
  return Found{version->lsn, version->value()};
}

void Memtable::erase_after(Lsn lsn) {
  HEXAD_ASSERT(!frozen_);
  if (max_lsn_ <= lsn) return;
  max_lsn_ = 0;
  keys_ = 0;
  versions_ = 0;
  for (MemtableEntry* entry = tree_->first(); entry != nullptr; entry = entry->next) {
    while (entry->newest != nullptr && entry->newest->lsn > lsn) {
      entry->newest = entry->newest->older;
    }
    if (entry->newest == nullptr) continue;
    ++keys_;
    max_lsn_ = std::max(max_lsn_, entry->newest->lsn);
    for (const MemtableVersion* v = entry->newest; v != nullptr; v = v->older) ++versions_;
  }
  tree_->rebuild();
}

void Memtable::check_invariants() const {
  tree_->check_invariants();
  std::uint64_t keys = 0;
  std::uint64_t versions = 0;
  Lsn newest = 0;
  for (const MemtableEntry* entry = tree_->first(); entry != nullptr; entry = entry->next) {
    ++keys;
    HEXAD_ASSERT(entry->newest != nullptr);
    newest = std::max(newest, entry->newest->lsn);
    for (const MemtableVersion* v = entry->newest; v != nullptr; v = v->older) {
      ++versions;
      HEXAD_ASSERT(v->older == nullptr || v->older->lsn < v->lsn);
    }
  }
  HEXAD_ASSERT(keys == keys_ && versions == versions_ && newest == max_lsn_);
}

std::string_view Memtable::Iterator::key() const { return entry_->key(); }
Lsn Memtable::Iterator::lsn() const { return version_->lsn; }
std::optional<std::string_view> Memtable::Iterator::value() const { return version_->value(); }

void Memtable::Iterator::settle(const MemtableEntry* entry, Direction direction) {
  version_ = nullptr;
  while (entry != nullptr) {
    version_ = newest_at(*entry, at_);
    if (version_ != nullptr) break;
    entry = direction == Direction::kForward ? entry->next : entry->previous;
  }
  entry_ = entry;
}

void Memtable::Iterator::next() { settle(entry_->next, Direction::kForward); }
void Memtable::Iterator::prev() { settle(entry_->previous, Direction::kBackward); }

std::size_t Memtable::Iterator::take(Direction direction, std::span<Seen> into) {
  HEXAD_ASSERT(valid() && !into.empty());
  constexpr std::size_t kFew = 16;  // a descent takes longer
  const bool forward = direction == Direction::kForward;
  std::size_t count = 0;
  if (into.size() < kFew) {
    while (count < into.size() && valid()) {
      into[count++] = {key(), value()};
      settle(forward ? entry_->next : entry_->previous, direction);
    }
    return count;
  }
  // The entries that stand in one leaf, without a look at one to find the next.
  const std::span<MemtableEntry* const> run =
      table_->tree_->run_from(*entry_, direction, into.size());
  const auto nth = [&](std::size_t i) { return forward ? run[i] : run[run.size() - 1 - i]; };
  for (const MemtableEntry* const entry : run) {
    // Its key and first version are behind it in the arena.
    const char* const lines = reinterpret_cast<const char*>(entry);
    __builtin_prefetch(lines);
    __builtin_prefetch(lines + 64);
    __builtin_prefetch(lines + 128);
  }
  for (std::size_t i = 0; i < run.size(); ++i) {
    const MemtableEntry& entry = *nth(i);
    const MemtableVersion* const version = newest_at(entry, at_);
    if (version == nullptr) continue;
    __builtin_prefetch(version->data);
    into[count++] = {entry.key(), version->value()};
  }
  const MemtableEntry& last = *nth(run.size() - 1);
  settle(forward ? last.next : last.previous, direction);
  return count;
}

bool Memtable::Iterator::older() {
  if (version_->older == nullptr) return false;
  version_ = version_->older;
  return true;
}

void Memtable::Iterator::seek(std::string_view key) {
  settle(table_->tree_->at_or_after(key), Direction::kForward);
}

void Memtable::Iterator::seek_before(std::string_view key) {
  const MemtableEntry* const after = table_->tree_->at_or_after(key);
  settle(after == nullptr ? table_->tree_->last() : after->previous, Direction::kBackward);
}

void Memtable::Iterator::seek_to_first() { settle(table_->tree_->first(), Direction::kForward); }
void Memtable::Iterator::seek_to_last() { settle(table_->tree_->last(), Direction::kBackward); }

}  // namespace hexad::kv
