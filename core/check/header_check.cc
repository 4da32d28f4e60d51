#include "core/check/header_check.h"

#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "alloc/label.h"
#include "alloc/root.h"
#include "base/aligned_buffer.h"
#include "io/bounded_reads.h"
#include "io/device_path.h"
#include "io/os_error.h"

namespace hexad::core {

namespace {

constexpr std::size_t kSlotsOfEnd = 3;  // the label, root 0, root 1
constexpr std::size_t kSlots = std::size(alloc::kDeviceEnds) * kSlotsOfEnd;
constexpr std::string_view kRootToCome =
    "; fsck --repair, a scrub, a checkpoint or an opening for writing writes a root over it";
constexpr std::string_view kLabelToCome =
    "; fsck --repair, a scrub or an opening for writing writes it again";
// Of a snapshot, in which nothing is put right.
constexpr std::string_view kElsewhere =
    "; the pool is a snapshot: a scrub of the pool that it was taken of puts it right there";

std::string name_of(std::size_t slot, alloc::DeviceEnd end) {
  const std::string where = " at the " + std::string(alloc::to_string(end));
  if (slot == 0) return "the label" + where;
  return "the root in slot " + std::to_string(slot - 1) + where;
}

// Why the copy is not the label, if it is not; and whether it may be written over (HD1).
struct BadLabel {
  std::string problem;
  bool may_be_written = true;
};

std::optional<BadLabel> judge_label(const Result<alloc::Label>& copy, const alloc::Label& label) {
  if (!copy.ok()) {
    return BadLabel{copy.error().message, copy.error().code != ErrorCode::kUnsupported};
  }
  if (*copy == label) return std::nullopt;
  if (copy->store != label.store || copy->device_uuid != label.device_uuid) {
    return BadLabel{
        "is that of device " + std::to_string(copy->device) + " of store " + to_string(copy->store),
        false};
  }
  return BadLabel{"is of generation " + std::to_string(copy->generation) + ", not " +
                      std::to_string(label.generation),
                  copy->generation < label.generation};
}

// One device, whose slots have been read.
class HeaderCheck {
 public:
  HeaderCheck(const Member& member, BadHeaders bad) : member_(member), bad_(bad) {}

  // `bytes`: of its slots, one behind the other; `outcomes`: how each was read.
  CheckedHeaders run(std::span<const Status> outcomes, ByteView bytes) {
    for (std::size_t i = 0; i < kSlots; ++i) {
      look_at(i, outcomes[i], bytes.subspan(i * alloc::kHeaderSlotSize, alloc::kHeaderSlotSize));
    }
    if (!unread_.empty()) {
      find("its label and roots were not all looked at: " + unread_, false);
    }
    if (!bad_labels_.empty()) finish_labels();
    checked_.left = checked_.bad - mended_;
    checked_.may_write_roots = may_mend_ && unread_.empty() && !checked_.silent;
    return std::move(checked_);
  }

 private:
  // `at`: of all its slots.
  void look_at(std::size_t at, const Status& outcome, ByteView bytes) {
    const std::size_t slot = at % kSlotsOfEnd;
    const alloc::DeviceEnd end = alloc::kDeviceEnds[at / kSlotsOfEnd];
    if (!outcome.ok() && outcome.error().code == ErrorCode::kUnavailable) {
      checked_.silent = true;
      return;
    }
    if (!outcome.ok() && !io::is_medium(outcome.error())) {
      unread_ = outcome.error().message;
      return;
    }
    if (slot == 0) {
      const Result<alloc::Label> copy =
          outcome.ok() ? alloc::decode_label(bytes) : Result<alloc::Label>(outcome.error());
      if (const std::optional<BadLabel> bad = judge_label(copy, *member_.label)) {
        ++checked_.bad;
        bad_labels_.push_back(name_of(slot, end) + ": " + bad->problem);
        may_mend_ = may_mend_ && bad->may_be_written;
      }
      return;
    }
    const Result<alloc::Root> root =
        outcome.ok() ? alloc::decode_root(bytes) : Result<alloc::Root>(outcome.error());
    const bool ours = root.ok() && root->store == member_.label->store;
    if (ours) return;
    ++checked_.bad;
    checked_.bad_roots[at] = checked_.findings.size();
    find(name_of(slot, end) + ": " +
             (root.ok() ? "is of store " + to_string(root->store) : root.error().message) +
             std::string(to_come(kRootToCome)),
         false);
  }

