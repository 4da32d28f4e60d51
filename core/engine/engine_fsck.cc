// fsck: that metadata and space agree, and, deep, that every cell is what its checksum says and
// that parity is the code of the data. Commits wait while it runs.
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "core/check/fsck_check.h"
#include "core/engine/engine.h"
#include "core/record/keys.h"

namespace hexad::core {

namespace {

// The first entry that one of them has otherwise than the other.
Result<std::optional<std::string>> find_difference(kv::IndexReader& fast, kv::IndexReader& slow) {
  HEXAD_TRY_ASSIGN(const std::unique_ptr<kv::IndexCursor> a, fast.cursor());
  HEXAD_TRY_ASSIGN(const std::unique_ptr<kv::IndexCursor> b, slow.cursor());
  HEXAD_TRY(a->seek_to_first());
  HEXAD_TRY(b->seek_to_first());
  while (a->valid() || b->valid()) {
    const bool only_fast = a->valid() && (!b->valid() || a->key() < b->key());
    const bool only_slow = b->valid() && (!a->valid() || b->key() < a->key());
    if (only_fast || only_slow || a->value() != b->value()) {
      const std::string key = printable(only_slow ? b->key() : a->key(), 64);
      return std::optional<std::string>("metadata key " + key +
                                        (only_fast ? " is in the index and not in the runs"
                                         : only_slow
                                             ? " is in the runs and not in the index"
                                             : " has another value in the index than in the runs"));
    }
    HEXAD_TRY(a->next());
    HEXAD_TRY(b->next());
  }
  return std::optional<std::string>();
}

// F12. Marks come before objects, objects before pages.
class CutCheck {
 public:
  void note_marks(BodyId body, const PageCuts& marks) { marks_[body] = marks; }
  // Whether its marks lie within its cuts.
  bool note_object(const ObjectRecord& object) {
    if (object.body == 0) return true;
    if (!object.cuts.empty()) cuts_[object.body] = object.cuts;
    const auto marks = marks_.find(object.body);
    if (marks == marks_.end()) return true;
    PageCuts all = object.cuts;
    for (const PageRange& mark : marks->second) add_cut(all, mark);
    return all == object.cuts;
  }
  // Whether somebody takes the page back, if it was cut off.
  bool is_found(BodyId body, std::uint32_t page) const {
    const auto cuts = cuts_.find(body);
    if (cuts == cuts_.end() || !is_cut(cuts->second, page)) return true;
    const auto marks = marks_.find(body);
    return marks != marks_.end() && is_cut(marks->second, page);
  }

