// What no name leads to any more and is taken back bit by bit: bodies of streamed writers that
// never published and of large objects that were removed or replaced, omaps, what was cut off of
// large objects, and the objects of removed collections. Each has a key of its own until nothing is
// left of it, so what a crash leaves undone is found by the next opening. What an error leaves
// undone is tried again, too.
#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "core/engine/engine.h"
#include "core/record/keys.h"
#include "core/record/object_extents.h"

namespace hexad::core {

namespace {

// Taken back with one record, so that none outgrows the log: keys, and bytes of their values.
constexpr std::size_t kKeysAtOnce = 1024;
constexpr std::size_t kBytesAtOnce = 64 << 10;
// Between two tries when the first has failed; doubled each time.
constexpr io::Nanos kFirstPause = 100'000'000;
constexpr io::Nanos kLongestPause = 10'000'000'000;

}  // namespace

// Removes the keys from `from` on, and moves `from`: as many as go with one record. Whether the
// marker went with them.
Result<bool> Engine::drop_keys(const DoomedKeys& doomed, std::string& from,
                               const TakeBack& take_back) {
  bool last = true;
  std::string next;
  std::vector<OmapId> gone;
  const FillRecord fill = [&](LogRecord& record) -> Status {
    last = true;
    std::size_t keys = 0;
    std::size_t bytes = 0;
    Taking taking{record};
    const Visit take = [&](std::string_view key, std::string_view value) -> Result<bool> {
      if (key >= doomed.end) return false;
      if (keys == kKeysAtOnce || bytes >= kBytesAtOnce) {
        last = false;
        return false;
      }
      ++keys;
      bytes += key.size() + value.size();
      HEXAD_TRY(take_back(key, value, taking));
      record.images.push_back({std::string(key), std::nullopt});
      next = key;
      return true;
    };
    HEXAD_TRY(scan_to_fill(doomed.prefix, from, take));
    HEXAD_TRY(taking.blobs.finish(*this, record));
    HEXAD_TRY_ASSIGN(gone, taking.layers.finish(*this, record));
    if (last) record.images.push_back({doomed.marker, std::nullopt});
    return {};
  };
  HEXAD_TRY(commit_internal(fill).status());
  doom({std::move(gone), {}});
  from = std::move(next);
  return last;
}

void Engine::take_back_blobs(const ExtentList& extents, Taking& taking) const {
  taking.blobs.change(parts_.log_blobs->resolve(extents), {}, taking.record);
}

// Objects, or entries of an omap. What they have that is not dropped with them is doomed.
Result<bool> Engine::drop_records(const DoomedKeys& keys, std::string& from) {
  std::set<BodyId> bodies;  // a record that finds no room is made again
  const TakeBack take_back = [&](std::string_view, std::string_view value,
                                 Taking& taking) -> Status {
    if (is_hidden_entry(value)) return {};
    HEXAD_TRY_ASSIGN(const ObjectRecord object, decode_object(value, parts_.shape->record));
    take_back_blobs(object.extents, taking);
    taking.layers.change(object.layers, -1);
    for (const BodyId body : {object.body, object.omap}) {
      if (body == 0) continue;
      taking.record.images.push_back({writer_key(body), std::string()});
      bodies.insert(body);
    }
    return {};
  };
  HEXAD_TRY_ASSIGN(const bool last, drop_keys(keys, from, take_back));
  doom({{bodies.begin(), bodies.end()}, {}});
  return last;
}

Status Engine::take_back_page(std::string_view key, std::string_view value, Taking& taking) const {
  HEXAD_TRY_ASSIGN(const PageKey parsed, parse_page_key(key));
  HEXAD_TRY_ASSIGN(const ExtentList extents, decode_page(value, parsed.page, parts_.shape->record));
  take_back_blobs(extents, taking);
  return {};
}

Result<bool> Engine::drop_pages(const DoomedKeys& keys, std::string& from) {
  const TakeBack take_back = [this](std::string_view key, std::string_view value, Taking& taking) {
    return take_back_page(key, value, taking);
  };
  return drop_keys(keys, from, take_back);
}

// Of a body the pages, of an omap the entries: no id is both.
Status Engine::drop_body(BodyId body) {
  bool is_omap = false;
  HEXAD_TRY(scan(omap_prefix(body), [&](std::string_view, std::string_view) -> Result<bool> {
    is_omap = true;
    return false;
  }));
  const std::string prefix = is_omap ? omap_prefix(body) : page_prefix(body);
  const DoomedKeys keys{prefix, *prefix_end(prefix), writer_key(body)};
  std::string from = prefix;
  for (bool last = false; !last;) {
    HEXAD_TRY_ASSIGN(last, is_omap ? drop_records(keys, from) : drop_pages(keys, from));
  }
  return {};
}

// One record's worth. Whether that was the last of them.
Result<bool> Engine::drop_objects(const NameRange& names) {
  if (!names.has_key(drop_from_)) drop_from_ = names.first_key();
  const DoomedKeys keys{object_prefix(names.space), names.end_key(),
                        doomed_key(names.space, names.from)};
  return drop_records(keys, drop_from_);
}

// One record's worth, of what the metadata has marked by then: transactions may have taken pages
// out of it meanwhile.
Result<bool> Engine::drop_cut(BodyId body) {
  bool last = true;
  const FillRecord fill = [&](LogRecord& record) -> Status {
    last = true;
    HEXAD_TRY_ASSIGN(const auto value, get(cut_key(body)));
    if (!value.has_value()) return {};
    HEXAD_TRY_ASSIGN(PageCuts marks, decode_cuts(*value));
    std::size_t keys = 0;
    std::size_t bytes = 0;
    Taking taking{record};
    while (last && !marks.empty()) {
      PageRange& mark = marks.front();
      const Visit take = [&](std::string_view key, std::string_view page) -> Result<bool> {
        HEXAD_TRY_ASSIGN(const PageKey parsed, parse_page_key(key));
        if (parsed.page >= mark.end) return false;
        if (keys == kKeysAtOnce || bytes >= kBytesAtOnce) {
          mark.from = parsed.page;
          last = false;
          return false;
        }
        ++keys;
        bytes += key.size() + page.size();
        HEXAD_TRY(take_back_page(key, page, taking));
        record.images.push_back({std::string(key), std::nullopt});
        return true;
      };
      HEXAD_TRY(scan_to_fill(page_prefix(body), page_key(body, mark.from), take));
      if (last) marks.erase(marks.begin());
    }
    HEXAD_TRY(taking.blobs.finish(*this, record));
    std::optional<std::string> left;
    if (!marks.empty()) left = encode_cuts(marks);
    record.images.push_back({cut_key(body), std::move(left)});
    return {};
  };
  HEXAD_TRY(commit_internal(fill).status());
  return last;
}

Status Engine::drop_all_cuts(BodyId body) {
  for (bool last = false; !last;) {
    HEXAD_TRY_ASSIGN(last, drop_cut(body));
  }
  return {};
}

void Engine::doom(Doomed&& doomed) {
  if (doomed.empty()) return;
  {
    const io::Lock lock(state_mutex_);
    for (const BodyId body : doomed.cuts) {
      const auto known = std::find(doomed_.cuts.begin(), doomed_.cuts.end(), body);
      if (known == doomed_.cuts.end()) doomed_.cuts.push_back(body);
    }
    doomed_.bodies.insert(doomed_.bodies.end(), doomed.bodies.begin(), doomed.bodies.end());
    doomed_.names.insert(doomed_.names.end(), doomed.names.begin(), doomed.names.end());
  }
  jobs_->wake(*deletion_job_);
}

class Engine::DeletionJob : public Job {
 public:
  explicit DeletionJob(Engine& engine) : engine_(engine) {}
  std::string_view name() const override { return "deletion"; }
  std::string_view purpose() const override { return "taking back the space of a removed object"; }
  std::optional<io::Nanos> due() override {
    const io::Lock lock(engine_.state_mutex_);
    return engine_.doomed_wait();
  }
  Result<bool> step() override { return engine_.drop_doomed(); }

