#include "core/transact/page_copier.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/record/keys.h"

namespace hexad::core {

namespace {

// Copied with one record: pages, and bytes of their values.
constexpr std::size_t kPagesAtOnce = 256;
constexpr std::size_t kBytesAtOnce = 32 << 10;
// Begun, when all before were overtaken by what commits have changed.
constexpr int kMaxCopies = 8;
// Records for what has changed since, once all pages have been copied.
constexpr int kMaxRounds = 1000;

// Two pages of a source may come to lie in one.
Status check_copied(const ExtentList& page, std::uint32_t index) {
  std::uint64_t inline_bytes = 0;
  for (const Extent& extent : page) inline_bytes += extent.bytes.size();
  if (inline_bytes <= kPageInlineLimit && page.size() <= kMaxPageExtents) return {};
  return Error{ErrorCode::kTooBig,
               "the range that is cloned has too many small pieces, " +
                   std::to_string(page.size()) + " with " + std::to_string(inline_bytes) +
                   " bytes in the metadata, for the MiB at byte " +
                   std::to_string(index * kPageSpan) + " of the destination",
               "Write larger pieces, or clone it in ranges of at most " +
                   std::to_string(kMaxClonedPages) + " MiB, in several transactions."};
}

}  // namespace

// One record of copies, and what is so when it has its place.
struct PageCopier::Step {
  CopiedPages& copied;
  LogRecord& record;
  BlobOwners owners;
  PageCuts cut;  // of the body that is copied
  std::size_t pages = 0;
  std::size_t bytes = 0;
  std::uint32_t until = 0;
  std::set<std::uint32_t> fresh;  // no longer stale
  std::size_t most_bytes = 0;
  LogBlobs::Moment places = 0;  // YB5 of core/space/log_blobs.h
  // Pages of the source, with share ids: two of the copy may show one of them.
  std::map<std::uint32_t, ExtentList> sources = {};

