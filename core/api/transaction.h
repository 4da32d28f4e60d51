// A transaction: an ordered list of changes to any objects of any collections. Building one has no
// effect; Store::commit() applies all of it or nothing. Later changes see earlier ones.
//
// Payloads are copied in unless the call says "borrowed". Bad arguments (names of 0 or more than
// 1024 bytes, offsets beyond 2^44 - 1, ...) are remembered and reported by commit(), so that
// building needs no checks. Used by one thread at a time; not copyable.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

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

// What the remove_range() and omap_remove_range() calls of one transaction may remove together.
inline constexpr std::uint64_t kMaxRangeRemovals = 4096;

// MiB that hold data, of those that all clone_range() calls of a transaction show in other objects
// page by page. Of longer ranges a copy is made before.
inline constexpr std::uint64_t kMaxClonedPages = 4096;

enum class OpKind : std::uint8_t {
  kCreateCollection = 1,
  kRemoveCollection,
  kTouch,
  kCreate,
  kPut,
  kWrite,
  kAppend,
  kZero,
  kTruncate,
  kRemove,
  kSetAttr,
  kRemoveAttr,
  kRename,
  kPublish,
  kExpectAbsent,
  kExpectExists,
  kExpectVersion,
  kExpectAttr,
  kExpectAttrAbsent,
  kExpectBytes,
  kSetAttrs,
  kRemoveAttrs,
  kRemoveRange,
  kSetHint,
  kSetPolicy,
  kSetQuota,
  kOmapSet,
  kOmapRemove,
  kOmapRemoveRange,
  kOmapClear,
  kOmapSetHeader,
  kExpectOmap,
  kExpectOmapAbsent,
  kClone,
  kCloneRange,
  kSplitCollection,
  kMergeCollection,
};

// Whether the op only looks; all of these are evaluated before the others.
bool is_guard(OpKind kind);

// What becomes of the objects of a collection that is removed.
enum class Contents : std::uint8_t {
  kMustBeEmpty,  // there must not be any
  kRemoved,      // they go with it
};

struct TransactionOp {
  OpKind kind;
  std::string collection;
  std::string name;   // object, the beginning of a range, or the prefix of a split
  std::string other;  // attribute name, the new object name of a rename or clone, the end of a
                      // range of objects, omap key, or the beginning of a range of those
  // Where to, of a rename, clone, split or merge; the end of a range of omap keys.
  std::string other_collection;
  std::uint64_t offset = 0;  // or size (truncate), or version (expect_version)
  std::uint64_t length = 0;  // of a zero or clone_range
  ByteView payload;          // into `owned`, or borrowed
  Bytes owned;
  Hint hint = Hint::kNone;
  std::shared_ptr<core::StagedObject> staged;  // of a publish
  Attributes attributes = {};                  // of a set_attrs
  compression::Policy policy = {};             // of a set_policy
  Quota quota = {};                            // of a set_quota
  Contents contents = Contents::kMustBeEmpty;  // of a remove_collection
  std::uint64_t to_offset = 0;                 // of a clone_range
  std::uint32_t space = 0;                     // of an expect_version_in, else 0
};

class Transaction {
 public:
  Transaction();
  Transaction(Transaction&&) noexcept;
  Transaction& operator=(Transaction&&) noexcept;
  ~Transaction();

  // kAlreadyExists if it is there.
  void create_collection(std::string_view collection);
  // kNotFound; with Contents::kMustBeEmpty also kNotEmpty while it holds objects (removals earlier
  // in this transaction count). With kRemoved every object is gone with this transaction, whatever
  // their number, at the cost of one small record: the background takes their space back bit by
  // bit, and so does whoever finds no space before that. The name can be used again at once.
  void remove_collection(std::string_view collection, Contents contents = Contents::kMustBeEmpty);
  // All objects whose names begin with `prefix` are in `to` instead, with all their parts; an empty
  // prefix: all objects. None of them is written: each keeps its name, its version and its time,
  // and is in exactly one of the two at every moment, after a crash, too. `to` is there, and has no
  // object with the prefix. Objects that earlier ops of this transaction have made or removed count
  // as they are then. Policies stay with the collections: what is stored stays as it is. The totals
  // of both are right at once, and a quota of `to` holds. No object has the prefix: changes
  // nothing. Cost: the records of the objects that go are read once, to count them, on the caller's
  // thread, by submit() too, before the transaction has its place: nobody waits for that. What is
  // written is small, whatever their number. kNotFound: a collection is missing; kNotEmpty: `to`
  // has an object with the prefix; kInvalidArgument: into itself, or a prefix of more than 1024
  // bytes; kNoSpace: a quota of `to`; kTooBig: kMaxCollectionBytes, or the names of a collection
  // would be in more than 256 ranges that have come from different collections in turn.
  void split_collection(std::string_view collection, std::string_view prefix, std::string_view to);
  // The reverse: every object of the collection is in `into`, and the collection is gone, with its
  // policy and its quota. Objects as with a split. No name may be in both. Cost: a search per range
  // of names in which all objects are of one of the two, at most some thousand, however many
  // objects there are; so two collections merge whose names have different prefixes, and such with
  // names all mixed do not. kNotFound; kAlreadyExists: a name that is in both (named);
  // kInvalidArgument: into itself; kNoSpace: a quota of `into`; kTooBig as a split.
  void merge_collection(std::string_view collection, std::string_view into);
  // How data that later transactions write into the collection is compressed; what is stored, and
  // what this transaction writes, stays as it is. kNotFound; kInvalidArgument (the policy's field).
  void set_policy(std::string_view collection, const compression::Policy& policy);
  // kNotFound. May be less than what the collection holds. A transaction that makes the objects of
  // the collection more, or their bytes, and leaves more than the quota then allows, fails with
  // kNoSpace, which names the quota; whatever makes neither more always passes. What counts is the
  // state after all ops, with the quota that they leave. Without a quota, too, the bytes of a
  // collection end at kMaxCollectionBytes: kTooBig.
  void set_quota(std::string_view collection, const Quota& quota);

