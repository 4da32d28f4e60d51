#include "io/os/starter_queue.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "io/starter.h"

namespace hexad::io {

namespace {

bool is_of_row(const IoRequest& request) {
  return request.op == IoOp::kWrite && request.device->starter()->longest_row() > 0;
}

// Writes of a device in the order of their places; the others stay before or behind them (D5).
bool comes_before(const IoRequest* one, const IoRequest* other) {
  if (one->device != other->device) return std::less<>()(one->device, other->device);
  if (is_of_row(*one) != is_of_row(*other)) return is_of_row(*other);
  return is_of_row(*one) && one->offset < other->offset;
}

// How many of `requests`, which are in that order, are the first row. At least one.
std::size_t first_row(std::span<IoRequest* const> requests) {
  const IoRequest& first = *requests.front();
  if (!is_of_row(first)) return 1;
  const std::uint64_t longest = first.device->starter()->longest_row();
  std::uint64_t end = first.offset + first.length;
  std::size_t count = 1;
  for (; count < requests.size(); ++count) {
    const IoRequest& next = *requests[count];
    if (next.device != first.device || !is_of_row(next) || next.mode != first.mode) break;
    if (next.offset != end || end + next.length - first.offset > longest) break;
    end += next.length;
  }
  return count;
}

}  // namespace

void StarterQueue::start(IoBatch& batch, std::size_t count) {
  const Told told = batch.done ? Told::kCallback : Told::kWhoWaits;
  std::vector<IoRequest*> requests;
  requests.reserve(count);
  bool rows = false;
  for (auto next = batch.requests.begin(); requests.size() < count; ++next) {
    if (next->device->starter() == nullptr || !next->status.ok()) continue;
    requests.push_back(&*next);
    rows = rows || is_of_row(*next);
  }
  if (rows) std::stable_sort(requests.begin(), requests.end(), comes_before);
  std::span<IoRequest* const> left(requests);
  while (!left.empty()) {
    const std::size_t length = first_row(left);
    start_row(batch, left.first(length), told);
    left = left.subspan(length);
  }
}

void StarterQueue::start_row(IoBatch& batch, std::span<IoRequest* const> row, Told told) {
  std::vector<Place> places;
  std::vector<IoRequest> copies;
  places.reserve(row.size());
  copies.reserve(row.size());
  for (IoRequest* const request : row) {
    send(*request);
    // Before it can be given up (SQ2).
    const OsLock lock(started_mutex_);
    places.push_back(started_.insert(started_.end(), {&batch, request, told}));
    copies.push_back(*request);
  }
  Starter& starter = *copies.front().device->starter();
  starter.start(copies, [this, places = std::move(places)](const Status& status) {
    for (const Place place : places) take_answer(place, status);  // SQ3
  });
}

void StarterQueue::take_answer(Place place, Status status) {
  Started one;
  {
    const OsLock lock(started_mutex_);
    place->answered = true;
    one = *place;
  }
  one.request->status = std::move(status);
  answer(*one.request);
  if (finish(*one.batch)) completed(one.batch, one.told);
  const OsLock lock(started_mutex_);
  started_.erase(place);
  if (started_.empty()) none_started_.notify_all();
}

void StarterQueue::give_up_started(Device& device) {
  std::vector<Started> left;
  {
    const OsLock lock(started_mutex_);
    for (Started& one : started_) {
      if (one.answered || one.request->device != &device) continue;
      if (!one.request->may_be_left || one.request->left) continue;
      left.push_back(one);
      const Left now = leave(*one.request);
      one.batch = now.batch;
      one.request = now.request;
      one.told = Told::kWhoWaits;
    }
  }
  for (const Started& one : left) {
    if (finish(*one.batch)) completed(one.batch, one.told);
  }
}

void StarterQueue::wait_for_started() {
  OsLock lock(started_mutex_);
  none_started_.wait(lock, [&]() HEXAD_REQUIRES(started_mutex_) { return started_.empty(); });
}

}  // namespace hexad::io
