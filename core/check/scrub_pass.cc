// A scrub: every stripe that is stored is read as a whole, judged and put right, piece by piece,
// while commits, checkpoints and merges go on. First the pack stripes, zone by zone; then the
// private stripes, object by object; then those of the runs; at last labels and roots
// (core/check/header_check.h).
//
//   U1  a stripe is looked at, and written back to, only while something holds it: private ones a
//       pinned state whose metadata has the blob; pack stripes one that was durable before they
//       were found alive; stripes of runs their reader. So its units do not change hands (R9)
//   U2  cells that are on their way to devices are passed over: they are not there yet
//   U3  what is written back stands behind sums from elsewhere than the stripe: those of the blob's
//       record, or, of a pack stripe, that of its footer in the zone's image or the log (J4) and
//       those of blobs that the metadata has in it. A footer that is only right in itself does not
//       do: an earlier owner of the place may have left one, on cells that lost a write
//   U4  a piece ends after some MiB or keys, and the state with it: neither space nor checkpoints
//       wait for a scrub
//   U5  a cell that is noted as missing on a device that has come back is written when the stripe
//       is right without it, by sums from elsewhere as in U3, and then the note goes (BK5 of
//       doc/invariants.md)
//   U6  for that k cells are read, and no more as long as they verify: a stripe of which one does
//       not, or whose device does not answer, is looked at as in a scrub
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/checksum.h"
#include "base/units.h"
#include "core/blob/enough_cells.h"
#include "core/check/header_check.h"
#include "core/check/scrub_position.h"
#include "core/check/stripe_check.h"
#include "core/engine/engine.h"
#include "core/record/keys.h"
#include "core/record/object_extents.h"
#include "io/recall.h"

namespace hexad::core {

namespace {

using Part = ScrubPosition::Part;

// Of one piece.
constexpr std::uint64_t kMostBytes = 8 << 20;  // read from devices
constexpr std::uint64_t kFewestBytes = 1 << 20;
constexpr std::uint64_t kMostSteps = 1000;  // stripes and keys
// A wait for the rate is cut into such parts, so that it is noticed when nobody wants more.
constexpr io::Nanos kNap = 100'000'000;
constexpr double kSecond = 1e9;
constexpr double kLongest = 1e9;  // seconds, of a whole pass; more do not fit into io::Nanos

std::string describe_pack(const PackIdentity& stripe) {
  return "pack stripe at zone " + std::to_string(stripe.where.zone) + " unit " +
         std::to_string(stripe.where.unit);
}

}  // namespace

class Engine::ScrubPass {
 public:
  // kMissing: stripes alone of which cells are missing on devices that are there.
  enum class Scope : std::uint8_t { kAll, kMissing };

  ScrubPass(Engine& engine, const ScrubOptions& options, ScrubPosition at, Scope scope)
      : engine_(engine),
        options_(options),
        scope_(scope),
        at_(std::move(at)),
        most_bytes_(options.rate == 0 ? kMostBytes
                                      : std::clamp(options.rate / 4, kFewestBytes, kMostBytes)),
        began_(engine.executor().clock().now()),
        packs_(engine.shape(), *engine.parts_.codec, engine.space(), engine.parts_.system->queue(),
               engine.stats()),
        stripes_(engine.shape(), *engine.parts_.codec, *engine.reader_) {}

  Result<ScrubReport> run() {
    const StoreShape& shape = engine_.shape();
    report_.bytes_expected = engine_.space().counters().live * shape.unit * shape.cells();
    while (at_.part != Part::kOver && !stopped_) {
      begin_piece();
      HEXAD_TRY(look());
      HEXAD_TRY(rest());
    }
    if (scope_ == Scope::kAll && at_.part == Part::kOver) {
      HEXAD_TRY(look_at_headers());
      engine_.damage().status().ignore();  // what is right again leaves the list
    }
    report_.next = encode_position(at_);
    for (const auto& [device, cells] : silent_) {
      const Finding finding = engine_.silent_->finding(device, cells);
      find(finding.subject, finding.problem);
    }
    return std::move(report_);
  }

