#include "core/metadata/list_page.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/metadata/page_text.h"

namespace hexad::core {
namespace {

Status check_length(std::string_view what, const std::string& text) {
  if (text.size() <= kMaxNameSize) return {};
  return Error{ErrorCode::kInvalidArgument,
               "listing: " + std::string(what) + " of " + std::to_string(text.size()) +
                   " bytes, names have at most " + std::to_string(kMaxNameSize),
               ""};
}

// What `name`, which begins with the prefix, is rolled up into.
std::optional<std::string_view> common_prefix_of(std::string_view name,
                                                 const ListOptions& options) {
  if (options.delimiter.empty()) return std::nullopt;
  const std::size_t cut = name.find(options.delimiter, options.prefix.size());
  if (cut == std::string_view::npos) return std::nullopt;
  return name.substr(0, cut + options.delimiter.size());
}

// The names of one collection that begin with a prefix, in the order asked for.
class Names {
 public:
  Names(MetaView& view, const CollectionRecord& collection, std::string_view prefix, bool reverse)
      : view_(view),
        ranges_(ranges_of(collection.all_parts(), prefix, prefix_end(prefix).value_or(""))),
        reverse_(reverse) {}

  Status seek_to_first() {
    HEXAD_TRY(open(reverse_ ? ranges_.size() - 1 : 0));
    HEXAD_TRY(reverse_ ? cursor_->seek_before(end_) : cursor_->seek(first_));
    return settle();
  }
  // Behind the name, which need not have the prefix.
  Status seek_behind(std::string_view name) {
    return reverse_ ? seek_before(name) : seek(std::string(name) + '\0');
  }
  // Behind all names that begin with `common`.
  Status seek_behind_all(std::string_view common) {
    if (reverse_) return seek_before(common);
    const std::optional<std::string> end = prefix_end(common);
    if (end.has_value()) return seek(*end);
    add_moves();
    cursor_.reset();
    return {};
  }
  Status next() {
    HEXAD_TRY(reverse_ ? cursor_->prev() : cursor_->next());
    return cursor_->valid() ? Status() : settle();
  }
  bool valid() const { return cursor_.has_value() && cursor_->valid(); }
  std::string_view name() const { return cursor_->key().substr(kObjectPrefixSize); }
  std::string_view value() const { return cursor_->value(); }
  // Of all cursors; ends the walk.
  CursorMoves finish() {
    add_moves();
    cursor_.reset();
    return moves_;
  }

 private:
  // The first name at or behind this one.
  Status seek(std::string_view name) {
    std::size_t at = 0;
    while (at + 1 < ranges_.size() && !ranges_[at].end.empty() && ranges_[at].end <= name) ++at;
    HEXAD_TRY(open(at));
    HEXAD_TRY(cursor_->seek(object_key(ranges_[at].space, name)));
    return settle();
  }
  // The last name before this one.
  Status seek_before(std::string_view name) {
    std::size_t at = ranges_.size() - 1;
    while (at > 0 && ranges_[at].from >= name) --at;
    HEXAD_TRY(open(at));
    HEXAD_TRY(cursor_->seek_before(object_key(ranges_[at].space, name)));
    return settle();
  }
  Status open(std::size_t range) {
    if (cursor_.has_value() && range == at_) return {};
    add_moves();
    at_ = range;
    first_ = ranges_[at_].first_key();
    end_ = ranges_[at_].end_key();
    HEXAD_TRY_ASSIGN(MetaView::Cursor opened, view_.cursor({first_, end_}));
    cursor_.emplace(std::move(opened));
    return {};
  }
  // Where the range has no more names, on to the next one that has.
  Status settle() {
    while (!cursor_->valid() && at_ != (reverse_ ? 0 : ranges_.size() - 1)) {
      HEXAD_TRY(open(reverse_ ? at_ - 1 : at_ + 1));
      HEXAD_TRY(reverse_ ? cursor_->seek_before(end_) : cursor_->seek(first_));
    }
    return {};
  }
  // What the cursor that is about to go has done.
  void add_moves() {
    if (!cursor_.has_value()) return;
    moves_.seeks += cursor_->moves().seeks;
    moves_.steps += cursor_->moves().steps;
    moves_.deleted += cursor_->moves().deleted;
  }

  MetaView& view_;
  const std::vector<NameRange> ranges_;
  const bool reverse_;
  std::optional<MetaView::Cursor> cursor_;
  std::size_t at_ = 0;  // the range of the cursor
  std::string first_;   // its keys
  std::string end_;
  CursorMoves moves_;  // of the cursors before
};

// For a usual page, and then for the longest that it may be: growing bit by bit would move all of a
// long page several times.
void make_room(std::vector<ListEntry>& entries, std::uint64_t limit) {
  entries.reserve(entries.empty() ? std::min<std::uint64_t>(limit, 1000) : limit);
}

Status seek_to_start(Names& names, const ListOptions& options) {
  const std::string_view after = options.start_after;
  if (after.empty()) return names.seek_to_first();
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

Result<ListPage> list_page(MetaView& view, const CollectionRecord& collection,
                           const ListOptions& options, CursorMoves* moves) {
  ListPage page;
  PageText text;
  const std::uint64_t limit = std::min(options.limit, kMaxListPage);
  if (limit == 0) return page;
  Names names(view, collection, options.prefix, options.reverse);
  HEXAD_TRY(seek_to_start(names, options));
  while (names.valid()) {
    if (page.entries.size() == limit) {
      page.next = page.entries.back().name;
      break;
    }
    if (page.entries.size() == page.entries.capacity()) make_room(page.entries, limit);
    ListEntry& entry = page.entries.emplace_back();
    if (const auto common = common_prefix_of(names.name(), options)) {
      entry.name = text.add(*common);
      entry.common_prefix = true;
      HEXAD_TRY(names.seek_behind_all(entry.name));
    } else {
      const Result<ObjectSummary> summary = decode_summary(names.value());
      if (!summary.ok()) return summary.error();
      entry.name = text.add(names.name());
      entry.size = summary->size;
      entry.version = summary->version;
      HEXAD_TRY(names.next());
    }
  }
  page.text = text.take();
  if (moves != nullptr) *moves = names.finish();
  return page;
}

}  // namespace hexad::core
