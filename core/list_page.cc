#include "core/list_page.h"

#include <algorithm>
#include <optional>
#include <string>

#include "core/record.h"

namespace hexad::core {
namespace {

Status check_length(std::string_view what, const std::string& text) {
  if (text.size() <= kMaxNameSize) return {};
  return Error{ErrorCode::kInvalidArgument,
               "listing: " + std::string(what) + " of " + std::to_string(text.size()) +
                   " bytes, names have at most " + std::to_string(kMaxNameSize),
               ""};
}

// Behind everything that begins with `key`, the key of an object or a part of one: it begins with
// a tag, so there is such a place.
std::string end_of(std::string_view key) {
  std::optional<std::string> end = prefix_end(key);
  HEXAD_ASSERT(end.has_value());
  return *std::move(end);
}

// What `name`, which begins with the prefix, is rolled up into.
std::optional<std::string_view> common_prefix_of(std::string_view name,
                                                 const ListOptions& options) {
  if (options.delimiter.empty()) return std::nullopt;
  const std::size_t cut = name.find(options.delimiter, options.prefix.size());
  if (cut == std::string_view::npos) return std::nullopt;
  return name.substr(0, cut + options.delimiter.size());
}

// The names of one collection in the order asked for.
class Names {
 public:
  Names(MetaView::Cursor& cursor, CollectionId collection, bool reverse)
      : cursor_(cursor), base_(object_prefix(collection)), reverse_(reverse) {}

  // `prefix`: the cursor's range is the names that begin with it.
  Status seek_to_first(std::string_view prefix) {
    const std::string first = key_of(prefix);
    return reverse_ ? cursor_.seek_before(end_of(first)) : cursor_.seek(first);
  }
  Status seek_behind(std::string_view name) {
    return reverse_ ? cursor_.seek_before(key_of(name)) : cursor_.seek(key_of(name) + '\0');
  }
  // Behind all names that begin with `common`.
  Status seek_behind_all(std::string_view common) {
    return reverse_ ? cursor_.seek_before(key_of(common)) : cursor_.seek(end_of(key_of(common)));
  }
  Status next() { return reverse_ ? cursor_.prev() : cursor_.next(); }
  bool valid() const { return cursor_.valid(); }
  std::string_view name() const { return std::string_view(cursor_.key()).substr(base_.size()); }

 private:
  std::string key_of(std::string_view name) const { return base_ + std::string(name); }

  MetaView::Cursor& cursor_;
  const std::string base_;
  const bool reverse_;
};

Status seek_to_start(Names& names, const ListOptions& options) {
  const std::string_view after = options.start_after;
  if (after.empty()) return names.seek_to_first(options.prefix);
  if (after.starts_with(options.prefix) && common_prefix_of(after, options) == after) {
    return names.seek_behind_all(after);
  }
  return names.seek_behind(after);
}

}  // namespace

Status check_list_options(const ListOptions& options) {
  HEXAD_TRY(check_length("a prefix", options.prefix));
  HEXAD_TRY(check_length("a start", options.start_after));
  return check_length("a delimiter", options.delimiter);
}

Result<ListPage> list_page(MetaView& view, CollectionId collection, const ListOptions& options,
                           CursorMoves* moves) {
  ListPage page;
  const std::uint64_t limit = std::min(options.limit, kMaxListPage);
  if (limit == 0) return page;
  const std::string first = object_key(collection, options.prefix);
  HEXAD_TRY_ASSIGN(MetaView::Cursor cursor, view.cursor({first, end_of(first)}));
  Names names(cursor, collection, options.reverse);
  HEXAD_TRY(seek_to_start(names, options));
  while (names.valid()) {
    if (page.entries.size() == limit) {
      page.next = page.entries.back().name;
      break;
    }
    ListEntry entry;
    if (const auto common = common_prefix_of(names.name(), options)) {
      entry.name = *common;
      entry.common_prefix = true;
      HEXAD_TRY(names.seek_behind_all(entry.name));
    } else {
      HEXAD_TRY_ASSIGN(const ObjectSummary summary, decode_summary(cursor.value()));
      entry.name = names.name();
      entry.size = summary.size;
      entry.version = summary.version;
      HEXAD_TRY(names.next());
    }
    page.entries.push_back(std::move(entry));
  }
  if (moves != nullptr) *moves = cursor.moves();
  return page;
}

}  // namespace hexad::core
