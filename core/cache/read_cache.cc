#include "core/cache/read_cache.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <memory>
#include <utility>

#include "base/assert.h"
#include "base/units.h"
#include "core/cache/read_cache_shard.h"

namespace hexad::core {

namespace {

// Shards are locked one by one: enough of them that two threads rarely meet, but none so small
// that a block is a large part of it.
constexpr std::uint64_t kMaxShards = 64;
constexpr std::uint64_t kMinShardBytes = 1_MiB;
// Of pieces of runs apart: what was read ahead a moment ago is still there although many pieces
// fall into one.
constexpr std::uint64_t kRunShardBytes = 4_MiB;
// Names of collections kept per shard; with more, all are learned again.
constexpr std::size_t kMaxCollections = 64;
// Of a collection that is kept: every shard has them.
constexpr std::size_t kMaxPartsKept = 8;
// Blocks of a record that is replaced are dropped up to so many; others age.
constexpr std::uint64_t kBlocksDropped = 64;
// Cache lines of an object's bytes that are asked for ahead. From there on the processor sees by
// itself where a copy is going.
constexpr std::size_t kFetchedAhead = 8;

std::uint64_t hash_text(std::string_view text) { return std::hash<std::string_view>()(text); }

std::uint64_t heap_of_extents(const ExtentList& extents) {
  std::uint64_t bytes = heap_of(extents);
  for (const Extent& extent : extents) {
    bytes += heap_of(extent.bytes) + heap_of(extent.blob.frames.stored_lengths) +
             heap_of(extent.blob.cell_sums) + heap_of(extent.blob.block_sums);
  }
  return bytes;
}

void tell(ReadCache::Count count, bool hit, std::uint64_t* hits, std::uint64_t* misses) {
  if (count == ReadCache::Count::kBoth ||
      count == (hit ? ReadCache::Count::kHits : ReadCache::Count::kMisses)) {
    ++*(hit ? hits : misses);
  }
}

// All bytes of the object are what its only extent shows.
bool is_one_extent(const CachedRecord& record) {
  const ObjectRecord& object = record.object;
  return record.exists && object.body == 0 && object.extents.size() == 1 &&
         object.extents[0].offset == 0 && object.extents[0].length == object.size;
}

// They show the same bytes, where each piece is made of the same ones.
bool show_alike(const CachedRecord& one, const CachedRecord& other) {
  const auto is_like = [](const Extent& a, const Extent& b) {
    return a.offset == b.offset && a.length == b.length && a.blob_offset == b.blob_offset &&
           a.is_inline() == b.is_inline() && a.blob.raw == b.blob.raw;
  };
  const ExtentList& mine = one.extents();
  const ExtentList& its = other.extents();
  return one.exists && other.exists && one.object.version == other.object.version &&
         one.object.body == other.object.body && one.object.size == other.object.size &&
         std::equal(mine.begin(), mine.end(), its.begin(), its.end(), is_like);
}

std::uint64_t memory_of(const CachedRecord& record) {
  std::uint64_t bytes = sizeof(CachedRecord) + 2 * S3Fifo::kAllocation;
  for (const auto& [name, value] : record.object.attributes) {
    bytes += kNode + 2 * sizeof(std::string) + heap_of(name) + heap_of(value);
  }
  if (record.stat.has_value()) {
    bytes += heap_of(record.stat->placement) + heap_of(record.stat->content_type);
  }
  return bytes + heap_of_extents(record.object.extents) + heap_of_extents(record.page);
}

}  // namespace

ReadCache::ReadCache(io::Executor& executor, std::uint64_t capacity, std::uint64_t block,
                     std::uint64_t least_for_runs)
    : block_(block), least_for_runs_(least_for_runs) {
  HEXAD_ASSERT(block > 0);
  const auto make = [&executor](std::uint64_t bytes, std::uint64_t each) {
    const std::uint64_t count =
        std::bit_floor(std::clamp<std::uint64_t>(bytes / each, 1, kMaxShards));
    std::vector<std::unique_ptr<Shard>> shards(count);
    for (std::unique_ptr<Shard>& shard : shards) shard = std::make_unique<Shard>(executor, 0);
    return shards;
  };
  if (capacity > 0) shards_ = make(capacity, kMinShardBytes);
  run_shards_ = make(least_for_runs, kRunShardBytes);
  set_capacity(capacity);
}

void ReadCache::set_capacity(std::uint64_t capacity) {
  const bool apart = shards_.empty() || capacity < least_for_runs_;
  for (const std::unique_ptr<Shard>& shard : shards_) {
    const io::Lock lock(shard->mutex);
    shard->entries.set_capacity(capacity / shards_.size());
  }
  for (const std::unique_ptr<Shard>& shard : run_shards_) {
    const io::Lock lock(shard->mutex);
    shard->entries.set_capacity(apart ? least_for_runs_ / run_shards_.size() : 0);
  }
  runs_apart_.store(apart, std::memory_order_relaxed);
  largest_read_.store(std::max(kSmallRead, capacity / 8), std::memory_order_relaxed);
}

void ReadCache::keep_less_of_runs(std::uint64_t bytes) {
  HEXAD_ASSERT(!enabled());
  least_for_runs_ = bytes;
  set_capacity(0);
}

ReadCache::~ReadCache() = default;

// An object's shard follows from its name alone, so that the name of the collection can be looked
// up in the same shard: one lock for both, and no line that all readers of a collection share.
ReadCache::Place ReadCache::object_place(CollectionId space, std::string_view name) const {
  const std::uint64_t text = mix_bits(hash_text(name));
  return {{kObject, space, 0, name}, mix_bits(text + space), shard_of(text)};
}

ReadCache::Place ReadCache::page_place(BodyId body, std::uint32_t page) const {
  const std::uint64_t hash = mix_bits(mix_bits(body) + page + 1);
  return {{kPage, body, page, {}}, hash, shard_of(hash)};
}

ReadCache::Place ReadCache::block_place(const BlockKey& key) const {
  const std::uint64_t sub = std::uint64_t{key.extent} << 32 | key.block;
  const std::uint64_t hash = mix_bits(mix_bits(~key.serial) + sub);
  return {{kBlockKind, key.serial, sub, {}}, hash, shard_of(hash)};
}

template <typename Use>
ReadCache::Found ReadCache::look_up(std::string_view collection, std::string_view name, Lsn at,
                                    Need need, const Use& use) {
  Found found;
  if (!enabled()) return found;
  const std::uint64_t text = mix_bits(hash_text(name));
  found.ticket.shard = shard_of(text);
  Shard& shard = *shards_[found.ticket.shard];
  const io::Lock lock(shard.mutex);
  found.ticket.generation = shard.generation;
  const auto known = shard.collections.find(collection);
  if (known != shard.collections.end() && known->second.as_of <= at) {
    const Collection& in = known->second;
    const CollectionId space = in.parts.empty() ? in.id : space_of(in.parts, name);
    found.space = space;
    const CacheKey key{kObject, space, 0, name};
    found.record = std::static_pointer_cast<const CachedRecord>(
        shard.entries.get(key, mix_bits(text + space)));
    if (found.record != nullptr && found.record->as_of > at) found.record = nullptr;
    if (found.record != nullptr && found.record->lacks_places() && need == Need::kPlaces) {
      found.record = nullptr;  // N7, N8
    }
  }
  use(shard, found);
  return found;
}

ReadCache::Found ReadCache::find_object(std::string_view collection, std::string_view name, Lsn at,
                                        Count count, Need need) {
  return look_up(collection, name, at, need,
                 [count](Shard& shard, const Found& found) HEXAD_NO_THREAD_SAFETY_ANALYSIS {
                   tell(count, found.record != nullptr, &shard.tally.record_hits,
                        &shard.tally.record_misses);
                 });
}

ReadCache::Found ReadCache::find_bytes(std::string_view collection, std::string_view name,
                                       const ByteRange& range, Count count) {
  return look_up(
      collection, name, kMaxLsn, Need::kFacts,
      [&](Shard& shard, Found& found) HEXAD_NO_THREAD_SAFETY_ANALYSIS {
        const std::byte* const whole = found.record == nullptr ? nullptr : found.record->whole();
        if (whole == nullptr) {
          if (found.record != nullptr && found.record->unplaced_) found.record = nullptr;  // N7
          if (count == Count::kHits) return;
          tell(count, found.record != nullptr, &shard.tally.record_hits,
               &shard.tally.record_misses);
          return;
        }
        // On their way while the lock is let go and the caller finds memory.
        for (std::size_t line = 0; line < kFetchedAhead; ++line)
          __builtin_prefetch(whole + line * 64);
        const ByteView all(whole, found.record->object.size);
        const ByteView behind = all.subspan(std::min<std::uint64_t>(range.offset, all.size()));
        found.bytes = behind.first(std::min<std::uint64_t>(range.length, behind.size()));
        if (count == Count::kHits || count == Count::kBoth) {
          ++shard.tally.record_hits;
          if (found.record->small_) ++shard.tally.block_hits;
          ++shard.tally.reads;
          shard.tally.bytes_read += found.bytes->size();
        }
      });
}

ReadCache::Found ReadCache::find_page(BodyId body, std::uint32_t page, Lsn at, Count count,
                                      Need need) {
  Found found;
  if (!enabled()) return found;
  const Place place = page_place(body, page);
  found.ticket.shard = place.shard;
  Shard& shard = *shards_[place.shard];
  const io::Lock lock(shard.mutex);
  found.ticket.generation = shard.generation;
  found.record =
      std::static_pointer_cast<const CachedRecord>(shard.entries.get(place.key, place.hash));
  const bool not_here =
      found.record != nullptr &&
      (found.record->as_of > at || (found.record->lacks_places() && need == Need::kPlaces));
  if (not_here) found.record = nullptr;
  tell(count, found.record != nullptr, &shard.tally.record_hits, &shard.tally.record_misses);
  return found;
}

void ReadCache::insert_collection(const Ticket& ticket, std::string_view collection,
                                  const CollectionRecord& record, Lsn as_of) {
  if (!enabled() || record.parts.size() > kMaxPartsKept) return;
  Shard& shard = *shards_[ticket.shard];
  const io::Lock lock(shard.mutex);
  if (shard.generation != ticket.generation) return;  // N2 (a)
  if (shard.collections.size() >= kMaxCollections) shard.collections.clear();
  shard.collections.insert_or_assign(std::string(collection),
                                     Collection{record.id, record.parts, as_of});
  shard.count_collections();
}

void ReadCache::insert(const Ticket& ticket, const Place& place,
                       std::shared_ptr<CachedRecord> record) {
  HEXAD_ASSERT(ticket.shard == place.shard);
  record->shard_ = place.shard;
  record->hash_ = place.hash;
  const std::uint64_t charge = memory_of(*record);
  Shard& shard = *shards_[place.shard];
  const io::Lock lock(shard.mutex);
  if (shard.generation != ticket.generation) {  // N2 (a)
    record->drop();
    return;
  }
  const auto there =
      std::static_pointer_cast<const CachedRecord>(shard.entries.peek(place.key, place.hash));
  if (record->unplaced_ && there != nullptr && there->whole() != nullptr) {
    record->drop();
    return;
  }
  if (there != nullptr && show_alike(*there, *record)) {  // N8
    record->serial = there->serial;
    record->owned_ = there->owned_;
    if (record->owned_ != nullptr) {
      record->whole_.store(record->owned_.get(), std::memory_order_release);
    }
    shard.entries.replace(place.key, place.hash, std::move(record), charge);
    return;
  }
  shard.entries.put(place.key, place.hash, std::move(record), charge);
}

void ReadCache::insert_object(const Ticket& ticket, CollectionId space, std::string_view name,
                              std::shared_ptr<CachedRecord> record) {
  if (!enabled()) return;
  if (is_one_extent(*record)) {
    const Extent& extent = record->object.extents[0];
    if (extent.is_inline()) {
      record->whole_.store(as_bytes(extent.bytes).data(), std::memory_order_relaxed);
    } else {
      record->small_ = extent.length <= std::min(block_, kSmallRead);
    }
  }
  record->unplaced_ = any_unplaced(record->object.extents);
  if (record->unplaced_ && !record->small_) {
    record->drop();
    return;
  }
  insert(ticket, object_place(space, name), std::move(record));
}

void ReadCache::insert_bytes(const CachedRecord& record, ByteView bytes) {
  HEXAD_ASSERT(record.is_small() && bytes.size() == record.object.size);
  auto copy = std::make_unique_for_overwrite<std::byte[]>(bytes.size());
  copy_bytes({copy.get(), bytes.size()}, bytes);
  Shard& shard = *shards_[record.shard_];
  const io::Lock lock(shard.mutex);
  ++shard.tally.block_misses;
  if (record.owned_ != nullptr) return;
  if (!shard.entries.add_charge(record.hash_, record, bytes.size() + S3Fifo::kAllocation,
                                kBlockKind)) {
    return;
  }
  record.owned_ = std::move(copy);
  record.whole_.store(record.owned_.get(), std::memory_order_release);
}

void ReadCache::insert_page(const Ticket& ticket, BodyId body, std::uint32_t page,
                            std::shared_ptr<CachedRecord> record) {
  if (enabled()) insert(ticket, page_place(body, page), std::move(record));
}

std::optional<ReadCache::Place> ReadCache::place_of(std::string_view key) const {
  // By the letter first: a key of another kind would only be reported as broken.
  if (key.starts_with(object_prefix(0).front())) {
    const Result<ObjectKey> object = parse_object_key(key);
    if (object.ok()) return object_place(object->space, object->name);
  } else if (key.starts_with(page_prefix(0).front())) {
    const Result<PageKey> page = parse_page_key(key);
    if (page.ok()) return page_place(page->body, page->page);
  }
  return std::nullopt;
}

void ReadCache::note_moved(std::string_view key) {
  if (!enabled()) return;
  const std::optional<Place> place = place_of(key);
  if (!place.has_value()) return;
  Shard& shard = *shards_[place->shard];
  const io::Lock lock(shard.mutex);
  ++shard.generation;
  const auto there =
      std::static_pointer_cast<const CachedRecord>(shard.entries.peek(place->key, place->hash));
  if (there != nullptr) there->moved_ = true;
}

void ReadCache::invalidate(std::string_view key) {
  if (!enabled()) return;
  if (const std::optional<Place> place = place_of(key); place.has_value()) {
    invalidate(*place);
  } else if (key.starts_with(collection_key("").front())) {
    const Result<std::string_view> name = parse_collection_key(key);
    if (!name.ok()) return;
    for (const std::unique_ptr<Shard>& shard : shards_) {
      const io::Lock lock(shard->mutex);
      ++shard->generation;
      if (const auto known = shard->collections.find(*name); known != shard->collections.end()) {
        shard->collections.erase(known);
        shard->count_collections();
      }
    }
  }
}

void ReadCache::invalidate(const Place& place) {
  std::shared_ptr<const CacheValue> old;
  {
    Shard& shard = *shards_[place.shard];
    const io::Lock lock(shard.mutex);
    ++shard.generation;
    old = shard.entries.erase(place.key, place.hash);
  }
  if (old != nullptr) drop_blocks(static_cast<const CachedRecord&>(*old));
}

void ReadCache::drop_blocks(const CachedRecord& record) {
  if (record.small_) return;  // they went with it
  std::uint64_t dropped = 0;
  const ExtentList& extents = record.extents();
  for (std::uint32_t i = 0; i < extents.size(); ++i) {
    if (extents[i].is_inline()) continue;
    const std::uint64_t blocks = divide_up(extents[i].blob.raw, block_);
    for (std::uint32_t block = 0; block < blocks; ++block) {
      if (++dropped > kBlocksDropped) return;
      const Place place = block_place({record.serial, i, block});
      Shard& shard = *shards_[place.shard];
      const io::Lock lock(shard.mutex);
      shard.entries.erase(place.key, place.hash);
    }
  }
}

std::shared_ptr<const CachedBlock> ReadCache::find_block(const BlockKey& key, Count count) {
  if (!enabled()) return nullptr;
  const Place place = block_place(key);
  Shard& shard = *shards_[place.shard];
  const io::Lock lock(shard.mutex);
  auto block =
      std::static_pointer_cast<const CachedBlock>(shard.entries.get(place.key, place.hash));
  tell(count, block != nullptr, &shard.tally.block_hits, &shard.tally.block_misses);
  return block;
}

void ReadCache::insert_block(const BlockKey& key, ByteView bytes, Admit admit) {
  if (!enabled()) return;
  const Place place = block_place(key);
  Shard& shard = *shards_[place.shard];
  const std::uint64_t charge = sizeof(CachedBlock) + bytes.size() + 3 * S3Fifo::kAllocation;
  if (admit == Admit::kReadBefore) {
    const io::Lock lock(shard.mutex);
    if (!shard.entries.wants(place.hash, charge)) return;
  }
  auto block = std::make_shared<CachedBlock>();
  block->bytes.assign(bytes.begin(), bytes.end());
  const io::Lock lock(shard.mutex);
  shard.entries.put(place.key, place.hash, std::move(block), charge);
}

void ReadCache::note_served(const Ticket& ticket, std::uint64_t bytes) {
  Shard& shard = *shards_[ticket.shard];
  shard.reads.fetch_add(1, std::memory_order_relaxed);
  shard.bytes_read.fetch_add(bytes, std::memory_order_relaxed);
}

ReadCache::Tally ReadCache::take_tally() {
  Tally sum;
  for (const auto* shards : {&shards_, &run_shards_}) {
    for (const std::unique_ptr<Shard>& shard : *shards) {
      const io::Lock lock(shard->mutex);
      sum.record_hits += shard->tally.record_hits;
      sum.record_misses += shard->tally.record_misses;
      sum.block_hits += shard->tally.block_hits;
      sum.block_misses += shard->tally.block_misses;
      for (std::size_t kind = 0; kind < kv::kRunPieceKinds; ++kind) {
        sum.run_hits[kind] += shard->tally.run_hits[kind];
        sum.run_misses[kind] += shard->tally.run_misses[kind];
      }
      sum.reads += shard->tally.reads + shard->reads.exchange(0, std::memory_order_relaxed);
      sum.bytes_read +=
          shard->tally.bytes_read + shard->bytes_read.exchange(0, std::memory_order_relaxed);
      shard->tally = {};
      const std::uint64_t evictions = shard->entries.evictions();
      sum.evictions += evictions - std::exchange(shard->evictions_told, evictions);
    }
  }
  return sum;
}

ReadCache::Usage ReadCache::usage() {
  Usage usage;
  const auto add_runs = [&usage](Shard& shard) HEXAD_NO_THREAD_SAFETY_ANALYSIS {
    for (std::uint32_t kind = kRunKinds; kind < S3Fifo::kKinds; ++kind) {
      usage.runs += shard.entries.bytes_of(kind);
    }
  };
  for (const std::unique_ptr<Shard>& shard : shards_) {
    const io::Lock lock(shard->mutex);
    usage.records += shard->entries.bytes_of(kObject) + shard->entries.bytes_of(kPage);
    usage.blocks += shard->entries.bytes_of(kBlockKind);
    add_runs(*shard);
    usage.total += shard->entries.bytes();
  }
  for (const std::unique_ptr<Shard>& shard : run_shards_) {
    const io::Lock lock(shard->mutex);
    add_runs(*shard);
  }
  return usage;
}

void ReadCache::check_invariants() {
  for (const auto* shards : {&shards_, &run_shards_}) {
    for (const std::unique_ptr<Shard>& shard : *shards) {
      const io::Lock lock(shard->mutex);
      shard->entries.check_invariants();
    }
  }
}

}  // namespace hexad::core
