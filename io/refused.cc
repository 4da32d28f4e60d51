#include "io/refused.h"

#include <algorithm>
#include <utility>

#include "io/os_error.h"

namespace hexad::io {

bool is_refused(const IoRequest& request) {
  return request.op != IoOp::kFlush && !request.status.ok() && !is_medium(request.status.error());
}

std::vector<IoRequest*> refused_of(IoBatch& batch) {
  std::vector<IoRequest*> refused;
  for (IoRequest& request : batch.requests) {
    if (is_refused(request)) refused.push_back(&request);
  }
  return refused;
}

Status send_again(const std::vector<IoRequest*>& requests, Executor& executor,
                  const Patience& patience, const std::function<void(const Error&)>& pausing) {
  std::vector<IoRequest*> left;
  const auto keep_refused = [&](const std::vector<IoRequest*>& from) {
    std::vector<IoRequest*> refused;
    for (IoRequest* request : from) {
      if (is_refused(*request)) refused.push_back(request);
    }
    left = std::move(refused);
  };
  // Whoever is shut out stays so.
  const auto fenced = [&left] {
    const auto it = std::find_if(left.begin(), left.end(), [](const IoRequest* request) {
      return request->status.error().code == ErrorCode::kFenced;
    });
    return it == left.end() ? Status() : (*it)->status;
  };
  keep_refused(requests);
  const Nanos end = executor.clock().now() + patience.limit;
  for (Nanos pause = patience.first_pause; !left.empty();
       pause = std::min(2 * pause, patience.longest_pause)) {
    HEXAD_TRY(fenced());
    if (executor.clock().now() >= end) return left.front()->status;
    if (pausing) pausing(left.front()->status.error());
    executor.sleep_for(pause);
    IoBatch batch;
    for (const IoRequest* request : left) {
      IoRequest again = *request;
      again.status = Status();
      if (again.op == IoOp::kWrite) again.mode = WriteMode::kDurable;
      batch.requests.push_back(std::move(again));
    }
    batch.requests.front().device->queue().run(batch);
    for (std::size_t i = 0; i < left.size(); ++i) {
      left[i]->status = std::move(batch.requests[i].status);
      left[i]->mode = batch.requests[i].mode;
    }
    keep_refused(left);
  }
  return {};
}

Status send_again_briefly(IoBatch& batch, Executor& executor) {
  std::vector<IoRequest*> requests;
  Status full;
  for (IoRequest& request : batch.requests) {
    if (!is_refused(request)) continue;
    if (request.status.error().code == ErrorCode::kExhausted) {
      requests.push_back(&request);
    } else if (full.ok()) {
      full = request.status;
    }
  }
  if (!full.ok()) return full;
  return send_again(requests, executor, {.limit = 5'000'000'000});
}

}  // namespace hexad::io
