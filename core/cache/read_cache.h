// What reads remember, under one budget: decoded records and pages, so that a read neither asks the
// index nor decodes; user bytes, so that it neither asks a device, nor verifies, nor decompresses;
// and pieces of runs, for whoever has to ask those (kv/run/run_cache.h). All compete for the same
// memory (core/cache/s3_fifo.h).
//
// A record here is the newest one of its key, visible, with nothing pending. Visible is what
// readers see: durable, or up to the last buffered commit (C6 of core/commit/commit_positions.h).
// The argument:
//
//   N1  Metadata::apply(n, key) puts version n into the memtable first and calls invalidate(key)
//       then; both before n is enqueued, and so before n is visible.
//   N2  A record is inserted with a ticket that was taken before its key was looked up in the view,
//       and only when (a) no invalidate() has come to the shard since, and (b) the view knew no
//       version of the key above its own LSN (MetaView::get, `newest`).
//   N3  So an entry is what every state from `as_of`, the LSN of the view it was read at, to the
//       visible state of now says about the key. A version n that it misses would have been
//       applied before the look-up, then (b) has seen it; or after it, then its invalidate() comes
//       after the ticket and either meets (a) or removes the entry, before n is visible (N1).
//   N4  Checkpoints, failed ones too, change where an answer is found and not what it is. What they
//       write without apply(), zone images and totals of counters, is never inserted.
//   N5  A value that the cache has let go of says dropped(). Whoever puts several entries together
//       looks them up one by one and then asks all of them: if none is dropped, all of them were
//       current at the time of the last look-up.
//   N6  Bytes are found through the record they were read for: they lie with it, or have its
//       serial, which no other one ever gets, but by N8, for their key. So it does not matter when
//       the space of a blob is used again: whoever finds the record finds its bytes, and no one
//       finds bytes whose record is gone. They were verified when they were read, at a state that
//       was pinned.
//   N7  A record whose blob is a payload in the log, without a place yet, is kept for its bytes: a
//       checkpoint gives the blob its place without an invalidate(). So who asks for where the
//       bytes are, and what follows from that (Need::kPlaces), does not find it.
//   N8  Cleaning and compaction move bytes and change none: they call note_moved() in place of
//       invalidate(), which spoils tickets likewise. The record stays for its bytes as by N7. What
//       is inserted where another record is shows the same bytes, since that one would not be there
//       otherwise (N3); where it shows them in the same pieces, it takes over the serial, and the
//       bytes that lie with it.
//   N9  When the number of shards in use changes, first all of them are emptied and count an
//       invalidation, then the new number is there for others to see, then those that are used
//       count another and take entries again; before that they take none. So no ticket of before
//       is good afterwards. Who invalidates a key by the number of before has applied it before
//       anybody took a ticket by the new one; (b) sees it then.
//
// An object whose bytes are one piece of at most a block has them with its record, in one entry: a
// read of it is one look-up, and a copy by whom it is for. Bytes of others are cut into blocks,
// entries of their own.
//
// Any thread. Lock order: the mutex of a change of capacity, then those of the shards, which are
// leaves, one at a time.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "core/api/types.h"
#include "core/cache/s3_fifo.h"
#include "core/record/keys.h"
#include "core/record/record.h"
#include "io/executor.h"
#include "kv/run/resident_pieces.h"
#include "kv/run/run_cache.h"

namespace hexad::core {

// Of an object or of a page; but for whole() it never changes once it is shared. One that could not
// be inserted says dropped() like one that had to go: blocks for it would never be found.
struct CachedRecord : CacheValue {
  bool exists = false;       // false: the key has no value
  ObjectRecord object;       // of an object
  std::uint64_t serial = 0;  // N6; set by ReadCache::new_serial()
  Lsn as_of = 0;             // N3
  // Of an object without pages, when the cache was to keep the record: whoever else wants to know
  // has it made.
  std::optional<ObjectStat> stat;
  ExtentList page;  // of a page

  // The extents of page 0 of an object without pages, or of a page.
  const ExtentList& extents() const { return page.empty() ? object.extents : page; }
  // All `object.size` bytes of the object, for as long as this lives: from the beginning when they
  // are inline, from insert_bytes() on when is_small(). Null: not, or not yet. Any thread.
  const std::byte* whole() const { return whole_.load(std::memory_order_acquire); }
  // The object's bytes are a piece of one blob, no longer than a block: the cache keeps them here.
  // Of a record that was given to ReadCache::insert_object().
  bool is_small() const { return small_; }
  // The next checkpoint changes where its bytes are (N7). Of such a record, too.
  bool is_unplaced() const { return unplaced_; }

