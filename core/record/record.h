// What the metadata says about objects and collections: plain values and their encoding.
// doc/format.md#object-record describes the bytes.
//
// An object's data is a set of extents. An extent maps a logical range to (part of) a blob, or
// carries the bytes itself (inline, up to 256). A blob is one stored piece of at most 1 MiB of
// user data: compressed in frames, checksummed, and coded over one private stripe (or, packed, a
// run of bytes inside one cell of a pack stripe). An unplaced blob's place is not in its record
// yet: its group decided that when it was sealed, and core/space/log_blobs.h knows.
//
// Extents never cross a multiple of kPageSpan, so that the extents of one MiB of an object (a
// page) stand alone: page 0 lives in the object record until the object has data in a later page;
// from then on (body != 0) every page has a key of its own and a change rewrites only the pages it
// touches.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "alloc/zone.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/ids.h"
#include "compression/frames.h"
#include "compression/policy.h"
#include "core/api/types.h"
#include "core/record/keys.h"
#include "core/record/name_parts.h"
#include "core/record/page_cuts.h"
#include "core/record/sum_list.h"

namespace hexad::core {

inline constexpr std::uint64_t kPageSpan = 1 << 20;      // bytes of an object under one page
inline constexpr std::uint64_t kInlineLimit = 256;       // bytes of one inline extent
inline constexpr std::uint64_t kPageInlineLimit = 4096;  // inline bytes of one page
// A page with more is rewritten before it is written out (object_extents.h, is_crowded()). Bounds
// what a decoder allocates.
inline constexpr std::size_t kMaxPageExtents = 4096;
// Below an object's own omap.
inline constexpr std::size_t kMaxOmapLayers = 16;

enum class Placement : std::uint8_t {
  kPrivate = 1,  // a stripe of its own
  kPacked = 2,   // inside one cell of a pack stripe
  // In the log, or in a stripe that the log record of its group names: what an unplaced blob is
  // until the next checkpoint. Stands in the memtable and in the log only, never in the index.
  kLog = 3,
};

// Names an unplaced blob for as long as the log has it: the `index`-th of the transaction `lsn`.
struct LogPlace {
  Lsn lsn = 0;
  std::uint32_t index = 0;

  auto operator<=>(const LogPlace&) const = default;
};

// Names a blob among all that are alive: no two share the place where they begin.
struct BlobId {
  alloc::ZoneId zone = 0;
  std::uint32_t unit = 0;
  std::uint32_t cell = 0;
  std::uint32_t cell_offset = 0;
  LogPlace log;

  auto operator<=>(const BlobId&) const = default;
};

// What a list of extents says of a blob whose stripe's footer names another list as its owner.
// doc/invariants.md#owners
enum class Forward : std::uint8_t {
  kNone,     // the footer names this list
  kDue,      // it does not, and the forward key that does is to be written when the place is known
  kWritten,  // the forward key is there
};

struct Blob {
  Placement placement = Placement::kPrivate;
  Forward forward = Forward::kNone;
  // Private: the units of the stripe. Packed: where its stripe begins; `units` is 0, since the
  // length of that is not the blob's affair.
  alloc::Extent where;
  // Private: of each of the k+m cells, a multiple of the physical block. Else 0.
  std::uint32_t cell_bytes = 0;
  // Packed: which data cell, and where in it. `stored` bytes lie there.
  std::uint32_t cell = 0;
  std::uint32_t cell_offset = 0;  // bytes, a multiple of kPackAlignment
  LogPlace log;                   // of an unplaced blob
  ShareId share = 0;              // not 0: other lists of extents may show it, too
  std::uint32_t raw = 0;          // user bytes before compression, at most kPageSpan
  std::uint32_t stored = 0;       // bytes after compression
  compression::FrameSet frames;   // empty: stored raw
  // Private: one per cell, k+m of them, over cell_bytes. Else: one, over `stored` bytes.
  SumList cell_sums;
  // Private, where cell_bytes is more than the store's checksum block: the sums of the blocks of
  // the k data cells, cell by cell (the last block of a cell may be short). Else, where `stored`
  // is more: of its blocks.
  SumList block_sums;

  BlobId id() const { return {where.zone, where.unit, cell, cell_offset, log}; }
  bool is_compressed() const { return frames.algorithm != compression::Algorithm::kNone; }
  bool operator==(const Blob&) const = default;
};

struct Extent {
  std::uint64_t offset = 0;  // in the object, bytes
  std::uint64_t length = 0;
  std::string bytes;              // inline when not empty (then length == bytes.size())
  std::uint32_t blob_offset = 0;  // where in the blob's user bytes this extent starts
  Blob blob;

