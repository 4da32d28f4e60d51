// A store: opening one, committing to it, reading from it, looking after it.
//
//   hexad::Result<hexad::Store> store = hexad::Store::open(*hexad::read_pool("/pool"));
//   hexad::Result<hexad::Bytes> data = store->get("default", "run7/weights");
//   hexad::Status closed = store->close();
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
#include "core/api/damage.h"
#include "core/api/object_room.h"
#include "core/api/options.h"
#include "core/api/pinned_bytes.h"
#include "core/api/pool.h"
#include "core/api/stream.h"
#include "core/api/transaction.h"
#include "core/api/types.h"
#include "core/commit_awaiter.h"
#include "io/system.h"

// The public API of hexad, an embeddable, erasure-coded object store.
namespace hexad {

namespace core {
class Engine;
}

// A store: erasure-coded objects of one process on k+m or more devices.
//
// A store can be moved, which leaves the source without a store, and not copied. Several stores may
// be open in one process; there is no global state.
//
// Errors: every call that can fail returns a Status or a Result. In a child made with `fork()`,
// such a call on a store of the parent returns kForked, and no call touches anything. A call to
// which the system refuses memory returns kExhausted and has changed nothing; in the middle of
// something that threads share, the process ends instead, as in a crash (doc/promises.md). Calls
// that return no error let std::bad_alloc through; the store goes on.
//
// Threads: any thread may call any function at any time, except that no other thread may use a
// store while it is moved or destroyed. Callbacks run on a thread of the store and may call the
// store.
class Store {
 public:
  // Makes a new store on the devices and fast directories of `options`, with the collection
  // "default" in it, and returns where it is.
  //
  // Refuses devices that carry something else, unless FormatOptions::force is set. When it fails
  // before the first write, every device is as it was. Files get all their room at once, sparse
  // ones too. No pool description is written: see write_pool(). `system` null means the operating
  // system; `report`, unless null, gets what was chosen, and what cannot be promised: where a file
  // system gives every write a new place, for example.
  //
  // Errors: kInvalidArgument (options; the devices' physical block), kAlreadyExists (a device or
  // directory carries something else), kTooBig (too many devices or fast directories for the
  // label), kClosed (FormatOptions::progress), kBusy, kNoSpace, kIo, and others of the operating
  // system.
  static Result<PoolDescription> format(const FormatOptions& options, io::System* system = nullptr,
                                        FormatReport* report = nullptr);

  // Opens a store that format() has made; it never creates one.
  //
  // Up to m data devices may be missing, stale or damaged. Recovers from a crash. `system` null
  // means the operating system. All threads that the store ever needs are started here.
  //
  // Cost: recovery reads at most the log.
  //
  // Errors: kNotFound (no device carries a label), kBusy (the store is open), kUnavailable (too few
  // devices: the message lists each and why; or RuntimeOptions::split_risk refuses), kCorruption,
  // kInvalidArgument (options, a device given twice, copies of one device), kUnsupported (of a
  // newer version), kReadOnly (a device cannot be written; see RuntimeOptions::unwritable_devices),
  // kExhausted (no descriptors or memory), kIo (also where the operating system refuses a thread),
  // kFenced (another process took the devices over meanwhile).
  static Result<Store> open(const PoolDescription& pool, const RuntimeOptions& options = {},
                            io::System* system = nullptr);

  // Opens a store for writing, as open() does, with a new device in the place of one that is lost,
  // has failed or has lost what was on it. The new one lacks everything at first: catch_up() gives
  // it what it should have, and until then it counts as lost. The pool's description is the
  // caller's to change.
  //
  // A device that still answers is copied first, while the store is not open yet, and goes when the
  // new one has what it had: redundancy is never less than before, but for a moment at the end.
  // What it does not give any more is rebuilt afterwards, as above. A crash leaves it where it was.
  //
  // Cost: for one that answers, reading and writing all that lives on it, one after the other.
  //
  // Errors: those of open(); kNotFound (there is no such device), kInvalidArgument (it comes back
  // by itself, lacks something yet, or is a fast one), kAlreadyExists (the path holds something
  // else), kNoSpace (the new device is too small), kClosed (Replacement::progress).
  static Result<Store> open_replacing(const PoolDescription& pool, const Replacement& replacement,
                                      const RuntimeOptions& options = {},
                                      io::System* system = nullptr);