 private:
  friend class ReadCache;
  mutable std::atomic<const std::byte*> whole_{nullptr};
  // Its bytes are not where it says any more, or not yet; of an entry, with the shard's lock.
  bool lacks_places() const { return unplaced_ || moved_; }

  bool small_ = false;
  bool unplaced_ = false;
  mutable bool moved_ = false;  // N8; guarded by the shard
  std::uint32_t shard_ = 0;
  std::uint64_t hash_ = 0;                              // of its key
  mutable std::shared_ptr<const std::byte[]> owned_{};  // behind whole_; guarded by the shard
};

// A piece of a blob's user bytes.
struct CachedBlock : CacheValue {
  Bytes bytes;
};

class ReadCache : public kv::RunCache {
 public:
  static constexpr std::uint32_t kMaxShards = 64;
  // Of look-ups in memory one of so many is timed, in each shard.
  static constexpr std::uint64_t kTimedOneOf = 4096;

  // Reads of more bytes leave only blocks that are worth it (Admit).
  static constexpr std::uint64_t kSmallRead = 256 * 1024;

  // Memory that pieces of runs have to themselves where the capacity is less, bytes: without their
  // filters every look-up would read one of each run.
  static constexpr std::uint64_t kLeastForRuns = 16 << 20;

  // `capacity`: bytes of memory, all included; 0: keeps nothing but pieces of runs. `block`: the
  // size of the pieces in which a blob's user bytes are kept, bytes; the last one of a blob is as
  // long as what is left. The executor outlives it.
  ReadCache(io::Executor& executor, std::uint64_t capacity, std::uint64_t block = 16384,
            std::uint64_t least_for_runs = kLeastForRuns);
  ~ReadCache() override;
  // Of one that was made with 0: pieces of runs have less memory than usual. For tests; before
  // other threads.
  void keep_less_of_runs(std::uint64_t bytes);
  // From now on, 0 or more. What is too much goes in small steps, between which others have the
  // lock of the shard; all of it is gone on return. Where the number of shards changes, which it
  // does below kMaxShards MiB, all records and bytes go. Any thread.
  void set_capacity(std::uint64_t capacity);
  std::uint64_t capacity() const { return capacity_.load(std::memory_order_relaxed); }
  // So many bytes elsewhere serve the same purpose, and count within the capacity, up to a half of
  // it; where pieces of runs have memory for themselves, within that. The number of shards stays.
  // As set_capacity() otherwise.
  void set_beside(std::uint64_t bytes);

  bool enabled() const { return active_.load(std::memory_order_relaxed) > 0; }
  // Reads of more bytes, an eighth of the capacity, neither look for blocks nor leave any.
  std::uint64_t largest_read() const { return largest_read_.load(std::memory_order_relaxed); }
  std::uint64_t block_size() const { return block_; }

  // --- records ---

  // The moment of a look-up in a shard.
  struct Ticket {
    std::uint32_t shard = 0;
    std::uint64_t generation = 0;
  };
  enum class Count : std::uint8_t { kNothing, kHits, kMisses, kBoth };
  struct Found {
    std::optional<CollectionId> space;           // of the name; nothing: collection not here
    std::shared_ptr<const CachedRecord> record;  // null: not here
    std::optional<ByteView> bytes;               // find_bytes() alone; valid as long as the record
    Ticket ticket;
  };
  // What a record is looked up for: everything, or anything but where its bytes are.
  enum class Need : std::uint8_t { kPlaces, kFacts };
  // Collection and object in one step. Entries that are newer than `at` (N3) count as not here;
  // kMaxLsn is the state of now. So do, with kPlaces, those that is_unplaced(), or whose bytes have
  // been moved.
  Found find_object(std::string_view collection, std::string_view name, Lsn at, Count count,
                    Need need = Need::kPlaces);
  // find_object() of now, for a read of `range`. When the record has whole(), unplaced or not,
  // `bytes` is what there is of the range, and the read counts as served. With kHits nothing is
  // counted otherwise.
  Found find_bytes(std::string_view collection, std::string_view name, const ByteRange& range,
                   Count count);
  Found find_page(BodyId body, std::uint32_t page, Lsn at, Count count, Need need = Need::kPlaces);
  // Under N2; silently not when (a) fails. The caller answers for (b). Of unplaced records only
  // small ones are kept, and one that has whole() stays when its like comes.
  // `collection` is its name; one with many parts is not kept.
  void insert_collection(const Ticket& ticket, std::string_view collection,
                         const CollectionRecord& record, Lsn as_of);
  void insert_object(const Ticket& ticket, CollectionId space, std::string_view name,
                     std::shared_ptr<CachedRecord> record);
  // Copies all bytes of an object whose record is_small() to where whole() finds them. Not when the
  // record has been dropped. Counts as a miss of a block.
  void insert_bytes(const CachedRecord& record, ByteView bytes);
  void insert_page(const Ticket& ticket, BodyId body, std::uint32_t page,
                   std::shared_ptr<CachedRecord> record);
  std::uint64_t new_serial() { return next_serial_.fetch_add(1, std::memory_order_relaxed); }