 private:
  Status look() {
    switch (at_.part) {
      case Part::kPacks:
        return look_at_packs();
      case Part::kObjects:
        return look_at_objects();
      case Part::kRuns:
        return look_at_runs();
      case Part::kOver:
        break;
    }
    return {};
  }

  Status look_at_headers() {
    HEXAD_TRY_ASSIGN(report_.bad_header_slots,
                     engine_.look_at_headers(
                         engine_.space().may_heal() ? BadHeaders::kMended : BadHeaders::kLeft,
                         [this](Finding finding) {
                           find(std::move(finding.subject), std::move(finding.problem),
                                finding.repaired);
                         },
                         [this](DeviceId device) { silent_[device]; }));
    return {};
  }

  void begin_piece() {
    bytes_before_ = report_.bytes_checked;
    steps_ = 0;
  }
  bool is_full() const {
    if (io::Recall::has_come()) return true;
    return report_.bytes_checked - bytes_before_ >= most_bytes_ || steps_ >= kMostSteps;
  }

  // Behind a piece: waits until another one may begin, and tells meanwhile.
  Status rest() {
    report_.next = encode_position(at_);
    for (;;) {
      if (!stopped_ && options_.progress) stopped_ = !options_.progress(report_);
      if (engine_.closing_.is_closed()) {
        return Error{ErrorCode::kClosed, "the store was closed while it was scrubbed",
                     "Open it again and start over; what was put right stays so."};
      }
      // All else would be asked for in vain, and each request keeps its memory.
      if (io::Recall::has_come()) {
        return Error{ErrorCode::kUnavailable,
                     "the thread was called back while it waited for devices in a scrub",
                     "Start over when they answer; what was put right stays so."};
      }
      const io::Nanos left = due() - engine_.executor().clock().now();
      if (stopped_ || at_.part == Part::kOver || left <= 0) return {};
      engine_.executor().sleep_for(std::min(left, kNap));
    }
  }

  // When so much may have been read.
  io::Nanos due() const {
    if (options_.rate == 0) return began_;
    const double seconds =
        static_cast<double>(report_.bytes_checked) / static_cast<double>(options_.rate);
    return began_ + static_cast<io::Nanos>(std::min(seconds, kLongest) * kSecond);
  }

  bool concerns(const alloc::Extent& stripe) const {
    return scope_ == Scope::kAll || engine_.space().lacks_cells(stripe);
  }

  void count_stripe() {
    ++report_.stripes_checked;
    engine_.stats().add(CounterId::kScrubStripes);
  }
  void count_bytes(std::uint64_t bytes) {
    report_.bytes_checked += bytes;
    engine_.stats().add(CounterId::kScrubBytes, bytes);
  }
  void note_silent(DeviceId device) { ++silent_[device]; }
  void find(std::string subject, std::string problem, bool repaired = false) {
    engine_.stats().add(CounterId::kScrubFindings);
    report_.findings.push_back({std::move(subject), std::move(problem), repaired});
  }

  // --- pack stripes ---

  // What is durable at the state's LSN has been published, so that a stripe that is found alive now
  // is given up later than that, if at all, and not used again before the pin goes (U1).
  Result<ReadState> settled_state() {
    HEXAD_TRY_ASSIGN(ReadState state, engine_.reads().read_state());
    // Where the lane has stopped, nothing is given up any more.
    HEXAD_TRY(engine_.silent_->wait_until_durable(state.pin.lsn(),
                                                  "a scrub of pack stripes waits for commits"));
    return state;
  }

  Status look_at_packs() {
    HEXAD_TRY_ASSIGN(const ReadState state, settled_state());
    for (const alloc::ZoneId zone : engine_.space().zone_ids()) {
      if (zone < at_.zone) continue;
      for (const alloc::PackStripe& pack : engine_.space().packs(zone)) {
        if (zone == at_.zone && pack.run.unit < at_.unit) continue;
        if (is_full()) {
          at_.zone = zone;
          at_.unit = pack.run.unit;
          return {};
        }
        HEXAD_TRY(look_at_pack(*state.view, {{zone, pack.run.unit, pack.run.units}, pack.footer}));
      }
    }
    at_ = {};
    at_.part = Part::kObjects;
    at_.key = kObjectKeys;
    return {};
  }

