// Transactions, which are what changes a store.
//
//   hexad::Transaction t;
//   t.expect_version("default", "counter", version);  // a guard: else the commit fails
//   t.put("default", "counter", "8");
//   t.remove("default", "old/counter");
//   hexad::Result<hexad::Lsn> lsn = store.commit(std::move(t));  // all of it, or nothing
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/ids.h"
#include "compression/policy.h"
#include "core/api/types.h"

namespace hexad {

class ObjectWriter;

namespace core {
struct StagedObject;  // what an ObjectWriter has written so far
}

// The most objects and omap keys, counted together, that one transaction may remove by
// Transaction::remove_range() and Transaction::omap_remove_range().
inline constexpr std::uint64_t kMaxRangeRemovals = 4096;

// The most MiB that hold data in the ranges that all Transaction::clone_range() calls of one
// transaction show in other objects page by page. Of longer ranges a copy is made before.
//
// Transaction::clone() counts against it only where its source is made by the same transaction.
inline constexpr std::uint64_t kMaxClonedPages = 4096;

// The kind of an op of a transaction: each is made by the call of Transaction of the same name.
enum class OpKind : std::uint8_t {
  kCreateCollection = 1,  // Transaction::create_collection()
  kRemoveCollection,      // Transaction::remove_collection()
  kTouch,                 // Transaction::touch()
  kCreate,                // Transaction::create()
  kPut,                   // Transaction::put() and Transaction::put_borrowed()
  kWrite,                 // Transaction::write()
  kAppend,                // Transaction::append()
  kZero,                  // Transaction::zero()
  kTruncate,              // Transaction::truncate()
  kRemove,                // Transaction::remove()
  kSetAttr,               // Transaction::set_attr()
  kRemoveAttr,            // Transaction::remove_attr()
  kRename,                // Transaction::rename()
  kPublish,               // Transaction::publish()
  kExpectAbsent,          // Transaction::expect_absent()
  kExpectExists,          // Transaction::expect_exists()
  kExpectVersion,         // Transaction::expect_version()
  kExpectAttr,            // Transaction::expect_attr()
  kExpectAttrAbsent,      // Transaction::expect_attr_absent()
  kExpectBytes,           // Transaction::expect_bytes()
  kSetAttrs,              // Transaction::set_attrs()
  kRemoveAttrs,           // Transaction::remove_attrs()
  kRemoveRange,           // Transaction::remove_range()
  kSetHint,               // Transaction::set_hint()
  kSetPolicy,             // Transaction::set_policy()
  kSetQuota,              // Transaction::set_quota()
  kOmapSet,               // Transaction::omap_set()
  kOmapRemove,            // Transaction::omap_remove()
  kOmapRemoveRange,       // Transaction::omap_remove_range()
  kOmapClear,             // Transaction::omap_clear()
  kOmapSetHeader,         // Transaction::omap_set_header()
  kExpectOmap,            // Transaction::expect_omap()
  kExpectOmapAbsent,      // Transaction::expect_omap_absent()
  kClone,                 // Transaction::clone()
  kCloneRange,            // Transaction::clone_range()
  kSplitCollection,       // Transaction::split_collection()
  kMergeCollection,       // Transaction::merge_collection()
};

// Returns true if the op is a guard: it changes nothing, and is evaluated before all that do.
bool is_guard(OpKind kind);

// What happens to the objects of a collection that is removed.
enum class Contents : std::uint8_t {
  kMustBeEmpty,  // the collection must hold no objects, else kNotEmpty
  kRemoved,      // the objects are removed with it
};

// One op of a transaction, as the engine reads it; applications use the calls of Transaction.
struct TransactionOp {
  OpKind kind;             // what the op does; it decides which of the fields below count
  std::string collection;  // the collection of the object, or the one that the op is about
  std::string name;        // the object, the beginning of a range, or the prefix of a split
  // Attribute name, new object name of a rename or clone, end of a range of objects, omap key, or
  // beginning of a range of omap keys.
  std::string other;
  // Destination collection of a rename, clone, split or merge; end of a range of omap keys.
  std::string other_collection;
  std::uint64_t offset = 0;  // bytes; the size of a truncate, the version of an expect_version
  std::uint64_t length = 0;  // bytes, of a zero or clone_range
  ByteView payload;          // the bytes that the op brings: in one of the next two, or borrowed
  Bytes owned;               // a copy of them that is short
  AlignedBuffer large;       // a copy from BufferShelf::kSmallest bytes on
  Hint hint = Hint::kNone;   // of an op that brings data, and of a set_hint
  std::shared_ptr<core::StagedObject> staged;  // of a publish
  Attributes attributes = {};                  // of a set_attrs
  compression::Policy policy = {};             // of a set_policy
  Quota quota = {};                            // of a set_quota
  Contents contents = Contents::kMustBeEmpty;  // of a remove_collection
  std::uint64_t to_offset = 0;                 // bytes; the destination offset of a clone_range
  std::uint32_t space = 0;                     // of an expect_version_in, else 0
};

// An ordered list of changes to any objects of any collections, applied as a whole or not at all.
//
// Building a transaction has no effect on a store: Store::commit() applies all of it, or nothing.
// Later changes see earlier ones. Guards, the calls that begin with `expect`, are conditions: if
// one does not hold, nothing is applied.
//
// Payloads are copied into the transaction unless the call says "borrowed". A transaction can be
// moved, which leaves the source empty, and not copied.
//
// Errors: the calls return none. A bad argument is remembered, and the commit returns the first
// one: kInvalidArgument for a name of a collection or object that does not have 1 to kMaxNameSize
// bytes, and for hints that are unknown or exclude each other; kTooBig for a range of bytes that
// ends behind kMaxObjectSize. What depends on the state of the store is found by the commit, which
// returns the errors that the calls below name. Every change in a collection that does not exist
// fails with kNotFound, also a call that tolerates a missing object.
//
// Threads: a transaction is used by one thread at a time.
class Transaction {
 public:
  // Makes an empty transaction; committing it changes nothing.
  Transaction();
  Transaction(Transaction&&) noexcept;
  Transaction& operator=(Transaction&&) noexcept;
  ~Transaction();

