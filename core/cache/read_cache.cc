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
constexpr std::uint64_t kMinShardBytes = 1_MiB;
// What is let go of for one lock of a shard when it becomes smaller: some hundred entries.
constexpr std::uint64_t kLetGoAtOnce = 64_KiB;
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

// Of look-ups under the lock of a shard times one of many, if something is found.
class SometimesTimed {
 public:
  SometimesTimed(const ReadCache& cache, std::uint64_t& looks)
      : cache_(cache),
        began_(++looks % ReadCache::kTimedOneOf == 0 ? cache.clock().now() : kNotTimed) {}
  void found(ReadCache::Timed& timed) const {
    if (began_ != kNotTimed) timed.add(cache_.clock().now() - began_);
  }

 private:
  static constexpr io::Nanos kNotTimed = -1;
  const ReadCache& cache_;
  const io::Nanos began_;
};

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
    : executor_(executor),
      block_(block),
      least_for_runs_(least_for_runs),
      resizing_(executor),
      run_shards_(std::bit_floor(
          std::clamp<std::uint64_t>(least_for_runs / kRunShardBytes, 1, kMaxShards))) {
  HEXAD_ASSERT(block > 0);
  for (std::unique_ptr<Shard>& shard : run_shards_) shard = std::make_unique<Shard>(executor, 0);
  set_capacity(capacity);
}

std::uint32_t ReadCache::shards_for(std::uint64_t capacity) {
  if (capacity == 0) return 0;
  return static_cast<std::uint32_t>(
      std::bit_floor(std::clamp<std::uint64_t>(capacity / kMinShardBytes, 1, kMaxShards)));
}

void ReadCache::resize(Shard& shard, std::uint64_t capacity) {
  for (bool more = true; more;) {
    const io::Lock lock(shard.mutex);
    const std::uint64_t held = shard.entries.entries() == 0 ? 0 : shard.entries.bytes();
    more = held > capacity + kLetGoAtOnce;
    shard.entries.set_capacity(more ? held - kLetGoAtOnce : capacity);
  }
}

// N9
void ReadCache::use_shards(std::uint32_t count) {
  for (const std::unique_ptr<Shard>& shard : made_shards()) {
    resize(*shard, 0);
    const io::Lock lock(shard->mutex);
    ++shard->generation;
  }
  for (std::uint32_t i = made_.load(std::memory_order_relaxed); i < count; ++i) {
    shards_[i] = std::make_unique<Shard>(executor_, 0);
    made_.store(i + 1, std::memory_order_release);
  }
  active_.store(count, std::memory_order_release);
  for (const std::unique_ptr<Shard>& shard : made_shards().first(count)) {
    const io::Lock lock(shard->mutex);
    ++shard->generation;
    shard->collections.clear();
    shard->count_collections();
  }
}

void ReadCache::set_capacity(std::uint64_t capacity) {
  const io::Lock lock(resizing_);
  fit(capacity);
}

void ReadCache::set_beside(std::uint64_t bytes) {
  const io::Lock lock(resizing_);
  if (bytes == beside_) return;
  beside_ = bytes;
  fit(capacity());
}