  // Returns the devices of a pool that some process has open for writing, on whatever machine it
  // runs.
  //
  // Cost: each device is asked. Files and block devices, of which only an opening can tell, are
  // opened for a moment.
  //
  // Errors: kInvalidArgument, kExhausted, kUnavailable (a cluster does not answer), kFenced (this
  // process is shut out itself), and others of the operating system. Devices that are not there, or
  // have failed, are nobody's: who opens the pool does without them, too.
  static Result<std::vector<DeviceHolder>> holders(const PoolDescription& pool,
                                                   io::System* system = nullptr);

  // Shuts every process that has devices of the pool open for writing out of them, on whatever
  // machine it runs, and whether it is alive, stopped or cut off; returns which devices those were.
  //
  // When it returns, no request of theirs has an effect any more. open() then recovers the store as
  // after a crash: all that they had acknowledged as durable is there. They learn it with their
  // next request: kUnknown for commits that were under way, kFenced for what comes later.
  //
  // Errors: those of holders(); kBusy (a process of this machine has a file or block device open,
  // and nothing can shut it out: end it; nobody has been shut out); kUnavailable (a cluster does
  // not answer; some may have been shut out).
  static Result<std::vector<DeviceHolder>> take_over(const PoolDescription& pool,
                                                     io::System* system = nullptr);

  // Makes a new store in the memory of this process, with the collection "default" in it.
  //
  // It has the same calls, the same code and the same errors as a store on devices, of which it has
  // k+m; nothing of it is on any disk. Everything is gone, and its memory freed, when the Store is
  // destroyed. "Durable" means here that the devices have taken it; nothing outlives a crash.
  // StoreStatus::memory_only is true.
  //
  // Cost: little memory and little time, whatever the capacity.
  //
  // Errors: kInvalidArgument (options; Access::kReadOnly), kNoSpace (the address space is refused).
  static Result<Store> in_memory(const MemoryStoreOptions& options = {},
                                 const RuntimeOptions& runtime = {});

  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  // Waits for callbacks, then releases the devices without a checkpoint: the next opening recovers.
  // Call close() before.
  ~Store();
  // Waits for commits in flight, writes a checkpoint, and marks the store clean.
  //
  // Afterwards nothing can be committed (kClosed). Callbacks of submit() may still be running when
  // it returns; the destructor waits for those. A second call does nothing and returns OK.
  //
  // Errors: those of checkpoint(); kIo (buffered commits may be lost, as sync() says).
  Status close();

  // Commits a transaction: applies all of it, or nothing. Blocks until it is durable, and returns
  // its LSN.
  //
  // With Durability::kBuffered it blocks only until the transaction has its LSN and all threads
  // read it. An error means that nothing was applied, except kUnknown.
  //
  // Errors: those that the calls of Transaction name; kTooBig (more payload than
  // RuntimeOptions::max_transaction, or more metadata than the log takes); kNoSpace (devices, fast
  // tier or a quota); kConflict (a guard does not hold, or the objects change faster than the
  // transaction can follow); kUnavailable and kIo (reading what it depends on); kReadOnly; kClosed;
  // kUnknown (a device error left it open whether the transaction is durable; the store has turned
  // read-only); kIo also if the store has turned read-only before buffered commits were durable,
  // see sync(); kFenced (another process has taken the devices over); kUnavailable where the thread
  // is called back while it waits (io/recall.h): Recall::has_left_commit() says whether the
  // transaction has its place and goes on.
  Result<Lsn> commit(Transaction&& transaction, const CommitOptions& options = {});
  // Commits a transaction without waiting until it is durable: `done` is called exactly once, with
  // the result, when commit() would have returned.
  //
  // Before it returns, the transaction is prepared (checksums, compression, parity; what guards and
  // clones need is read) and gets its place in the order; so it blocks while more than
  // RuntimeOptions::max_in_flight bytes are in flight, and while the transaction waits for space or
  // for room in the log. Transactions of one thread are applied in the order of its calls. Borrowed
  // payloads must stay until `done` is called.
  //
  // Threads: `done` runs on a thread of the store, possibly before submit() returns; in a child of
  // fork() it runs on the calling thread.
  void submit(Transaction&& transaction, const CommitCallback& done,
              const CommitOptions& options = {});
  // Commits a transaction from a coroutine: `co_await` gives the Result of commit().
  //
  // The transaction is submitted when it is awaited. `resume_on` says where the coroutine resumes;
  // empty: on the thread that callbacks of submit() run on.
  CommitAwaiter commit_async(Transaction&& transaction, const CommitOptions& options = {},
                             ResumeOn resume_on = {});
  // Waits until every commit that was answered before is durable, and every transaction whose
  // submit() has returned.
  //
  // Errors: kIo (the store has turned read-only, and buffered commits may be lost: the message
  // names their LSNs; every later sync(), durable commit and close() returns the same, until the
  // store is opened again), kUnknown (durable commits in flight have failed meanwhile), kClosed.
  Status sync();
  // Returns whether some device of the store has owed an answer for a twentieth of a second: then a
  // call may take long. Whoever cannot wait makes calls on another thread meanwhile.
  //
  // Any thread. Cost: some atomic loads for each device; where requests are under way, a look at
  // the clock.
  bool waits_for_devices() const;

