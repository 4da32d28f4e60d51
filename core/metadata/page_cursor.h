// Walks the pages of an object that show something: those that are there and not cut off.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "core/metadata/metadata.h"
#include "core/record/page_cuts.h"
#include "core/record/record.h"

namespace hexad::core {

class PageCursor {
 public:
  // Stands on the first page of the range. `view` and `object`, which has pages, outlive it.
  static Result<PageCursor> open(MetaView& view, const ObjectRecord& object,
                                 const PageRange& range);

  bool valid() const { return cursor_.valid(); }
  // Precondition: valid(). The value until the next step, to be decoded.
  std::uint32_t page() const { return page_; }
  std::string_view value() const { return cursor_.value(); }
  // Errors of both: those of reading the metadata, kCorruption.
  Status next();

 private:
  PageCursor(MetaView::Cursor cursor, const ObjectRecord& object)
      : cursor_(std::move(cursor)), object_(object) {}
  // To the first page from here on that is not cut off.
  Status settle();

  MetaView::Cursor cursor_;
  const ObjectRecord& object_;
  std::uint32_t page_ = 0;
};

// Shows `visit` the extents of all pages of the range, page by page, or those in the record of an
// object without pages, whatever the range is. Errors: those of reading the metadata; kCorruption.
Status visit_extents(MetaView& view, const ObjectRecord& object, const PageRange& range,
                     const RecordShape& shape, const std::function<void(const ExtentList&)>& visit);

}  // namespace hexad::core
