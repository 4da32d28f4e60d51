#include "core/check/record_walk.h"

namespace hexad::core {

Status RecordWalk::over(
    std::string_view prefix,
    const std::function<Status(std::string_view key, std::string_view value)>& visit) {
  HEXAD_TRY_ASSIGN(MetaView::Cursor cursor, view_.cursor_over(prefix));
  while (cursor.valid()) {
    HEXAD_TRY(visit(cursor.key(), cursor.value()));
    HEXAD_TRY(go_on_());
    HEXAD_TRY(cursor.next());
  }
  return {};
}

Status RecordWalk::over_objects(const VisitRecord& visit) {
  return over(kObjectKeys, [&](std::string_view key, std::string_view value) -> Status {
    HEXAD_TRY_ASSIGN(const ObjectRecord record, decode_object(value, shape_));
    return visit(key, record);
  });
}

Status RecordWalk::over_entries(const VisitRecord& visit) {
  return over(kOmapKeys, [&](std::string_view key, std::string_view value) -> Status {
    if (is_hidden_entry(value)) return {};
    HEXAD_TRY_ASSIGN(const ObjectRecord record, decode_object(value, shape_));
    return visit(key, record);
  });
}

Status RecordWalk::over_pages(const VisitPage& visit) {
  return over(kPageKeys, [&](std::string_view key, std::string_view value) -> Status {
    HEXAD_TRY_ASSIGN(const PageKey page, parse_page_key(key));
    HEXAD_TRY_ASSIGN(const ExtentList extents, decode_page(value, page.page, shape_));
    return visit(page, extents);
  });
}

}  // namespace hexad::core