  std::string_view to_come(std::string_view in_a_pool) const {
    return io::is_snapshot_path(member_.path) ? kElsewhere : in_a_pool;
  }

  void finish_labels() {
    std::string left = may_mend_ ? std::string(to_come(kLabelToCome))
                                 : "; it is not written over: see who else uses the device";
    bool mended = false;
    // What was not read may be of somebody else.
    if (bad_ == BadHeaders::kMended && may_mend_ && unread_.empty() && !checked_.silent) {
      const Status written = alloc::mend_label(*member_.device, *member_.label);
      mended = written.ok();
      left = mended ? "" : "; it could not be written again: " + written.error().message;
    }
    if (mended) mended_ = static_cast<std::uint32_t>(bad_labels_.size());
    for (const std::string& problem : bad_labels_) find(problem + left, mended);
  }

  void find(const std::string& problem, bool repaired) {
    checked_.findings.push_back(header_finding(member_.id, member_.path, problem));
    checked_.findings.back().repaired = repaired;
  }

  const Member& member_;
  const BadHeaders bad_;
  CheckedHeaders checked_;
  std::vector<std::string> bad_labels_;
  bool may_mend_ = true;
  std::uint32_t mended_ = 0;
  std::string unread_;  // why some slot was not
};

}  // namespace

Finding header_finding(DeviceId device, const std::string& path, const std::string& problem) {
  return {"device " + std::to_string(device) + " (" + path + ")", problem};
}

std::vector<CheckedHeaders> check_headers(const std::vector<const Member*>& members,
                                          BadHeaders bad) {
  std::vector<CheckedHeaders> checked(members.size());
  std::vector<std::size_t> asked;  // indices into `members`
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!members[i]->label.has_value()) continue;
    checked[i].silent = io::is_silent(*members[i]->device);
    if (!checked[i].silent) asked.push_back(i);
  }
  if (asked.empty()) return checked;
  AlignedBuffer buffer(asked.size() * kSlots * alloc::kHeaderSlotSize);
  std::vector<io::IoRequest> reads;
  for (const std::size_t i : asked) {
    const Member& member = *members[i];
    for (std::size_t slot = 0; slot < kSlots; ++slot) {
      const std::uint64_t header =
          alloc::header_offset(alloc::kDeviceEnds[slot / kSlotsOfEnd], member.layout.device_size);
      reads.push_back(io::IoRequest::read(
          *member.device, header + slot % kSlotsOfEnd * alloc::kHeaderSlotSize,
          buffer.bytes().subspan(reads.size() * alloc::kHeaderSlotSize, alloc::kHeaderSlotSize)));
    }
  }
  const std::vector<Status> outcomes =
      io::read_round(members[asked.front()]->device->queue(), std::move(reads), buffer);
  for (std::size_t at = 0; at < asked.size(); ++at) {
    checked[asked[at]] = HeaderCheck(*members[asked[at]], bad)
                             .run(std::span(outcomes).subspan(at * kSlots, kSlots),
                                  ByteView(buffer).subspan(at * kSlots * alloc::kHeaderSlotSize,
                                                           kSlots * alloc::kHeaderSlotSize));
  }
  return checked;
}

bool may_mend_roots(const std::vector<CheckedHeaders>& checked) {
  bool any = false;
  for (const CheckedHeaders& device : checked) {
    if (!device.may_write_roots) return false;
    any = any || !device.bad_roots.empty();
  }
  return any;
}

void settle_roots(CheckedHeaders& checked, const CheckedHeaders& again) {
  if (again.silent || !again.may_write_roots) return;
  for (const auto& [slot, at] : checked.bad_roots) {
    Finding& finding = checked.findings[at];
    if (finding.repaired || again.bad_roots.contains(slot)) continue;
    finding.repaired = true;
    finding.problem.erase(finding.problem.size() - kRootToCome.size());
    --checked.left;
  }
}

}  // namespace hexad::core
