#include "tests/core/log_order.h"

#include <algorithm>
#include <set>

#include "alloc/device_layout.h"
#include "alloc/label.h"
#include "base/assert.h"

namespace hexad::testing {

void LogOrder::see(ByteView bytes) {
  HEXAD_ASSERT(shape_.has_value());
  const Result<kv::LogBlock> found = kv::decode_log_block(bytes);
  if (!found.ok()) return;
  const kv::LogBlockHeader& header = found->header;
  Block block;
  block.crc = found->crc;
  block.first = header.first_lsn;
  block.last = header.last_lsn();
  const Where where{header.epoch, header.position};
  if (const auto at = blocks_.find(where); at != blocks_.end()) {
    if (at->second.crc != block.crc && problem_.empty()) {
      problem_ = describe(where, at->second) + " was written over with LSNs " +
                 std::to_string(block.first) + " to " + std::to_string(block.last);
    }
    return;
  }
  for (const kv::LogRecord& record : found->records) take(record, block);
  blocks_.emplace(where, std::move(block));
}

void LogOrder::see_device(const Read& read) {
  const Result<alloc::Label> label =
      alloc::decode_label(read(alloc::kHeadOffset, alloc::kHeaderSlotSize));
  if (!label.ok()) return;
  shape_ = {label->k, label->m, label->checksum, label->checksum_granularity};
  const alloc::DeviceLayout& layout = label->layout;
  const Bytes log = read(layout.log_offset, layout.log_size);
  for (std::size_t at = 0; at < log.size(); at += layout.physical_block) {
    if (log[at] != std::byte{0}) see(ByteView(log).subspan(at));
  }
}

void LogOrder::take(const kv::LogRecord& bytes, Block& block) const {
  const std::string subject = "LSN " + std::to_string(bytes.lsn);
  const auto wrong = [&](const std::string& what) {
    if (block.problem.empty()) block.problem = subject + " " + what;
  };
  const Result<core::LogRecord> record = core::decode_log_record(bytes.bytes, *shape_);
  if (!record.ok()) {
    wrong("cannot be read: " + record.error().message);
    return;
  }
  const auto use = [&](alloc::ZoneId zone, const std::string& how) {
    block.used.emplace(zone, subject + " " + how);
  };
  for (const core::ZoneCreation& zone : record->zones) block.named.push_back(zone.zone);
  for (const core::StripeProof& stripe : record->allocated) {
    use(stripe.where.zone, "takes " + alloc::to_string(stripe.where));
  }
  for (const alloc::Extent& extent : record->freed) {
    use(extent.zone, "frees " + alloc::to_string(extent));
  }
  for (const core::PackedRelease& release : record->packed_releases) {
    use(release.zone, "gives up bytes at unit " + std::to_string(release.unit));
  }
  for (const core::LogPlace& release : record->unplaced_releases) {
    if (release.lsn > bytes.lsn) wrong("gives up a blob of LSN " + std::to_string(release.lsn));
  }
  const core::GroupPart& group = record->group;
  for (const core::StripeProof& stripe : group.allocated) {
    use(stripe.where.zone, "puts unplaced blobs into " + alloc::to_string(stripe.where));
    if (stripe.live > 0) ++block.group_stripes;
  }
  for (const core::UnplacedPlace& place : group.placed) {
    if (place.from.lsn > block.last) {
      wrong("says where a blob of LSN " + std::to_string(place.from.lsn) + " is");
    }
  }
  for (const core::UnplacedPayload& payload : group.payloads) {
    if (payload.place.lsn < block.first || payload.place.lsn > block.last) {
      wrong("has the bytes of a blob of LSN " + std::to_string(payload.place.lsn));
    }
  }
}

std::string LogOrder::describe(const Where& where, const Block& block) {
  return "the block at position " + std::to_string(where.second) + " of epoch " +
         std::to_string(where.first) + ", LSNs " + std::to_string(block.first) + " to " +
         std::to_string(block.last) + ",";
}

std::string LogOrder::problem() const {
  if (!problem_.empty()) return problem_;
  std::set<alloc::ZoneId> to_come;
  for (const auto& [where, block] : blocks_) to_come.insert(block.named.begin(), block.named.end());
  for (const auto& [where, block] : blocks_) {
    if (!block.problem.empty()) return "in " + describe(where, block) + " " + block.problem;
    for (const auto& [zone, use] : block.used) {
      if (to_come.count(zone) == 0) continue;
      return "in " + describe(where, block) + " " + use + ", and no earlier block names zone " +
             std::to_string(zone);
    }
    for (const alloc::ZoneId zone : block.named) to_come.erase(zone);
  }
  return "";
}

std::size_t LogOrder::zones() const {
  std::set<alloc::ZoneId> zones;
  for (const auto& [where, block] : blocks_) zones.insert(block.named.begin(), block.named.end());
  return zones.size();
}

std::size_t LogOrder::group_stripes() const {
  std::size_t stripes = 0;
  for (const auto& [where, block] : blocks_) stripes += block.group_stripes;
  return stripes;
}

std::size_t LogOrder::zones_beside_groups() const {
  return static_cast<std::size_t>(
      std::count_if(blocks_.begin(), blocks_.end(), [](const auto& entry) {
        return !entry.second.named.empty() && entry.second.group_stripes > 0;
      }));
}

}  // namespace hexad::testing