void ReadCache::fit(std::uint64_t capacity) {
  const auto without = [this](std::uint64_t bytes) HEXAD_REQUIRES(resizing_) {
    return bytes - std::min(beside_, bytes / 2);
  };
  const std::uint32_t count = shards_for(capacity);
  const bool apart = count == 0 || capacity < least_for_runs_;
  // Where pieces of runs go to has room before they go there.
  if (apart) {
    for (const std::unique_ptr<Shard>& shard : run_shards_) {
      resize(*shard, without(least_for_runs_) / run_shards_.size());
    }
    runs_apart_.store(true, std::memory_order_release);
  }
  if (count != active_.load(std::memory_order_relaxed)) use_shards(count);
  for (const std::unique_ptr<Shard>& shard : made_shards().first(count)) {
    resize(*shard, (apart ? capacity : without(capacity)) / count);
  }
  if (!apart) {
    runs_apart_.store(false, std::memory_order_release);
    for (const std::unique_ptr<Shard>& shard : run_shards_) resize(*shard, 0);
  }
  largest_read_.store(std::max(kSmallRead, capacity / 8), std::memory_order_relaxed);
  capacity_.store(capacity, std::memory_order_relaxed);
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
  const SometimesTimed time(*this, shard.looks);
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
  if (found.record != nullptr) time.found(shard.tally.records);
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
  const SometimesTimed time(*this, shard.looks);
  found.ticket.generation = shard.generation;
  found.record =
      std::static_pointer_cast<const CachedRecord>(shard.entries.get(place.key, place.hash));
  const bool not_here =
      found.record != nullptr &&
      (found.record->as_of > at || (found.record->lacks_places() && need == Need::kPlaces));
  if (not_here) found.record = nullptr;
  if (found.record != nullptr) time.found(shard.tally.records);
  tell(count, found.record != nullptr, &shard.tally.record_hits, &shard.tally.record_misses);
  tell(count, found.record != nullptr, &shard.tally.page_hits, &shard.tally.page_misses);
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
  if (ticket.shard != place.shard) {  // N9
    record->drop();
    return;
  }
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
    for (const std::unique_ptr<Shard>& shard : made_shards()) {
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
  const SometimesTimed time(*this, shard.looks);
  auto block =
      std::static_pointer_cast<const CachedBlock>(shard.entries.get(place.key, place.hash));
  if (block != nullptr) time.found(shard.tally.blocks);
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

void ReadCache::note_device_read(std::uint64_t hit_bytes, std::uint64_t missed_bytes,
                                 io::Nanos nanos) {
  if (hit_bytes > 0) hit_bytes_.fetch_add(hit_bytes, std::memory_order_relaxed);
  missed_bytes_.fetch_add(missed_bytes, std::memory_order_relaxed);
  device_reads_.add(nanos);
}

ReadCache::Tally ReadCache::take_tally() {
  Tally sum;
  const auto take = [&sum](Shard& shard) {
    const io::Lock lock(shard.mutex);
    sum.record_hits += shard.tally.record_hits;
    sum.record_misses += shard.tally.record_misses;
    sum.page_hits += shard.tally.page_hits;
    sum.page_misses += shard.tally.page_misses;
    sum.block_hits += shard.tally.block_hits;
    sum.block_misses += shard.tally.block_misses;
    for (std::size_t kind = 0; kind < kv::kRunPieceKinds; ++kind) {
      sum.run_hits[kind] += shard.tally.run_hits[kind];
      sum.run_misses[kind] += shard.tally.run_misses[kind];
    }
    sum.reads += shard.tally.reads + shard.reads.exchange(0, std::memory_order_relaxed);
    sum.bytes_read +=
        shard.tally.bytes_read + shard.bytes_read.exchange(0, std::memory_order_relaxed);
    sum.records += shard.tally.records;
    sum.blocks += shard.tally.blocks;
    sum.runs += shard.tally.runs;
    shard.tally = {};
    const std::uint64_t evictions = shard.entries.evictions();
    sum.evictions += evictions - std::exchange(shard.evictions_told, evictions);
  };
  for (const std::unique_ptr<Shard>& shard : made_shards()) take(*shard);
  for (const std::unique_ptr<Shard>& shard : run_shards_) take(*shard);
  sum.hit_bytes = hit_bytes_.exchange(0, std::memory_order_relaxed);
  sum.missed_bytes = missed_bytes_.exchange(0, std::memory_order_relaxed);
  sum.devices = device_reads_.take();
  sum.run_reads = run_reads_.exchange(0, std::memory_order_relaxed);
  sum.run_rounds = run_rounds_.take();
  return sum;
}

ReadCache::Usage ReadCache::usage() {
  Usage usage;
  const auto add_runs = [&usage](Shard& shard) HEXAD_NO_THREAD_SAFETY_ANALYSIS {
    for (std::uint32_t kind = kRunKinds; kind < S3Fifo::kKinds; ++kind) {
      usage.runs += shard.entries.bytes_of(kind);
    }
  };
  const std::uint32_t active = active_.load(std::memory_order_acquire);
  for (const std::unique_ptr<Shard>& shard : made_shards().first(active)) {
    const io::Lock lock(shard->mutex);
    usage.records += shard->entries.bytes_of(kObject) + shard->entries.bytes_of(kPage);
    usage.onodes += shard->entries.count_of(kObject);
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
  const auto check = [](Shard& shard) {
    const io::Lock lock(shard.mutex);
    shard.entries.check_invariants();
  };
  for (const std::unique_ptr<Shard>& shard : made_shards()) check(*shard);
  for (const std::unique_ptr<Shard>& shard : run_shards_) check(*shard);
}

}  // namespace hexad::core
