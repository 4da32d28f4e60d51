#include "core/cache/s3_fifo.h"

#include <algorithm>
#include <bit>
#include <new>
#include <set>
#include <tuple>
#include <utility>

#include "base/assert.h"

namespace hexad::core {

namespace {

constexpr std::size_t kFirstBuckets = 64;
constexpr std::uint8_t kMaxAsked = 3;
constexpr std::uint8_t kAskedForMain = 2;
constexpr std::size_t kTooFewForTable = 8;  // buckets for each entry

}  // namespace

// What a look-up touches stands first. The key's text lies behind the entry, in the same
// allocation: each place in memory more is one more that a hit waits for.
struct S3Fifo::Entry {
  Entry* chain = nullptr;  // next in the bucket
  std::uint64_t hash = 0;
  std::uint64_t id = 0;
  std::uint64_t sub = 0;
  std::uint32_t kind = 0;
  std::uint32_t text_size = 0;
  std::shared_ptr<const CacheValue> value;
  std::uint8_t asked = 0;  // times since it came or was last at the tail, at most kMaxAsked
  bool in_main = false;
  std::uint32_t added_kind = 0;  // of `added`
  Entry* newer = nullptr;
  Entry* older = nullptr;
  std::uint64_t charge = 0;
  std::uint64_t added = 0;  // of the charge, by add_charge()

