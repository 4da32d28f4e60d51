// What fsck has seen of one store, and what is wrong with it. The walk over the metadata
// (core/check/metadata_check.h) tells about every list of extents, and asks for the rest at the
// end.
//
//   F1  every record decodes, and belongs to a collection that exists; no name of a space belongs
//       to two collections, removed ones included (NR2 of core/record/name_parts.h)
//   F2  every blob lies in live units, and no unit belongs to two blobs
//   F3  every live unit belongs to a blob or to a pack stripe
//   F4  every page belongs to an object, or to a writer that has not published
//   F5  a pack stripe has as many live bytes as blobs in it have together
//   F6  deep: every cell verifies, but for those that a crash has torn, which the next opening that
//       writes heals (R8); re-encoding the data gives the parity
//   F7  deep: the footer of a pack stripe names every blob that lives there (and maybe dead ones)
//   F8  the totals of a collection are the number and the sizes of its objects
//   F9  runs and manifest are in live units of their own; deep: every run verifies
//   F10 the index on the fast tier holds what the runs hold, entry by entry
//   F11 a shared blob has as many owners as lists of extents show it, and one place; a layer of
//       omaps as many as objects have it in their list
//   F12 a page that was cut off of an object is marked to be taken back, and no other page of it is
//       (O2 of core/record/page_cuts.h)
//   F13 deep: the footer of a pack stripe is the one that the zone's image or the log names (J4 of
//       core/blob/pack_verify.h)
//   F14 every forward key names a list that shows a blob of its stripe as forwarded, and every such
//       list has its key (FW1 and FW2 of doc/invariants.md#owners); deep: a blob that a list shows
//       as not forwarded is that list's by the footer of its stripe
//
// Cells on devices that are away are no finding, and those on devices that do not answer one for
// each device. Single thread. Commits go on meanwhile: all of it is of one moment
// (core/check/fsck_moment.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "alloc/zone.h"
#include "base/error.h"
#include "core/api/types.h"
#include "core/blob/blob_read.h"
#include "core/blob/pack_check.h"
#include "core/check/fsck_moment.h"
#include "core/check/stripe_check.h"
#include "core/check/torn_cells.h"
#include "core/record/record.h"
#include "core/record/shape.h"
#include "core/space/log_blobs.h"
#include "ec/codec.h"

namespace hexad::core {

class FsckCheck {
 public:
  // All that are references outlive it. Memory: the moment, an entry per private stripe, shared
  // blob, layer of omaps and forward key; deep, one per packed blob.
  // `torn`: no findings where nothing else is wrong with their stripes (F6).
  FsckCheck(const FsckOptions& options, const StoreShape& shape, const ec::Codec& codec,
            const BlobReader& reader, const PackChecker& packs, const LogBlobs& log_blobs,
            const TornCells& torn, FsckMoment moment);

  FsckReport report;
  // Devices that do not answer; deep: how many cells on them were not looked at for that.
  std::map<DeviceId, std::uint64_t> silent;

