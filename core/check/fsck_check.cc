#include "core/check/fsck_check.h"

#include <algorithm>
#include <iterator>

#include "core/record/object_extents.h"

namespace hexad::core {

namespace {

std::string describe(const alloc::Extent& pack) {
  return "pack stripe at zone " + std::to_string(pack.zone) + " unit " + std::to_string(pack.unit);
}

}  // namespace

FsckCheck::FsckCheck(const FsckOptions& options, const StoreShape& shape, const ec::Codec& codec,
                     const BlobReader& reader, const PackChecker& packs, const LogBlobs& log_blobs,
                     const TornCells& torn, FsckMoment moment)
    : options_(options),
      shape_(shape),
      reader_(reader),
      stripe_check_(shape, codec, reader),
      pack_checker_(packs),
      log_blobs_(log_blobs),
      torn_(torn),
      moment_(std::move(moment)) {
  for (const auto& [id, zone] : moment_.zones()) {
    for (const alloc::PackStripe& pack : zone.packs) {
      owned_[{id, pack.run.unit}] = {pack.run.units, "a pack stripe"};
      packs_[{id, pack.run.unit}] = {pack, 0, {}};
    }
  }
}

void FsckCheck::claim_names(const NameRange& names, const NameOwner& owner) {
  const std::string subject = "collection " + printable(owner.name);
  const auto reaches = [](const std::string& end, const std::string& name) {
    return end.empty() || end > name;
  };
  const auto next = names_.lower_bound({names.space, names.from});
  const bool into_next = next != names_.end() && next->first.first == names.space &&
                         reaches(names.end, next->first.second);
  bool from_before = false;
  if (next != names_.begin()) {
    const auto before = std::prev(next);
    from_before = before->first.first == names.space && reaches(before->second.end, names.from);
  }
  if (into_next || from_before) {
    const NameOwner& other = (into_next ? next : std::prev(next))->second.owner;
    find(subject, "names from \"" + printable(names.from, 64) + "\" on belong to collection " +
                      printable(other.name) + ", too");
    return;
  }
  names_.emplace_hint(next, Beginning{names.space, names.from}, ClaimedNames{names.end, owner});
}

const FsckCheck::NameOwner* FsckCheck::owner_of(CollectionId space, std::string_view name) const {
  const auto behind = names_.upper_bound({space, std::string(name)});
  if (behind == names_.begin()) return nullptr;
  const auto& [beginning, claimed] = *std::prev(behind);
  const bool covered = beginning.first == space && (claimed.end.empty() || claimed.end > name);
  return covered ? &claimed.owner : nullptr;
}

void FsckCheck::count_object(CollectionId collection, std::uint64_t size) {
  CollectionTotals& counted = totals_[collection].counted;
  ++counted.objects;
  counted.bytes += size;
}

std::vector<FsckCheck::WrongTotals> FsckCheck::find_wrong_totals() {
  std::vector<WrongTotals> wrong;
  const auto text = [](const CollectionTotals& totals) {
    return std::to_string(totals.objects) + " objects of " + std::to_string(totals.bytes) +
           " bytes";
  };
  for (const auto& [collection, totals] : totals_) {
    if (totals.recorded == totals.counted) continue;
    wrong.push_back({report.findings.size(), collection, totals.recorded, totals.counted});
    find("collection number " + std::to_string(collection),
         "its totals say " + text(totals.recorded) + ", there are " + text(totals.counted));
  }
  return wrong;
}

void FsckCheck::count_layers(const std::vector<OmapId>& layers) {
  for (const OmapId layer : layers) ++layers_[layer].counted;
}

bool FsckCheck::count_owner(const std::string& owner, const Blob& blob) {
  if (blob.share == 0) return true;
  Owners& owners = shared_[blob.share];
  if (++owners.counted == 1) {
    owners.place = blob.id();
    return true;
  }
  if (owners.place == blob.id()) return false;
  find(owner, "shared blob " + std::to_string(blob.share) + " lies elsewhere for another owner");
  return true;
}

void FsckCheck::find_wrong_owners() {
  const auto compare = [this](const std::string& what, std::uint64_t recorded,
                              std::uint64_t counted) {
    if (recorded == counted) return;
    find(what,
         std::to_string(recorded) + " owners are counted, there are " + std::to_string(counted));
  };
  for (const auto& [share, owners] : shared_) {
    // One owner has no record.
    const std::uint64_t recorded = owners.recorded == 0 ? 1 : owners.recorded;
    compare("shared blob " + std::to_string(share), recorded, owners.counted);
  }
  for (const auto& [layer, owners] : layers_) {
    compare("omap layer " + std::to_string(layer), owners.recorded, owners.counted);
  }
}

void FsckCheck::check_owner(const std::string& owner, std::string_view key, const Blob& named,
                            const Blob& blob, Forwarded& forwarded) {
  if (key.empty() || blob.placement != Placement::kPacked) return;
  const Place place{blob.where.zone, blob.where.unit};
  if (blob.forward != Forward::kNone) {
    // An unplaced one gets its key from the next checkpoint, or has it since its place is known
    // (FW3).
    forwarded[place] |= named.forward == Forward::kWritten;
    return;
  }
  const auto pack = packs_.find(place);
  if (!options_.deep || pack == packs_.end()) return;
  pack->second.named.push_back({blob.cell, blob.cell_offset, owner, std::string(key)});
}

void FsckCheck::check_forwarded(const std::string& owner, std::string_view key,
                                const Forwarded& forwarded) {
  for (const auto& [place, written] : forwarded) {
    const std::string wanted = forward_key(place.first, place.second, key);
    const bool found = forwards_.erase(wanted) > 0;
    if (found || !written) continue;
    find(owner, "it shows what lies in the pack stripe at zone " + std::to_string(place.first) +
                    " unit " + std::to_string(place.second) + " as forwarded, without a key");
  }
}

void FsckCheck::find_lost_forwards() {
  for (const std::string& key : forwards_) {
    find("metadata key " + printable(key, 64), "a forward key to a list that does not show it");
  }
}

Status FsckCheck::check_extents(const std::string& owner, const ExtentList& extents,
                                std::string_view key) {
  Forwarded forwarded;
  for (const Blob& named : blobs_of(extents)) {
    const bool payload =
        named.placement == Placement::kLog && moment_.was_payload(named.log);  // FM3
    const Blob blob = payload ? named : log_blobs_.resolve(named);
    check_owner(owner, key, named, blob, forwarded);
    if (!count_owner(owner, blob)) continue;
    switch (blob.placement) {
      case Placement::kPrivate:
        HEXAD_TRY(check_blob(owner, blob));
        break;
      case Placement::kPacked:
        check_packed(owner, blob);
        break;
      case Placement::kLog:
        if (!log_blobs_.find(blob.log).has_value()) {
          find(owner, "blob " + std::to_string(blob.log.index) + " of LSN " +
                          std::to_string(blob.log.lsn) + " is in no log block");
        }
        break;
    }
  }
  check_forwarded(owner, key, forwarded);
  return {};
}

// F2: live, and nobody else's.
void FsckCheck::claim(const std::string& owner, const alloc::Extent& where) {
  ++report.stripes_checked;
  if (!moment_.is_live(where)) {
    find(owner, alloc::to_string(where) + " is used but not taken");
  }
  const auto [it, fresh] = owned_.try_emplace({where.zone, where.unit}, Owned{where.units, owner});
  bool overlaps = !fresh;
  if (fresh) {
    const auto next = std::next(it);
    overlaps =
        next != owned_.end() && next->first.first == where.zone && next->first.second < where.end();
    if (it != owned_.begin()) {
      const auto before = std::prev(it);
      overlaps = overlaps || (before->first.first == where.zone &&
                              before->first.second + before->second.units > where.unit);
    }
  }
  if (overlaps) find(owner, alloc::to_string(where) + " belongs to somebody else, too");
}

Status FsckCheck::check_blob(const std::string& owner, const Blob& blob) {
  claim(owner, blob.where);
  return options_.deep ? check_cells(owner, blob) : Status();
}

// F2 for a blob in a pack stripe; its bytes are checked with the stripe's.
void FsckCheck::check_packed(const std::string& owner, const Blob& blob) {
  const auto at = packs_.find({blob.where.zone, blob.where.unit});
  if (at == packs_.end()) {
    find(owner, "zone " + std::to_string(blob.where.zone) + " unit " +
                    std::to_string(blob.where.unit) + " is used as a pack stripe and is none");
    return;
  }
  Pack& pack = at->second;
  pack.seen += blob.stored;
  const std::uint64_t cell = pack.stripe.run.units * shape_.unit;
  if (blob.cell_offset + std::uint64_t{blob.stored} > cell) {
    find(owner, "its bytes lie outside the cell of its pack stripe");
  } else if (options_.deep) {
    pack.residents.push_back({expected_blob_of(blob), owner});
  }
}

Status FsckCheck::check_packs(const std::function<Status()>& go_on) {
  for (const auto& [place, pack] : packs_) {
    const alloc::Extent where{place.first, pack.stripe.run.unit, pack.stripe.run.units};
    ++report.stripes_checked;
    if (pack.seen != pack.stripe.live) {  // F5
      find(describe(where), std::to_string(pack.stripe.live) + " bytes are counted as alive, " +
                                std::to_string(pack.seen) + " belong to blobs");
    }
    if (options_.deep) HEXAD_TRY(check_pack_cells(where, pack));
    HEXAD_TRY(go_on());
  }
  return {};
}

// F6.
Status FsckCheck::check_pack_cells(const alloc::Extent& where, const Pack& pack) {
  std::vector<ExpectedBlob> expected;
  for (const Resident& resident : pack.residents) expected.push_back(resident.blob);
  const Result<CheckedPack> checked = pack_checker_.check({where, pack.stripe.footer}, expected);
  if (!checked.ok()) {
    if (checked.error().code == ErrorCode::kFenced) return checked.error();  // TO3
    find(describe(where), checked.error().message);
    return {};
  }
  report.bytes_checked += checked->checked;
  for (const std::uint32_t role : checked->silent) ++silent[checked->places[role].id];
  const PackResult& result = checked->result;
  if (result.whole && torn_.explain(where, checked->bad)) {
    report.torn_cells += checked->bad.size();
  } else if (!result.whole || !checked->bad.empty()) {
    const bool repaired = result.whole && options_.repair && pack_checker_.repair(*checked);
    find(Finding{describe(where), checked->problems, repaired});
  }
  if (result.footer.has_value()) {
    check_footer(*result.footer, pack);
    check_named(*result.footer, pack);
  }
  if (!result.whole) check_residents(where, pack);
  return {};
}

namespace {

// The entry of a blob that begins there; null: there is none. They stand by cell and offset.
const PackEntry* entry_at(const PackFooter& footer, std::uint32_t cell, std::uint32_t cell_offset) {
  const std::pair wanted{cell, cell_offset};
  const auto at = std::lower_bound(footer.entries.begin(), footer.entries.end(), wanted,
                                   [](const PackEntry& entry, const auto& than) {
                                     return std::pair{entry.cell, entry.cell_offset} < than;
                                   });
  if (at == footer.entries.end() || std::pair{at->cell, at->cell_offset} != wanted) return nullptr;
  return &*at;
}

}  // namespace

// F7.
void FsckCheck::check_footer(const PackFooter& footer, const Pack& pack) {
  for (const Resident& resident : pack.residents) {
    const PackEntry* const entry = entry_at(footer, resident.blob.cell, resident.blob.cell_offset);
    if (entry == nullptr || entry->stored != resident.blob.stored) {
      find(resident.owner, "its " + std::to_string(resident.blob.stored) + " bytes in cell " +
                               std::to_string(resident.blob.cell) + " at " +
                               std::to_string(resident.blob.cell_offset) +
                               " of its pack stripe are not in the stripe's footer");
    }
  }
}

// F14.
void FsckCheck::check_named(const PackFooter& footer, const Pack& pack) {
  for (const Named& named : pack.named) {
    const PackEntry* const entry = entry_at(footer, named.cell, named.cell_offset);
    if (entry == nullptr || entry->owner == named.key) continue;  // F7 has found the former
    find(named.owner, "what it shows in cell " + std::to_string(named.cell) + " at " +
                          std::to_string(named.cell_offset) +
                          " of its pack stripe is another owner's by the stripe's footer, and "
                          "cannot be moved");
  }
}

// Which blobs of a stripe that is not whole can be read still: those whose own bytes verify, or
// are given back by the same bytes of other cells.
void FsckCheck::check_residents(const alloc::Extent& where, const Pack& pack) {
  for (const Resident& resident : pack.residents) {
    Blob stored;  // as if it was not compressed: only the stored bytes are of interest
    stored.placement = Placement::kPacked;
    stored.where = {where.zone, where.unit, 0};
    stored.cell = resident.blob.cell;
    stored.cell_offset = resident.blob.cell_offset;
    stored.raw = stored.stored = resident.blob.stored;
    stored.cell_sums = {resident.blob.sum};
    Bytes bytes(stored.stored);
    const Status read = reader_.read(stored, 0, bytes);
    if (!read.ok()) find(resident.owner, read.error().message);
  }
}

void FsckCheck::check_leaks() {
  for (const auto& [id, zone] : moment_.zones()) {
    for (const alloc::UnitRun& run : zone.live) {
      std::uint64_t unit = run.unit;
      auto it = owned_.lower_bound({id, run.unit});
      while (unit < run.end()) {
        const bool here =
            it != owned_.end() && it->first.first == id && it->first.second < run.end();
        const std::uint64_t next = here ? it->first.second : run.end();
        if (next > unit) {
          find("zone " + std::to_string(id) + " unit " + std::to_string(unit),
               std::to_string(next - unit) + " units are taken and belong to nothing");
        }
        if (!here) break;
        unit = next + it->second.units;
        ++it;
      }
    }
  }
}

// F6.
Status FsckCheck::check_cells(const std::string& owner, const Blob& blob) {
  using BadCells = StripeCheck::BadCells;
  HEXAD_TRY_ASSIGN(
      const CheckedStripe checked,
      stripe_check_.check(blob, options_.repair ? BadCells::kRebuilt : BadCells::kLeft));
  report.bytes_checked += checked.checked;
  for (const DeviceId device : checked.silent) ++silent[device];
  if (torn_.explain(blob.where, checked.bad)) {
    report.torn_cells += checked.bad.size();
    return {};
  }
  for (const std::string& problem : checked.problems) {
    find(Finding{owner, problem, checked.repaired});
  }
  // What could not be put right is read as a user would, whose reads note damage, and heal what
  // they can; those of pack stripes are read in check_residents().
  if (options_.repair && !checked.problems.empty() && !checked.repaired) {
    Bytes bytes(blob.raw);
    reader_.read(blob, 0, bytes).ignore();
  }
  return {};
}

}  // namespace hexad::core
