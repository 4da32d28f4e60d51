// A store: one process's erasure-coded objects on k+m or more devices.
//
// Any thread may use a Store; it is moved only while no one does. Callbacks run on a pool thread
// and may call the store. Several stores may be open in one process; there is no global state.
//
// A call that the system refuses memory is an error, kExhausted, and has changed nothing; in the
// middle of what threads share the process ends instead, as in a crash (doc/promises.md). Calls
// that return no error let std::bad_alloc through; the store goes on.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/checksum.h"
#include "core/api/commit_callback.h"
#include "core/api/commit_options.h"
#include "core/api/options.h"
#include "core/api/pinned_bytes.h"
#include "core/api/pool.h"
#include "core/api/stream.h"
#include "core/api/transaction.h"
#include "core/api/types.h"
#include "core/commit_awaiter.h"
#include "io/system.h"

namespace hexad {

namespace core {
class Engine;
}

class Store {
 public:
  // Makes a new store on the devices and fast directories of `options` and returns where it is.
  // Refuses devices that carry something else (unless options.force), and leaves every device as
  // it was when it fails before the first write. Files that are sparse get all their room.
  // `notes` gets what cannot be promised, where a file system gives every write a new place, say.
  // Writes no pool description: see write_pool().
  // Errors: kInvalidArgument, kAlreadyExists (foreign data), kBusy, kNoSpace, kIo.
  static Result<PoolDescription> format(const FormatOptions& options, io::System* system = nullptr,
                                        std::vector<std::string>* notes = nullptr);

  // Opens what format() made; never creates anything. Up to m data devices may be missing, stale or
  // damaged. Recovers from a crash: cost bounded by the log. `system` null: the operating system.
  // Errors: kNotFound, kBusy, kUnavailable (too few devices: the message lists each and why),
  // kCorruption, kInvalidArgument (foreign, duplicate), kIo (also where the system refuses a
  // thread: all that the store ever needs are started here).
  static Result<Store> open(const PoolDescription& pool, const RuntimeOptions& options = {},
                            io::System* system = nullptr);

  // A new store in memory, with the collection "default" in it: the same calls, the same code and
  // the same errors as on devices, k+m of them, and nothing of it on any disk. Everything is gone,
  // and its memory given back, when the Store ends. "Durable" means here that the devices have
  // taken it; no crash leaves anything. status().memory_only says so. Cost: little memory and no
  // time to speak of, whatever the capacity. Errors: kInvalidArgument (options; Access::kReadOnly),
  // kNoSpace (the address space is refused).
  static Result<Store> in_memory(const MemoryStoreOptions& options = {},
                                 const RuntimeOptions& runtime = {});

  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  // Waits for callbacks. Lets go without a checkpoint; the next opening recovers. Call close().
  ~Store();
  // Waits for commits in flight, writes a checkpoint, marks the store clean. Idempotent. Callbacks
  // of submit() may still be running when it returns; ~Store() waits for those.
  Status close();

  // Blocks until durable; with Durability::kBuffered, until it has its LSN and everybody reads it.
  // Returns the LSN. Errors: those of contract (core/api/transaction.h), kTooBig, kNoSpace,
  // kUnknown (then the store is read-only), kReadOnly; kIo: nothing applied, and the store has
  // turned read-only before buffered commits were durable (a durable commit says so, see sync()).
  Result<Lsn> commit(Transaction&& transaction, const CommitOptions& options = {});
  // Returns at once (waits only while max_in_flight is exceeded); `done` runs exactly once, when
  // commit() would have returned. Payloads are borrowed until then.
  void submit(Transaction&& transaction, const CommitCallback& done,
              const CommitOptions& options = {});
  // The same for coroutines: `co_await` gives the Result<Lsn>. `resume_on`: where the coroutine
  // goes on; empty: on the thread that callbacks run on.
  CommitAwaiter commit_async(Transaction&& transaction, const CommitOptions& options = {},
                             ResumeOn resume_on = {});
  // Returns when every commit that began before it is durable. Errors: kIo (the store has turned
  // read-only, and buffered commits may be lost: the message names their LSNs; so says every later
  // sync(), durable commit and close(), until the store is opened again), kUnknown (durable commits
  // in flight have failed meanwhile), kClosed.
  Status sync();

