#include "io/rbd/rbd_patience.h"

#include <condition_variable>

#include "base/os_mutex.h"
#include "io/os_thread.h"

namespace hexad::io {

namespace {

// What a call and who waits for it share.
struct Call {
  OsMutex mutex;
  std::condition_variable changed;
  bool over HEXAD_GUARDED_BY(mutex) = false;
  bool late HEXAD_GUARDED_BY(mutex) = false;
};

enum class Outcome { kOver, kLate, kNoThread };

Status run_apart(const std::shared_ptr<RbdCluster>& cluster, std::chrono::seconds patience,
                 std::function<void()> body, Outcome& outcome) {
  const auto call = std::make_shared<Call>();
  Result<OsThread> thread =
      OsThread::start("hexad-rbd", [call, cluster, body = std::move(body)]() mutable {
        body();
        body = nullptr;  // what it had goes here, where that may take long
        const OsLock lock(call->mutex);
        call->over = true;
        if (call->late) cluster->one_is_no_longer_late();
        call->changed.notify_all();
      });
  outcome = Outcome::kNoThread;
  if (!thread.ok()) return thread.error();
  OsLock lock(call->mutex);
  if (call->changed.wait_for(lock, patience,
                             [&]() HEXAD_REQUIRES(call->mutex) { return call->over; })) {
    lock.unlock();
    thread->join();
    outcome = Outcome::kOver;
    return {};
  }
  call->late = true;
  cluster->one_is_late();
  // Nobody can wait for it; it stays until the process ends.
  static_cast<void>(new OsThread(std::move(*thread)));
  outcome = Outcome::kLate;
  return {};
}

Error no_answer(const std::string& what, const std::string& why) {
  return Error{ErrorCode::kUnavailable, what + ": " + why,
               "Check that the cluster's monitors and OSDs can be reached: ceph -s."};
}

}  // namespace

Status wait_for_rbd(const std::shared_ptr<RbdCluster>& cluster, const std::string& what,
                    std::chrono::seconds patience, std::function<void()> call) {
  if (cluster->late() > 0) {
    return no_answer(what, "the cluster owes an answer to an earlier question");
  }
  Outcome outcome = Outcome::kOver;
  HEXAD_TRY(run_apart(cluster, patience, std::move(call), outcome));
  if (outcome == Outcome::kOver) return {};
  return no_answer(what,
                   "the cluster has not answered for " + std::to_string(patience.count()) + " s");
}

void close_rbd(const std::shared_ptr<RbdCluster>& cluster, const std::function<void()>& call) {
  Outcome outcome = Outcome::kOver;
  run_apart(cluster, kRbdPatience, call, outcome).ignore();
  if (outcome == Outcome::kNoThread) call();
}

}  // namespace hexad::io
