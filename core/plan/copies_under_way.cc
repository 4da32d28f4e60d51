#include "core/plan/copies_under_way.h"

#include <algorithm>

namespace hexad::core {

void CopiesUnderWay::add(const std::shared_ptr<CopiedPages>& copied) {
  if (by_body_.size() >= look_at_) {
    std::erase_if(by_body_, [](const auto& entry) { return entry.second.expired(); });
    look_at_ = std::max(kFew, 2 * by_body_.size());
  }
  by_body_.emplace(copied->from, copied);
}

std::size_t CopiesUnderWay::tell(BodyId body, std::uint32_t page) {
  std::size_t looked_at = 0;
  for (auto at = by_body_.lower_bound(body); at != by_body_.end() && at->first == body;) {
    ++looked_at;
    if (const std::shared_ptr<CopiedPages> copied = at->second.lock(); copied != nullptr) {
      copied->note_change(page);
      ++at;
    } else {
      at = by_body_.erase(at);
    }
  }
  return looked_at;
}

}  // namespace hexad::core
