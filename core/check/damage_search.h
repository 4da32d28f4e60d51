// Who shows what is noted as damaged (core/check/damage_list.h): of one state of the metadata, and
// which of it cannot be read now.
//
//   DM1  a blob is named by its place and its checksums. Who shows it is looked for in one state of
//        the metadata when somebody asks: clones and new names are found, what was removed or
//        written again is not
//   DM2  an entry goes when, in a state that is no older than it, nobody shows bytes of the blob
//        that cannot be read. Where a device does not answer that is not known, and it stays
//   DM3  nothing waits for it but who asks: a note that cannot be written stays in memory
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "core/api/damage.h"
#include "core/blob/blob_read.h"
#include "core/cache/read_pins.h"
#include "core/check/damage_list.h"
#include "core/metadata/metadata.h"
#include "core/read/store_reader.h"
#include "core/record/damage_record.h"
#include "core/record/keys.h"
#include "core/record/record.h"
#include "core/record/shape.h"
#include "core/space/log_blobs.h"

namespace hexad::core {

// One look for all who show what is noted. Single thread.
class DamageSearch {
 public:
  // All outlive it.
  struct Parts {
    const RecordShape& shape;
    const LogBlobs& log_blobs;
    const BlobReader& blobs;
    StoreReader& reads;
  };
  // One range, and whose.
  struct Found {
    Damage damage;
    DamagedBlob blob;
  };
  struct Outcome {
    std::vector<Found> found;       // by object and offset
    std::vector<DamagedBlob> over;  // what is no damage any more (DM2)
    // While it is held, places of blobs do not change hands: nobody notes another blob under a name
    // of `over`, which whoever drops those would drop with them.
    ReadPins::Pin pin;
  };

  // `noted`: what is looked for. `go_on`: asked now and then; false ends it with kClosed.
  DamageSearch(const Parts& parts, std::vector<DamageList::Entry> noted,
               std::function<bool()> go_on);

  // Once.
  Result<Outcome> run();

 private:
  // A list of extents shows a part of a blob.
  struct Shown {
    std::uint64_t offset = 0;  // in the object
    std::uint64_t length = 0;
    std::uint64_t blob_offset = 0;
    DamagedBlob blob;
  };
  // Of an object or a value.
  struct Owner {
    std::string collection;
    std::string name;
    std::optional<std::string> omap_key;
    std::vector<Shown> shown;
  };

  static std::optional<ByteRange> common(const Shown& shown, const ByteRange& lost);
  Status step();
  std::vector<Shown> shown_in(const ExtentList& extents);
  std::vector<Shown> shown_by(const ObjectRecord& record);
  Status look_at_collections(MetaView& view);
  // Nothing: it is there for nobody.
  std::optional<std::string> collection_of(const ObjectKey& key) const;
  Status look_at_object(MetaView& view, std::string_view key, const ObjectRecord& record);
  bool may_have_values(const ObjectRecord& record) const;
  Status add_values(MetaView& view, const ObjectRecord& record, const Owner& object);
  void add(Owner owner);
  Status judge();

  const Parts parts_;
  const std::function<bool()> go_on_;
  std::uint64_t steps_ = 0;
  std::map<DamagedBlob, DamageRecord> noted_;
  std::map<DamagedBlob, Blob> blobs_;  // those of them that something shows
  std::vector<std::pair<std::string, CollectionRecord>> collections_;
  std::map<BodyId, std::map<std::uint32_t, std::vector<Shown>>> pages_;
  std::map<OmapId, std::map<std::string, std::vector<Shown>>> values_;
  std::vector<Owner> owners_;
  Outcome outcome_;
};

}  // namespace hexad::core
