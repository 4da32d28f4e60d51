// Bodies whose pages no object names: of streamed writers that never published, and of large
// objects that were removed or replaced.
#include "core/engine.h"
#include "core/keys.h"
#include "core/object_extents.h"

namespace hexad::core {

namespace {

// Pages given back per record, so that no record outgrows the log.
constexpr std::size_t kPagesPerRecord = 1024;

}  // namespace

// In several records; the writer key goes with the last, so that a crash in between leaves the rest
// to the next opening.
Status Engine::drop_body(BodyId body) {
  const std::string prefix = page_prefix(body);
  std::string from = prefix;  // the pages before are gone
  std::string next;
  bool more = true;
  const FillRecord next_pages = [&](LogRecord& record) -> Status {
    more = false;
    std::size_t pages = 0;
    const Visit take = [&](std::string_view key, std::string_view value) -> Result<bool> {
      if (pages++ == kPagesPerRecord) {
        more = true;
        return false;
      }
      HEXAD_TRY_ASSIGN(const PageKey parsed, parse_page_key(key));
      HEXAD_TRY_ASSIGN(const ExtentList extents,
                       decode_page(value, parsed.page, parts_.shape->record));
      for (const Blob& blob : blobs_of(parts_.log_blobs->resolve(extents))) add_death(record, blob);
      record.images.push_back({std::string(key), std::nullopt});
      return true;
    };
    HEXAD_TRY(scan_from(prefix, from, take));
    if (!more) record.images.push_back({writer_key(body), std::nullopt});
    next = record.images.back().key;
    return {};
  };
  while (more) {
    HEXAD_TRY(commit_internal(next_pages).status());
    from = next;
  }
  return {};
}

void Engine::doom(const std::vector<BodyId>& bodies) {
  const io::Lock lock(state_mutex_);
  doomed_.insert(doomed_.end(), bodies.begin(), bodies.end());
  background_wake_.notify_all();
}

// One body at most, and one at a time: who needs its space waits for the drop that is under way.
// Its writer key is in the metadata since the removal: what a crash, or an error here, leaves
// undone is done by the next opening.
Result<bool> Engine::drop_doomed() {
  const std::uint64_t before = drops_.load(std::memory_order_acquire);
  const io::Lock one_at_a_time(doom_mutex_);
  BodyId body = 0;
  {
    const io::Lock lock(state_mutex_);
    if (doomed_.empty()) return drops_.load(std::memory_order_acquire) != before;
    body = doomed_.front();
    doomed_.erase(doomed_.begin());
  }
  HEXAD_TRY(drop_body(body));
  drops_.fetch_add(1, std::memory_order_release);
  return true;
}

// Found by an opening; dropped in the background, or by who needs the space.
Status Engine::doom_abandoned() {
  std::vector<BodyId> bodies;
  const Visit take = [&](std::string_view key, std::string_view) -> Result<bool> {
    HEXAD_TRY_ASSIGN(const BodyId body, parse_writer_key(key));
    bodies.push_back(body);
    return true;
  };
  HEXAD_TRY(scan(kWriterKeys, take));
  if (bodies.empty()) return {};
  parts_.counters->add(CounterId::kWritersAbandoned, bodies.size());
  parts_.notes.push_back("recovery: the space of " + std::to_string(bodies.size()) +
                         " writers that never published, or of removed objects, is taken back");
  doom(bodies);
  return {};
}

}  // namespace hexad::core
