#include "core/commit/group_records.h"

#include <iterator>
#include <utility>

namespace hexad::core {

namespace {

// An empty group part, and what the counts of a full one take more.
constexpr std::uint64_t kGroupFraming = 32;

}  // namespace

std::uint64_t GroupRecords::bound(const Submission& submission) const {
  std::uint64_t bytes = submission.encoded.size() + kGroupFraming;
  for (const UnplacedBlob& blob : submission.unplaced) {
    bytes += group_part_bound(blob.stored.size(), shape_.record);
  }
  const GroupPart& group = submission.record.group;
  if (!group.empty()) bytes += encode_group_part(group, shape_.record).size();
  return bytes;
}

void GroupRecords::make_readable(const Submission& submission) const {
  if (!submission.unplaced.empty()) log_blobs_.expect(submission.unplaced);
  for (const StripeWrite& stripe : submission.stripes) {
    in_flight_cells_.add(stripe.where, stripe.prepared.cells, stripe.prepared.stride);
  }
}

Status GroupRecords::place_unplaced(std::vector<Submission>& members,
                                    std::uint64_t payload_room) const {
  std::vector<UnplacedBlob> unplaced;
  std::vector<GivenPack> given;
  for (Submission& member : members) {
    for (GivenPack& pack : member.packs) {
      for (PackPlan::Slot& slot : pack.plan.slots) slot.item += unplaced.size();
      given.push_back(std::move(pack));
    }
    for (UnplacedBlob& blob : member.unplaced) unplaced.push_back(std::move(blob));
    member.unplaced.clear();
    member.packs.clear();
  }
  if (unplaced.empty()) return {};
  HEXAD_TRY_ASSIGN(PlacedBlobs placed, placer_.place(std::move(unplaced), payload_room, given));
  for (const StripeWrite& stripe : placed.stripes) {
    in_flight_cells_.add(stripe.where, stripe.prepared.cells, stripe.prepared.stride);
  }
  log_blobs_.set_places(placed.part.placed);
  for (UnplacedBlob& blob : placed.in_log) {
    const std::uint32_t units = blob.units;
    counters_.add(CounterId::kLogFirstBlobs);
    if (log_blobs_.add_payload(std::move(blob))) space_.release(PromisedUnits(units));
  }
  const auto append = [](auto& to, auto& from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  Submission& first = members.front();
  append(first.record.group.allocated, placed.part.allocated);
  append(first.record.group.placed, placed.part.placed);
  append(first.record.group.payloads, placed.part.payloads);
  append(first.stripes, placed.stripes);
  return {};
}

std::vector<std::string_view> GroupRecords::encode(std::vector<Submission>& members) const {
  std::vector<std::string_view> records;
  for (Submission& member : members) {
    member.sealed = member.encoded + encode_group_part(member.record.group, shape_.record);
    records.push_back(member.sealed);
  }
  return records;
}

void GroupRecords::publish(const CommitGroup& group) const {
  for (const Submission& member : group.members) {
    space_.publish(member.lsn, member.record);
    for (const StripeWrite& stripe : member.stripes) in_flight_cells_.remove(stripe.where);
  }
}

}  // namespace hexad::core
