// The pages of an object with very many of them, copied for a clone (CopiedPages of
// core/prepared.h). Beside the commits, in records of bounded size: each gives the blobs of some
// pages share ids, if they have none, and writes the pages a second time under a body that no
// object names. That has a writer key until the clone's transaction gives the body to an object, so
// what a crash, or an error here, leaves of it is taken back.
// doc/decisions/026-cut-pages.md
#include <algorithm>
#include <optional>
#include <utility>

#include "core/engine.h"
#include "core/keys.h"

namespace hexad::core {

namespace {

// Copied with one record: pages, and bytes of their values.
constexpr std::size_t kPagesAtOnce = 256;
constexpr std::size_t kBytesAtOnce = 32 << 10;
// Begun, when all before were overtaken by what commits have changed.
constexpr int kMaxCopies = 8;
// Records for what has changed since, once all pages have been copied.
constexpr int kMaxRounds = 1000;

}  // namespace

// One record of copies, and what is so when it has its place.
struct Engine::CopyStep {
  CopiedPages& copied;
  Taking taking;
  PageCuts cut;  // of the body that is copied
  std::size_t pages = 0;
  std::size_t bytes = 0;
  std::uint32_t until = 0;
  std::set<std::uint32_t> fresh;  // no longer stale
  std::size_t most_bytes = 0;

