// The newest state of the metadata, as those read it who hold the sequencer's lock, and the ids
// that changes of it draw.
#include <algorithm>
#include <memory>

#include "core/engine/engine.h"

namespace hexad::core {

Result<std::optional<std::string>> Engine::get(std::string_view key) {
  return parts_.metadata->get_latest(key);
}

std::shared_ptr<ExtentList> Engine::known_page(BodyId body, std::uint32_t page) {
  return pages_.find(body, page);
}

Status Engine::scan(std::string_view prefix, const Visit& visit) {
  return scan_from(prefix, prefix, visit);
}

Status Engine::scan_from(std::string_view prefix, std::string_view from, const Visit& visit) {
  Walk unlimited;
  return walk(prefix, from, visit, unlimited);
}

Status Engine::scan_to_fill(std::string_view prefix, std::string_view from, const Visit& visit) {
  return walk(prefix, from, visit, fill_walk_);
}

Status Engine::walk(std::string_view prefix, std::string_view from, const Visit& visit,
                    Walk& walk) {
  HEXAD_TRY_ASSIGN(const std::unique_ptr<MetaView> view, parts_.metadata->view(kMaxLsn));
  HEXAD_TRY_ASSIGN(MetaView::Cursor cursor, view->cursor({std::string(from), prefix_end(prefix)}));
  cursor.give_up_after(walk.most_deleted - std::min(walk.deleted, walk.most_deleted));
  const auto go = [&]() -> Status {
    HEXAD_TRY(cursor.seek(from));
    while (cursor.valid()) {
      HEXAD_TRY_ASSIGN(const bool more, visit(cursor.key(), cursor.value()));
      if (!more) break;
      HEXAD_TRY(cursor.next());
    }
    return {};
  };
  Status status = go();
  walk.deleted += cursor.moves().deleted;
  if (!status.ok() && cursor.gave_up()) walk.gave_up = true;
  return status;
}

void Engine::note_hold(std::uint64_t keys) {
  largest_hold_.store(std::max(largest_hold_.load(std::memory_order_relaxed), keys),
                      std::memory_order_relaxed);
}

BodyId Engine::new_body() {
  const BodyId id = ids_.draw();
  // D1: exactly one of those who draw is told so, in each epoch.
  if (static_cast<std::uint32_t>(id) == BodyIds::kHalf) lose_suspects_soon();
  return id;
}

Status Engine::may_draw_ids() {
  if (!ids_.spent()) return {};
  lose_suspects_soon();
  return Error{ErrorCode::kExhausted,
               "of the ids of epoch " + std::to_string(lane_->epoch()) +
                   " for objects and clones, " + std::to_string(ids_.drawn()) +
                   " have been used, and fewer are left than a transaction may take; another epoch "
                   "is being begun",
               "Retry, or close the store and open it again, which begins one, too."};
}

}  // namespace hexad::core