  static Entry* make(const CacheKey& key, std::uint64_t hash) {
    // Freed by destroy().
    auto* const entry = new (::operator new(sizeof(Entry) + key.text.size())) Entry;
    entry->hash = hash;
    entry->id = key.id;
    entry->sub = key.sub;
    entry->kind = key.kind;
    entry->text_size = static_cast<std::uint32_t>(key.text.size());
    key.text.copy(reinterpret_cast<char*>(entry + 1), key.text.size());
    return entry;
  }
  static void destroy(Entry* entry) {
    entry->~Entry();
    ::operator delete(entry);
  }
  std::string_view text() const { return {reinterpret_cast<const char*>(this + 1), text_size}; }
  bool is(const CacheKey& key) const {
    return id == key.id && sub == key.sub && kind == key.kind && text() == key.text;
  }
};

S3Fifo::S3Fifo(std::uint64_t capacity)
    : capacity_(capacity), buckets_(kFirstBuckets), ghosts_(kFirstBuckets) {}

S3Fifo::~S3Fifo() {
  for (Entry* bucket : buckets_) {
    while (bucket != nullptr) {
      Entry* const entry = std::exchange(bucket, bucket->chain);
      entry->value->drop();
      Entry::destroy(entry);
    }
  }
}

S3Fifo::Entry** S3Fifo::find(const CacheKey& key, std::uint64_t hash) {
  Entry** place = &buckets_[hash & (buckets_.size() - 1)];
  while (*place != nullptr && !((*place)->hash == hash && (*place)->is(key))) {
    place = &(*place)->chain;
  }
  return place;
}

void S3Fifo::push(Queue& queue, Entry* entry) {
  entry->in_main = &queue == &main_;
  entry->newer = nullptr;
  entry->older = queue.head;
  (queue.head == nullptr ? queue.tail : queue.head->newer) = entry;
  queue.head = entry;
  queue.bytes += entry->charge;
  ++queue.count;
}

void S3Fifo::unlink(Queue& queue, Entry* entry) {
  (entry->newer == nullptr ? queue.head : entry->newer->older) = entry->older;
  (entry->older == nullptr ? queue.tail : entry->older->newer) = entry->newer;
  queue.bytes -= entry->charge;
  --queue.count;
}

std::shared_ptr<const CacheValue> S3Fifo::get(const CacheKey& key, std::uint64_t hash) {
  Entry* const entry = *find(key, hash);
  if (entry == nullptr) return nullptr;
  // Written only where it changes something: a line that is only read stays shared.
  if (entry->asked < kMaxAsked) ++entry->asked;
  return entry->value;
}

std::shared_ptr<const CacheValue> S3Fifo::peek(const CacheKey& key, std::uint64_t hash) {
  Entry* const entry = *find(key, hash);
  return entry == nullptr ? nullptr : entry->value;
}

bool S3Fifo::put(const CacheKey& key, std::uint64_t hash, std::shared_ptr<const CacheValue> value,
                 std::uint64_t charge) {
  HEXAD_ASSERT(key.kind < kKinds && value != nullptr);
  if (Entry** const place = find(key, hash); *place != nullptr) remove(place);
  const std::uint64_t total = charge + sizeof(Entry) + key.text.size() + kAllocation;
  if (total > capacity_ / 8) {
    value->drop();  // S4
    return false;
  }
  Entry* const entry = Entry::make(key, hash);
  entry->charge = total;
  entry->value = std::move(value);
  if (entries_ >= buckets_.size()) grow();
  Entry*& bucket = buckets_[hash & (buckets_.size() - 1)];
  entry->chain = bucket;
  bucket = entry;
  push(take_ghost(hash) ? main_ : small_, entry);
  ++entries_;
  ++count_by_kind_[key.kind];
  by_kind_[key.kind] += total;
  shrink_to_capacity();
  return true;
}

bool S3Fifo::replace(const CacheKey& key, std::uint64_t hash,
                     std::shared_ptr<const CacheValue> value, std::uint64_t charge) {
  Entry* const entry = *find(key, hash);
  if (entry == nullptr) return false;
  entry->value->drop();  // S4
  entry->value = std::move(value);
  Queue& queue = entry->in_main ? main_ : small_;
  const std::uint64_t own = charge + sizeof(Entry) + key.text.size() + kAllocation;
  const std::uint64_t before = entry->charge - entry->added;
  queue.bytes = queue.bytes - before + own;
  by_kind_[entry->kind] = by_kind_[entry->kind] - before + own;
  entry->charge = own + entry->added;
  shrink_to_capacity();
  return true;
}

bool S3Fifo::add_charge(std::uint64_t hash, const CacheValue& value, std::uint64_t bytes,
                        std::uint32_t kind) {
  HEXAD_ASSERT(kind < kKinds);
  Entry* entry = buckets_[hash & (buckets_.size() - 1)];
  while (entry != nullptr && entry->value.get() != &value) entry = entry->chain;
  if (entry == nullptr || entry->charge + bytes > capacity_ / 8) return false;
  HEXAD_ASSERT(entry->added == 0 || entry->added_kind == kind);
  entry->charge += bytes;
  entry->added += bytes;
  entry->added_kind = kind;
  (entry->in_main ? main_ : small_).bytes += bytes;
  by_kind_[kind] += bytes;
  shrink_to_capacity();
  return true;
}

bool S3Fifo::wants(std::uint64_t hash, std::uint64_t charge) {
  if (bytes() + charge + sizeof(Entry) + kAllocation <= capacity_ || is_ghost(hash)) return true;
  add_ghost(hash);
  return false;
}

std::shared_ptr<const CacheValue> S3Fifo::erase(const CacheKey& key, std::uint64_t hash) {
  Entry** const place = find(key, hash);
  if (*place == nullptr) return nullptr;
  std::shared_ptr<const CacheValue> value = (*place)->value;
  remove(place);
  return value;
}

void S3Fifo::set_capacity(std::uint64_t capacity) {
  capacity_ = capacity;
  shrink_to_capacity();
  // Tables count, too: those of a cache that was large would be all that fits into a small one.
  if (buckets_.size() <= kFirstBuckets || entries_ > buckets_.size() / kTooFewForTable) return;
  set_buckets(std::max(kFirstBuckets, std::bit_ceil(2 * entries_)));
}

void S3Fifo::set_outside(std::uint64_t bytes) {
  outside_ = bytes;
  shrink_to_capacity();
}

// What the ghosts knew is forgotten: tables grow while the cache fills, before much was evicted,
// and become smaller when much less is to be kept than before.
void S3Fifo::set_buckets(std::size_t count) {
  std::vector<Entry*> old(count);
  std::swap(old, buckets_);
  ghosts_.assign(buckets_.size(), Ghost());
  for (Entry* bucket : old) {
    while (bucket != nullptr) {
      Entry* const entry = std::exchange(bucket, bucket->chain);
      Entry*& now = buckets_[entry->hash & (buckets_.size() - 1)];
      entry->chain = now;
      now = entry;
    }
  }
}

void S3Fifo::remove(Entry** place) {
  Entry* const entry = *place;
  *place = entry->chain;
  unlink(entry->in_main ? main_ : small_, entry);
  --entries_;
  --count_by_kind_[entry->kind];
  by_kind_[entry->kind] -= entry->charge - entry->added;
  by_kind_[entry->added_kind] -= entry->added;
  entry->value->drop();
  Entry::destroy(entry);
}

void S3Fifo::evict(Entry* entry) {
  Entry** place = &buckets_[entry->hash & (buckets_.size() - 1)];
  while (*place != entry) place = &(*place)->chain;
  ++evictions_;
  remove(place);
}

// Ends: every step either drops an entry, or moves one out of `small`, or takes one from a count
// of `main` that only get() raises.
void S3Fifo::shrink_to_capacity() {
  while (bytes() > capacity_ && entries_ > 0) {
    if (small_.bytes > capacity_ / 10 || main_.count == 0) {
      Entry* const entry = small_.tail;
      if (entry->asked >= kAskedForMain) {
        entry->asked = 0;
        unlink(small_, entry);
        push(main_, entry);
      } else {
        add_ghost(entry->hash);
        evict(entry);
      }
    } else {
      Entry* const entry = main_.tail;
      if (entry->asked > 0) {
        --entry->asked;
        unlink(main_, entry);
        push(main_, entry);
      } else {
        evict(entry);
      }
    }
  }
}

void S3Fifo::add_ghost(std::uint64_t hash) {
  if (++ghost_number_ == 0) ++ghost_number_;
  ghosts_[hash & (ghosts_.size() - 1)] = {static_cast<std::uint32_t>(hash >> 32), ghost_number_};
}

// Remembers as many as there are entries. A chance hit costs a place in `main`, no more.
bool S3Fifo::is_ghost(std::uint64_t hash) const {
  const Ghost& ghost = ghosts_[hash & (ghosts_.size() - 1)];
  if (ghost.number == 0 || ghost.mark != static_cast<std::uint32_t>(hash >> 32)) return false;
  return ghost_number_ - ghost.number < std::max<std::uint64_t>(entries_, 16);
}

bool S3Fifo::take_ghost(std::uint64_t hash) {
  if (!is_ghost(hash)) return false;
  ghosts_[hash & (ghosts_.size() - 1)] = Ghost();
  return true;
}

void S3Fifo::check_invariants() const {
  std::array<std::uint64_t, kKinds> by_kind{};
  std::array<std::uint64_t, kKinds> count_by_kind{};
  std::uint64_t count = 0;
  for (const Queue* queue : {&small_, &main_}) {
    std::uint64_t bytes = 0;
    std::uint64_t in_queue = 0;
    const Entry* newer = nullptr;
    for (const Entry* entry = queue->head; entry != nullptr; entry = entry->older) {
      HEXAD_ASSERT(entry->newer == newer && entry->in_main == (queue == &main_));  // S1
      newer = entry;
      bytes += entry->charge;
      by_kind[entry->kind] += entry->charge - entry->added;
      by_kind[entry->added_kind] += entry->added;
      ++in_queue;
      ++count_by_kind[entry->kind];
      HEXAD_ASSERT(!entry->value->dropped());  // S4
    }
    HEXAD_ASSERT(queue->tail == newer);
    HEXAD_ASSERT(bytes == queue->bytes && in_queue == queue->count);  // S2
    count += in_queue;
  }
  HEXAD_ASSERT(by_kind == by_kind_ && count == entries_);  // S2
  HEXAD_ASSERT(count_by_kind == count_by_kind_);           // S2
  std::set<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t, std::string_view>> keys;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    for (const Entry* entry = buckets_[i]; entry != nullptr; entry = entry->chain) {
      HEXAD_ASSERT((entry->hash & (buckets_.size() - 1)) == i);                              // S1
      HEXAD_ASSERT(keys.emplace(entry->kind, entry->id, entry->sub, entry->text()).second);  // S1
    }
  }
  HEXAD_ASSERT(keys.size() == entries_);                // S1
  HEXAD_ASSERT(bytes() <= capacity_ || entries_ == 0);  // S3
}

}  // namespace hexad::core