  // Creates an empty collection, with the compression policy that the store was formatted with and
  // no quota.
  //
  // Errors: kAlreadyExists.
  void create_collection(std::string_view collection);
  // Removes a collection.
  //
  // With Contents::kMustBeEmpty, removals earlier in this transaction count. With
  // Contents::kRemoved, all objects of the collection disappear with this transaction; their space
  // is freed in the background, and sooner where a commit needs it. The name can be used again at
  // once.
  //
  // Cost: one small record, however many objects there are.
  //
  // Errors: kNotFound; kNotEmpty (Contents::kMustBeEmpty, and the collection holds an object).
  void remove_collection(std::string_view collection, Contents contents = Contents::kMustBeEmpty);
  // Moves all objects whose names begin with `prefix` to the collection `to`; an empty prefix moves
  // all objects.
  //
  // No object is written: each keeps its name, version, time, data, attributes and omap, and is in
  // exactly one of the two collections at every moment, also after a crash. Objects that earlier
  // ops of this transaction have made or removed count as they are then. Policies stay with their
  // collections, and stored data stays as it is. The totals of both collections are exact at once.
  // If no object has the prefix, nothing changes.
  //
  // Cost: the records of the moved objects are read once, to count them, on the thread that calls
  // commit() or submit(), before the transaction has its place in the order; other commits do not
  // wait for that. Little is written, however many objects are moved.
  //
  // Errors: kNotFound (either collection); kNotEmpty (`to` has an object with the prefix);
  // kInvalidArgument (into itself, or a prefix of more than kMaxNameSize bytes); kNoSpace (a quota
  // of `to`); kTooBig (kMaxCollectionBytes, or the names of a collection would be in more than 256
  // ranges that come from different collections in turn).
  void split_collection(std::string_view collection, std::string_view prefix, std::string_view to);
  // Moves all objects of a collection to the collection `into`, and removes the collection with its
  // policy and its quota.
  //
  // Objects are moved as by split_collection(). No name may be in both collections.
  //
  // Cost: one search for each range of names in which all objects are of one of the two
  // collections, of which there may be at most some thousand, however many objects there are. So
  // collections whose names have different prefixes merge, and collections whose names alternate
  // throughout do not.
  //
  // Errors: kNotFound (either collection); kAlreadyExists (a name that is in both; the message has
  // it); kInvalidArgument (into itself); kNoSpace (a quota of `into`); kTooBig (too many such
  // ranges, or as split_collection()).
  void merge_collection(std::string_view collection, std::string_view into);
  // Sets how data that later transactions write into the collection is compressed.
  //
  // Stored data, and what this transaction writes, stays as it is.
  //
  // Errors: kNotFound; kInvalidArgument (names the field of the policy).
  void set_policy(std::string_view collection, const compression::Policy& policy);
  // Sets the most that the collection may hold, which may be less than it holds now.
  //
  // From then on a transaction fails with kNoSpace if it makes the objects of the collection more,
  // or their bytes, and leaves more than the quota allows; the message names the quota. A
  // transaction that makes neither more always passes. What counts is the state after all ops of
  // the transaction, with the quota that they leave. Without a quota, too, the bytes of a
  // collection are limited to kMaxCollectionBytes (kTooBig).
  //
  // Errors: kNotFound.
  void set_quota(std::string_view collection, const Quota& quota);