  // Creates a missing object, leaves an existing one as it is.
  void touch(std::string_view collection, std::string_view name);
  // kAlreadyExists if it is there.
  void create(std::string_view collection, std::string_view name);
  // Replaces the whole data of the object; creates it. Attributes stay. `hint`, unless kNone,
  // becomes the object's, as by set_hint; with kNone the object's own holds for the data.
  void put(std::string_view collection, std::string_view name, ByteView data,
           Hint hint = Hint::kNone);
  void put(std::string_view collection, std::string_view name, std::string_view data,
           Hint hint = Hint::kNone);
  // As put, without a copy: `data` stays valid and unchanged until the commit has completed. What
  // is changed all the same is stored as it was or as it is, byte by byte: the object stays intact.
  void put_borrowed(std::string_view collection, std::string_view name, ByteView data,
                    Hint hint = Hint::kNone);
  // Writes at an offset; creates; a gap behind the old end reads as zeros. No data: creates the
  // object and leaves its size. `hint` holds for this data alone; kNone: the object's own does.
  void write(std::string_view collection, std::string_view name, std::uint64_t offset,
             ByteView data, Hint hint = Hint::kNone);
  void append(std::string_view collection, std::string_view name, ByteView data,
              Hint hint = Hint::kNone);
  // The range reads as zeros afterwards; extends the object if it ends behind it; creates. Costs
  // little, however much the range holds: what was there is taken back later, bit by bit. kTooBig:
  // a transaction makes more than 256 holes of many MiB each in one object.
  void zero(std::string_view collection, std::string_view name, std::uint64_t offset,
            std::uint64_t length);
  // Cuts or extends with a hole. A missing object is tolerated. Costs little, as zero() does.
  void truncate(std::string_view collection, std::string_view name, std::uint64_t size);
  // A missing object is tolerated.
  void remove(std::string_view collection, std::string_view name);
  // Removes every object of [from, to), bytewise: those that are there, and those that earlier ops
  // of this transaction have made. Empty `from`: from the first; empty `to`: to the last; `to` not
  // behind `from`: none. Bounds need not be names of objects, and have at most 1024 bytes.
  // kNotFound if the collection is missing; kTooBig if all such calls of the transaction together
  // remove more than kMaxRangeRemovals objects: nothing is removed then, remove it in pieces.
  void remove_range(std::string_view collection, std::string_view from, std::string_view to);
  // kNotFound if the object is missing. Names have 1 to 255 bytes, values any number; kTooBig if
  // the object's names and values have more than kMaxAttributeBytes together then.
  void set_attr(std::string_view collection, std::string_view name, std::string_view attribute,
                std::string_view value);
  // Several at once; those not named stay. None: changes nothing, kNotFound all the same.
  void set_attrs(std::string_view collection, std::string_view name, const Attributes& attributes);
  // kNotFound if the object is missing; a missing attribute is tolerated.
  void remove_attr(std::string_view collection, std::string_view name, std::string_view attribute);
  // All of them. A missing object is tolerated.
  void remove_attrs(std::string_view collection, std::string_view name);
  // From now on these are the object's hints: what it had before is gone, kNone takes all away. For
  // data that comes later, in this transaction or another; what is stored stays as it is. A missing
  // object is tolerated. kInvalidArgument: unknown flags, or such as exclude each other.
  void set_hint(std::string_view collection, std::string_view name, Hint hint);
  // The omap of an object: an ordered map of its own, from keys of 1 to kMaxOmapKey bytes to values
  // of up to kMaxOmapValue bytes, of any number, stored apart from the object's data and as safely.
  // Each of these is a change of the object and gives it a new version. All but omap_clear:
  // kNotFound if the object is missing.
  // Sets one key; `hint` as of a write. kTooBig: the value.
  void omap_set(std::string_view collection, std::string_view name, std::string_view key,
                ByteView value, Hint hint = Hint::kNone);
  void omap_set(std::string_view collection, std::string_view name, std::string_view key,
                std::string_view value, Hint hint = Hint::kNone);
  // A missing key is tolerated.
  void omap_remove(std::string_view collection, std::string_view name, std::string_view key);
  // Every key of [first, end); an empty `end`: to the last key. Costs with what it removes; kTooBig
  // beyond kMaxRangeRemovals. The header stays.
  void omap_remove_range(std::string_view collection, std::string_view name, std::string_view first,
                         std::string_view end);
  // All keys and the header, at the cost of one small record, whatever their number. A missing
  // object is tolerated.
  void omap_clear(std::string_view collection, std::string_view name);
  // A value of its own beside the keys; empty: takes it away. kTooBig beyond kMaxOmapValue.
  void omap_set_header(std::string_view collection, std::string_view name, ByteView header);
  // Keeps all parts of the object. kNotFound if the source is missing, kAlreadyExists if the
  // destination is there.
  void rename(std::string_view collection, std::string_view from, std::string_view to_collection,
              std::string_view to);
  // Makes the destination an object like the source: data, attributes, hints, header and omap, and
  // replaces what was there. Nothing is copied: both show the same stored bytes until one of them
  // changes, and the space comes back when neither shows them. The source keeps its version and
  // its time. Costs with the extents of the source, not with its bytes or the keys of its omap;
  // where these are many, they are copied on the caller's thread, by submit() too, before the
  // transaction has its place, bit by bit beside other commits, and what these change of the source
  // meanwhile once more. kNotFound if the source or a collection is missing; kInvalidArgument: onto
  // itself; kConflict: the source changes faster than it can be copied; kTooBig: the source is made
  // by the transaction itself, and all such have more than kMaxClonedPages MiB with data; or the
  // metadata of the transaction outgrows what the log takes (which the error names); or the
  // transaction clones and changes one omap more than 16 times in turn.
  void clone(std::string_view collection, std::string_view from, std::string_view to_collection,
             std::string_view to);
  // The same for a range of the data: [to_offset, to_offset + length) of the destination shows what
  // the source shows in [offset, offset + length), holes included. Creates the destination, extends
  // it where it ends before that, and leaves its other parts alone; length 0: creates it and no
  // more. An object may be its own source where the ranges do not overlap. kNotFound as clone();
  // kInvalidArgument: the range ends behind the source, or overlaps the destination's in the same
  // object; kTooBig: an end behind 2^44 - 1, too many small pieces for one MiB of the destination,
  // or the log's limit. Up to kMaxClonedPages MiB that hold data may be shown by a transaction in
  // any way. More are copied first, as by clone(), from an object that is there before the
  // transaction, into one that shows no more than that elsewhere; else kTooBig, and the error says
  // how many bytes of the range the transaction can show (clone the rest with others).
  void clone_range(std::string_view collection, std::string_view from, std::uint64_t offset,
                   std::uint64_t length, std::string_view to_collection, std::string_view to,
                   std::uint64_t to_offset);
  // Makes what the writer has written the whole data of its object (Store::open_writer). The
  // writer is spent afterwards, whatever the outcome.
  void publish(ObjectWriter& writer);