  // The whole object. Errors of all reads: kNotFound, kUnavailable (more than m cells lost; names
  // the object), kIo; of this one also kTooBig (over kMaxGetSize).
  Result<Bytes> get(std::string_view collection, std::string_view name);
  // The whole object without a copy, when the read cache has it in one piece: small ones that were
  // read before. Never waits for a device. Nothing: ask get(); it says why, too.
  std::optional<PinnedBytes> cached(std::string_view collection, std::string_view name);
  // Up to into.size() bytes from `offset`; fewer at the end of the object, 0 behind it.
  Result<std::uint64_t> read(std::string_view collection, std::string_view name,
                             std::uint64_t offset, MutByteView into);
  // Any number of ranges, 100,000 and more, of one version of the object: in any order, empty ones
  // and overlapping ones too. Their blocks are read once, all those of 8 MiB together.
  // One after the other; what lies behind the end of the object is left out. Also kTooBig, over
  // kMaxGetSize in all.
  Result<Bytes> read_ranges(std::string_view collection, std::string_view name,
                            std::span<const ByteRange> ranges);
  // Each into its own memory; fills in how much was there. After an error what was read counts for
  // nothing.
  Status read_ranges(std::string_view collection, std::string_view name,
                     std::span<RangeInto> ranges);
  // Which parts of the range hold data, inside the object's size; the rest of it are holes, which
  // read as zeros. Ascending, a gap apart. Zeros that were written are data. Cost: with the pages
  // of the range that hold any.
  Result<std::vector<ByteRange>> extents(std::string_view collection, std::string_view name,
                                         const ByteRange& range = {0, kMaxObjectSize});
  // Of the range's bytes, holes as zeros, up to the object's end. Reads it all, in bounded memory,
  // of one version, which keeps room as collection_usage() does.
  Result<RangeChecksum> checksum(std::string_view collection, std::string_view name,
                                 const ByteRange& range, ChecksumType type = ChecksumType::kCrc32c);
  // False also when the collection does not exist, and for names that no object can have.
  Result<bool> exists(std::string_view collection, std::string_view name);
  Result<ObjectStat> stat(std::string_view collection, std::string_view name);
  // The same, when the read cache knows it. Never waits. Nothing: ask stat().
  std::optional<ObjectStat> cached_stat(std::string_view collection, std::string_view name);
  Result<Attributes> attributes(std::string_view collection, std::string_view name);
  // One of them; nothing: the object has none of that name. kNotFound: there is no such object.
  Result<std::optional<std::string>> attribute(std::string_view collection, std::string_view name,
                                               std::string_view attribute);
  // Of the omap of the object (Transaction::omap_set). Nothing: the object has no such key, or no
  // omap at all. The empty key, which no entry has, is the header's.
  Result<std::optional<Bytes>> omap_get(std::string_view collection, std::string_view name,
                                        std::string_view key);
  // Those of the keys that are there, in one state. Also kTooBig, over kMaxGetSize in all.
  Result<std::map<std::string, Bytes>> omap_get(std::string_view collection, std::string_view name,
                                                std::span<const std::string> keys);
  // Empty: there is none.
  Result<Bytes> omap_header(std::string_view collection, std::string_view name);
  // A page of entries by key, of one state; with their values it ends before 64 MiB of them, so it
  // may have fewer than options.limit (at most kMaxListPage). Cost: the entries of the page; what
  // was deleted costs what it does in list(), and so does what an omap hides that it shares with
  // clones. Errors also: kInvalidArgument (a bound of more than
  // kMaxOmapKey bytes).
  Result<OmapPage> omap_list(std::string_view collection, std::string_view name,
                             const OmapOptions& options = {});
  // A page of the names of a collection. One state per page; the next page is of a state of its
  // own, as late as it is asked for: a state held over many pages would keep room that checkpoints
  // free. Cost: the entries of the page, and one seek per common prefix, however many names lie
  // below. Names deleted before the last checkpoint cost nothing. Those deleted since, where the
  // page passes, cost a step each, at most what memtable_size has room for; a page that passes over
  // many of them asks for a checkpoint. Errors: kNotFound (the collection), kInvalidArgument (a
  // text of more than kMaxNameSize bytes), kIo.
  Result<ListPage> list(std::string_view collection, const ListOptions& options = {});
  // By name. Cost: with the number of collections, not of objects.
  Result<std::vector<CollectionInfo>> collections();
  Result<CollectionInfo> collection(std::string_view name);
  // One pass over the collection's objects, of one state. Nobody waits for it; but as long as it
  // takes, the index on the fast tier does not use again what checkpoints free there, and grows.
  Result<CollectionUsage> collection_usage(std::string_view name);

  // An object written piece by piece in bounded memory (RuntimeOptions::stream_buffer). `hint`:
  // becomes the object's when it is published, Hint::kNone included; nothing: the object's own
  // hints stay, and hold for the data.
  Result<std::unique_ptr<ObjectWriter>> open_writer(std::string_view collection,
                                                    std::string_view name,
                                                    std::optional<Hint> hint = std::nullopt);
  // Reads one version of the object, whatever is written meanwhile.
  Result<std::unique_ptr<ObjectReader>> open_reader(std::string_view collection,
                                                    std::string_view name);

  // Writes a checkpoint now and trims the log. Errors: kNoSpace, kReadOnly, kClosed; kUnknown
  // (under it more devices have failed than the store survives: it has turned read-only).
  Status checkpoint();

  StoreStatus status();
  // The records are counted in one state, as collection_usage() counts them; room and the sizes of
  // devices are of the moment after that.
  Result<SpaceUsage> space();
  std::vector<Counter> counters();
  // Whether metadata and space agree, and what is stored is what its checksums say. Commits wait
  // meanwhile.
  Result<FsckReport> fsck(const FsckOptions& options);
  // Reads every cell of every stripe, data and parity alike, and writes back what is damaged, while
  // everything else goes on: so that damage which nobody reads does not add up to more than m
  // cells. Covers what is there from the beginning to the end of the pass, under one name. In a
  // store that is open for reading only, nothing is written back. Several MiB are read at once;
  // ScrubOptions::rate leaves time to others. Memory: some MiB, and an entry per blob that clones
  // share. Errors: kInvalidArgument (`from`), kClosed, kReadOnly (the store has turned so
  // meanwhile). What a device says or has is a finding.
  Result<ScrubReport> scrub(const ScrubOptions& options = {});
  std::vector<EffectiveOption> effective_options() const;

  // Of an engine that has started: how open() ends. For tests that bring parts of their own.
  explicit Store(std::unique_ptr<core::Engine> engine);

 private:
  void let_go();
  std::unique_ptr<core::Engine> engine_;
};

// What can be said about a pool without opening it (fewer than N - m devices, damaged labels):
// reads labels and roots only, writes nothing.
Result<StoreStatus> inspect(const PoolDescription& pool, io::System* system = nullptr);

}  // namespace hexad
