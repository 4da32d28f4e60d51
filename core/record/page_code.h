// A page of extents together with the bytes that encode it, so that the page that a small write
// makes of it is encoded by copying: an overwrite changes one extent of some hundreds.
//
// What holds for every PageCode and the list that it was made with:
//   PC1 `value` is what encode_page() makes of the list, byte for byte
//   PC2 there is a mark for each extent, in order: where it begins in `value`, what number its blob
//       has there, and whether it is the extent that brings the blob
// A list that was made with it may get the places of its unplaced blobs afterwards; then PC1 holds
// for the list as it was, and the marks say which extents that are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/record/record.h"

namespace hexad::core {

struct PageCode {
  struct Mark {
    std::uint32_t at = 0;
    std::uint32_t number = 0;  // of no meaning for an inline extent
    bool is_new = false;
    bool was_unplaced = false;
    bool operator==(const Mark&) const = default;
  };
  std::string value;
  std::vector<Mark> marks;

  bool operator==(const PageCode&) const = default;
};

// A page as the sequencer remembers it (core/cache/page_memory.h).
struct KnownPage {
  ExtentList extents;
  PageCode code;
};

// The first byte of a page's value (record.cc).
std::uint8_t page_kind(const ExtentList& extents);

// As encode_page(), which asserts the same. Precondition: `extents` is not empty.
PageCode code_page(const ExtentList& extents, const RecordShape& shape);
// The same, byte for byte, of a list that has become of `before`: bytes of what is alike are copied
// and not checked again. Cost: a comparison for each extent, and of each that is not alike a
// comparison of its blob with all others.
PageCode code_page(const ExtentList& extents, const RecordShape& shape, const KnownPage& before);

}  // namespace hexad::core