  std::uint64_t end() const { return offset + length; }
  bool is_inline() const { return !bytes.empty(); }
  bool operator==(const Extent&) const = default;
};

// Sorted by offset, not overlapping, each within one page; gaps are holes.
using ExtentList = std::vector<Extent>;
// Whether some of it is in the log, without a place in a stripe yet: the next checkpoint moves it.
bool any_unplaced(const ExtentList& extents);

// Of an object, and of an entry of an omap, whose value is stored as an object's data is.
struct ObjectRecord {
  Lsn version = 0;
  std::uint64_t size = 0;
  std::int64_t mtime = 0;  // nanoseconds since 1970
  std::uint16_t hint = 0;  // flags of Hint
  Attributes attributes;
  OmapId omap = 0;  // nonzero: its own part of its omap, which may be empty
  // Below that: parts that it shares with clones and nobody changes, the newest first. A key is
  // what the first part says that has an entry for it.
  std::vector<OmapId> layers = {};
  BodyId body = 0;  // nonzero: extents are in pages, `extents` is empty
  ExtentList extents;
  PageCuts cuts = {};  // pages of `body` that show nothing (O1 of core/record/page_cuts.h)

  bool has_omap() const { return omap != 0 || !layers.empty(); }
  bool operator==(const ObjectRecord&) const = default;
};

struct CollectionRecord {
  CollectionId id = 0;
  compression::Policy compression;
  Quota quota = {};
  // Where its names are; empty: all in the space `id`. Never that one part written out.
  NameParts parts = {};

  NameParts all_parts() const { return parts.empty() ? NameParts{{"", id}} : parts; }
  void set_parts(NameParts&& all);
  // Of the object of that name.
  CollectionId space_of(std::string_view name) const {
    return parts.empty() ? id : core::space_of(parts, name);
  }
  std::string key_of(std::string_view name) const { return object_key(space_of(name), name); }

  bool operator==(const CollectionRecord&) const = default;
};

// What a collection holds; in a record of its own, which every transaction that changes it writes.
// An empty collection has none.
struct CollectionTotals {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;  // the sizes of all objects, at most kMaxCollectionBytes

  bool operator==(const CollectionTotals&) const = default;
};

// One more object; ends where no total can be any more.
void add_to(CollectionTotals& totals, std::uint64_t size);

// How many cells and what checksum: the context that records leave out because the label has it.
struct RecordShape {
  std::uint32_t k = 4;
  std::uint32_t m = 2;
  ChecksumType checksum = ChecksumType::kCrc32c;
  std::uint32_t checksum_block = 16384;  // bytes

  std::uint32_t cells() const { return k + m; }
  // How many block sums a private blob of this cell size has; 0 when the cell sums serve.
  std::uint64_t private_block_sums(std::uint32_t cell_bytes) const;
  std::uint64_t packed_block_sums(std::uint32_t stored) const;
};

// Blobs begin at multiples of this many bytes of a pack stripe's cell.
inline constexpr std::uint32_t kPackAlignment = 8;
// The longest cell of any stripe: a whole page in one data cell, padded, and room to spare for pack
// stripes.
inline constexpr std::uint32_t kMaxCellBytes = 4 * kPageSpan;

std::string encode_object(const ObjectRecord& record, const RecordShape& shape);
std::string encode_page(const ExtentList& extents, const RecordShape& shape);
std::string encode_collection(const CollectionRecord& record);
std::string encode_totals(const CollectionTotals& totals);  // precondition: not empty
// Of a range of names whose objects are there for nobody: where it ends (empty: behind the last);
// where it begins is in the key.
std::string encode_deletion(std::string_view end);
// Of pages that are cut off. Precondition: well formed, 1 to kMaxPageCuts.
std::string encode_cuts(const PageCuts& cuts);
// Of a shared blob, or a layer of omaps. Precondition: not 0.
std::string encode_owners(std::uint64_t owners);
// The entry of an omap that says that there is none, whatever the layers below have.
std::string encode_hidden_entry();
// Errors: kCorruption, kUnsupported (a compression setting that this version does not know);
// survive any input. A value that decodes encodes to the same bytes. `page` checks that the extents
// lie in that page.
Result<ObjectRecord> decode_object(std::string_view value, const RecordShape& shape);
// The same into `record`, which has nothing in it but memory for its extents.
Status decode_object(std::string_view value, const RecordShape& shape, ObjectRecord& record);
Result<ExtentList> decode_page(std::string_view value, std::uint32_t page,
                               const RecordShape& shape);
Result<CollectionRecord> decode_collection(std::string_view value);
Result<CollectionTotals> decode_totals(std::string_view value);
Result<NameRange> decode_deletion(std::string_view key, std::string_view value);
Result<PageCuts> decode_cuts(std::string_view value);
Result<std::uint64_t> decode_owners(std::string_view value);
bool is_hidden_entry(std::string_view value);
// Only the fields that listing needs, and what stands with them.
struct ObjectSummary {
  Lsn version = 0;
  std::uint64_t size = 0;
  std::uint16_t compression_hint = 0;  // those two flags of Hint
};
Result<ObjectSummary> decode_summary(std::string_view value);
// Whether an encoded object or page has an extent with an unplaced blob: such a value may not enter
// the index. For values of keys that has_extents().
bool has_unplaced_blob(std::string_view value);

}  // namespace hexad::core
