#include "core/commit/group_records.h"

#include <iterator>
#include <string_view>
#include <utility>

namespace hexad::core {

namespace {

// An empty group part, and what the counts of a full one take more.
constexpr std::uint64_t kGroupFraming = 32;
// What encode() keeps of a group's parts, bytes, and pieces: those of hundreds of small blobs.
constexpr std::size_t kMostScratch = 64 << 10;
constexpr std::size_t kMostParts = 4096;

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
  std::size_t count = 0;
  for (const Submission& member : members) count += member.unplaced.size();
  if (count == 0) return {};  // and no packs without blobs
  unplaced.reserve(count);
  for (Submission& member : members) {
    for (GivenPack& pack : member.packs) {
      for (PackPlan::Slot& slot : pack.plan.slots) slot.item += unplaced.size();
      given.push_back(std::move(pack));
    }
    for (UnplacedBlob& blob : member.unplaced) unplaced.push_back(std::move(blob));
    member.unplaced.clear();
    member.packs.clear();
  }
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
    if (to.empty()) {
      to = std::move(from);
      return;
    }
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  Submission& first = members.front();
  append(first.record.group.allocated, placed.part.allocated);
  append(first.record.group.placed, placed.part.placed);
  append(first.record.group.payloads, placed.part.payloads);
  append(first.stripes, placed.stripes);
  return {};
}

// Payloads are copied once, from where they lie into the block.
kv::LogBody GroupRecords::encode(const std::vector<Submission>& members, std::uint32_t block_size,
                                 kv::LogBuffers& buffers, Scratch& scratch) const {
  auto& [groups, records] = scratch;
  for (const Submission& member : members) {
    append_group_part(member.record.group, shape_.record, groups);
  }
  const std::string_view bytes = groups.bytes;
  auto place = groups.places.begin();
  std::size_t from = 0;
  const auto next = [&] {
    const std::size_t begin = std::exchange(from, *place++);
    return bytes.substr(begin, from - begin);
  };
  for (const Submission& member : members) {
    records.begin_record();
    records.add_part(member.encoded);
    for (const UnplacedPayload& payload : member.record.group.payloads) {
      records.add_part(next());
      records.add_part(payload.bytes);
    }
    records.add_part(next());
  }
  kv::LogBody body = kv::encode_log_body(records, block_size, buffers);
  records.clear();
  groups.places.clear();
  groups.bytes.clear();
  if (groups.bytes.capacity() > kMostScratch || records.parts().capacity() > kMostParts) {
    scratch = {};
  }
  return body;
}

void GroupRecords::publish(const CommitGroup& group) const {
  for (const Submission& member : group.members) {
    space_.publish(member.lsn, member.record);
    for (const StripeWrite& stripe : member.stripes) in_flight_cells_.remove(stripe.where);
  }
}

}  // namespace hexad::core