  bool is_full() const { return pages >= kPagesAtOnce || bytes >= most_bytes; }
  bool is_half_full() const { return 2 * pages >= kPagesAtOnce || 2 * bytes >= most_bytes; }
};

// Of a page that is there or not: as it is now in the place of what was copied before.
Status Engine::copy_page(std::uint32_t page, const std::optional<std::string>& value,
                         CopyStep& step) {
  const RecordShape& shape = parts_.shape->record;
  std::vector<PostImage>& images = step.taking.record.images;
  const auto decode = [&](std::string_view bytes) -> Result<ExtentList> {
    HEXAD_TRY_ASSIGN(ExtentList extents, decode_page(bytes, page, shape));
    return parts_.log_blobs->resolve(std::move(extents));
  };
  ExtentList before;
  ExtentList now;
  const std::string to = page_key(step.copied.to, page);
  if (page < step.copied.until) {
    HEXAD_TRY_ASSIGN(const auto copy, get(to));
    if (copy.has_value()) {
      HEXAD_TRY_ASSIGN(before, decode(*copy));
    }
  }
  if (value.has_value()) {
    HEXAD_TRY_ASSIGN(now, decode(*value));
    if (give_share_ids(now, [this] { return new_body(); })) {
      images.push_back({page_key(step.copied.from, page), encode_page(now, shape)});
    }
    step.taking.blobs.note(now);
  }
  step.taking.blobs.change(before, now, step.taking.record);
  ++step.pages;
  step.bytes += value.has_value() ? value->size() : to.size();
  std::optional<std::string> image;
  if (!now.empty()) image = encode_page(now, shape);
  if (image.has_value() || !before.empty()) images.push_back({to, std::move(image)});
  return {};
}

Status Engine::copy_stale_pages(CopyStep& step) {
  // The next ones get on in any case.
  const bool alone = step.copied.until == kEndOfPages;
  for (const std::uint32_t page : step.copied.stale) {
    if (alone ? step.is_full() : step.is_half_full()) break;
    step.fresh.insert(page);
    std::optional<std::string> value;
    if (!is_cut(step.cut, page)) {
      HEXAD_TRY_ASSIGN(value, get(page_key(step.copied.from, page)));
    }
    HEXAD_TRY(copy_page(page, value, step));
  }
  return {};
}

Status Engine::copy_next_pages(CopyStep& step) {
  const BodyId body = step.copied.from;
  const std::uint32_t first = step.until;
  PageRange left{first, kEndOfPages};
  // One in any case: a stale page alone may have filled the record, and be stale again.
  while (!step.is_full() || step.until == first) {
    left = first_uncut(step.cut, left);
    if (left.empty()) {
      step.until = kEndOfPages;
      break;
    }
    const Visit take = [&](std::string_view key, std::string_view value) -> Result<bool> {
      HEXAD_TRY_ASSIGN(const PageKey parsed, parse_page_key(key));
      if (parsed.page >= left.end || (step.is_full() && step.until > first)) return false;
      HEXAD_TRY(copy_page(parsed.page, std::string(value), step));
      step.until = parsed.page + 1;
      return true;
    };
    HEXAD_TRY(scan_to_fill(page_prefix(body), page_key(body, left.from), take));
    left = {left.end, kEndOfPages};
  }
  return {};
}

Status Engine::copy_some_pages(CopiedPages& copied) {
  HEXAD_TRY(may_draw_ids());
  // Both pages, and what is counted of their blobs.
  const std::size_t most_bytes = std::min<std::size_t>(kBytesAtOnce, max_record() / 8);
  std::uint32_t until = 0;
  std::set<std::uint32_t> fresh;
  const FillRecord fill = [&](LogRecord& record) -> Status {
    CopyStep step{copied, {record}, {}, 0, 0, copied.until, {}, most_bytes};
    HEXAD_TRY_ASSIGN(const auto marks, get(cut_key(copied.from)));
    if (marks.has_value()) {
      HEXAD_TRY_ASSIGN(step.cut, decode_cuts(*marks));
    }
    record.images.push_back({writer_key(copied.to), std::string()});
    // First those that are stale, so that they do not become ever more.
    HEXAD_TRY(copy_stale_pages(step));
    HEXAD_TRY(copy_next_pages(step));
    HEXAD_TRY(step.taking.blobs.finish(*this, record));
    until = step.until;
    fresh = std::move(step.fresh);
    return {};
  };
  const auto placed = [&] {
    for (const std::uint32_t page : fresh) copied.stale.erase(page);
    copied.until = until;
  };
  return commit_internal(fill, placed).status();
}

std::shared_ptr<CopiedPages> Engine::begin_copy(BodyId from) {
  // Whoever lets go of it without having taken it leaves it to the background.
  std::shared_ptr<CopiedPages> copied(new CopiedPages{from, new_body()},
                                      [this](const CopiedPages* pages) {
                                        if (!pages->taken) doom({{pages->to}, {}});
                                        delete pages;
                                      });
  const SequencerLock lock(sequencer_);
  copying_.add(copied);
  return copied;
}

Result<std::shared_ptr<CopiedPages>> Engine::copy_pages(BodyId from,
                                                        std::shared_ptr<CopiedPages> copied) {
  // What the background has yet to take back goes first: each of those pages would be one that has
  // changed since, and without any writer there could be more of them than a copy may have.
  const auto begin = [&]() -> Status {
    HEXAD_TRY_ASSIGN(const auto marks, get(cut_key(from)));
    if (marks.has_value()) HEXAD_TRY(drop_all_cuts(from));
    copied = begin_copy(from);
    return {};
  };
  if (copied == nullptr || copied->from != from) HEXAD_TRY(begin());
  for (int lost = 0, rounds = 0; lost < kMaxCopies && rounds < kMaxRounds;) {
    HEXAD_TRY(copy_some_pages(*copied));
    {
      const SequencerLock lock(sequencer_);
      if (!copied->lost) {
        const bool whole = copied->until == kEndOfPages;
        if (whole && copied->stale.size() <= kFewStalePages) return copied;
        if (whole) ++rounds;
        continue;
      }
    }
    // What it was made of is mostly gone.
    HEXAD_TRY(begin());
    ++lost;
  }
  return Error{ErrorCode::kConflict,
               "the object that is cloned changes in more pages of 1 MiB than can be copied "
               "meanwhile, " +
                   std::to_string(kPagesAtOnce) + " with each record",
               "Retry, or write it from fewer threads."};
}

}  // namespace hexad::core