  // Creates an empty object if it is missing; leaves an existing one, and its version, as it is.
  void touch(std::string_view collection, std::string_view name);
  // Creates an empty object that must not exist.
  //
  // Errors: kAlreadyExists.
  void create(std::string_view collection, std::string_view name);
  // Replaces the whole data of the object, or creates it with this data.
  //
  // Attributes and omap stay. `hint`, unless it is Hint::kNone, becomes the hint of the object, as
  // by set_hint(); with Hint::kNone the hint that the object has applies to the data.
  void put(std::string_view collection, std::string_view name, ByteView data,
           Hint hint = Hint::kNone);
  // Replaces the whole data of the object with the bytes of a text, as the other put() does.
  void put(std::string_view collection, std::string_view name, std::string_view data,
           Hint hint = Hint::kNone);
  // Does what put() does without copying: `data` has to stay valid and unchanged until the commit
  // has completed.
  //
  // Bytes that are changed all the same are stored as they were or as they are, each for itself;
  // the object stays intact: its checksums fit what is stored.
  void put_borrowed(std::string_view collection, std::string_view name, ByteView data,
                    Hint hint = Hint::kNone);
  // Writes bytes at an offset of the object, which is created if it is missing.
  //
  // A gap behind the old end reads as zeros. Without data the object is created, and its size
  // stays. `hint` applies to this data alone; with Hint::kNone the hint of the object does.
  void write(std::string_view collection, std::string_view name, std::uint64_t offset,
             ByteView data, Hint hint = Hint::kNone);
  // Writes bytes at the end of the object, which is created if it is missing.
  //
  // The end is the one that earlier transactions, and earlier ops of this one, leave; `hint` as
  // with write().
  //
  // Errors: kTooBig (the object would be longer than kMaxObjectSize).
  void append(std::string_view collection, std::string_view name, ByteView data,
              Hint hint = Hint::kNone);
  // Makes a range of the object read as zeros and frees its space; creates the object if it is
  // missing, and extends it if it ends before the range does.
  //
  // Cost: little, however much the range holds: the space of large ranges is freed later, in the
  // background.
  //
  // Errors: kTooBig (one transaction makes more than 256 holes of many MiB each in one object).
  void zero(std::string_view collection, std::string_view name, std::uint64_t offset,
            std::uint64_t length);
  // Cuts the object to `size` bytes, or extends it to them with a hole; a missing object is
  // tolerated and stays missing.
  //
  // Cost: little, as zero() does.
  void truncate(std::string_view collection, std::string_view name, std::uint64_t size);
  // Removes the object with its attributes and its omap; a missing object is tolerated.
  void remove(std::string_view collection, std::string_view name);
  // Removes every object with a name in [from, to), in bytewise order.
  //
  // Those are removed that exist, and those that earlier ops of this transaction have made. An
  // empty `from` begins with the first object, an empty `to` ends with the last one; if `to` is not
  // behind `from`, nothing is removed. Bounds need not be names of objects.
  //
  // Errors: kNotFound (the collection); kInvalidArgument (a bound of more than kMaxNameSize bytes);
  // kTooBig (more than kMaxRangeRemovals in the transaction: remove the range in pieces).
  void remove_range(std::string_view collection, std::string_view from, std::string_view to);
  // Sets one attribute of the object, to a value of any bytes.
  //
  // Errors: kNotFound (the object); kInvalidArgument (the name does not have 1 to 255 bytes);
  // kTooBig (all names and values of the object would have more than kMaxAttributeBytes together).
  void set_attr(std::string_view collection, std::string_view name, std::string_view attribute,
                std::string_view value);
  // Sets several attributes of the object; those not named stay.
  //
  // With no attributes, nothing changes.
  //
  // Errors: as set_attr(); kNotFound also with no attributes.
  void set_attrs(std::string_view collection, std::string_view name, const Attributes& attributes);
  // Removes one attribute of the object; a missing attribute is tolerated.
  //
  // Errors: kNotFound (the object); kInvalidArgument (the name does not have 1 to 255 bytes).
  void remove_attr(std::string_view collection, std::string_view name, std::string_view attribute);
  // Removes all attributes of the object; a missing object is tolerated.
  void remove_attrs(std::string_view collection, std::string_view name);
  // Replaces the hints of the object; Hint::kNone takes all away. A missing object is tolerated.
  //
  // They apply to data that comes later, in this transaction or another; stored data stays as it
  // is.
  //
  // Errors: kInvalidArgument (unknown flags, or flags that exclude each other).
  void set_hint(std::string_view collection, std::string_view name, Hint hint);
  // Sets one key of the omap of the object.
  //
  // The omap of an object is an ordered map of its own, from keys of 1 to kMaxOmapKey bytes to
  // values of up to kMaxOmapValue bytes, of any number, stored apart from the data of the object
  // and as safely. A change of the omap is a change of the object, and gives it a new version.
  // `hint` applies to this value; with Hint::kNone the hint of the object does.
  //
  // Errors: kNotFound (the object); kInvalidArgument (the length of the key); kTooBig (the value).
  void omap_set(std::string_view collection, std::string_view name, std::string_view key,
                ByteView value, Hint hint = Hint::kNone);
  // Sets one key of the omap of the object to the bytes of a text, as the other omap_set() does.
  void omap_set(std::string_view collection, std::string_view name, std::string_view key,
                std::string_view value, Hint hint = Hint::kNone);
  // Removes one key of the omap of the object; a missing key is tolerated.
  //
  // Errors: kNotFound (the object); kInvalidArgument (the length of the key).
  void omap_remove(std::string_view collection, std::string_view name, std::string_view key);
  // Removes every key in [first, end) of the omap of the object, in bytewise order; the header
  // stays.
  //
  // An empty `first` begins with the first key, an empty `end` ends with the last one.
  //
  // Cost: with the number of keys that it removes.
  //
  // Errors: kNotFound (the object); kInvalidArgument (a bound of more than kMaxOmapKey bytes);
  // kTooBig (more than kMaxRangeRemovals in the transaction).
  void omap_remove_range(std::string_view collection, std::string_view name, std::string_view first,
                         std::string_view end);
  // Removes all keys and the header of the omap of the object; a missing object is tolerated.
  //
  // Cost: one small record, however many keys there are.
  void omap_clear(std::string_view collection, std::string_view name);
  // Sets the header of the omap: one value beside the keys. An empty header removes it.
  //
  // Errors: kNotFound (the object); kTooBig (more than kMaxOmapValue bytes).
  void omap_set_header(std::string_view collection, std::string_view name, ByteView header);
  // Gives the object another name, in the same or another collection; data, attributes, hints and
  // omap go with it, and it gets a new version.
  //
  // Errors: kNotFound (the source, or a collection); kAlreadyExists (the destination).
  void rename(std::string_view collection, std::string_view from, std::string_view to_collection,
              std::string_view to);
  // Makes the destination an object like the source: data, attributes, hints, omap and its header.
  // It replaces what was there.
  //
  // No data is copied: both objects show the same stored bytes until one of them changes, and the
  // space is freed when neither shows them. The source keeps its version and its time.
  //
  // Cost: with the number of extents of the source, not with its bytes, nor with the keys of its
  // omap. A source with many extents has them copied on the thread that calls commit() or submit(),
  // before the transaction has its place in the order, in bounded steps beside other commits; what
  // those change of the source meanwhile is copied once more.
  //
  // Errors: kNotFound (the source, or a collection); kInvalidArgument (onto itself); kConflict (the
  // source changes faster than it can be copied); kTooBig (the transaction itself makes the source,
  // and all such sources have more than kMaxClonedPages MiB with data; or the metadata of the
  // transaction outgrows what the log takes, which the message names; or the transaction clones and
  // changes one omap more than 16 times in turn).
  void clone(std::string_view collection, std::string_view from, std::string_view to_collection,
             std::string_view to);
  // Makes a range of the destination show what a range of the source shows, without copying data.
  //
  // [to_offset, to_offset + length) of the destination shows what the source shows in
  // [offset, offset + length), holes included. The destination is created if it is missing,
  // extended if it ends before that, and otherwise left as it is; with a length of 0 it is only
  // created. An object may be its own source where the ranges do not overlap.
  //
  // A transaction can show up to kMaxClonedPages MiB that hold data in any way. For more, the range
  // is copied first, as by clone(): from an object that is there before the transaction, into one
  // that shows no more than that elsewhere.
  //
  // Errors: kNotFound (the source, or a collection); kInvalidArgument (the range ends behind the
  // source, or the ranges overlap in the same object); kTooBig (an end behind kMaxObjectSize; too
  // many small pieces for one MiB of the destination; the limit of the log; or a range that this
  // transaction can show only in part: the message says how many bytes, clone the rest with
  // others).
  void clone_range(std::string_view collection, std::string_view from, std::uint64_t offset,
                   std::uint64_t length, std::string_view to_collection, std::string_view to,
                   std::uint64_t to_offset);
  // Makes what the writer has written the whole data of its object, and sets the attributes that
  // the writer has been given (Store::open_writer()).
  //
  // Writes what the writer still holds, and waits for its writes: this call does I/O. The writer is
  // spent afterwards, whatever the outcome.
  //
  // Errors: what the writer has failed with; kClosed (the writer was spent already);
  // kInvalidArgument (it is of another store than the transaction is committed to); kNotFound (the
  // collection); kTooBig (kMaxAttributeBytes).
  void publish(ObjectWriter& writer);