  // The key has a new version that is not visible yet (N1). Takes the blocks of a small record
  // along; those of a large one age.
  void invalidate(std::string_view key);
  // The same, and what the key shows is byte for byte as it was, and lies elsewhere (N8).
  void note_moved(std::string_view key);

  // --- blocks ---

  // Block `block` of the blob behind extent `extent` of the record with that serial.
  struct BlockKey {
    std::uint64_t serial = 0;
    std::uint32_t extent = 0;  // index in the record's list
    std::uint32_t block = 0;   // begins at block * block_size() of the blob's user bytes
  };
  std::shared_ptr<const CachedBlock> find_block(const BlockKey& key, Count count);
  // What a read leaves.
  enum class Admit : std::uint8_t {
    kAll,
    // What there is room for, and what was read before: so long reads, once each, cost no copy when
    // the cache is full, and take nothing from what is read again and again.
    kReadBefore,
  };
  static Admit admit(std::uint64_t read_size) {
    return read_size <= kSmallRead ? Admit::kAll : Admit::kReadBefore;
  }
  void insert_block(const BlockKey& key, ByteView bytes, Admit admit = Admit::kAll);

  // --- pieces of runs (read_cache_runs.cc) ---

  std::uint64_t new_run() override { return new_serial(); }
  std::shared_ptr<const kv::RunPiece> find(const kv::RunPieceKey& key, Asking asking) override;
  std::shared_ptr<const kv::RunPiece> keep(const kv::RunPieceKey& key, kv::RunPiece piece,
                                           kv::RunAdmit admit) override;
  // Copies of them on a fast device, from now on. Before other threads; it outlives the sources.
  void set_resident(kv::ResidentPieces* resident) { resident_ = resident; }
  void read_stored(std::span<kv::RunStoredRead> reads) override;
  void drop_stored(const kv::RunPieceKey& key) override;
  void offer_stored(const kv::RunPieceKey& key, ByteView stored) override;
  bool has_stored(const kv::RunPieceKey& key) override;
  void inherit_stored(const kv::RunPieceKey& key, ByteView stored) override;
  void end_run(std::uint64_t serial) override;
  io::Nanos now() override { return clock().now(); }
  void note_file_read(std::uint64_t pieces, io::Nanos nanos) override;

  // --- counting ---

  // A read of so many bytes was answered from here; `ticket` spreads the counting. find_bytes()
  // does that itself.
  void note_served(const Ticket& ticket, std::uint64_t bytes);
  // A read that devices were asked for: user bytes of it that were here, those that were not, and
  // how long the devices took.
  void note_device_read(std::uint64_t hit_bytes, std::uint64_t missed_bytes, io::Nanos nanos);
  io::Clock& clock() const { return executor_.clock(); }
  struct Timed {
    std::uint64_t count = 0;
    io::Nanos nanos = 0;