  bool is_full() const { return pages >= kPagesAtOnce || bytes >= most_bytes; }
  bool is_half_full() const { return 2 * pages >= kPagesAtOnce || 2 * bytes >= most_bytes; }
};

// Gives its blobs share ids, in the record, too.
Result<const ExtentList*> PageCopier::keep_source(std::uint32_t page, std::string_view value,
                                                  Step& step) {
  const RecordShape& shape = parts_.shape;
  const auto [at, fresh] = step.sources.try_emplace(page);
  if (!fresh) return &at->second;
  HEXAD_TRY_ASSIGN(ExtentList extents, decode_page(value, page, shape));
  at->second = parts_.log_blobs.resolve(std::move(extents), step.places);
  if (give_share_ids(at->second, [this] { return ShareId{parts_.ids.draw().value()}; })) {
    step.owners.keep({{}, step.copied.from, page}, at->second);
    step.record.images.push_back(
        {page_key(step.copied.from, page), encode_page(at->second, shape)});
  }
  step.owners.note(at->second);
  step.bytes += value.size();
  return &at->second;
}

Result<const ExtentList*> PageCopier::source_page(std::uint32_t page, Step& step) {
  static const ExtentList nothing;
  if (const auto at = step.sources.find(page); at != step.sources.end()) return &at->second;
  if (is_cut(step.cut, page)) return &nothing;
  HEXAD_TRY_ASSIGN(const auto value, parts_.commits.get(page_key(step.copied.from, page)));
  if (!value.has_value()) return &nothing;
  return keep_source(page, *value, step);
}

// Of the copy, whether there is anything or not: as it is now in the place of what was copied
// before.
Status PageCopier::copy_page(std::uint32_t page, Step& step) {
  const RecordShape& shape = parts_.shape;
  const ShiftedRange& range = step.copied.range;
  const std::string to = page_key(step.copied.to, page);
  ExtentList before;
  if (page < step.copied.until) {
    HEXAD_TRY_ASSIGN(const auto copy, parts_.commits.get(to));
    if (copy.has_value()) {
      HEXAD_TRY_ASSIGN(before, decode_page(*copy, page, shape));
      before = parts_.log_blobs.resolve(std::move(before), step.places);
    }
  }
  ExtentList now;
  const PageRange sources = range.sources_of(page);
  for (std::uint32_t source = sources.from; source < sources.end; ++source) {
    HEXAD_TRY_ASSIGN(const ExtentList* extents, source_page(source, step));
    add_shifted(now, *extents, range, page);
  }
  HEXAD_TRY(check_copied(now, page));
  const ListName name{{}, step.copied.to, page};
  step.owners.change(name, before, name, now, step.record);
  ++step.pages;
  step.bytes += to.size();
  std::optional<std::string> image;
  if (!now.empty()) image = encode_page(now, shape);
  if (image.has_value() || !before.empty()) {
    step.record.images.push_back({to, std::move(image)});
  }
  return {};
}

Status PageCopier::copy_stale(Step& step) {
  // The next ones get on in any case.
  const bool alone = step.copied.until == kEndOfPages;
  for (const std::uint32_t page : step.copied.stale) {
    if (alone ? step.is_full() : step.is_half_full()) break;
    step.fresh.insert(page);
    HEXAD_TRY(copy_page(page, step));
  }
  return {};
}

Status PageCopier::copy_next(Step& step) {
  const BodyId body = step.copied.from;
  const ShiftedRange& range = step.copied.range;
  const std::uint32_t first = step.until;
  const PageRange all = range.pages();
  PageRange left{std::max(all.from, range.first_source(first)), all.end};
  // One in any case: a stale page alone may have filled the record, and be stale again.
  while (!step.is_full() || step.until == first) {
    left = first_uncut(step.cut, left);
    if (left.empty()) {
      step.until = kEndOfPages;
      break;
    }
    const PlanSource::Visit take = [&](std::string_view key,
                                       std::string_view value) -> Result<bool> {
      HEXAD_TRY_ASSIGN(const PageKey parsed, parse_page_key(key));
      if (parsed.page >= left.end || (step.is_full() && step.until > first)) return false;
      const PageRange shown = range.shown_by(parsed.page);
      if (shown.end <= step.until) return true;  // with the page before it
      HEXAD_TRY(keep_source(parsed.page, value, step).status());
      for (std::uint32_t page = std::max(shown.from, step.until); page < shown.end; ++page) {
        HEXAD_TRY(copy_page(page, step));
      }
      step.until = shown.end;
      return true;
    };
    HEXAD_TRY(parts_.commits.scan_to_fill(page_prefix(body), page_key(body, left.from), take));
    left = {left.end, all.end};
  }
  return {};
}

Status PageCopier::copy_some(CopiedPages& copied) {
  HEXAD_TRY(parts_.ids.may_draw());
  // Both pages, and what is counted of their blobs.
  const std::size_t most_bytes =
      std::min<std::size_t>(kBytesAtOnce, parts_.pipeline.max_record() / 8);
  std::uint32_t until = 0;
  std::set<std::uint32_t> fresh;
  const InternalCommits::FillRecord fill = [&](LogRecord& record) -> Status {
    Step step{copied, record,       BlobOwners(), {},         0,
              0,      copied.until, {},           most_bytes, parts_.log_blobs.moment()};
    HEXAD_TRY_ASSIGN(const auto marks, parts_.commits.get(cut_key(copied.from)));
    if (marks.has_value()) {
      HEXAD_TRY_ASSIGN(step.cut, decode_cuts(*marks));
    }
    record.images.push_back({writer_key(copied.to), std::string()});
    // First those that are stale, so that they do not become ever more.
    HEXAD_TRY(copy_stale(step));
    HEXAD_TRY(copy_next(step));
    HEXAD_TRY(step.owners.finish(parts_.commits, record));
    until = step.until;
    fresh = std::move(step.fresh);
    return {};
  };
  const auto placed = [&] {
    for (const std::uint32_t page : fresh) copied.stale.erase(page);
    copied.until = until;
  };
  return parts_.commits.commit_internal(fill, placed).status();
}

std::shared_ptr<CopiedPages> PageCopier::begin(BodyId from, const ShiftedRange& range) {
  // Whoever lets go of it without having taken it leaves it to the background.
  std::shared_ptr<CopiedPages> copied(new CopiedPages{from, parts_.ids.draw(), range},
                                      [&deletions = parts_.deletions](const CopiedPages* pages) {
                                        if (!pages->taken) deletions.schedule({{pages->to}, {}});
                                        delete pages;
                                      });
  const SequencerLock lock(parts_.order.sequencer);
  parts_.order.newest.add_copy(copied);
  return copied;
}

Result<std::shared_ptr<CopiedPages>> PageCopier::copy(BodyId from, const ShiftedRange& range,
                                                      std::shared_ptr<CopiedPages> copied) {
  if (io::Recall::here() == nullptr) return copy_here(from, range, std::move(copied));
  const auto kept = std::make_shared<std::shared_ptr<CopiedPages>>(std::move(copied));
  HEXAD_TRY(
      parts_.errands.run("pages of a clone were copied", [this, from, range, kept]() -> Status {
        HEXAD_TRY_ASSIGN(*kept, copy_here(from, range, std::move(*kept)));
        return {};
      }));
  return std::move(*kept);
}

Result<std::shared_ptr<CopiedPages>> PageCopier::copy_here(BodyId from, const ShiftedRange& range,
                                                           std::shared_ptr<CopiedPages> copied) {
  // What the background has yet to take back goes first: each of those pages would be one that has
  // changed since, and without any writer there could be more of them than a copy may have.
  const auto begin_anew = [&]() -> Status {
    HEXAD_TRY_ASSIGN(const auto marks, parts_.metadata.get_latest(cut_key(from)));
    if (marks.has_value()) HEXAD_TRY(parts_.deletions.reclaim_cuts(from));
    copied = begin(from, range);
    return {};
  };
  if (copied == nullptr || copied->from != from || copied->range != range) HEXAD_TRY(begin_anew());
  for (int lost = 0, rounds = 0; lost < kMaxCopies && rounds < kMaxRounds;) {
    HEXAD_TRY(copy_some(*copied));
    {
      const SequencerLock lock(parts_.order.sequencer);
      if (!copied->lost) {
        const bool whole = copied->until == kEndOfPages;
        if (whole && copied->stale.size() <= kFewStalePages) return copied;
        if (whole) ++rounds;
        continue;
      }
    }
    // What it was made of is mostly gone.
    HEXAD_TRY(begin_anew());
    ++lost;
  }
  return Error{ErrorCode::kConflict,
               "the object that is cloned changes in more pages of 1 MiB than can be copied "
               "meanwhile, " +
                   std::to_string(kPagesAtOnce) + " with each record",
               "Retry, or write it from fewer threads."};
}

}  // namespace hexad::core
