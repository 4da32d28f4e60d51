#include "tools/import_export/object_ahead.h"

#include <algorithm>
#include <utility>

namespace hexad::tools {

namespace {

constexpr std::size_t kPage = 1000;  // names
// What one task reads, so that handing over costs little beside reading: so many objects, and no
// more than about so many bytes.
constexpr std::size_t kTogether = 16;
constexpr std::uint64_t kTogetherBytes = 128 << 10;

}  // namespace

ObjectAhead::ObjectAhead(Store& store, io::Executor& executor, std::string collection,
                         const std::string& prefix,
                         std::function<bool(const OpenObject&)> wants_data,
                         const AheadLimits& limits, WrongReads* wrong_reads)
    : store_(store),
      collection_(std::move(collection)),
      wants_data_(std::move(wants_data)),
      limits_(limits),
      wrong_reads_(wrong_reads),
      options_{prefix, "", "", kPage},
      batches_(executor) {}

bool ObjectAhead::next_entry() {
  while (next_ == page_.entries.size() && more_) {
    Result<ListPage> page = store_.list(collection_, options_);
    if (!page.ok()) failure_ = page.error();
    more_ = page.ok() && page->next.has_value();
    if (more_) options_.start_after = *page->next;
    page_ = page.ok() ? std::move(page).value() : ListPage();
    next_ = 0;
  }
  return next_ < page_.entries.size();
}

void ObjectAhead::look_ahead() {
  const std::size_t together = std::min(kTogether, limits_.objects);
  while (costs_.size() + together <= limits_.objects) {
    std::vector<std::string> names;
    std::uint64_t bytes = 0;
    while (names.size() < together && bytes < kTogetherBytes && next_entry()) {
      const ListEntry& entry = page_.entries[next_];
      const std::uint64_t cost = entry.size <= limits_.object_bytes ? entry.size : 0;
      if (!costs_.empty() && bytes_ + cost > limits_.bytes) break;
      costs_.push_back(cost);
      bytes_ += cost;
      bytes += cost;
      names.emplace_back(entry.name);
      ++next_;
    }
    if (names.empty()) return;
    batches_.add([this, names = std::move(names)] {
      std::vector<OpenObject> objects;
      for (const std::string& name : names) objects.push_back(fetch(name));
      return objects;
    });
  }
}

Result<std::optional<OpenObject>> ObjectAhead::next() {
  look_ahead();
  if (used_ == batch_.size()) {
    if (batches_.empty()) {
      HEXAD_TRY(failure_);
      return std::optional<OpenObject>();
    }
    batch_ = batches_.take();
    used_ = 0;
  }
  std::optional<OpenObject> object = std::move(batch_[used_]);
  ++used_;
  bytes_ -= costs_.front();
  costs_.pop_front();
  return object;
}

OpenObject ObjectAhead::fetch(const std::string& name) const {
  OpenObject object;
  object.name = name;
  object.status = load(object);
  return object;
}

Status ObjectAhead::load(OpenObject& object) const {
  HEXAD_TRY_ASSIGN(object.reader, store_.open_reader(collection_, object.name));
  HEXAD_TRY_ASSIGN(object.posix, load_posix_attributes(store_, collection_, object.name,
                                                       object.reader->attributes()));
  const std::uint64_t size = object.reader->stat().size;
  if (size > limits_.object_bytes || !wants_data_(object)) return {};
  ObjectBody body;
  ObjectPieces pieces(store_, collection_, object.name, {0, size}, size, limits_.object_bytes);
  for (;;) {
    HEXAD_TRY_ASSIGN(const std::optional<ObjectPiece> piece, pieces.next());
    if (!piece.has_value()) break;
    body.pieces.push_back(*piece);
    if (piece->hole) continue;
    const std::size_t before = body.data.size();
    body.data.resize(before + piece->length);
    object.reader->seek(piece->offset);
    const Status read = object.reader->read(MutByteView(body.data).subspan(before)).status();
    if (wrong_reads_ != nullptr) {
      wrong_reads_->note(store_, {collection_, object.name, piece->offset, piece->length});
    }
    HEXAD_TRY(read);
  }
  object.body = std::move(body);
  return {};
}

}  // namespace hexad::tools