  void find(Finding finding) { report.findings.push_back(std::move(finding)); }
  void find(std::string subject, std::string problem) {
    find(Finding{std::move(subject), std::move(problem)});
  }
  // `key`: of the list, where it is in the metadata. Errors: our own bugs. What a device says or
  // has is a finding.
  Status check_extents(const std::string& owner, const ExtentList& extents,
                       std::string_view key = {});
  // Stripes of the store's own, which no object has: F2 and F3, and no look at the cells.
  void claim(const std::string& owner, const alloc::Extent& where);
  // F1: to whom the names of a space are, before the objects; then whose an object is. Null:
  // nobody's.
  struct NameOwner {
    CollectionId collection = 0;
    std::string name;      // of the collection
    bool removed = false;  // then nobody sees the object
  };
  void claim_names(const NameRange& names, const NameOwner& owner);
  const NameOwner* owner_of(CollectionId space, std::string_view name) const;
  // F8: objects and totals records, as they are met. After all of them find_wrong_totals(): each is
  // a finding.
  void count_object(CollectionId collection, std::uint64_t size);
  void note_totals(CollectionId collection, const CollectionTotals& totals) {
    totals_[collection].recorded = totals;
  }
  struct WrongTotals {
    std::size_t finding = 0;  // which one
    CollectionId collection = 0;
    CollectionTotals recorded;
    CollectionTotals counted;
  };
  std::vector<WrongTotals> find_wrong_totals();
  // F11: objects' layers and records of owners, as they are met; after all of them
  // find_wrong_owners().
  void count_layers(const std::vector<OmapId>& layers);
  void note_layer_owners(OmapId layer, std::uint64_t owners) { layers_[layer].recorded = owners; }
  void note_blob_owners(ShareId share, std::uint64_t owners) { shared_[share].recorded = owners; }
  void find_wrong_owners();
  // F14: forward keys, before all lists; after all of them find_lost_forwards().
  void note_forward(std::string_view key) { forwards_.emplace(key); }
  void find_lost_forwards();
  // After all extents.
  // `go_on`: asked behind each of them; its error ends the check.
  Status check_packs(const std::function<Status()>& go_on);
  void check_leaks();  // F3

 private:
  using Place = std::pair<alloc::ZoneId, std::uint32_t>;  // zone, first unit
  struct Owned {
    std::uint32_t units = 0;
    std::string owner;
  };
  // A blob that is alive in a pack stripe.
  struct Resident {
    ExpectedBlob blob;
    std::string owner;
  };
  // A list that shows a blob there, not forwarded.
  struct Named {
    std::uint32_t cell = 0;
    std::uint32_t cell_offset = 0;
    std::string owner;
    std::string key;
  };
  struct Pack {
    alloc::PackStripe stripe;
    std::uint64_t seen = 0;           // bytes of blobs in it
    std::vector<Resident> residents;  // deep only, like the next
    std::vector<Named> named = {};
  };
  // Pack stripes that a list shows forwarded blobs of, and whether it must have the keys.
  using Forwarded = std::map<Place, bool>;

  // Whether this is the first list that shows the blob.
  bool count_owner(const std::string& owner, const Blob& blob);
  // F14.
  void check_owner(const std::string& owner, std::string_view key, const Blob& named,
                   const Blob& blob, Forwarded& forwarded);
  void check_forwarded(const std::string& owner, std::string_view key, const Forwarded& forwarded);
  void check_named(const PackFooter& footer, const Pack& pack);
  Status check_blob(const std::string& owner, const Blob& blob);
  void check_packed(const std::string& owner, const Blob& blob);
  Status check_cells(const std::string& owner, const Blob& blob);
  Status check_pack_cells(const alloc::Extent& where, const Pack& pack);
  void check_footer(const PackFooter& footer, const Pack& pack);
  void check_residents(const alloc::Extent& where, const Pack& pack);

  const FsckOptions options_;
  const StoreShape& shape_;
  const BlobReader& reader_;
  const StripeCheck stripe_check_;
  const PackChecker& pack_checker_;
  const LogBlobs& log_blobs_;
  const TornCells& torn_;
  const FsckMoment moment_;
  struct Totals {
    CollectionTotals recorded;
    CollectionTotals counted;
  };
  struct Owners {
    std::uint64_t recorded = 0;
    std::uint64_t counted = 0;
    BlobId place;  // of a blob
  };
  struct ClaimedNames {
    std::string end;  // empty: to the last
    NameOwner owner;
  };
  using Beginning = std::pair<CollectionId, std::string>;  // space, first name
  std::map<Beginning, ClaimedNames> names_;
  std::map<CollectionId, Totals> totals_;
  std::map<OmapId, Owners> layers_;
  std::map<ShareId, Owners> shared_;
  std::set<std::string, std::less<>> forwards_;  // no list has shown why they are there
  std::map<Place, Pack> packs_;
  std::map<Place, Owned> owned_;
};

}  // namespace hexad::core
