// The engine's side of ObjectWriter: cuts the stream into pages, writes each page's stripe as soon
// as the page is full, and keeps only extents in memory. A page with holes in it has one stripe,
// too, of the bytes between them, and an extent for each run of those; a page that is all hole has
// none.
//
// Crash: stripes are in flight in the allocator until the publishing commit, so a crash returns
// them. When the extents that wait would fill much of a log record, they are committed under the
// writer's body together with a writer key; the next opening finds that key and takes the pages
// back (core/jobs/deletion_job.h). So an object may be larger than what the log, whatever
// its size, could describe at once.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "core/engine/engine.h"
#include "core/plan/staged_object.h"

namespace hexad::core {

class StreamWriter {
 public:
  static Result<std::unique_ptr<StreamWriter>> open(Engine& engine, std::string_view collection,
                                                    std::string_view name,
                                                    std::optional<Hint> hint);
  // Gives back what was not published.
  ~StreamWriter();

  Status append(ByteView data);
  Status skip(std::uint64_t length);
  Status set_attr(std::string_view name, std::string_view value);
  std::uint64_t size() const { return size_; }
  Status finish();
  Result<Lsn> commit(ObjectWriter& owner);
  // Flushes the rest and hands over what was written; the writer is spent. A failure is in the
  // staged object's `problem`.
  std::shared_ptr<StagedObject> take_staged();

 private:
  // What comes after a stripe.
  enum class Then : std::uint8_t { kNextPage, kRestOfPage };
  // One stripe on its way.
  struct Flight {
    explicit Flight(const StripeWriter& writer) : batch(writer) {}
    std::uint32_t page = 0;
    Then then = Then::kNextPage;
    ExtentList extents;  // all of one blob, in the order of its bytes; not empty
    StripeWrite stripe;
    StripeBatch batch;
  };

  StreamWriter(Engine& engine, std::shared_ptr<StagedObject> staged,
               const compression::Policy& policy, compression::Hint hint)
      : engine_(engine), staged_(std::move(staged)), policy_(policy), hint_(hint) {}

  // What `call` returns. One that is refused memory may be half done: the writer is spent.
  template <typename Call>
  Status whole_or_spent(Call&& call);
  Status finish_here();
  Status append_here(ByteView data);
  Status skip_here(std::uint64_t length);
  Status unspent() const;
  Status ready() const;
  // Whether `length` bytes more may come.
  Status ready_for(std::uint64_t length);
  Status fail(const Error& error);
  // Precondition: the buffer is not empty.
  Status write_page();
  // Some of its bytes, which belong at `runs`, as one stripe, or as several where no run of that
  // length is free; none of them is shorter than `shortest` units (core/blob/piece_cut.h).
  Status write_piece(ByteView bytes, std::span<const ByteRange> runs, std::uint32_t shortest,
                     Then then);
  Status write_in_parts(ByteView bytes, std::span<const ByteRange> runs, std::uint64_t each,
                        std::uint32_t shortest, Then then);
  // What is in the buffer, as the end of the object. Precondition: as write_page().
  Status stage_rest();
  Status stage_small();
  void send(std::unique_ptr<Flight> flight, const alloc::Extent& where,
            std::span<const ByteRange> runs);
  Status land_oldest();
  Status spill();
  void abandon();

  Engine& engine_;
  std::shared_ptr<StagedObject> staged_;  // null: taken
  compression::Policy policy_;
  compression::Hint hint_;  // what holds for the data
  std::uint64_t size_ = 0;
  bool finished_ = false;
  // Of the page being filled: the bytes of its runs, one run behind the other, and where in the
  // object each run belongs: ascending, a gap apart.
  Bytes buffer_;
  std::vector<ByteRange> runs_;
  std::uint64_t staged_bytes_ = 0;  // that staged_->pages and stripes take in a record, about
  std::deque<std::unique_ptr<Flight>> flights_;
};

}  // namespace hexad::core