  // Guards: all are evaluated first, wherever they stand, against the state at this transaction's
  // commit position before any of its own changes: of an object that the transaction itself makes,
  // changes or removes they see what was there before. The first one, in the order of the calls,
  // that does not hold: kConflict, which names the object and what differs. Of a missing object,
  // and of any object of a missing collection, expect_absent alone holds.
  void expect_absent(std::string_view collection, std::string_view name);
  void expect_exists(std::string_view collection, std::string_view name);
  void expect_version(std::string_view collection, std::string_view name, Lsn version);
  // The attribute is there and has exactly this value.
  void expect_attr(std::string_view collection, std::string_view name, std::string_view attribute,
                   std::string_view value);
  // The object is there, the attribute is not.
  void expect_attr_absent(std::string_view collection, std::string_view name,
                          std::string_view attribute);
  // The object shows exactly these bytes from `offset` on; holes show zeros. An object that ends
  // before the last of them does not match. No bytes: the object has `offset` bytes or more.
  // `bytes` is copied, and counts as payload. The object is read on the caller's thread, by
  // submit() too, before the transaction has its place, and once more should it have changed until
  // then; so this guard also fails with what reading fails with (kUnavailable, kIo).
  void expect_bytes(std::string_view collection, std::string_view name, std::uint64_t offset,
                    ByteView bytes);

  // The object's omap has the key with exactly this value, or does not have it. The value is
  // compared as the bytes of expect_bytes are.
  void expect_omap(std::string_view collection, std::string_view name, std::string_view key,
                   ByteView value);
  void expect_omap_absent(std::string_view collection, std::string_view name, std::string_view key);

  bool empty() const { return ops_.empty(); }
  std::size_t size() const { return ops_.size(); }
  // What is held in memory until it is committed.
  std::uint64_t payload_bytes() const { return payload_bytes_; }
  // The same without what guards compare with.
  std::uint64_t written_bytes() const { return written_bytes_; }
  // For the engine.
  const std::vector<TransactionOp>& ops() const { return ops_; }
  // An expect_version that also holds only while the name is in this space
  // (core/record/name_parts.h).
  void expect_version_in(std::string_view collection, std::string_view name, Lsn version,
                         std::uint32_t space);
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