 private:
  Engine& engine_;
};

std::unique_ptr<Job> Engine::make_deletion_job() { return std::make_unique<DeletionJob>(*this); }

std::optional<io::Nanos> Engine::doomed_wait() {
  if (doomed_.empty()) return std::nullopt;
  return std::max<io::Nanos>(0, doomed_retry_at_ - executor().clock().now());
}

// Whether nothing is left of it.
Result<bool> Engine::drop_first_of(const Doomed& doomed) {
  if (!doomed.names.empty()) return drop_objects(doomed.names.front());
  if (!doomed.cuts.empty()) return drop_cut(doomed.cuts.front());
  HEXAD_TRY(drop_body(doomed.bodies.front()));
  return true;
}

// One body or some objects at most, and one at a time: who needs the space waits for the drop that
// is under way. What fails is tried again when everything else has been, after a pause that gets
// longer; until then nobody finds space here.
Result<bool> Engine::drop_doomed() {
  const std::uint64_t before = drops_.load(std::memory_order_acquire);
  const io::Lock one_at_a_time(doom_mutex_);
  const auto move_first = [](auto& from, auto& to) {
    to.push_back(std::move(from.front()));
    from.erase(from.begin());
  };
  Doomed one;
  {
    const io::Lock lock(state_mutex_);
    if (doomed_wait() != io::Nanos{0}) return drops_.load(std::memory_order_acquire) != before;
    if (!doomed_.bodies.empty()) {
      move_first(doomed_.bodies, one.bodies);
    } else if (!doomed_.cuts.empty()) {
      move_first(doomed_.cuts, one.cuts);
    } else {
      move_first(doomed_.names, one.names);
    }
  }
  const Result<bool> gone = drop_first_of(one);
  const io::Lock lock(state_mutex_);
  const auto put_back = [](auto& to, auto at, const auto& ids) {
    to.insert(at, ids.begin(), ids.end());
  };
  if (!gone.ok()) {
    put_back(doomed_.bodies, doomed_.bodies.end(), one.bodies);
    put_back(doomed_.names, doomed_.names.end(), one.names);
    put_back(doomed_.cuts, doomed_.cuts.end(), one.cuts);
    doomed_pause_ = std::clamp(2 * doomed_pause_, kFirstPause, kLongestPause);
    doomed_retry_at_ = executor().clock().now() + doomed_pause_;
    return gone.error();
  }
  doomed_pause_ = 0;
  if (!*gone) {
    put_back(doomed_.names, doomed_.names.begin(), one.names);
    put_back(doomed_.cuts, doomed_.cuts.begin(), one.cuts);
  }
  drops_.fetch_add(1, std::memory_order_release);
  return true;
}

// Found by an opening.
Status Engine::doom_abandoned() {
  Doomed doomed;
  const Visit take_body = [&](std::string_view key, std::string_view) -> Result<bool> {
    HEXAD_TRY_ASSIGN(const BodyId body, parse_writer_key(key));
    doomed.bodies.push_back(body);
    return true;
  };
  const Visit take_names = [&](std::string_view key, std::string_view value) -> Result<bool> {
    HEXAD_TRY_ASSIGN(NameRange names, decode_doomed(key, value));
    doomed.names.push_back(std::move(names));
    return true;
  };
  const Visit take_cut = [&](std::string_view key, std::string_view) -> Result<bool> {
    HEXAD_TRY_ASSIGN(const BodyId body, parse_cut_key(key));
    doomed.cuts.push_back(body);
    return true;
  };
  HEXAD_TRY(scan(kWriterKeys, take_body));
  HEXAD_TRY(scan(kDoomedKeys, take_names));
  HEXAD_TRY(scan(kCutKeys, take_cut));
  if (!doomed.bodies.empty()) {
    parts_.counters->add(CounterId::kWritersAbandoned, doomed.bodies.size());
    parts_.notes.push_back("recovery: the space of " + std::to_string(doomed.bodies.size()) +
                           " writers that never published, or of large objects and omaps that were "
                           "removed, is being taken back");
  }
  if (!doomed.names.empty()) {
    parts_.notes.push_back("recovery: the objects of removed collections are being taken back");
  }
  if (!doomed.cuts.empty()) {
    parts_.notes.push_back("recovery: the space of what was cut off " +
                           std::to_string(doomed.cuts.size()) +
                           " large objects is being taken back");
  }
  doom(std::move(doomed));
  return {};
}

}  // namespace hexad::core