  Status note_unchecked(const PackIdentity& stripe, const Error& error) {
    if (error.code == ErrorCode::kFenced) return error;  // TO3
    engine_.damage_.suspect(stripe.where);
    find(describe_pack(stripe), error.message);
    return {};
  }

  Status look_at_pack(MetaView& view, const PackIdentity& stripe) {
    ++steps_;
    if (!concerns(stripe.where)) return {};
    count_stripe();
    if (scope_ == Scope::kMissing) {
      HEXAD_TRY_ASSIGN(const bool filled, fill_pack_from_enough(view, stripe));
      if (filled) return {};
    }
    Result<CheckedPack> checked = packs_.check(stripe, {});
    if (!checked.ok()) return note_unchecked(stripe, checked.error());
    count_bytes(checked->checked);
    for (const std::uint32_t role : checked->silent) note_silent(checked->places[role].id);
    std::vector<PackWitness> witnesses;
    if (checked->verdict.footer.has_value()) {
      HEXAD_TRY_ASSIGN(witnesses, witnesses_in(view, stripe.where, *checked->verdict.footer));
    }
    if (checked->verdict.whole && checked->bad.empty() && agree(witnesses, *checked)) {
      fill_pack(stripe, *checked);
      return {};
    }
    // Once more, so that what they say counts when it is decided which cells are the bad ones.
    checked = packs_.check(stripe, witnesses);
    if (!checked.ok()) return note_unchecked(stripe, checked.error());
    if (checked->verdict.whole && checked->bad.empty()) {
      fill_pack(stripe, *checked);
      return {};
    }
    const bool repaired =
        checked->verdict.whole && engine_.space().may_heal() && packs_.repair(*checked);
    if (!checked->verdict.whole) engine_.damage_.suspect(stripe.where);
    find(describe_pack(stripe), checked->problems, repaired);
    if (repaired) fill_pack(stripe, *checked);
    return {};
  }

  // U6. False: all cells have to be looked at.
  Result<bool> fill_pack_from_enough(MetaView& view, const PackIdentity& stripe) {
    const Result<CheckedPack> checked = packs_.check(stripe, {}, PackChecker::Cells::kEnough);
    if (!checked.ok()) return false;
    count_bytes(checked->checked);
    if (!checked->verdict.whole || !checked->bad.empty() || !checked->silent.empty()) return false;
    HEXAD_TRY_ASSIGN(const std::vector<PackWitness> witnesses,
                     witnesses_in(view, stripe.where, *checked->verdict.footer));
    if (!agree(witnesses, *checked)) return false;
    fill_pack(stripe, *checked);
    return true;
  }

  // U5. Precondition: the verdict is whole.
  void fill_pack(const PackIdentity& stripe, const CheckedPack& pack) {
    for (std::uint32_t role = 0; role < engine_.shape().cells(); ++role) {
      const Status filled = fill(stripe.where, pack.places[role], pack.right[role]);
      if (!filled.ok()) find(describe_pack(stripe), filled.error().message);
    }
  }

  Status fill(const alloc::Extent& stripe, const CellPlace& place, ByteView cell) {
    if (!place.missing || !engine_.space().may_heal()) return {};
    return engine_.space().fill_missing(stripe, place, cell);
  }

  bool agree(const std::vector<PackWitness>& witnesses, const CheckedPack& pack) const {
    const ChecksumType type = engine_.shape().record.checksum;
    return std::all_of(witnesses.begin(), witnesses.end(), [&](const PackWitness& one) {
      const ByteView cell = pack.right[one.cell];
      return hexad::checksum(type, cell.subspan(one.cell_offset, one.stored)) == one.sum;
    });
  }

