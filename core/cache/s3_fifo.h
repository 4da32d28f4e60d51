// A bounded map that keeps what is asked for again and lets go of what is read once: S3-FIFO (Yang,
// Zhang, Qiu, Yue, Rashmi: "FIFO queues are all you need for cache eviction", SOSP 2023).
//
//              new                              asked for twice while in `small`
//   put() ------------> [ small: a tenth ] -----------------------------> [ main: the rest ]
//     |                        | not asked for                              |  asked for: again
//     | remembered             v                                            |  at the head, once
//     |                  [ ghost: hashes only ]                             v  for each time
//     +-----------------------------------------> main                   dropped
//
// A scan passes through `small` and leaves `main` alone. All operations are O(1), amortised.
//
// Memory is counted with everything that it costs: entries, keys, tables, the allocator's share,
// and what the caller says a value holds. bytes() never exceeds the capacity after a call.
//
// Invariants, checked by check_invariants()
//   S1  every entry is in exactly one queue and in the bucket of its hash; no key twice
//   S2  the bytes of a queue are the sum of its entries' charges; so are those of a kind, but that
//       what was added to a charge counts as the kind it was added as; and a kind's entries are so
//       many
//   S3  bytes() <= capacity, unless there are no entries
//   S4  dropped() of a value is false as long as it is an entry's, and true from then on
//
// Not thread-safe: the owner locks.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace hexad::core {

// What entries hold. A value is shared: whoever got it keeps it although the cache lets go.
class CacheValue {
 public:
  CacheValue() = default;
  virtual ~CacheValue() = default;
  CacheValue(const CacheValue&) = delete;
  CacheValue& operator=(const CacheValue&) = delete;
  // The cache has let go of it, for whatever reason, and would not tell that it is out of date.
  bool dropped() const { return dropped_.load(std::memory_order_acquire); }
  // For the cache. For good.
  void drop() const { dropped_.store(true, std::memory_order_release); }

 private:
  mutable std::atomic<bool> dropped_{false};
};

struct CacheKey {
  std::uint32_t kind = 0;  // below S3Fifo::kKinds
  std::uint64_t id = 0;
  std::uint64_t sub = 0;
  std::string_view text;

  bool operator==(const CacheKey&) const = default;
};

// Spreads all bits of a word over all bits of the result.
constexpr std::uint64_t mix_bits(std::uint64_t x) {
  x = (x ^ (x >> 32)) * 0x9FB21C651E98DF25;
  x = (x ^ (x >> 29)) * 0xD6E8FEB86659FD93;
  return x ^ (x >> 32);
}

class S3Fifo {
 public:
  static constexpr std::uint32_t kKinds = 6;
  // One allocation costs about so much beyond its size, bytes.
  static constexpr std::uint64_t kAllocation = 16;

  explicit S3Fifo(std::uint64_t capacity);
  ~S3Fifo();
  S3Fifo(const S3Fifo&) = delete;
  S3Fifo& operator=(const S3Fifo&) = delete;

  // `hash` is the caller's, of the whole key, the same in every call.
  // Counts as one time that it was asked for. Null: not there.
  std::shared_ptr<const CacheValue> get(const CacheKey& key, std::uint64_t hash);
  // The same, and it does not count.
  std::shared_ptr<const CacheValue> peek(const CacheKey& key, std::uint64_t hash);
  // Replaces what is there. `charge`: bytes that the value holds, itself included. False, and no
  // entry with this key, when that is more than an eighth of the capacity.
  bool put(const CacheKey& key, std::uint64_t hash, std::shared_ptr<const CacheValue> value,
           std::uint64_t charge);
  // The value takes the place of an entry's that it is like: its queue, how often it was asked for,
  // and what was added to its charge stay. False, and nothing is done: there is no such entry.
  bool replace(const CacheKey& key, std::uint64_t hash, std::shared_ptr<const CacheValue> value,
               std::uint64_t charge);
  // The value of an entry, found by the hash that it was put with, holds `bytes` more, which count
  // as a thing of `kind` from now on; they go with the entry. False, and the entry is as it was,
  // when no entry has the value, or when it would be more than an eighth of the capacity.
  bool add_charge(std::uint64_t hash, const CacheValue& value, std::uint64_t bytes,
                  std::uint32_t kind);
  // Whether a value with this hash and charge, which costs something to make, is worth a put():
  // there is room for it, or it was let go of or refused here not long ago. Where not, that is
  // remembered.
  bool wants(std::uint64_t hash, std::uint64_t charge);
  // Takes the entry out and returns its value; null: there was none.
  std::shared_ptr<const CacheValue> erase(const CacheKey& key, std::uint64_t hash);

  // Lets go of what is too much from now on, all at once: who waits for the lock of the owner
  // waits for that. Tables that are far too large for what is left become smaller.
  void set_capacity(std::uint64_t capacity);
  // Memory of the owner's that counts too, bytes.
  void set_outside(std::uint64_t bytes);

  std::uint64_t bytes() const { return small_.bytes + main_.bytes + tables() + outside_; }
  std::uint64_t entries() const { return entries_; }
  std::uint64_t capacity() const { return capacity_; }
  // Bytes of one kind, and what was let go of because of the capacity alone.
  std::uint64_t bytes_of(std::uint32_t kind) const { return by_kind_[kind]; }
  std::uint64_t count_of(std::uint32_t kind) const { return count_by_kind_[kind]; }
  std::uint64_t evictions() const { return evictions_; }

  // S1 to S4. For tests. Cost: everything.
  void check_invariants() const;

 private:
  struct Entry;
  struct Queue {
    Entry* head = nullptr;
    Entry* tail = nullptr;
    std::uint64_t bytes = 0;
    std::uint64_t count = 0;
  };
  struct Ghost {
    std::uint32_t mark = 0;    // high half of a hash
    std::uint32_t number = 0;  // when; 0: empty
  };

  std::uint64_t tables() const { return buckets_.size() * (sizeof(Entry*) + sizeof(Ghost)); }
  Entry** find(const CacheKey& key, std::uint64_t hash);
  void push(Queue& queue, Entry* entry);
  static void unlink(Queue& queue, Entry* entry);
  void grow() { set_buckets(buckets_.size() * 2); }
  void set_buckets(std::size_t count);
  void shrink_to_capacity();
  void remove(Entry** place);
  void evict(Entry* entry);
  bool is_ghost(std::uint64_t hash) const;
  bool take_ghost(std::uint64_t hash);
  void add_ghost(std::uint64_t hash);

  std::uint64_t capacity_;
  std::uint64_t outside_ = 0;
  std::vector<Entry*> buckets_;  // chains; a power of two
  std::vector<Ghost> ghosts_;    // as many, direct-mapped
  std::uint32_t ghost_number_ = 0;
  Queue small_;
  Queue main_;
  std::uint64_t entries_ = 0;
  std::uint64_t evictions_ = 0;
  std::array<std::uint64_t, kKinds> by_kind_{};
  std::array<std::uint64_t, kKinds> count_by_kind_{};
};

}  // namespace hexad::core