  // Returns the whole object.
  //
  // Reads see every transaction that was answered before they began, buffered ones too, and of each
  // transaction all or nothing. Damaged and missing cells are rebuilt from the others, and damaged
  // ones are written back.
  //
  // Errors: kNotFound (the collection or the object), kUnavailable (more than m cells are lost;
  // names the object), kCorruption, kIo, as all reads; kTooBig (more than kMaxGetSize).
  Result<Bytes> get(std::string_view collection, std::string_view name);
  // Returns the whole object without a copy if the read cache has it in one piece, as it has small
  // objects that were read before; else nothing.
  //
  // Never waits for a device. Nothing says nothing about the object: call get().
  std::optional<PinnedBytes> cached(std::string_view collection, std::string_view name);
  // Reads up to into.size() bytes from `offset` on, and returns how many: fewer at the end of the
  // object, 0 behind it.
  //
  // Errors: those of all reads, see get().
  Result<std::uint64_t> read(std::string_view collection, std::string_view name,
                             std::uint64_t offset, MutByteView into);
  // Reads as read() does if the read cache has all of the range; else nothing,
  // and the contents of `into` are undefined. Never waits for a device.
  std::optional<std::uint64_t> cached_read(std::string_view collection, std::string_view name,
                                           std::uint64_t offset, MutByteView into);
  // Reads any number of ranges of one version of the object, and returns their bytes one after the
  // other, in the order of `ranges`; what lies behind the end of the object is left out.
  //
  // Ranges may stand in any order, be empty, and overlap; there may be 100,000 and more. They are
  // read in rounds of about 8 MiB, and no block is read twice in a round.
  //
  // Errors: those of all reads, see get(); kTooBig (more than kMaxGetSize in all).
  Result<Bytes> read_ranges(std::string_view collection, std::string_view name,
                            std::span<const ByteRange> ranges);
  // Reads any number of ranges of one version of the object, each into its own memory, and sets
  // RangeInto::read of each.
  //
  // After an error the contents of the memory are undefined.
  //
  // Errors: those of all reads, see get().
  Status read_ranges(std::string_view collection, std::string_view name,
                     std::span<RangeInto> ranges);
  // Returns which parts of a range of the object hold data; the rest, up to the size of the object,
  // are holes, which read as zeros.
  //
  // The parts are ascending and do not touch. Zeros that were written are data.
  //
  // Cost: with the MiB of the range that hold any data.
  //
  // Errors: those of all reads, see get().
  Result<std::vector<ByteRange>> extents(std::string_view collection, std::string_view name,
                                         const ByteRange& range = {0, kMaxObjectSize});
  // Returns the checksum of a range of the object, up to its end; holes count as zeros.
  //
  // Cost: reads all of the range, of one version, in bounded memory. While it runs, space that is
  // freed is not used again, as with collection_usage().
  //
  // Errors: those of all reads, see get().
  Result<RangeChecksum> checksum(std::string_view collection, std::string_view name,
                                 const ByteRange& range, ChecksumType type = ChecksumType::kCrc32c);
  // Returns true if the object exists; false also if the collection does not, and for names that no
  // object can have.
  //
  // Errors: kCorruption, kIo.
  Result<bool> exists(std::string_view collection, std::string_view name);
  // Returns size, version and more of the object.
  //
  // Cost: of an object larger than 1 MiB, with the MiB that hold data.
  //
  // Errors: those of all reads, see get().
  Result<ObjectStat> stat(std::string_view collection, std::string_view name);
  // Returns what stat() would if the read cache knows it, else nothing; never waits.
  std::optional<ObjectStat> cached_stat(std::string_view collection, std::string_view name);
  // Returns the size of the object if the read cache knows it, of one with many pages, too, for
  // which cached_stat() says nothing; never waits.
  std::optional<std::uint64_t> cached_size(std::string_view collection, std::string_view name);
  // Returns all attributes of the object.
  //
  // Errors: those of all reads, see get().
  Result<Attributes> attributes(std::string_view collection, std::string_view name);
  // Returns the value of one attribute, or nothing if the object does not have it.
  //
  // Errors: those of all reads, see get().
  Result<std::optional<std::string>> attribute(std::string_view collection, std::string_view name,
                                               std::string_view attribute);
  // Returns the value of one key of the omap of the object (Transaction::omap_set()), or nothing if
  // the omap does not have it.
  //
  // The empty key, which no entry has, is the key of the header.
  //
  // Errors: those of all reads, see get().
  Result<std::optional<Bytes>> omap_get(std::string_view collection, std::string_view name,
                                        std::string_view key);
  // Returns the values of those of the keys that the omap of the object has, in one state.
  //
  // Errors: those of all reads, see get(); kTooBig (more than kMaxGetSize in all).
  Result<std::map<std::string, Bytes>> omap_get(std::string_view collection, std::string_view name,
                                                std::span<const std::string> keys);
  // Returns the header of the omap of the object; empty if it has none.
  //
  // Errors: those of all reads, see get().
  Result<Bytes> omap_header(std::string_view collection, std::string_view name);
  // Returns a page of the entries of the omap of the object by key, in one state.
  //
  // With values it ends before they pass 64 MiB, but has at least one entry; so it may have fewer
  // than OmapOptions::limit.
  //
  // Cost: with the entries of the page; deleted keys cost as in list(), and so do keys of an omap
  // shared with clones that this object has changed or removed.
  //
  // Errors: those of all reads, see get(); kInvalidArgument (a bound of more than kMaxOmapKey
  // bytes).
  Result<OmapPage> omap_list(std::string_view collection, std::string_view name,
                             const OmapOptions& options = {});
  // Returns a page of the names of a collection.
  //
  // A page shows one state of the store. The next page shows a state of its own, as of when it is
  // asked for: a state held over many pages would keep space that checkpoints free.
  //
  // Cost: with the entries of the page, and one search for each common prefix, however many names
  // are below it. Names deleted before the last checkpoint cost nothing. Names deleted since cost
  // one step each where the page passes them, at most as many as RuntimeOptions::memtable_size has
  // room for; a page that passes many of them asks for a checkpoint.
  //
  // Errors: kNotFound (the collection), kInvalidArgument (a text of more than kMaxNameSize bytes),
  // kCorruption, kIo.
  Result<ListPage> list(std::string_view collection, const ListOptions& options = {});
  // Returns all collections in the order of their names.
  //
  // Cost: with the number of collections, not of objects.
  //
  // Errors: kCorruption, kIo.
  Result<std::vector<CollectionInfo>> collections();
  // Returns one collection and what it holds.
  //
  // Errors: kNotFound, kCorruption, kIo.
  Result<CollectionInfo> collection(std::string_view name);
  // Counts what the objects of a collection take, in one state.
  //
  // Cost: one pass over the objects of the collection. Nothing waits for it; but while it runs,
  // space that transactions free is not used again, and the index on the fast tier does not use
  // again what checkpoints free there, and grows.
  //
  // Errors: kNotFound, kCorruption, kIo.
  Result<CollectionUsage> collection_usage(std::string_view name);