  // The blobs of the footer that the metadata has there. Those of objects that have another name by
  // now, or of clones alone, are not found.
  Result<std::vector<PackWitness>> witnesses_in(MetaView& view, const alloc::Extent& stripe,
                                                const PackFooter& footer) {
    std::vector<PackWitness> witnesses;
    for (const PackEntry& entry : footer.entries) {
      HEXAD_TRY_ASSIGN(const ExtentList extents, extents_at(view, entry.owner, entry.offset));
      for (const Blob& blob : blobs_of(engine_.parts_.log_blobs->resolve(extents))) {
        const bool here = blob.placement == Placement::kPacked && blob.where.zone == stripe.zone &&
                          blob.where.unit == stripe.unit && blob.cell == entry.cell &&
                          blob.cell_offset == entry.cell_offset && blob.stored == entry.stored;
        if (here) witnesses.push_back(witness_of(blob));
      }
    }
    return witnesses;
  }

  // Of the object, page or omap entry, those around the offset. None where the metadata has none
  // that can be read: whether it is sound is not asked here.
  Result<ExtentList> extents_at(MetaView& view, const std::string& key, std::uint64_t offset) {
    const RecordShape& shape = engine_.shape().record;
    if (const Result<PageKey> page = parse_page_key(key); page.ok()) {
      HEXAD_TRY_ASSIGN(const auto value, view.get(key));
      if (!value.has_value()) return ExtentList();
      Result<ExtentList> extents = decode_page(*value, page->page, shape);
      return extents.ok() ? std::move(extents).value() : ExtentList();
    }
    if (!key.starts_with(kObjectKeys) && !key.starts_with(kOmapKeys)) return ExtentList();
    HEXAD_TRY_ASSIGN(const auto value, view.get(key));
    if (!value.has_value() || is_hidden_entry(*value)) return ExtentList();
    Result<ObjectRecord> record = decode_object(*value, shape);
    if (!record.ok()) return ExtentList();
    if (record->body == 0) return std::move(record->extents);
    const auto page = static_cast<std::uint32_t>(offset / kPageSpan);
    HEXAD_TRY_ASSIGN(const auto paged, view.get(page_key(record->body, page)));
    if (!paged.has_value()) return ExtentList();
    Result<ExtentList> extents = decode_page(*paged, page, shape);
    return extents.ok() ? std::move(extents).value() : ExtentList();
  }

  // --- private stripes ---

  Status look_at_objects() {
    HEXAD_TRY_ASSIGN(const ReadState state, engine_.reads().read_state());
    HEXAD_TRY_ASSIGN(MetaView::Cursor cursor, state.view->cursor({at_.key, prefix_end(kOmapKeys)}));
    HEXAD_TRY(cursor.seek(at_.key));
    while (cursor.valid()) {
      const std::string key(cursor.key());
      if (key != at_.key) at_.page = 0;
      at_.key = key;
      if (is_full()) return {};
      HEXAD_TRY_ASSIGN(const bool done, look_at_object(*state.view, key, cursor.value()));
      if (!done) return {};
      HEXAD_TRY(cursor.next());
    }
    engine_.damage_.clear_suspects();
    at_ = {};
    at_.part = Part::kRuns;
    return {};
  }

  // From page at_.page on. False: the piece is full, and at_ says where to go on.
  Result<bool> look_at_object(MetaView& view, const std::string& key, std::string_view value) {
    ++steps_;
    if (is_hidden_entry(value)) return true;
    const RecordShape& shape = engine_.shape().record;
    const Result<ObjectRecord> record = decode_object(value, shape);
    if (!record.ok()) {
      find("metadata key " + printable(key, 64), record.error().message);
      return true;
    }
    if (record->body == 0) {
      HEXAD_TRY(look_at_extents(view, key, record->extents));
      return true;
    }
    const std::string prefix = page_prefix(record->body);
    HEXAD_TRY_ASSIGN(MetaView::Cursor pages, view.cursor({prefix, prefix_end(prefix)}));
    HEXAD_TRY(pages.seek(page_key(record->body, at_.page)));
    for (bool first = true; pages.valid(); first = false) {
      HEXAD_TRY_ASSIGN(const PageKey page, parse_page_key(pages.key()));
      at_.page = page.page;
      if (!first && is_full()) return false;
      ++steps_;
      const Result<ExtentList> extents = decode_page(pages.value(), page.page, shape);
      if (extents.ok()) {
        HEXAD_TRY(look_at_extents(view, key, *extents));
      } else {
        find(name_of(view, key), extents.error().message);
      }
      HEXAD_TRY(pages.next());
    }
    return true;
  }

