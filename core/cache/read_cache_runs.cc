// Pieces of runs in the read cache: under the same budget as records and user bytes, or, where that
// is small, under one of their own.
#include <utility>

#include "core/cache/read_cache.h"
#include "core/cache/read_cache_shard.h"

namespace hexad::core {

namespace {

struct CachedRunPiece : CacheValue {
  explicit CachedRunPiece(kv::RunPiece&& from) : piece(std::move(from)) {}
  const kv::RunPiece piece;
};

CacheKey cache_key(const kv::RunPieceKey& key) {
  return {kRunKinds + static_cast<std::uint32_t>(key.kind), key.run, key.offset, {}};
}

std::uint64_t hash_of(const kv::RunPieceKey& key) {
  return mix_bits(mix_bits(key.run) + key.offset * kv::kRunPieceKinds +
                  static_cast<std::uint64_t>(key.kind));
}

}  // namespace

ReadCache::Shard& ReadCache::run_shard(std::uint64_t hash) const {
  if (runs_apart_.load(std::memory_order_acquire)) {
    return *run_shards_[hash >> 40 & (run_shards_.size() - 1)];
  }
  return *shards_[shard_of(hash)];
}

std::shared_ptr<const kv::RunPiece> ReadCache::find(const kv::RunPieceKey& key, Asking asking) {
  const std::uint64_t hash = hash_of(key);
  Shard& shard = run_shard(hash);
  const io::Lock lock(shard.mutex);
  const bool timed = asking == Asking::kCounted && ++shard.looks % kTimedOneOf == 0;
  const io::Nanos began = timed ? now() : 0;
  const auto found = std::static_pointer_cast<const CachedRunPiece>(
      asking == Asking::kCounted ? shard.entries.get(cache_key(key), hash)
                                 : shard.entries.peek(cache_key(key), hash));
  if (found == nullptr) return nullptr;
  if (asking == Asking::kCounted) ++shard.tally.run_hits[static_cast<std::size_t>(key.kind)];
  if (timed) shard.tally.runs.add(now() - began);
  return {found, &found->piece};
}

std::shared_ptr<const kv::RunPiece> ReadCache::keep(const kv::RunPieceKey& key, kv::RunPiece piece,
                                                    kv::RunAdmit admit) {
  const std::uint64_t hash = hash_of(key);
  const std::uint64_t charge =
      sizeof(CachedRunPiece) + kv::memory_of(piece) + 3 * S3Fifo::kAllocation;
  const auto kept = std::make_shared<const CachedRunPiece>(std::move(piece));
  Shard& shard = run_shard(hash);
  const io::Lock lock(shard.mutex);
  ++shard.tally.run_misses[static_cast<std::size_t>(key.kind)];
  if (admit == kv::RunAdmit::kAll || shard.entries.wants(hash, charge)) {
    shard.entries.put(cache_key(key), hash, kept, charge);
  }
  return {kept, &kept->piece};
}

void ReadCache::read_stored(std::span<kv::RunStoredRead> reads) {
  if (resident_ != nullptr) resident_->read(reads);
}

void ReadCache::drop_stored(const kv::RunPieceKey& key) {
  if (resident_ != nullptr) resident_->drop(key);
}

void ReadCache::offer_stored(const kv::RunPieceKey& key, ByteView stored) {
  if (resident_ != nullptr) resident_->offer(key, stored);
}

bool ReadCache::has_stored(const kv::RunPieceKey& key) {
  return resident_ != nullptr && resident_->holds(key);
}

void ReadCache::inherit_stored(const kv::RunPieceKey& key, ByteView stored) {
  if (resident_ != nullptr) resident_->inherit(key, stored);
}

void ReadCache::note_file_read(std::uint64_t pieces, io::Nanos nanos) {
  run_reads_.fetch_add(pieces, std::memory_order_relaxed);
  run_rounds_.add(nanos);
}

void ReadCache::end_run(std::uint64_t serial) {
  if (resident_ != nullptr) resident_->end_run(serial);
}

}  // namespace hexad::core
