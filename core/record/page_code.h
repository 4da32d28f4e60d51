// A page of extents together with the bytes that encode it, so that the page that a small write
// makes of it is encoded by copying: an overwrite changes one extent of some hundreds.
//
// What holds for every PageCode and the list that it was made with:
//   PC1 `value` is what encode_page() makes of the list, byte for byte
//   PC2 there is a mark for each extent, in order: where it begins in `value`, how far behind the
//       one before it, what number its blob has there, and whether it is the extent that brings the
//       blob
//   PC3 a page that is called plain shows no blob that is shared or forwarded
// A list that was made with it may get the places of its unplaced blobs afterwards; then PC1 holds
// for the list as it was, and the marks say which extents that are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/blob_uses.h"
#include "core/record/image_patch.h"
#include "core/record/record.h"

namespace hexad::core {

struct PageCode {
  struct Mark {
    std::uint32_t at = 0;
    std::uint32_t gap = 0;     // bytes of the object before it that nothing shows
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
  bool plain = false;  // PC3
};

// Where an extent of a list comes from that has become of another list.
class ExtentOrigin {
 public:
  // It was that list's `index`-th; it may have got the place of its blob.
  static ExtentOrigin kept(std::size_t index) { return {Kind::kKept, index}; }
  // It shows of the same blob as that one did, and is another extent.
  static ExtentOrigin part_of(std::size_t index) { return {Kind::kPart, index}; }
  // It is inline, or shows a blob that the list did not show.
  static ExtentOrigin fresh() { return {Kind::kFresh, 0}; }

  bool is_kept() const { return kind() == Kind::kKept; }
  bool is_fresh() const { return kind() == Kind::kFresh; }
  std::size_t index() const { return value_ >> 2; }
  // Of what is left of the extent when it is cut.
  ExtentOrigin of_part() const { return is_fresh() ? fresh() : part_of(index()); }

 private:
  enum class Kind : std::uint32_t { kKept = 0, kPart = 1, kFresh = 2 };
  ExtentOrigin(Kind kind, std::size_t index)
      : value_(static_cast<std::uint32_t>(index << 2) | static_cast<std::uint32_t>(kind)) {}
  Kind kind() const { return static_cast<Kind>(value_ & 3); }

  std::uint32_t value_;
};
using ExtentOrigins = std::vector<ExtentOrigin>;

// What splicing makes.
struct SplicedPage {
  PageCode code;
  // By the number that a blob had before: the one that it has, or kNoNumber.
  std::vector<std::uint32_t> numbers;
  std::vector<PatchPiece> pieces;  // from the value before to the one now
};
inline constexpr std::uint32_t kNoNumber = ~std::uint32_t{0};

// The first byte of a page's value; the others are in record.cc.
inline constexpr std::uint8_t kPageKind = 0x02;
inline constexpr std::uint8_t kUnplacedPageKind = 0x06;  // with unplaced blobs
std::uint8_t page_kind(const ExtentList& extents);

// As encode_page(), which asserts the same. Precondition: `extents` is not empty.
PageCode code_page(const ExtentList& extents, const RecordShape& shape);
// The same, byte for byte, of a list that has become of `before`: bytes of what is alike are copied
// and not checked again. Cost: a comparison for each extent, and of each that is not alike a
// comparison of its blob with all others.
PageCode code_page(const ExtentList& extents, const RecordShape& shape, const KnownPage& before);
// The same for who knows what has become of what. Precondition: there is an origin for each extent,
// in order, and it is right; extents and origins are of the page that `before` is the code of.
// Cost: some instructions for each extent, the bytes copied, and what is encoded anew.
SplicedPage splice_page(const ExtentList& extents, const ExtentOrigins& origins,
                        const RecordShape& shape, const PageCode& before);

// PC3 of the list.
bool is_plain(const ExtentList& extents);
// As hidden_bytes(extents), for a page with its code, and without sorting. Precondition: it is
// plain.
HiddenBytes hidden_bytes(const ExtentList& extents, const PageCode& code);

}  // namespace hexad::core