  Status look_at_extents(MetaView& view, const std::string& key, const ExtentList& extents) {
    for (const Blob& blob : blobs_of(engine_.parts_.log_blobs->resolve(extents))) {
      const bool is_private = blob.placement == Placement::kPrivate;
      const bool suspect =
          blob.placement == Placement::kPacked && engine_.damage_.is_suspect(blob.where);
      if (!is_private && !suspect) continue;
      if (blob.share != 0 && !shared_.insert(blob.share).second) continue;
      if (suspect) {
        note_lost(blob);
        continue;
      }
      if (!concerns(blob.where)) continue;
      const auto is_there = [](const auto&) { return true; };
      if (engine_.in_flight_cells_.read(blob.where, is_there)) continue;  // U2
      HEXAD_TRY_ASSIGN(CheckedStripe checked, look_at_stripe(blob));
      if (checked.problems.empty()) continue;
      if (!checked.repaired) note_lost(blob);
      const std::string name = name_of(view, key);
      for (std::string& problem : checked.problems)
        find(name, std::move(problem), checked.repaired);
    }
    return {};
  }

  // Reads it as a user would, whose reads are what notes damage.
  void note_lost(const Blob& blob) {
    Bytes bytes(blob.raw);
    engine_.reader_->read(blob, 0, bytes).ignore();
  }

  Result<CheckedStripe> look_at_stripe(const Blob& blob) {
    count_stripe();
    if (scope_ == Scope::kMissing && engine_.space().may_heal()) {
      if (fill_stripe_from_enough(blob)) return CheckedStripe();
    }
    HEXAD_TRY_ASSIGN(
        CheckedStripe checked,
        stripes_.check(blob, engine_.space().may_heal() ? StripeCheck::BadCells::kRebuilt
                                                        : StripeCheck::BadCells::kLeft));
    count_bytes(checked.checked);
    for (const DeviceId device : checked.silent) note_silent(device);
    if (engine_.space().lacks_cells(blob.where) && engine_.space().may_heal()) {
      const Status filled = fill_stripe(blob);
      if (!filled.ok()) checked.problems.push_back(filled.error().message);
    }
    return checked;
  }

  // U6: every cell has its checksum in the record. False: all cells have to be looked at.
  bool fill_stripe_from_enough(const Blob& blob) {
    const Result<std::vector<CellPlace>> places = engine_.space().locate(blob.where);
    if (!places.ok()) return false;
    ec::ShardSet missing;
    for (std::uint32_t role = 0; role < places->size(); ++role) {
      if ((*places)[role].missing) missing.add(role);
    }
    const std::optional<ec::ShardSet> enough = enough_cells(*places, engine_.shape().k());
    if (!enough.has_value()) return false;
    const BlobReader& reader = *engine_.reader_;
    Result<BlobReader::Cells> cells = reader.read_cells(blob.where, blob.cell_bytes, blob.cell_sums,
                                                        *enough, BlobReader::Wait::kBounded);
    if (!cells.ok()) return false;
    count_bytes(std::uint64_t{blob.cell_bytes} * cells->good.size());
    if (cells->good != *enough) return false;
    if (!reader.rebuild(blob.where, blob.cell_sums, *cells, missing).ok()) return false;
    return std::all_of(missing.begin(), missing.end(), [&](std::uint32_t role) {
      return fill(blob.where, (*places)[role], cells->cell(role)).ok();
    });
  }

  // U5: every cell has its checksum in the record.
  Status fill_stripe(const Blob& blob) {
    const std::uint32_t count = engine_.shape().cells();
    const BlobReader& reader = *engine_.reader_;
    HEXAD_TRY_ASSIGN(BlobReader::Cells cells,
                     reader.read_cells(blob.where, blob.cell_bytes, blob.cell_sums,
                                       ec::ShardSet::first(count), BlobReader::Wait::kBounded));
    HEXAD_TRY(reader.rebuild(blob.where, blob.cell_sums, cells));
    for (std::uint32_t role = 0; role < count; ++role) {
      HEXAD_TRY(fill(blob.where, cells.places[role], cells.cell(role)));
    }
    return {};
  }

