// The open group: transactions that have their LSN and no place in the log yet, who waits for them,
// and when they are a group worth sealing. Decides only.
//
// All under the pipeline's lock.
//
// Invariants
//   C5  one group is sealed at a time, so groups get their places in the log in the order of LSNs
//   C14 an open group waits for company only while another one is not answered, while callers of
//       answered ones may come again (expected_), and while it has fewer members than there are
//       callers in the others and expected: a small group takes a round of I/O, too, so half of all
//       go out while the other half is under way. It is sealed when the other one is answered,
//       which it has to wait for anyway, so it is later by a round of its own at most. Nothing
//       waits so that sync(), a checkpoint, whoever makes room or another commit waits for
//       (urgent_)
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "core/commit/commit_group.h"

namespace hexad::core {

// Commits that write so many bytes are worth a round of I/O of their own, though nobody waits.
inline constexpr std::uint64_t kLargeGroup = 1 << 20;

class OpenGroup {
 public:
  // Everything up to `durable` is.
  explicit OpenGroup(Lsn durable) : wanted_(durable) {}

  bool empty() const { return submissions_.empty(); }
  std::uint64_t bytes() const { return bytes_; }  // to be written
  // Precondition: not empty.
  Lsn first_lsn() const { return submissions_.front().lsn; }

  // The next transaction. Whoever waits for a durable one wants it.
  void add(Submission&& submission);
  // One that came after the end of the pipeline: what is visible may still need it.
  void keep(Submission&& submission) { submissions_.push_back(std::move(submission)); }
  std::vector<Submission>& submissions() { return submissions_; }

  // --- who waits ---

  // Somebody waits until `lsn` is durable.
  void want(Lsn lsn) { wanted_ = std::max(wanted_, lsn); }
  // And no company comes of it (C14).
  void hurry(Lsn lsn) {
    want(lsn);
    urgent_ = std::max(urgent_, lsn);
  }
  // For everything up to `last`, which is all there is.
  void hurry_all(Lsn last) {
    wanted_ = last;
    urgent_ = wanted_;
  }
  Lsn wanted() const { return wanted_; }
  // A group with so many callers is answered, while so many wait for others: the former may come
  // again.
  void expect(std::size_t under_way, std::size_t callers) {
    // C14. No more than there were lately: whoever stays away is forgotten.
    expected_ = std::min(expected_, under_way) + callers;
  }

  // --- sealing ---

  // Somebody wants it durable, or it is large, and nobody is sealing.
  bool is_due() const {
    if (submissions_.empty()) return false;
    return (first_lsn() <= wanted_ || bytes_ >= kLargeGroup) && !sealing_;
  }
  // C14: it is so that it may wait for company, and with so many callers under way it does.
  // Precondition of both: not empty.
  bool may_wait() const { return expected_ > 0 && bytes_ < kLargeGroup && first_lsn() > urgent_; }
  bool waits_with(std::size_t under_way) const {
    return under_way > 0 && submissions_.size() < under_way + expected_;
  }
  // What goes into the next group, in the order of LSNs. Until sealed() nobody else takes any.
  std::vector<Submission> take();
  // They have no place in the log after all.
  void put_back(std::vector<Submission> members);
  void sealed() { sealing_ = false; }
  // Somebody is between take() and sealed().
  bool is_being_sealed() const { return sealing_; }

 private:
  std::vector<Submission> submissions_;
  std::uint64_t bytes_ = 0;
  Lsn wanted_;                // somebody waits until this is durable
  Lsn urgent_ = 0;            // and up to here without company
  std::size_t expected_ = 0;  // callers of answered groups who have not enqueued since
  bool sealing_ = false;
};

}  // namespace hexad::core
