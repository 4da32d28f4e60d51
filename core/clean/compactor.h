// Compaction: what a list still shows of blobs that are mostly overwritten is written again, so
// that they die and their space comes back; so are blobs that leave much of a stripe of their own
// empty.
//
//   choose   lists that hide much (core/clean/fragmented_lists.h) or whose blobs waste much, and
//            what of them (core/clean/compact_plan.h)
//   read     what they show of victims, in one state; it is verified by the sums of the records
//   write    the pieces, in pack stripes, in space that is kept for moves (core/space/reserve.h, 7)
//   commit   one record of the store's own: the lists show the pieces, and the victims die
//
//   KL1  A piece is shown wherever the list, as it is when the record gets its LSN, still shows
//   what
//        the piece was made of: the same bytes of the same blob, all that the list says of it
//        compared. What has changed stays as it has been changed. Versions and times stay
//   KL2  What dies are the blobs that the list as it is then showed before, and shows no more: a
//        victim that somebody else shows by now, or that got a share id, does not
//   KL3  Pieces are durable before the record, in stripes that hold nothing but what it shows
//   KL4  A record gives up more space than its stripes take, or nothing is written: so compaction
//        comes to an end by itself
//   KL5  What cannot be read, of the metadata or of the bytes, is left alone until it changes or
//        the cleaner tries again (CL8), counted, and said once there is nothing else to do; what
//        can be is compacted meanwhile
//   KL6  The walk through the metadata begins again only where lists were let go of, since there
//        were too many, and something has come back since it last began: else it would find the
//        same ones, of which nothing is to be had, for ever
//
// CL5 to CL7 of core/clean/cleaner.h hold as for moves. Under the cleaner's mutex.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "core/clean/clean_parts.h"
#include "core/clean/compact_plan.h"
#include "core/clean/fragmented_lists.h"
#include "core/clean/list_walk.h"
#include "core/clean/moved_stripes.h"
#include "core/record/log_record.h"

namespace hexad::core {

class Compactor {
 public:
  // All outlive it. `partly`: what shows blobs in part; `lone`: what shows some that leave much of
  // their stripes empty.
  Compactor(const CleanParts& parts, FragmentedLists& partly, FragmentedLists& lone)
      : parts_(parts), partly_(partly), lone_(lone) {}

  struct Need {
    std::uint32_t most_shown = 0;     // of 1024 parts of a blob that is shown in part
    std::uint32_t most_filled = 0;    // of 1024 parts of the stripe of one that is shown whole
    std::vector<std::uint32_t> runs;  // that stripes may take, the longest first; not empty
    std::uint64_t most_bytes = 0;     // that a step writes; one list may be more
  };
  enum class Did : std::uint8_t {
    kNothing,   // there is nothing to be had
    kLooked,    // nothing was written, and next time others come first
    kUnplaced,  // there is something to be had behind a checkpoint
    kWrote,
  };
  // Errors: kNoSpace (there is none to move to), those of commits and devices.
  Result<Did> step(const Need& need);

  // Looks for lists that nobody has told of since the opening: at some of the metadata, on from
  // where it was. False: all has been looked at.
  Result<bool> find_some();

  // What has been left alone because it could not be read (KL5).
  Status problem() const;
  // That is looked at anew.
  void try_again();

 private:
  struct Candidate {
    FragmentedLists::Candidate list;
    FragmentedLists* from = nullptr;
  };
  // A list that is compacted.
  struct Work {
    Candidate at;
    std::size_t first = 0;  // of its pieces
    std::size_t count = 0;
    std::uint64_t frees = 0;  // bytes
    std::uint64_t bytes = 0;  // of its pieces
  };
  struct Pieces {
    std::vector<Work> lists;
    std::vector<CompactPiece> pieces;
    std::vector<Blob> blobs;           // of each piece, without its place
    std::vector<UnplacedBlob> stored;  // of each piece
    bool looked = false;               // some list was put aside
    bool waiting = false;              // ... or waits for a checkpoint
  };
  // What one record did.
  struct Done {
    std::uint64_t blobs = 0;  // that died
    std::uint64_t bytes = 0;  // that were written again
    std::uint64_t late = 0;   // pieces that came too late
    struct Left {
      std::string key;
      HiddenBytes partly;
      HiddenBytes lone;
    };
    std::vector<Left> lists;
    Status unreadable;  // some list that was to be changed
  };

  std::uint64_t stripe_bytes() const { return parts_.shape.unit * parts_.shape.k(); }
  // The best of both kinds. `waiting`: there are some that wait for a checkpoint.
  std::vector<Candidate> choose(const Need& need, bool& waiting);
  void forget(const std::string& key, Lsn changed);
  void leave_alone(const std::string& key, Lsn changed, const Status& why);
  void note_missed(const Status& why);
  void note_problem(const Status& why);
  // One range of the metadata, of find_some(). False: so many keys have been looked at.
  Result<bool> find_in(MetaView& view, std::string_view prefix, std::size_t& seen, Lsn now);
  Result<Pieces> gather(const Need& need);
  Result<Did> write(const Need& need, const Pieces& pieces);
  // Adds the list's pieces. Errors: those of reading them.
  Status add(const Candidate& at, const CompactPlan& plan, Pieces& pieces);
  static void cut_to(Pieces& pieces, std::size_t count);
  Status fill(const Pieces& pieces, const MovedStripes& moved, LogRecord& record, Done& done) const;

  const CleanParts& parts_;
  FragmentedLists& partly_;
  FragmentedLists& lone_;
  ListWalk walk_;                 // of find_some()
  Status problem_;                // the first of what could not be read
  std::uint64_t unreadable_ = 0;  // how many times that was so
  bool missed_ = false;           // find_some() has passed over something
};

}  // namespace hexad::core
