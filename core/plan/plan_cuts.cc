#include "core/plan/plan_cuts.h"

#include <optional>
#include <string>
#include <utility>

#include "core/record/keys.h"

namespace hexad::core {

Status check_cuts(PlanState& state, Plan& plan) {
  for (const auto& [key, slot] : state.objects()) {
    if (slot.current == nullptr || slot.current->record.cuts.empty()) continue;
    ObjectContent& content = *slot.current;
    PageCuts& cuts = content.record.cuts;
    for (const auto& [index, page] : content.pages) {
      if (!page.now().empty()) remove_cut(cuts, index);  // O1, O3
    }
    if (cuts.size() <= kMaxPageCuts) continue;
    if (content.stored_cuts.empty()) {
      return Error{ErrorCode::kTooBig,
                   "object " + printable(slot.name) + ": " + std::to_string(cuts.size()) +
                       " ranges of many MiB become holes at once, at most " +
                       std::to_string(kMaxPageCuts) + " are possible",
                   "Make them in several transactions."};
    }
    plan.cut.push_back(content.stored_body);
  }
  return {};
}

void emit_cuts(const ObjectContent& content, Plan& plan) {
  const PageCuts& cuts = content.record.cuts;
  if (content.stored_cuts == cuts) return;
  std::optional<std::string> marks;
  if (!cuts.empty()) marks = encode_cuts(cuts);
  plan.record.images.push_back({cut_key(content.stored_body), std::move(marks)});
  if (!cuts.empty()) plan.deletions.cuts.push_back(content.stored_body);
}

}  // namespace hexad::core
