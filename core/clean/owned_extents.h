// The list of extents that shows a blob, found by what a footer says about its owner, and written
// back with another content.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "core/record/record.h"

namespace hexad::core {

// The value of a key that holds a list of extents: an object, an entry of an omap, or a page.
class OwnedExtents {
 public:
  // Precondition: has_extents(key). Nothing: the value says that there is no entry. Errors:
  // kCorruption; survives any input.
  static Result<std::optional<OwnedExtents>> decode(std::string_view key, std::string_view value,
                                                    const RecordShape& shape);
  // Everything but the extents is as it was decoded.
  std::string encode(const RecordShape& shape) const;

  ExtentList& extents() { return record_.extents; }
  // Not 0: the extents are in pages of that body, and extents() is empty.
  BodyId body() const { return record_.body; }

 private:
  bool is_page_ = false;
  ObjectRecord record_;  // of a page: its extents alone
};

// Where what a footer says was stored for `owner`, at `offset` of it, is kept now: that key, or
// that of a page where the object has got pages since. Nothing: it is gone, or has another owner.
// Errors: those of `get`, kCorruption.
using GetValue = std::function<Result<std::optional<std::string>>(std::string_view key)>;
struct FoundExtents {
  std::string key;
  OwnedExtents list;
};
Result<std::optional<FoundExtents>> find_extents(const std::string& owner, std::uint64_t offset,
                                                 const RecordShape& shape, const GetValue& get);

}  // namespace hexad::core