  // Requires that the object does not exist; an object of a missing collection does not exist.
  //
  // All guards are evaluated first, wherever they stand, against the state at the place of this
  // transaction in the order, before any of its own changes: of an object that the transaction
  // itself makes, changes or removes, a guard sees what was there before. The first guard, in the
  // order of the calls, that does not hold fails the transaction. A guard on a missing object, or
  // on an object of a missing collection, does not hold, whatever it requires; expect_absent()
  // alone does.
  //
  // Errors: kConflict, with the object and what differs; so do all guards.
  void expect_absent(std::string_view collection, std::string_view name);
  // Requires that the object exists.
  void expect_exists(std::string_view collection, std::string_view name);
  // Requires that the object has this version (ObjectStat::version).
  void expect_version(std::string_view collection, std::string_view name, Lsn version);
  // Requires that the object has the attribute, with exactly this value.
  void expect_attr(std::string_view collection, std::string_view name, std::string_view attribute,
                   std::string_view value);
  // Requires that the object exists and does not have the attribute.
  void expect_attr_absent(std::string_view collection, std::string_view name,
                          std::string_view attribute);
  // Requires that the object shows exactly these bytes from `offset` on, where holes show zeros.
  //
  // An object that ends before the last of them does not match. Without bytes, the object has to
  // have `offset` bytes or more. `bytes` is copied, and counts as payload.
  //
  // Cost: the object is read on the thread that calls commit() or submit(), before the transaction
  // has its place in the order, and once more if it has changed until then.
  //
  // Errors: kConflict; also those of reading (kUnavailable, kIo).
  void expect_bytes(std::string_view collection, std::string_view name, std::uint64_t offset,
                    ByteView bytes);