  // For people; what cannot be found out is left out.
  std::string name_of(MetaView& view, const std::string& key) {
    const Result<ObjectKey> object = parse_object_key(key);
    if (!object.ok()) return "omap entry " + printable(key, 64);
    std::string collection = "collection number " + std::to_string(object->space);
    const auto look_for = [&]() -> Status {
      HEXAD_TRY_ASSIGN(MetaView::Cursor cursor, view.cursor_over(kCollectionKeys));
      while (cursor.valid()) {
        const Result<CollectionRecord> record = decode_collection(cursor.value());
        if (record.ok() && record->space_of(object->name) == object->space) {
          collection = printable(cursor.key().substr(kCollectionKeys.size()));
        }
        HEXAD_TRY(cursor.next());
      }
      return {};
    };
    look_for().ignore();
    return "object " + collection + "/" + printable(object->name);
  }

  // --- stripes of runs ---

  Status look_at_runs() {
    std::vector<RunCatalogue::HeldRun> runs;
    {
      HEXAD_TRY(engine_.silent_->lock_unless_silent(engine_.checkpointer_->mutex(),
                                                    "a scrub of runs waits for a checkpoint"));
      const io::Lock lock(engine_.checkpointer_->mutex(), std::adopt_lock);
      runs = engine_.parts_.runs->held();
    }
    for (const RunCatalogue::HeldRun& run : runs) {
      for (const Blob& blob : blobs_of(run.pieces)) {
        ++steps_;
        if (!concerns(blob.where)) continue;
        HEXAD_TRY_ASSIGN(CheckedStripe checked, look_at_stripe(blob));
        for (std::string& problem : checked.problems) {
          find(run.name, std::move(problem), checked.repaired);
        }
        if (!is_full()) continue;
        HEXAD_TRY(rest());
        if (stopped_) return {};
        begin_piece();
      }
    }
    at_.part = Part::kOver;
    return {};
  }

  Engine& engine_;
  const ScrubOptions& options_;
  const Scope scope_;
  ScrubPosition at_;
  const std::uint64_t most_bytes_;
  const io::Nanos began_;
  const PackChecker packs_;
  const StripeCheck stripes_;
  ScrubReport report_;
  std::set<ShareId> shared_;                  // looked at already
  std::map<DeviceId, std::uint64_t> silent_;  // cells of theirs that were not looked at
  bool stopped_ = false;                      // the caller wants no more
  // Of the present piece.
  std::uint64_t bytes_before_ = 0;
  std::uint64_t steps_ = 0;
};

Result<ScrubReport> Engine::scrub(const ScrubOptions& options) {
  own_scrub_done_.store(0, std::memory_order_relaxed);
  ScrubOptions watched = options;
  watched.progress = [&](const ScrubReport& report) {
    own_scrub_done_.store(report.bytes_checked, std::memory_order_relaxed);
    own_scrub_total_.store(report.bytes_expected, std::memory_order_relaxed);
    return !options.progress || options.progress(report);
  };
  struct Seen {
    explicit Seen(std::atomic<std::uint32_t>& scrubs) : count(scrubs) { ++count; }
    ~Seen() { --count; }
    std::atomic<std::uint32_t>& count;
  };
  const Seen seen(own_scrubs_);
  return run_scrub(watched);
}

Result<ScrubReport> Engine::run_scrub(const ScrubOptions& options) {
  HEXAD_TRY_ASSIGN(ScrubPosition from, decode_position(options.from));
  return ScrubPass(*this, options, std::move(from), ScrubPass::Scope::kAll).run();
}

Result<ScrubReport> Engine::fill_cells(const ScrubOptions& options) {
  HEXAD_TRY_ASSIGN(ScrubPosition from, decode_position(options.from));
  return ScrubPass(*this, options, std::move(from), ScrubPass::Scope::kMissing).run();
}

}  // namespace hexad::core
