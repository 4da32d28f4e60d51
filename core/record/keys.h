// The metadata key space: one ordered map of bytes. Every key starts with a letter that says what
// it is, so that one kind lies together and sorts the way it is listed.
//
//   'c' name                     collection record
//   'd' be32 space, from         removed: names from that one on whose objects are still there
//   'f' be32 zone, be32 unit, list   forward key: that list shows blobs of the pack stripe there
//   'k' be64 body                pages of it that are cut off and there still
//   'l' be64 omap                how many objects have it as a layer of their omap
//   'm' text                     pool-wide values (counters, next ids, what is known of a device)
//   'o' be32 space, name         object record
//   'p' be64 omap, key           an entry of an omap; the empty key: its header
//   's' be64 share               how many owners a shared blob has
//   't' be32 collection          totals of the collection
//   'w' be64 body                a body or omap that no object names
//   'x' be64 body, be32 page     extent page: one MiB of a large object
//   'y' be64 LSN, be32 index, list   the same of an unplaced blob; memtable and log only
//   'z' be32 zone                zone image; index only, never in the memtable
//
// doc/format.md#keys
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "alloc/zone.h"
#include "base/error.h"
#include "base/id.h"
#include "base/ids.h"
#include "core/api/types.h"

namespace hexad::core {

// Of a collection, and of a space, in which collections have their names
// (core/record/name_parts.h). Both are drawn from one counter, and every collection has a space of
// its own number to begin with.
using CollectionId = Id<struct CollectionTag, std::uint32_t>;
// Names the extent pages of one object body; never reused: {epoch low 32 bits, counter}.
using BodyId = Id<struct BodyTag, std::uint64_t>;
// Names the entries of one omap. Drawn like the ids of bodies, so none is both.
using OmapId = BodyId;

// Names a blob that has had more than one owner, beside its place. Drawn like the ids of bodies;
// 0: never shared.
using ShareId = Id<struct ShareTag, std::uint64_t>;

// Of the keys above but forward keys, which have one of the others at their end; no longer one is
// ever written.
inline constexpr std::size_t kMaxKeySize = 9 + kMaxOmapKey;  // bytes
// Of all of them.
inline constexpr std::size_t kMaxForwardKeySize = 13 + kMaxKeySize;  // bytes

// What every key of a kind begins with.
inline constexpr std::string_view kCollectionKeys = "c";
inline constexpr std::string_view kDeletionKeys = "d";
inline constexpr std::string_view kForwardKeys = "f";
inline constexpr std::string_view kCutKeys = "k";
inline constexpr std::string_view kLayerKeys = "l";
inline constexpr std::string_view kMetaKeys = "m";
inline constexpr std::string_view kObjectKeys = "o";
inline constexpr std::string_view kOmapKeys = "p";
inline constexpr std::string_view kShareKeys = "s";
inline constexpr std::string_view kTotalsKeys = "t";
inline constexpr std::string_view kWriterKeys = "w";
inline constexpr std::string_view kPageKeys = "x";
inline constexpr std::string_view kUnplacedForwardKeys = "y";
inline constexpr std::string_view kZoneKeys = "z";

inline constexpr std::string_view kNextCollection = "next_collection";
inline constexpr std::string_view kCounterTotals = "counters";
inline constexpr std::string_view kCheckpointWriter = "writer";

std::string collection_key(std::string_view name);
std::string cut_key(BodyId body);
std::string deletion_key(CollectionId space, std::string_view from);
// `list`: the key of a list of extents, has_extents().
std::string forward_key(alloc::ZoneId zone, std::uint32_t unit, std::string_view list);
std::string forward_prefix(alloc::ZoneId zone, std::uint32_t unit);
std::string unplaced_forward_key(Lsn lsn, std::uint32_t index, std::string_view list);
std::string layer_key(OmapId omap);
std::string meta_key(std::string_view what);
std::string object_key(CollectionId space, std::string_view name);
std::string object_prefix(CollectionId space);
inline constexpr std::size_t kObjectPrefixSize = 5;  // bytes of a key before the name
std::string omap_key(OmapId omap, std::string_view key);
std::string omap_prefix(OmapId omap);
std::string share_key(ShareId share);
std::string totals_key(CollectionId collection);
std::string writer_key(BodyId body);
std::string page_key(BodyId body, std::uint32_t page);
std::string page_prefix(BodyId body);
std::string zone_key(alloc::ZoneId zone);

// Whether the value of the key is an object, an entry of an omap, or a page.
bool has_extents(std::string_view key);

// A key for one look-up: most have no memory besides its own.
class LookupKey {
 public:
  static LookupKey object(CollectionId space, std::string_view name);
  static LookupKey collection(std::string_view name);
  operator std::string_view() const {  // NOLINT: what it is for
    return outside_.empty() ? std::string_view(inside_.data(), size_) : outside_;
  }

 private:
  static constexpr std::size_t kInside = 104;  // bytes
  LookupKey() = default;

  std::size_t size_ = 0;
  std::array<char, kInside> inside_;  // the first size_, where outside_ is empty
  std::string outside_;
};

struct ObjectKey {
  CollectionId space = 0;
  std::string_view name;  // into the key
};
struct DeletionKey {
  CollectionId space = 0;
  std::string_view from;  // into the key; empty: from the first name
};
struct OmapKey {
  OmapId omap = 0;
  std::string_view key;  // into the key
};
struct PageKey {
  BodyId body = 0;
  std::uint32_t page = 0;
};
struct ForwardKey {
  alloc::ZoneId zone = 0;
  std::uint32_t unit = 0;  // where the pack stripe begins
  std::string_view list;   // into the key
};
// Errors of all: kCorruption.
Result<ForwardKey> parse_forward_key(std::string_view key);
Result<ObjectKey> parse_object_key(std::string_view key);
Result<OmapKey> parse_omap_key(std::string_view key);
Result<OmapId> parse_layer_key(std::string_view key);
Result<ShareId> parse_share_key(std::string_view key);
Result<CollectionId> parse_totals_key(std::string_view key);
Result<DeletionKey> parse_deletion_key(std::string_view key);
Result<PageKey> parse_page_key(std::string_view key);
Result<BodyId> parse_cut_key(std::string_view key);
Result<BodyId> parse_writer_key(std::string_view key);
Result<alloc::ZoneId> parse_zone_key(std::string_view key);
Result<std::string_view> parse_collection_key(std::string_view key);

// The smallest string greater than every string that starts with `prefix`; nothing when there is
// none (empty, or all 0xff).
std::optional<std::string> prefix_end(std::string_view prefix);

}  // namespace hexad::core
