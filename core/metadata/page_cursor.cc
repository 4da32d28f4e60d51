#include "core/metadata/page_cursor.h"

#include <optional>
#include <string>

#include "core/record/keys.h"

namespace hexad::core {

Result<PageCursor> PageCursor::open(MetaView& view, const ObjectRecord& object,
                                    const PageRange& range) {
  const std::string first = page_key(object.body, range.from);
  HEXAD_TRY_ASSIGN(MetaView::Cursor cursor, view.cursor({first, page_key(object.body, range.end)}));
  HEXAD_TRY(cursor.seek(first));
  PageCursor pages(std::move(cursor), object);
  HEXAD_TRY(pages.settle());
  return pages;
}

Status PageCursor::next() {
  HEXAD_TRY(cursor_.next());
  return settle();
}

Status PageCursor::settle() {
  while (cursor_.valid()) {
    HEXAD_TRY_ASSIGN(const PageKey key, parse_page_key(cursor_.key()));
    page_ = key.page;
    const std::optional<std::uint32_t> end = end_of_cut(object_.cuts, page_);
    if (!end.has_value()) break;
    HEXAD_TRY(cursor_.seek(page_key(object_.body, *end)));
  }
  return {};
}

Status visit_extents(MetaView& view, const ObjectRecord& object, const PageRange& range,
                     const RecordShape& shape,
                     const std::function<void(const ExtentList&)>& visit) {
  if (object.body == 0) {
    visit(object.extents);
    return {};
  }
  HEXAD_TRY_ASSIGN(PageCursor pages, PageCursor::open(view, object, range));
  while (pages.valid()) {
    HEXAD_TRY_ASSIGN(const ExtentList extents, decode_page(pages.value(), pages.page(), shape));
    visit(extents);
    HEXAD_TRY(pages.next());
  }
  return {};
}

}  // namespace hexad::core
