#include "core/commit/open_group.h"

#include <iterator>
#include <utility>

namespace hexad::core {

namespace {

// What sealing the submission sends to devices, without parity of blobs that have no place yet.
std::uint64_t bytes_to_write(const Submission& submission) {
  std::uint64_t bytes = submission.encoded.size() + kRecordFraming;
  for (const UnplacedBlob& blob : submission.unplaced) bytes += blob.stored.size();
  for (const StripeWrite& stripe : submission.stripes) bytes += stripe.prepared.cells.size();
  return bytes;
}

}  // namespace

void OpenGroup::add(Submission&& submission) {
  if (submission.durability == Durability::kDurable) {
    wanted_ = submission.lsn;
    if (expected_ > 0) --expected_;
  }
  bytes_ += bytes_to_write(submission);
  submissions_.push_back(std::move(submission));
}

std::vector<Submission> OpenGroup::take() {
  sealing_ = true;
  std::uint64_t bytes = 0;
  std::size_t count = 0;
  for (; count < submissions_.size(); ++count) {
    bytes += submissions_[count].encoded.size() + kRecordFraming;
    for (const UnplacedBlob& blob : submissions_[count].unplaced) bytes += blob.stored.size();
    if (count > 0 && bytes > kMaxGroupBytes) break;
  }
  if (count == submissions_.size()) {
    bytes_ = 0;
    return std::exchange(submissions_, {});
  }
  std::vector<Submission> members;
  members.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    bytes_ -= bytes_to_write(submissions_[i]);
    members.push_back(std::move(submissions_[i]));
  }
  submissions_.erase(submissions_.begin(),
                     submissions_.begin() + static_cast<std::ptrdiff_t>(count));
  return members;
}

void OpenGroup::put_back(std::vector<Submission> members) {
  for (const Submission& member : members) bytes_ += bytes_to_write(member);
  submissions_.insert(submissions_.begin(), std::make_move_iterator(members.begin()),
                      std::make_move_iterator(members.end()));
}

}  // namespace hexad::core