  // Opens an object for writing piece by piece, in memory bounded by RuntimeOptions::stream_buffer.
  //
  // The object does not change until the writer is published. `hint` becomes the hint of the object
  // then, Hint::kNone included; without one, the object keeps its hint, which applies to the data.
  //
  // Errors: kNotFound (the collection), kInvalidArgument (the names, `hint`), kReadOnly, kClosed,
  // kCorruption, kIo.
  Result<std::unique_ptr<ObjectWriter>> open_writer(std::string_view collection,
                                                    std::string_view name,
                                                    std::optional<Hint> hint = std::nullopt);
  // Opens an object for reading piece by piece, in memory bounded by RuntimeOptions::stream_buffer.
  //
  // All reads are of the version that the object has now, whatever is written meanwhile; of an
  // object whose metadata is larger than the buffer, see ObjectReader.
  //
  // Errors: those of all reads, see get().
  Result<std::unique_ptr<ObjectReader>> open_reader(std::string_view collection,
                                                    std::string_view name);

  // Writes a checkpoint now, and trims the log.
  //
  // Errors: kNoSpace, kReadOnly, kClosed, kIo, kUnknown (while it ran more devices failed than the
  // profile tolerates: the store has turned read-only).
  Status checkpoint();

  // Returns the state of the store, of its devices and of its background work; where its metadata
  // and what was read are, and what each layer has answered; and when the store is full if it goes
  // on like that.
  StoreStatus status();
  // Returns what the store takes and what is left.
  //
  // Cost: a step for each collection, and one pass over the stripes that small objects share, in
  // memory. With SpaceDetail::kBreakdown also one pass over the records of all objects, in one
  // state, with the cost of collection_usage(); free space and the sizes of devices are as of the
  // moment after that.
  //
  // Errors: kCorruption, kIo.
  Result<SpaceUsage> space(SpaceDetail detail = SpaceDetail::kTotals);
  // Gives what RuntimeOptions::cache_size gives, from now on until the store is closed: 0, or 1 MiB
  // to 1 PiB.
  //
  // More takes effect at once, and memory is taken as it is filled. Of less, what is asked for the
  // least goes, piece by piece, so that reads and commits meanwhile wait for moments only; when
  // this returns the memory is free. Below 64 MiB, and across that, memory is divided anew, and
  // what was kept is lost. The table of blocks on the fast device (a sixteenth of it, which counts
  // within it) has its new size on return, too, and the file soon after; of less the oldest goes.
  //
  // Errors: kInvalidArgument (bytes), kClosed.
  Status set_cache_size(std::uint64_t bytes);
  // Returns how much room there is for objects of `object_size` bytes: what the store holds of
  // them, and what it takes now.
  //
  // Cost: no record is read; one pass over the stripes that small objects share.
  //
  // Errors: kInvalidArgument (`object_size`: 0, or more than an object may have).
  Result<ObjectRoom> room_for(std::uint64_t object_size);
  // Returns all counters (doc/counters.md).
  std::vector<Counter> counters();
  // Checks that metadata and space agree and, if FsckOptions::deep, that all that is stored matches
  // its checksums.
  //
  // What is wrong is a finding, not an error. Commits and reads go on meanwhile: all is looked at
  // as of the moment in which it begins, for which commits wait; checkpoints wait while the index's
  // file is verified. What is freed meanwhile can be used again when it has ended. Ended by
  // FsckOptions::progress it returns what it has found, not FsckReport::complete; what it has put
  // right stays so.
  //
  // Errors: kReadOnly (FsckOptions::repair), kClosed, kIo, kUnavailable (a device that does not
  // answer stands in the way of commits or a checkpoint).
  Result<FsckReport> fsck(const FsckOptions& options);
  // Reads every cell of every stripe, data and parity alike, and writes back what is damaged,
  // beside everything else.
  //
  // So damage that nothing reads does not add up to more than m cells of a stripe. A pass covers
  // what exists from its beginning to its end under one name. In a store that is open for reading
  // only, nothing is written back. What a device returns, an error or wrong bytes, is a finding.
  //
  // Cost: several MiB are read at a time; ScrubOptions::rate leaves time to others. Memory: some
  // MiB, and an entry for each blob that clones share.
  //
  // Errors: kInvalidArgument (ScrubOptions::from), kClosed, kReadOnly (the store has turned
  // read-only meanwhile).
  Result<ScrubReport> scrub(const ScrubOptions& options = {});
  // Returns which ranges of objects could not be read when a read or a scrub met them, and still
  // cannot, by collection, name and offset: all objects that show the bytes, clones too. What has
  // been removed, or written again, or can be read again is none of them.
  //
  // The list outlives the store where that is open for writing: it is written down soon after. What
  // was acknowledged stays in it, and is marked. At most 1000 stored pieces are listed; of what is
  // met beyond that `status` has the number.
  //
  // Cost: nothing while nothing is damaged; else one pass over all objects, and all that is listed
  // is read again.
  //
  // Errors: kClosed; kCorruption and kIo (reading the metadata).
  Result<std::vector<Damage>> damage();
  // Tells the store that the loss of these objects' damaged ranges is known, and returns the ranges
  // that this is news of: health does not count them any more. Objects that show the same bytes,
  // clones, are among them.
  //
  // Errors: those of damage() and commit(); kNotFound (no damage is known of one of the objects;
  // nothing was acknowledged).
  Result<std::vector<Damage>> acknowledge_damage(std::span<const ObjectName> objects);
  // The same for all that damage() returns.
  Result<std::vector<Damage>> acknowledge_all_damage();
  // Gives devices that have come back what was written while they were away, and returns when they
  // lack nothing, or as far as it comes: then `bytes_missing` is not 0, and `findings` say why. The
  // store does the same by itself, more slowly (RuntimeOptions::catch_up).
  //
  // Errors: kReadOnly, kClosed, kUnavailable (too few cells, or a device does not answer).
  Result<CatchUpReport> catch_up(const CatchUpOptions& options = {});
  // Takes a device in again that has left the store while it is open, or was not there when it was
  // opened: what an opening for writing does by itself, without closing the store. `path`: where it
  // is now; empty: where it was. Commits go on meanwhile, but for a moment. When it returns the
  // device is used, and gets what was written without it, as catch_up() says.
  //
  // Errors: kNotFound (no such device; nothing at the path), kAlreadyExists (it is in use),
  // kUnavailable (it still owes answers from before it left; it has lost writes; it failed
  // meanwhile), kInvalidArgument (another device, or a copy that was written apart; the path is not
  // known), kBusy (another process has it), kReadOnly, kClosed, those of checkpoint(). The store is
  // as it was, without the device, and it may be tried again.
  Status bring_back_device(DeviceId device, const std::string& path = {});
  // Takes a new device in for one that is lost, has failed or is to go, while the store serves, and
  // returns the number of the new one. One that is not in use gives its number to the new one,
  // which may be smaller, as far as what lies there has room: this returns when that is used; it
  // lacks everything then, is given that as catch_up() says, and counts as lost until then. For one
  // that still answers the new one is added as one more device, under a number of its own; what
  // lies on the old one moves to the others (move_slabs(), at replacement.rate), and it is removed:
  // then this returns. At no time there is less redundancy than before. Whatever ends that early, a
  // crash included, leaves a device more and one that is draining: the same call goes on,
  // undrain_device() takes it back. Where the path has the number already: nothing. For a fast
  // device replacement.path is another directory, made if it is missing: it gets the log now, and
  // the index at the next opening that names it. `replacement`: its `progress` must not call the
  // store. The pool's description is the caller's to change. Durable when it returns.
  //
  // Errors, and the store is as it was, or, for one that answers, as said: kNotFound (no such
  // device), kInvalidArgument (it lacks something yet), kAlreadyExists (the path holds
  // something else, or is another device of the store), kNoSpace (the new device is too small for
  // what lies on the old one), kClosed (Replacement::progress, close()), kBusy (another process has
  // it), kUnavailable (too many others are lost; the new device does not answer; what is to be
  // moved cannot be), kConflict (it is not drained any more), kUnsupported (a store in memory),
  // kReadOnly, those of the device and of checkpoint().
  Result<DeviceId> replace_device(const Replacement& replacement);
  // Takes a device into the store that it has not had, one more than before, and returns its
  // number. `path`: of the device; a file that is not there is made, of the size of the largest
  // data device. What is there already is not spread over it at once: the store moves slabs in the
  // background, or move_slabs() does. Durable when it returns. `progress`: as
  // FormatOptions::progress, while the device is made ready; it must not call the store.
  // `failure_domain`: the one that it is in, or a new one; needed where the store has some
  // (FormatOptions::failure_domains), and empty where it has none.
  //
  // Errors, and the store is as it was: kAlreadyExists (the path holds something else, or is a
  // device of the store), kNoSpace (too small for a slab), kInvalidArgument (its blocks are larger
  // than those the store is laid out for; failure_domain), kTooBig (too many devices), kBusy
  // (another process has it, or another call is adding the same path), kUnavailable (m data devices
  // are lost or behind; or this one does not answer, and has been given up after device_patience),
  // kReadOnly, kClosed (close(), `progress`), kUnsupported (a store in memory), those of the device
  // and of checkpoint().
  Result<DeviceId> add_device(
      const std::string& path,
      const std::function<bool(std::uint64_t done, std::uint64_t total)>& progress = {},
      const std::string& failure_domain = {});
  // The same of a fast device: `directory` is on it, and is made if it is missing. The log is
  // copied there from those that have it (at most m+1 fast devices hold a copy; more are spare),
  // and the index goes to the first directory that the next opening names. Any number of data
  // devices may be lost meanwhile, as far as the store serves. The pool's description is the
  // caller's to change. Errors: those of add_device() but for kUnavailable (data devices);
  // kAlreadyExists also: the directory has an index of another store.
  Result<DeviceId> add_fast_device(
      const std::string& directory,
      const std::function<bool(std::uint64_t done, std::uint64_t total)>& progress = {});
  // From now on nothing more is put on the device, and what lies there is moved to others, in the
  // background or by move_slabs(); it serves until that is done. Of one that is lost, what lay
  // there gets room on others, and is built again there from the rest of each stripe, in the
  // background or by catch_up(): so the store has its full redundancy again without a new device.
  // RuntimeOptions::drain_lost_after asks for it by itself.
  // Should it come back before it is removed, it is used for what has not been moved. Then
  // remove_device() takes it away. Durable when it returns; again: nothing.
  //
  // Errors: kNotFound (no such device), kInvalidArgument (no data device), kNoSpace (there would be
  // fewer than k + m devices, or too few failure domains, or the others have no room: the message
  // says how much there is), kReadOnly, kClosed, those of checkpoint().
  Status drain_device(DeviceId device);
  // Ends that: what still lies on the device stays, and it is used like the others. Durable when it
  // returns; again: nothing. Errors: kNotFound, kReadOnly, kClosed, those of checkpoint().
  Status undrain_device(DeviceId device);
  // The device is no device of the store any more, and is wiped where it is attached: its number is
  // never used again. For one on which nothing lies, drained or not, in whatever state it is; for a
  // fast one at any time, since all that is there is on data devices, too. An index there serves
  // until the store is closed, and the next opening, which is to name another fast directory or
  // none, does without: so the directory stays until then. Durable when it returns.
  //
  // Errors: kNotFound, kUnavailable (something lies there still,
  // the message says how much; too few other devices are in use; where m = 0, a data device has not
  // answered for 30 s), kNoSpace (there would be fewer than k + m devices), kReadOnly, kClosed,
  // those of checkpoint().
  Status remove_device(DeviceId device);
  // Moves slabs from devices that are drained, and from full devices to empty ones until what is
  // free can be used, and returns when nothing is left to be moved, or as far as it comes: then
  // `problem` says why. Commits go on meanwhile. The store does the same by itself, more slowly.
  //
  // Errors: kReadOnly, kClosed, those of checkpoint().
  Result<MoveReport> move_slabs(const MoveOptions& options = {});
  // Forgets the errors of devices that were counted so far (DeviceStatus::errors_total); of all
  // devices where none are named. Durable when it returns.
  //
  // Errors: kNotFound (no such device), kReadOnly, kClosed, and those of checkpoint().
  Status clear_device_errors(const std::vector<DeviceId>& devices = {});
  // Lets other processes of the same user, and root's, ask about the store until it is closed, by a
  // Unix socket (doc/control.md): its state, its space, its names, a scrub. Four threads; `status`
  // has a note of where the socket is. Again: nothing.
  //
  // Errors: kUnsupported (no directory takes the socket, or nobody needs it: what is open for
  // reading only others can open, too, and what is in memory is nobody else's), kClosed,
  // kExhausted. The store is as good as before, and `status` has a note of why.
  Status serve_control();
  // Returns every option of the store, its value and where that came from.
  std::vector<EffectiveOption> effective_options() const;

  // Makes a store of an engine that has started. For open(), and for tests that bring their own
  // parts.
  explicit Store(std::unique_ptr<core::Engine> engine);

 private:
  void let_go();
  std::unique_ptr<core::Engine> engine_;
};

// Returns what can be said about a store without opening it: where fewer than N - m devices are
// there, labels are damaged, or another process has it.
//
// Reads labels and roots only, takes no lock, and writes nothing. Health and devices are as of the
// last root: those that failed since a running process wrote it are not known here. last_lsn and
// log sizes are 0, since nobody has looked. `system` null means the operating system.
//
// Errors: kNotFound (no device carries a label), kInvalidArgument (no devices), kExhausted.
Result<StoreStatus> inspect(const PoolDescription& pool, io::System* system = nullptr);

}  // namespace hexad