    void add(io::Nanos length) { ++count, nanos += length; }
    void operator+=(const Timed& other) { count += other.count, nanos += other.nanos; }
  };
  struct Tally {
    std::uint64_t record_hits = 0;
    std::uint64_t record_misses = 0;
    std::uint64_t page_hits = 0;  // of the records: pages
    std::uint64_t page_misses = 0;
    std::uint64_t block_hits = 0;
    std::uint64_t block_misses = 0;
    std::array<std::uint64_t, kv::kRunPieceKinds> run_hits{};    // by kind
    std::array<std::uint64_t, kv::kRunPieceKinds> run_misses{};  // pieces that were read
    std::uint64_t evictions = 0;
    std::uint64_t reads = 0;       // served from here
    std::uint64_t bytes_read = 0;  // by them
    Timed records;                 // hits that were timed, to when they were found
    Timed blocks;
    Timed runs;
    std::uint64_t hit_bytes = 0;     // note_device_read(), as the next two
    std::uint64_t missed_bytes = 0;  //
    Timed devices;
    std::uint64_t run_reads = 0;  // pieces of runs that were read from their files
    Timed run_rounds;             // ... in so many rounds
  };
  // What was counted since the last call.
  Tally take_tally();
  struct Usage {
    std::uint64_t records = 0;  // bytes
    std::uint64_t blocks = 0;   // bytes
    std::uint64_t runs = 0;     // bytes, wherever they are
    std::uint64_t onodes = 0;   // how many records of objects
    std::uint64_t total = 0;    // bytes, tables included, of what the capacity bounds
  };
  Usage usage();

  void check_invariants();  // S1 to S4 of every shard; for tests

 private:
  struct Shard;
  struct Collection {
    CollectionId id = 0;
    NameParts parts;
    Lsn as_of = 0;
  };
  struct Place {
    CacheKey key;
    std::uint64_t hash = 0;
    std::uint32_t shard = 0;
  };

  // What is added to from a round of devices, and from no hit.
  struct Rounds {
    std::atomic<std::uint64_t> count{0};
    std::atomic<io::Nanos> nanos{0};

    void add(io::Nanos length) {
      count.fetch_add(1, std::memory_order_relaxed);
      nanos.fetch_add(length, std::memory_order_relaxed);
    }
    Timed take() {
      return {count.exchange(0, std::memory_order_relaxed),
              nanos.exchange(0, std::memory_order_relaxed)};
    }
  };

  static std::uint32_t shards_for(std::uint64_t capacity);
  // Precondition: enabled() when the caller looked. It may have changed since: then a shard that is
  // not in use is returned, in which nothing is found and which takes nothing.
  std::uint32_t shard_of(std::uint64_t hash) const {
    const std::uint32_t active = active_.load(std::memory_order_acquire);
    return static_cast<std::uint32_t>(hash >> 40) & (active == 0 ? 0 : active - 1);
  }
  // All that are in use, or have been.
  std::span<const std::unique_ptr<Shard>> made_shards() const {
    return std::span(shards_).first(made_.load(std::memory_order_acquire));
  }
  void resize(Shard& shard, std::uint64_t capacity);
  void fit(std::uint64_t capacity) HEXAD_REQUIRES(resizing_);
  void use_shards(std::uint32_t count);
  Place object_place(CollectionId space, std::string_view name) const;
  Place page_place(BodyId body, std::uint32_t page) const;
  Place block_place(const BlockKey& key) const;
  // Collection and object as find_object() has them, then use(shard, found) under the same lock.
  template <typename Use>
  Found look_up(std::string_view collection, std::string_view name, Lsn at, Need need,
                const Use& use);
  void insert(const Ticket& ticket, const Place& place, std::shared_ptr<CachedRecord> record);
  // Of a key of an object or of a page; nothing: of another one.
  std::optional<Place> place_of(std::string_view key) const;
  void invalidate(const Place& place);
  void drop_blocks(const CachedRecord& record);
  Shard& run_shard(std::uint64_t hash) const;

  io::Executor& executor_;
  std::uint64_t block_;
  std::uint64_t least_for_runs_;
  io::Mutex resizing_;  // while the capacity changes; before those of shards
  std::atomic<std::uint64_t> capacity_{0};
  std::uint64_t beside_ HEXAD_GUARDED_BY(resizing_) = 0;
  std::atomic<std::uint64_t> largest_read_{kSmallRead};
  std::array<std::unique_ptr<Shard>, kMaxShards> shards_;  // the first ones are there: made_
  std::atomic<std::uint32_t> made_{0};
  std::atomic<std::uint32_t> active_{0};            // N9; a power of two, or 0; at most made_
  std::vector<std::unique_ptr<Shard>> run_shards_;  // a power of two
  std::atomic<bool> runs_apart_{false};             // pieces of runs lie in run_shards_
  std::atomic<std::uint64_t> next_serial_{1};
  kv::ResidentPieces* resident_ = nullptr;  // null: there are none
  std::atomic<std::uint64_t> hit_bytes_{0};
  std::atomic<std::uint64_t> missed_bytes_{0};
  Rounds device_reads_;
  std::atomic<std::uint64_t> run_reads_{0};
  Rounds run_rounds_;
};

}  // namespace hexad::core