  // Requires that the omap of the object has the key, with exactly this value.
  //
  // Cost and errors: as expect_bytes(); kInvalidArgument (the length of the key); kTooBig (a value
  // of more than kMaxOmapValue bytes).
  void expect_omap(std::string_view collection, std::string_view name, std::string_view key,
                   ByteView value);
  // Requires that the object exists and its omap does not have the key.
  //
  // Errors: kConflict; kInvalidArgument (the length of the key).
  void expect_omap_absent(std::string_view collection, std::string_view name, std::string_view key);

  // Returns true if there are no ops.
  bool empty() const { return ops_.empty(); }
  // Returns how many ops there are, guards included.
  std::size_t size() const { return ops_.size(); }
  // Returns the bytes of all payloads, borrowed ones included; RuntimeOptions::max_transaction
  // limits them.
  std::uint64_t payload_bytes() const { return payload_bytes_; }
  // Returns the bytes of all payloads but those that guards compare with.
  std::uint64_t written_bytes() const { return written_bytes_; }
  // Returns the ops in the order of the calls. For the engine.
  const std::vector<TransactionOp>& ops() const { return ops_; }
  // Requires that the object has this version and its name is in this space
  // (core/record/name_parts.h). For the engine.
  void expect_version_in(std::string_view collection, std::string_view name, Lsn version,
                         std::uint32_t space);
  // Returns the first bad argument, or an OK status.
  const Status& problem() const { return problem_; }

 private:
  enum class Payload : std::uint8_t { kCopied, kBorrowed };

  TransactionOp& add(OpKind kind, std::string_view collection, std::string_view name);
  TransactionOp& add_for_two(OpKind kind, std::string_view collection, std::string_view to);
  TransactionOp& add_for_attribute(OpKind kind, std::string_view collection, std::string_view name,
                                   std::string_view attribute);
  TransactionOp& add_with_destination(OpKind kind, std::string_view collection,
                                      std::string_view from, std::string_view to_collection,
                                      std::string_view to);
  TransactionOp& add_for_key(OpKind kind, std::string_view collection, std::string_view name,
                             std::string_view key);
  void add_payload(TransactionOp& op, ByteView data, Payload ownership);
  // Remembers the first problem.
  void check(const Status& status);

  std::vector<TransactionOp> ops_;
  std::uint64_t payload_bytes_ = 0;
  std::uint64_t written_bytes_ = 0;
  Status problem_;  // the first bad argument
};

}  // namespace hexad
