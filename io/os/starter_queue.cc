#include "io/os/starter_queue.h"

#include <utility>
#include <vector>

#include "io/starter.h"

namespace hexad::io {

void StarterQueue::start(IoBatch& batch, std::size_t count) {
  const bool callback = static_cast<bool>(batch.done);
  for (auto next = batch.requests.begin(); count > 0; ++next) {
    if (next->device->starter() == nullptr || !next->status.ok()) continue;
    --count;
    start_one(batch, *next, callback);
  }
}

void StarterQueue::start_one(IoBatch& batch, IoRequest& request, bool callback) {
  send(request);
  Place place;
  IoRequest copy;
  {
    // Before it can be given up (SQ2).
    const std::lock_guard<std::mutex> lock(started_mutex_);
    place = started_.insert(started_.end(), {&batch, &request, callback});
    copy = request;
  }
  copy.device->starter()->start(
      copy, [this, place](Status status) { take_answer(place, std::move(status)); });
}

void StarterQueue::take_answer(Place place, Status status) {
  Started one;
  {
    const std::lock_guard<std::mutex> lock(started_mutex_);
    place->answered = true;
    one = *place;
  }
  one.request->status = std::move(status);
  answer(*one.request);
  if (finish(*one.batch)) completed(one.batch, one.callback);
  const std::lock_guard<std::mutex> lock(started_mutex_);
  started_.erase(place);
  if (started_.empty()) none_started_.notify_all();
}

void StarterQueue::give_up_started(Device& device) {
  std::vector<Started> left;
  {
    const std::lock_guard<std::mutex> lock(started_mutex_);
    for (Started& one : started_) {
      if (one.answered || one.request->device != &device) continue;
      if (!one.request->may_be_left || one.request->left) continue;
      left.push_back(one);
      const Left now = leave(*one.request);
      one.batch = now.batch;
      one.request = now.request;
      one.callback = false;
    }
  }
  for (const Started& one : left) {
    if (finish(*one.batch)) completed(one.batch, one.callback);
  }
}

void StarterQueue::wait_for_started() {
  std::unique_lock<std::mutex> lock(started_mutex_);
  none_started_.wait(lock, [&] { return started_.empty(); });
}

}  // namespace hexad::io
