#include "core/check/pool_headers.h"

#include <utility>

#include "io/executor.h"

namespace hexad::core {

namespace {

constexpr const char* kWaitsForRoot = "a look at the roots waits for one";

}  // namespace

// HD2. What could not be put right is still in `checked` as found.
Status PoolHeaders::write_over_bad_roots(const std::vector<const Member*>& members,
                                         std::vector<CheckedHeaders>& checked) {
  constexpr int kSlotsOfEnd = 2;
  std::vector<CheckedHeaders> now = checked;
  for (int roots = 0; roots < kSlotsOfEnd && may_mend_roots(now); ++roots) {
    if (const Status written = membership_->write_plain(); !written.ok()) {
      for (CheckedHeaders& device : checked) {
        for (const auto& [slot, at] : device.bad_roots) {
          device.findings[at].problem += "; it could not be written: " + written.error().message;
        }
      }
      return {};
    }
    HEXAD_TRY(silence_.lock_unless_silent(membership_->mutex(), kWaitsForRoot));
    const io::Lock lock(membership_->mutex(), std::adopt_lock);
    for (const Member* member : members) {
      if (!members_.usable(member->id)) return {};  // its handle may be gone
    }
    now = check_headers(members, BadHeaders::kLeft);
  }
  for (std::size_t i = 0; i < checked.size(); ++i) settle_roots(checked[i], now[i]);
  return {};
}

// Some devices at a time, for the memory that it takes.
Result<std::uint64_t> PoolHeaders::look(BadHeaders bad_headers,
                                        const std::function<void(Finding)>& find,
                                        const std::function<void(DeviceId)>& note_silent) {
  constexpr std::size_t kAtOnce = 32;
  std::uint64_t bad = 0;
  if (!mended_told_.exchange(true)) {
    for (const Finding& finding : mended_) {
      if (!finding.repaired) continue;  // it is found below
      ++bad;
      find(finding);
    }
  }
  for (std::size_t next = 0; next < members_.size();) {
    std::vector<const Member*> some;
    const auto choose = [&] {
      for (; next < members_.size() && some.size() < kAtOnce; ++next) {
        if (members_.is_usable(next)) some.push_back(&members_.at(next));
      }
    };
    std::vector<CheckedHeaders> checked;
    if (membership_ == nullptr) {
      choose();
      checked = check_headers(some, BadHeaders::kLeft);
    } else {
      {
        HEXAD_TRY(silence_.lock_unless_silent(membership_->mutex(), kWaitsForRoot));
        const io::Lock roots(membership_->mutex(), std::adopt_lock);
        // Here: one that comes back meanwhile has another handle.
        choose();
        checked = check_headers(some, bad_headers);
      }
      if (bad_headers == BadHeaders::kMended) HEXAD_TRY(write_over_bad_roots(some, checked));
    }
    for (std::size_t i = 0; i < some.size(); ++i) {
      if (checked[i].silent) note_silent(some[i]->id);
      if (!checked[i].silent) members_.note_bad_header_slots(some[i]->id, checked[i].left);
      bad += checked[i].bad;
      for (Finding& finding : checked[i].findings) find(std::move(finding));
    }
  }
  return bad;
}

}  // namespace hexad::core
