#include "core/engine/stream_writer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/refused_memory.h"
#include "core/api/stream.h"
#include "core/blob/piece_cut.h"
#include "core/record/keys.h"
#include "core/record/object_extents.h"
#include "io/no_unwinding.h"

namespace hexad::core {

namespace {

// Encoded extents that are kept in memory, bytes, where the log's records do not bound them first.
constexpr std::uint64_t kSpillBytes = 1 << 20;
// A publishing transaction holds what is left of several writers, and other changes.
constexpr std::uint64_t kWritersPerRecord = 8;
// Of one stripe in a record: its place and the framing of the sums.
constexpr std::uint64_t kProofBytes = 32;

std::uint64_t end_of(const ByteRange& range) { return range.offset + range.length; }

void release_staged(Engine& engine, const StagedObject& staged) {
  for (const StripeProof& stripe : staged.stripes) engine.space().discard(stripe.where);
  // That takes commits, as many as there are pages. They are not for a destructor to wait for.
  if (staged.spilled > 0) engine.schedule_deletion(staged.body);
}

}  // namespace

Result<std::unique_ptr<StreamWriter>> StreamWriter::open(Engine& engine,
                                                         std::string_view collection,
                                                         std::string_view name,
                                                         std::optional<Hint> hint) {
  HEXAD_TRY(engine.writable());
  Transaction check;  // the argument rules are the transaction's
  check.touch(collection, name);
  check.set_hint(collection, name, hint.value_or(Hint::kNone));
  HEXAD_TRY(check.problem());
  const auto find_collection = [&]() -> Result<CollectionRecord> {
    HEXAD_TRY_ASSIGN(const ReadState state, engine.reads().read_state());
    return engine.reads().find_collection(*state.view, collection);
  };
  // The state has ended before stored_hint() looks at one of its own.
  HEXAD_TRY_ASSIGN(const CollectionRecord record, find_collection());
  auto staged = std::make_shared<StagedObject>();
  staged->home = engine.home();
  staged->collection = collection;
  staged->name = name;
  staged->hint = hint;
  HEXAD_TRY(engine.ids().may_draw());
  staged->body = engine.ids().draw();
  if (!hint.has_value()) {
    HEXAD_TRY_ASSIGN(hint, engine.stored_hint(collection, name, record.compression));
  }
  staged->unplaced_hint = *hint;
  staged->unplaced_policy = record.compression;
  return std::unique_ptr<StreamWriter>(
      new StreamWriter(engine, std::move(staged), record.compression, compression_hint(*hint)));
}

StreamWriter::~StreamWriter() {
  // Published or given up: nothing is on its way, and the store may be gone.
  if (staged_ == nullptr) return;
  if (engine_.in_child()) {
    // What is on its way is the parent's.
    for (std::unique_ptr<Flight>& flight : flights_) static_cast<void>(flight.release());
  } else {
    abandon();
  }
}

Status StreamWriter::fail(const Error& error) {
  if (staged_->problem.ok()) staged_->problem = error;
  return error;
}

Status StreamWriter::unspent() const {
  HEXAD_TRY(engine_.here());
  if (staged_ != nullptr) return {};
  return Error{ErrorCode::kClosed, "the writer has been published or has failed",
               "Open a new one."};
}

Status StreamWriter::ready() const {
  HEXAD_TRY(unspent());
  return staged_->problem;
}

Status StreamWriter::ready_for(std::uint64_t length) {
  HEXAD_TRY(ready());
  if (finished_) {
    return Error{ErrorCode::kClosed, "the data of this writer has ended with finish()",
                 "Commit or publish it."};
  }
  if (length <= kMaxObjectSize - size_) return {};
  return fail(Error{ErrorCode::kTooBig,
                    "object " + printable(staged_->name) + ": more than " +
                        std::to_string(kMaxObjectSize) + " bytes",
                    ""});
}

template <typename Call>
Status StreamWriter::whole_or_spent(Call&& call) {
  Status status = without_bad_alloc(std::forward<Call>(call));
  if (!status.ok() && status.error().code == ErrorCode::kExhausted && staged_ != nullptr) {
    return fail(status.error());
  }
  return status;
}

Status StreamWriter::append(ByteView data) {
  return whole_or_spent([&] { return append_here(data); });
}

Status StreamWriter::skip(std::uint64_t length) {
  return whole_or_spent([&] { return skip_here(length); });
}

Status StreamWriter::set_attr(std::string_view name, std::string_view value) {
  return whole_or_spent([&]() -> Status {
    HEXAD_TRY(ready());
    Transaction check;
    check.set_attr(staged_->collection, staged_->name, name, value);
    HEXAD_TRY(check.problem());
    staged_->attributes[std::string(name)] = value;
    return {};
  });
}

// Of one that has failed, too, what is on its way lands.
Status StreamWriter::finish() {
  HEXAD_TRY(unspent());
  return whole_or_spent([&] { return finish_here(); });
}

Status StreamWriter::finish_here() {
  Status status = staged_->problem;
  const bool ended = std::exchange(finished_, true);
  if (status.ok() && !ended && !buffer_.empty()) {
    status = without_bad_alloc([this] { return stage_rest(); });
    if (!status.ok()) staged_->problem = status;
  }
  while (!flights_.empty()) {
    const Status landed = land_oldest();
    if (status.ok()) status = landed;
  }
  return status;
}

Status StreamWriter::append_here(ByteView data) {
  HEXAD_TRY(ready_for(data.size()));
  while (!data.empty()) {
    const std::uint64_t room = kPageSpan - size_ % kPageSpan;
    const ByteView part = data.first(std::min<std::size_t>(room, data.size()));
    if (runs_.empty()) {
      runs_.push_back({size_, 0});
    } else if (const std::uint64_t gap = size_ - end_of(runs_.back()); gap > 0) {
      // No more extents than a page may have before it counts as crowded.
      if (runs_.size() < kCrowdedExtents) {
        runs_.push_back({size_, 0});
      } else {
        buffer_.resize(buffer_.size() + gap);
        runs_.back().length += gap;
      }
    }
    runs_.back().length += part.size();
    buffer_.insert(buffer_.end(), part.begin(), part.end());
    data = data.subspan(part.size());
    size_ += part.size();
    if (size_ % kPageSpan == 0) HEXAD_TRY(write_page());
  }
  return {};
}

Status StreamWriter::skip_here(std::uint64_t length) {
  HEXAD_TRY(ready_for(length));
  const std::uint64_t room = kPageSpan - size_ % kPageSpan;
  if (length >= room && !buffer_.empty()) HEXAD_TRY(write_page());
  size_ += length;
  return {};
}

// The whole object is in the buffer: it goes the way of a put, unless it needs a stripe of its own.
Status StreamWriter::stage_small() {
  // Of what may fit a stripe of its own the group decides: it is there already.
  const bool shared = buffer_.size() < kAlwaysOwnStripe;
  HEXAD_TRY_ASSIGN(PreparedBlob prepared,
                   engine_.preparer().prepare(
                       buffer_, hint_, policy_,
                       shared ? BlobPreparer::Form::kShared : BlobPreparer::Form::kBySize));
  if (!prepared.is_unplaced()) return write_page();
  staged_->unplaced_bytes =
      prepared.blob.is_compressed() ? SharedBytes::copy_of(buffer_) : prepared.stored;
  PayloadPiece piece;
  piece.length = buffer_.size();
  piece.prepared = std::move(prepared);
  staged_->unplaced.pieces.push_back(std::move(piece));
  buffer_.clear();
  runs_.clear();
  return {};
}

Status StreamWriter::stage_rest() {
  if (size_ != buffer_.size()) return write_page();  // of a later page, or with holes
  if (buffer_.size() > kInlineLimit) return stage_small();
  Extent extent;
  extent.length = buffer_.size();
  extent.bytes.assign(as_text(buffer_));
  staged_->pages[0].push_back(std::move(extent));
  return {};
}

// The buffered bytes become the stripe of their page.
Status StreamWriter::write_page() {
  HEXAD_TRY(write_piece(buffer_, runs_, 0, Then::kNextPage));
  buffer_.clear();
  runs_.clear();
  return {};
}

Status StreamWriter::write_in_parts(ByteView bytes, std::span<const ByteRange> runs,
                                    std::uint64_t each, std::uint32_t shortest, Then then) {
  std::uint64_t behind = 0;  // bytes of the first run that are done
  while (!bytes.empty()) {
    const ByteView part = bytes.first(std::min<std::uint64_t>(each, bytes.size()));
    bytes = bytes.subspan(part.size());
    std::vector<ByteRange> places;
    for (std::uint64_t left = part.size(); left > 0;) {
      const ByteRange& run = runs.front();
      const std::uint64_t length = std::min(left, run.length - behind);
      places.push_back({run.offset + behind, length});
      left -= length;
      behind += length;
      if (behind < run.length) continue;
      behind = 0;
      runs = runs.subspan(1);
    }
    HEXAD_TRY(write_piece(part, places, shortest, bytes.empty() ? then : Then::kRestOfPage));
  }
  return {};
}

Status StreamWriter::write_piece(ByteView bytes, std::span<const ByteRange> runs,
                                 std::uint32_t shortest, Then then) {
  auto flight = std::make_unique<Flight>(engine_.stripe_writer());
  flight->page = static_cast<std::uint32_t>(runs.front().offset / kPageSpan);
  flight->then = then;
  Result<PreparedBlob> prepared =
      engine_.preparer().prepare(bytes, hint_, policy_, BlobPreparer::Form::kOwnStripe);
  if (!prepared.ok()) return fail(prepared.error());
  PreparedBlob& coded = flight->stripe.prepared;
  coded = std::move(prepared).value();
  if (shortest == 0) shortest = shortest_cut(coded.units);  // the page as a whole

  const std::uint64_t flight_bytes = bytes.size() + coded.cells.size();
  while (!flights_.empty() &&
         (flights_.size() + 1) * flight_bytes > engine_.options().stream_buffer) {
    HEXAD_TRY(land_oldest());
  }
  std::uint32_t cut = 0;
  {
    const io::NoUnwinding none("a piece of a stream");
    Result<alloc::Extent> where = engine_.stream_room().allocate(coded.units, shortest, cut);
    if (!where.ok() && cut == 0) return fail(where.error());
    if (where.ok()) {
      send(std::move(flight), *where, runs);
      return {};
    }
  }
  const std::uint64_t each = bytes_of_cut(coded, bytes.size(), cut, engine_.shape());
  engine_.stats().add(CounterId::kPiecesCut);
  engine_.stats().add(CounterId::kPiecesCutInto, divide_up(bytes.size(), each));
  flight.reset();
  return write_in_parts(bytes, runs, each, shortest, then);
}

// The stripe goes to its place. What it holds belongs at `runs`.
void StreamWriter::send(std::unique_ptr<Flight> flight, const alloc::Extent& where,
                        std::span<const ByteRange> runs) {
  PreparedBlob& coded = flight->stripe.prepared;
  flight->stripe.where = where;
  coded.blob.where = where;
  if (coded.blob.is_compressed()) {
    const StoreShape& shape = engine_.shape();
    engine_.stats().add(CounterId::kCompressedAllocated, where.units * shape.unit * shape.k());
  }
  std::uint32_t blob_offset = 0;
  for (const ByteRange& run : runs) {
    flight->extents.push_back({run.offset, run.length, "", blob_offset, coded.blob});
    blob_offset += static_cast<std::uint32_t>(run.length);
  }
  // Durable before the publishing record is written: recovery need not prove what may be gigabytes.
  flight->batch.add(flight->stripe);
  flight->batch.submit();
  flights_.push_back(std::move(flight));
}

Status StreamWriter::land_oldest() {
  const io::NoUnwinding none("a piece of a stream");
  const std::unique_ptr<Flight> flight = std::move(flights_.front());
  flights_.pop_front();
  // What nobody can take just now is no loss of a device: the stream fails, and nothing rests on
  // the stripe.
  const LandedStripes landed = flight->batch.land_patiently(engine_.executor());
  Status status = landed.status;
  // R13: a device that did not take its cell leaves before anything that rests on this stripe is
  // acknowledged; the commit then notes the cell as missing.
  if (!landed.failed.empty()) {
    const Status lost = engine_.lose_devices(landed.failed);
    if (!lost.ok()) status = lost;
  }
  if (!status.ok()) {
    engine_.stripe_writer().release(flight->stripe.where);
    return fail(status.error().with_context("object " + printable(staged_->name) +
                                            ": a piece could not be written"));
  }
  const Blob& blob = flight->stripe.prepared.blob;
  staged_->stripes.push_back(
      {blob.where, blob.cell_bytes, true, blob.cell_sums, 0, landed.stripes[0].unwritten()});
  ExtentList& page = staged_->pages[flight->page];
  staged_bytes_ += encode_page(flight->extents, engine_.shape().record).size() + kProofBytes +
                   sizeof(std::uint64_t) * engine_.shape().cells();
  page.insert(page.end(), std::make_move_iterator(flight->extents.begin()),
              std::make_move_iterator(flight->extents.end()));
  // Never between two stripes of a page: the image of one has all of it.
  if (flight->then == Then::kNextPage &&
      staged_bytes_ >= std::min(kSpillBytes, engine_.max_record() / kWritersPerRecord)) {
    return spill();
  }
  return {};
}

Status StreamWriter::spill() {
  Result<Lsn> committed = engine_.own_commits().commit_internal([&](LogRecord& record) -> Status {
    record.images.push_back({writer_key(staged_->body), std::string()});
    for (const auto& [page, extents] : staged_->pages) {
      record.images.push_back(
          {page_key(staged_->body, page), encode_page(extents, engine_.shape().record)});
    }
    record.allocated = staged_->stripes;
    return {};
  });
  if (!committed.ok()) return fail(committed.error());
  staged_->spilled = staged_->pages.rbegin()->first + 1;
  staged_->pages.clear();
  staged_->stripes.clear();
  staged_bytes_ = 0;
  return {};
}

std::shared_ptr<StagedObject> StreamWriter::take_staged() {
  if (staged_ == nullptr) {
    auto spent = std::make_shared<StagedObject>();
    spent->problem = Error{ErrorCode::kClosed, "the writer has been published already", ""};
    return spent;
  }
  if (const Status here = engine_.here(); !here.ok()) {
    auto elsewhere = std::make_shared<StagedObject>();
    elsewhere->problem = here;
    return elsewhere;
  }
  const Status status = finish_here();
  staged_->size = size_;
  if (!status.ok()) {
    auto failed = std::make_shared<StagedObject>();
    failed->collection = staged_->collection;
    failed->name = staged_->name;
    failed->problem = status;
    abandon();
    return failed;
  }
  // Until a commit has taken it over, dropping the staged object gives its space back.
  std::shared_ptr<StagedObject> staged = std::move(staged_);
  StagedObject* raw = staged.get();
  return std::shared_ptr<StagedObject>(raw, [staged](StagedObject* object) {
    if (object->published || object->home->process.in_child()) return;
    const io::Lock lock(object->home->mutex);
    if (object->home->engine != nullptr) release_staged(*object->home->engine, *object);
  });
}

void StreamWriter::abandon() {
  const io::NoUnwinding none("a stream that is given up");
  bool has_failed = false;
  while (!flights_.empty()) {
    const std::unique_ptr<Flight>& flight = flights_.front();
    has_failed |= !flight->batch.land().failed.empty();
    engine_.stripe_writer().release(flight->stripe.where);
    flights_.pop_front();
  }
  if (has_failed) engine_.lose_suspects_soon();
  release_staged(engine_, *staged_);
  staged_.reset();
}

Result<Lsn> StreamWriter::commit(ObjectWriter& owner) {
  Transaction transaction;
  transaction.publish(owner);
  return engine_.commit(std::move(transaction));
}

}  // namespace hexad::core

namespace hexad {

ObjectWriter::ObjectWriter(std::unique_ptr<core::StreamWriter> impl) : impl_(std::move(impl)) {}
ObjectWriter::~ObjectWriter() = default;
Status ObjectWriter::append(ByteView data) { return impl_->append(data); }
Status ObjectWriter::skip(std::uint64_t length) { return impl_->skip(length); }
Status ObjectWriter::set_attr(std::string_view name, std::string_view value) {
  return impl_->set_attr(name, value);
}
std::uint64_t ObjectWriter::size() const { return impl_->size(); }
Status ObjectWriter::finish() { return impl_->finish(); }
Result<Lsn> ObjectWriter::commit() {
  return without_bad_alloc([&] { return impl_->commit(*this); });
}

void Transaction::publish(ObjectWriter& writer) {
  std::shared_ptr<core::StagedObject> staged = writer.impl_->take_staged();
  check(staged->problem);  // before the name is looked at: a writer that is spent has none
  TransactionOp& op = add(OpKind::kPublish, staged->collection, staged->name);
  op.hint = staged->hint.value_or(Hint::kNone);
  op.staged = std::move(staged);
}

}  // namespace hexad
