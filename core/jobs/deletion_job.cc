#include "core/jobs/deletion_job.h"

#include <optional>
#include <set>
#include <utility>

#include "core/record/keys.h"
#include "core/record/object_extents.h"

namespace hexad::core {

namespace {

// Reclaimed with one record, so that none outgrows the log: keys, and bytes of their values.
constexpr std::size_t kKeysAtOnce = 1024;
constexpr std::size_t kBytesAtOnce = 64 << 10;

}  // namespace

DeletionJob::DeletionJob(Parts parts)
    : parts_(std::move(parts)), pending_(parts_.executor), step_mutex_(parts_.executor) {}

void DeletionJob::schedule(ScheduledDeletions&& deletions) {
  if (deletions.empty()) return;
  pending_.schedule(std::move(deletions));
  parts_.wake();
}

Result<bool> DeletionJob::reclaim_keys(const PendingKeys& pending, std::string& from,
                                       const Reclaim& reclaim) {
  bool last = true;
  std::string next;
  std::vector<OmapId> gone;
  const InternalCommits::FillRecord fill = [&](LogRecord& record) -> Status {
    last = true;
    std::size_t keys = 0;
    std::size_t bytes = 0;
    Reclaiming reclaiming{record};
    const PlanSource::Visit take = [&](std::string_view key,
                                       std::string_view value) -> Result<bool> {
      if (key >= pending.end) return false;
      if (keys == kKeysAtOnce || bytes + reclaiming.blobs.forward_bytes() >= kBytesAtOnce) {
        last = false;
        return false;
      }
      ++keys;
      bytes += key.size() + value.size();
      HEXAD_TRY(reclaim(key, value, reclaiming));
      record.images.push_back({std::string(key), std::nullopt});
      next = key;
      return true;
    };
    HEXAD_TRY(parts_.commits.scan_to_fill(pending.prefix, from, take));
    HEXAD_TRY(reclaiming.blobs.finish(parts_.commits, record));
    HEXAD_TRY_ASSIGN(gone, reclaiming.layers.finish(parts_.commits, record));
    if (last) record.images.push_back({pending.marker, std::nullopt});
    return {};
  };
  HEXAD_TRY(parts_.commits.commit_internal(fill).status());
  schedule({std::move(gone), {}});
  from = std::move(next);
  return last;
}

void DeletionJob::reclaim_blobs(std::string_view key, const ExtentList& extents,
                                Reclaiming& reclaiming) const {
  reclaiming.blobs.give_up({key}, parts_.log_blobs.resolve(extents), reclaiming.record);
}

// Objects, or entries of an omap. What they have that is not deleted with them is scheduled for
// deletion.
Result<bool> DeletionJob::reclaim_records(const PendingKeys& keys, std::string& from) {
  std::set<BodyId> bodies;  // a record that finds no room is made again
  const Reclaim reclaim = [&](std::string_view key, std::string_view value,
                              Reclaiming& reclaiming) -> Status {
    if (is_hidden_entry(value)) return {};
    HEXAD_TRY_ASSIGN(const ObjectRecord object, decode_object(value, parts_.shape));
    reclaim_blobs(key, object.extents, reclaiming);
    reclaiming.layers.change(object.layers, -1);
    for (const BodyId body : {object.body, object.omap}) {
      if (body == 0) continue;
      reclaiming.record.images.push_back({writer_key(body), std::string()});
      bodies.insert(body);
    }
    return {};
  };
  HEXAD_TRY_ASSIGN(const bool last, reclaim_keys(keys, from, reclaim));
  schedule({{bodies.begin(), bodies.end()}, {}});
  return last;
}

Status DeletionJob::reclaim_page(std::string_view key, std::string_view value,
                                 Reclaiming& reclaiming) const {
  HEXAD_TRY_ASSIGN(const PageKey parsed, parse_page_key(key));
  HEXAD_TRY_ASSIGN(const ExtentList extents, decode_page(value, parsed.page, parts_.shape));
  reclaim_blobs(key, extents, reclaiming);
  return {};
}

Result<bool> DeletionJob::reclaim_pages(const PendingKeys& keys, std::string& from) {
  const Reclaim reclaim = [this](std::string_view key, std::string_view value,
                                 Reclaiming& reclaiming) {
    return reclaim_page(key, value, reclaiming);
  };
  return reclaim_keys(keys, from, reclaim);
}

// Of a body the pages, of an omap the entries: no id is both.
Status DeletionJob::reclaim_body(BodyId body) {
  bool is_omap = false;
  HEXAD_TRY(parts_.commits.scan(omap_prefix(body),
                                [&](std::string_view, std::string_view) -> Result<bool> {
                                  is_omap = true;
                                  return false;
                                }));
  const std::string prefix = is_omap ? omap_prefix(body) : page_prefix(body);
  const PendingKeys keys{prefix, *prefix_end(prefix), writer_key(body)};
  std::string from = prefix;
  for (bool last = false; !last;) {
    HEXAD_TRY_ASSIGN(last, is_omap ? reclaim_records(keys, from) : reclaim_pages(keys, from));
  }
  return {};
}

Result<bool> DeletionJob::reclaim_objects(const NameRange& names) {
  if (!names.has_key(objects_from_)) objects_from_ = names.first_key();
  const PendingKeys keys{object_prefix(names.space), names.end_key(),
                         deletion_key(names.space, names.from)};
  return reclaim_records(keys, objects_from_);
}

// One record's worth, of what the metadata has marked by then: transactions may have taken pages
// out of it meanwhile.
Result<bool> DeletionJob::reclaim_some_cuts(BodyId body) {
  bool last = true;
  const InternalCommits::FillRecord fill = [&](LogRecord& record) -> Status {
    last = true;
    HEXAD_TRY_ASSIGN(const auto value, parts_.commits.get(cut_key(body)));
    if (!value.has_value()) return {};
    HEXAD_TRY_ASSIGN(PageCuts marks, decode_cuts(*value));
    std::size_t keys = 0;
    std::size_t bytes = 0;
    Reclaiming reclaiming{record};
    while (last && !marks.empty()) {
      PageRange& mark = marks.front();
      const PlanSource::Visit take = [&](std::string_view key,
                                         std::string_view page) -> Result<bool> {
        HEXAD_TRY_ASSIGN(const PageKey parsed, parse_page_key(key));
        if (parsed.page >= mark.end) return false;
        if (keys == kKeysAtOnce || bytes + reclaiming.blobs.forward_bytes() >= kBytesAtOnce) {
          mark.from = parsed.page;
          last = false;
          return false;
        }
        ++keys;
        bytes += key.size() + page.size();
        HEXAD_TRY(reclaim_page(key, page, reclaiming));
        record.images.push_back({std::string(key), std::nullopt});
        return true;
      };
      HEXAD_TRY(parts_.commits.scan_to_fill(page_prefix(body), page_key(body, mark.from), take));
      if (last) marks.erase(marks.begin());
    }
    HEXAD_TRY(reclaiming.blobs.finish(parts_.commits, record));
    std::optional<std::string> left;
    if (!marks.empty()) left = encode_cuts(marks);
    record.images.push_back({cut_key(body), std::move(left)});
    return {};
  };
  HEXAD_TRY(parts_.commits.commit_internal(fill).status());
  return last;
}

Status DeletionJob::reclaim_cuts(BodyId body) {
  for (bool last = false; !last;) {
    HEXAD_TRY_ASSIGN(last, reclaim_some_cuts(body));
  }
  return {};
}

Result<bool> DeletionJob::reclaim_some(const ScheduledDeletions& one) {
  if (!one.names.empty()) return reclaim_objects(one.names.front());
  if (!one.cuts.empty()) return reclaim_some_cuts(one.cuts.front());
  HEXAD_TRY(reclaim_body(one.bodies.front()));
  return true;
}

Result<bool> DeletionJob::step() {
  const std::uint64_t before = deleted_.load(std::memory_order_acquire);
  const io::Lock one_at_a_time(step_mutex_);
  std::optional<ScheduledDeletions> one = pending_.take();
  if (!one.has_value()) return deleted_.load(std::memory_order_acquire) != before;
  const Result<bool> gone = reclaim_some(*one);
  if (!gone.ok()) {
    pending_.note_failed(*std::move(one));
    return gone.error();
  }
  if (*gone) {
    pending_.note_deleted();
  } else {
    pending_.note_some_deleted(*std::move(one));
  }
  deleted_.fetch_add(1, std::memory_order_release);
  return true;
}

Status DeletionJob::schedule_found(Counters& counters, std::vector<std::string>& notes) {
  ScheduledDeletions found;
  const PlanSource::Visit take_body = [&](std::string_view key, std::string_view) -> Result<bool> {
    HEXAD_TRY_ASSIGN(const BodyId body, parse_writer_key(key));
    found.bodies.push_back(body);
    return true;
  };
  const PlanSource::Visit take_names = [&](std::string_view key,
                                           std::string_view value) -> Result<bool> {
    HEXAD_TRY_ASSIGN(NameRange names, decode_deletion(key, value));
    found.names.push_back(std::move(names));
    return true;
  };
  const PlanSource::Visit take_cut = [&](std::string_view key, std::string_view) -> Result<bool> {
    HEXAD_TRY_ASSIGN(const BodyId body, parse_cut_key(key));
    found.cuts.push_back(body);
    return true;
  };
  HEXAD_TRY(parts_.commits.scan(kWriterKeys, take_body));
  HEXAD_TRY(parts_.commits.scan(kDeletionKeys, take_names));
  HEXAD_TRY(parts_.commits.scan(kCutKeys, take_cut));
  if (!found.bodies.empty()) {
    counters.add(CounterId::kWritersAbandoned, found.bodies.size());
    notes.push_back("recovery: the space of " + std::to_string(found.bodies.size()) +
                    " writers that never published, or of large objects and omaps that were "
                    "removed, is being reclaimed");
  }
  if (!found.names.empty()) {
    notes.push_back("recovery: the objects of removed collections are being reclaimed");
  }
  if (!found.cuts.empty()) {
    notes.push_back("recovery: the space of what was cut off " + std::to_string(found.cuts.size()) +
                    " large objects is being reclaimed");
  }
  schedule(std::move(found));
  return {};
}

}  // namespace hexad::core