 private:
  std::map<BodyId, PageCuts> cuts_;
  std::map<BodyId, PageCuts> marks_;
};

}  // namespace

// What was counted is of the state that was checked; commits since then have changed the totals by
// what they changed, so the difference still holds.
Status Engine::correct_totals(const FsckCheck::WrongTotals& wrong) {
  const FillRecord fill = [&](LogRecord& record) -> Status {
    const std::string key = totals_key(wrong.collection);
    CollectionTotals totals;
    HEXAD_TRY_ASSIGN(const auto value, parts_.metadata->get_latest(key));
    if (value.has_value()) {
      const Result<CollectionTotals> decoded = decode_totals(*value);
      if (decoded.ok()) totals = *decoded;
    }
    totals.objects += wrong.counted.objects - wrong.recorded.objects;
    totals.bytes += wrong.counted.bytes - wrong.recorded.bytes;
    std::optional<std::string> image;
    if (totals.bytes > kMaxCollectionBytes) {
      return Error{ErrorCode::kTooBig, "the totals of a collection pass their limit", ""};
    }
    if (totals.objects > 0) image = encode_totals(totals);
    record.images.push_back({key, std::move(image)});
    return {};
  };
  return commit_internal(fill).status();
}

// F9, F10.
Status Engine::check_runs(FsckCheck& check, bool deep) {
  for (const RunCatalogue::Owned& owned : parts_.runs->owned()) {
    HEXAD_TRY(check.check_extents(owned.owner, owned.pieces));
    for (const alloc::Extent& stripe : owned.stripes) check.claim(owned.owner, stripe);
  }
  const std::shared_ptr<const kv::RunSet> runs = parts_.runs->set();
  for (const std::shared_ptr<kv::RunReader>& run : runs->runs()) {
    const Status verified = deep ? run->verify() : Status();
    if (!verified.ok()) {
      check.find("run of LSNs " + std::to_string(run->info().first_lsn) + " to " +
                     std::to_string(run->info().last_lsn),
                 verified.error().message);
    }
  }
  if (!parts_.index->has_fast() || runs->lsn() == 0) return {};
  const Status index = parts_.index->verify();
  if (!index.ok()) {
    check.find("index", index.error().message);
    return {};
  }
  HEXAD_TRY_ASSIGN(const std::unique_ptr<kv::IndexReader> fast, parts_.index->snapshot());
  const std::unique_ptr<kv::IndexReader> slow = runs->snapshot(runs);
  HEXAD_TRY_ASSIGN(const std::optional<std::string> differs, find_difference(*fast, *slow));
  if (differs.has_value()) check.find("index", *differs);
  return {};
}

Result<FsckReport> Engine::fsck(const FsckOptions& options) {
  if (options.repair) HEXAD_TRY(writable());
  // No checkpoint meanwhile: what it writes belongs to nothing yet.
  HEXAD_TRY(lock_unless_silent(checkpointer_->mutex(), "fsck waits for a checkpoint"));
  io::Lock checkpoints(checkpointer_->mutex(), std::adopt_lock);
  HEXAD_TRY(lock_unless_silent(sequencer_, "fsck waits for commits"));
  SequencerLock lock(sequencer_, std::adopt_lock);
  if (lane_ != nullptr && !lane_->stopped().has_value()) {
    HEXAD_TRY(wait_unless_silent(lane_->next_lsn() - 1, "fsck waits for commits"));
    HEXAD_TRY(lane_->drain());
  }
  const PackChecker packs(*parts_.shape, *parts_.codec, *parts_.space, parts_.system->queue(),
                          *parts_.counters);
  FsckCheck check(options, *parts_.shape, *parts_.codec, *reader_, packs, *parts_.log_blobs,
                  *parts_.space);
  const RecordShape& shape = parts_.shape->record;

  HEXAD_TRY_ASSIGN(ReadState state, reads_->read_state());
  std::map<BodyId, std::string> bodies;  // omaps, too
  CutCheck cut_check;
  std::map<OmapId, std::string> strays;  // entries of omaps whose owner has not been met
  HEXAD_TRY_ASSIGN(MetaView::Cursor opened, state.view->cursor());
  std::optional<MetaView::Cursor> cursor(std::move(opened));
  HEXAD_TRY(cursor->seek(""));
  while (cursor->valid()) {
    const std::string_view key = cursor->key();
    const std::string subject = "metadata key " + printable(key, 64);
    switch (key.empty() ? '\0' : key[0]) {
      case 'c': {
        const Result<CollectionRecord> record = decode_collection(cursor->value());
        if (!record.ok()) {
          check.find(subject, record.error().message);
          break;
        }
        for (const NameRange& names : ranges_of(record->all_parts())) {
          check.claim_names(names, {record->id, std::string(key.substr(1)), false});
        }
        break;
      }
      case 'd': {
        const Result<NameRange> names = decode_doomed(key, cursor->value());
        if (!names.ok())
          check.find(subject, names.error().message);
        else
          check.claim_names(*names, {0, "that was removed", true});
        break;
      }
      case 'k': {
        const Result<BodyId> body = parse_cut_key(key);
        const Result<PageCuts> marks = decode_cuts(cursor->value());
        if (!body.ok() || !marks.ok())
          check.find(subject, body.ok() ? marks.error().message : body.error().message);
        else
          cut_check.note_marks(*body, *marks);
        break;
      }
      case 'l':
      case 's': {
        const Result<std::uint64_t> id =
            key[0] == 'l' ? parse_layer_key(key) : parse_share_key(key);
        const Result<std::uint64_t> owners = decode_owners(cursor->value());
        if (!id.ok() || !owners.ok())
          check.find(subject, id.ok() ? owners.error().message : id.error().message);
        else if (key[0] == 'l')
          check.note_layer_owners(*id, *owners);
        else
          check.note_blob_owners(*id, *owners);
        break;
      }
      case 'o': {
        const Result<ObjectKey> parsed = parse_object_key(key);
        const Result<ObjectRecord> record = decode_object(cursor->value(), shape);
        if (!parsed.ok() || !record.ok()) {
          check.find(subject, parsed.ok() ? record.error().message : parsed.error().message);
          break;
        }
        ++check.report.objects_checked;
        const FsckCheck::NameOwner* collection = check.owner_of(parsed->space, parsed->name);
        const bool seen = collection != nullptr && !collection->removed;
        if (collection == nullptr || seen) {
          check.count_object(seen ? collection->collection : parsed->space, record->size);
        }
        const std::string owner =
            "object " +
            (seen ? printable(collection->name) : "collection " + std::to_string(parsed->space)) +
            "/" + printable(parsed->name);
        if (collection == nullptr) check.find(owner, "its collection does not exist");
        if (record->body != 0) bodies[record->body] = owner;
        if (!cut_check.note_object(*record))
          check.find(owner, "more pages are marked than cut off");
        if (record->omap != 0) bodies[record->omap] = "omap of " + owner;
        for (const OmapId layer : record->layers) bodies[layer] = "omap layer of " + owner;
        check.count_layers(record->layers);
        HEXAD_TRY(check.check_extents(owner, record->extents));
        break;
      }
      case 'p': {
        const Result<OmapKey> parsed = parse_omap_key(key);
        if (parsed.ok() && is_hidden_entry(cursor->value())) {
          if (bodies.count(parsed->omap) == 0) strays.emplace(parsed->omap, subject);
          break;
        }
        const Result<ObjectRecord> record = decode_object(cursor->value(), shape);
        if (!parsed.ok() || !record.ok()) {
          check.find(subject, parsed.ok() ? record.error().message : parsed.error().message);
          break;
        }
        const auto owner = bodies.find(parsed->omap);
        if (owner == bodies.end()) strays.emplace(parsed->omap, subject);
        const std::string entry =
            owner == bodies.end() ? subject
                                  : owner->second + ", key \"" + printable(parsed->key, 64) + "\"";
        if (record->body != 0) bodies[record->body] = entry;
        HEXAD_TRY(check.check_extents(entry, record->extents));
        break;
      }
      case 't': {
        const Result<CollectionId> collection = parse_totals_key(key);
        const Result<CollectionTotals> totals = decode_totals(cursor->value());
        if (!collection.ok() || !totals.ok()) {
          check.find(subject,
                     collection.ok() ? totals.error().message : collection.error().message);
        } else {
          check.note_totals(*collection, *totals);
        }
        break;
      }
      case 'w': {
        const Result<BodyId> body = parse_writer_key(key);
        if (!body.ok())
          check.find(subject, body.error().message);
        else
          bodies[*body] = "unpublished writer " + std::to_string(*body);
        break;
      }
      case 'x': {
        const Result<PageKey> parsed = parse_page_key(key);
        if (!parsed.ok()) {
          check.find(subject, parsed.error().message);
          break;
        }
        const Result<ExtentList> extents = decode_page(cursor->value(), parsed->page, shape);
        const auto owner = bodies.find(parsed->body);
        if (owner == bodies.end()) check.find(subject, "a page of no object");
        if (!cut_check.is_found(parsed->body, parsed->page))
          check.find(subject, "a page that was cut off, and is taken back by nobody");
        if (!extents.ok())
          check.find(subject, extents.error().message);
        else
          HEXAD_TRY(check.check_extents(owner == bodies.end() ? subject : owner->second, *extents));
        break;
      }
      case 'm':
      case 'z':
        break;
      default:
        check.find(subject, "unknown kind of key");
    }
    HEXAD_TRY(cursor->next());
  }
  for (const auto& [omap, entry] : strays) {
    if (bodies.count(omap) == 0) check.find(entry, "an omap of no object");
  }
  cursor.reset();
  state.view.reset();
  HEXAD_TRY(check_runs(check, options.deep));
  check.find_wrong_owners();
  check.check_leaks();
  check.check_packs();
  for (const auto& [device, cells] : check.silent) {
    const Finding finding = silence_finding(device, cells);
    check.find(finding.subject, finding.problem);
  }
  const Status zones = parts_.space->check_invariants();
  if (!zones.ok()) check.find("zones", zones.error().message);
  const std::vector<FsckCheck::WrongTotals> wrong = check.find_wrong_totals();
  lock.unlock();
  checkpoints.unlock();
  if (options.repair) {
    for (const FsckCheck::WrongTotals& totals : wrong) {
      Finding& finding = check.report.findings[totals.finding];
      const Status corrected = correct_totals(totals);
      finding.repaired = corrected.ok();
      if (!corrected.ok()) {
        finding.problem += "; it could not be put right: " + corrected.error().message;
      }
    }
  }
  return std::move(check.report);
}

}  // namespace hexad::core
