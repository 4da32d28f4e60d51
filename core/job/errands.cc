#include "core/job/errands.h"

#include <string>

#include "base/refused_memory.h"

namespace hexad::core {

std::optional<Error> Errands::called_back(std::string_view what) {
  if (!io::Recall::comes()) return std::nullopt;
  return Error{ErrorCode::kUnavailable, "the thread was called back while " + std::string(what),
               "Nothing has changed: try again when the devices answer."};
}

Status Errands::run_apart(std::function<Status()> work, const Leave& leave) {
  join_ended();
  const auto errand = std::make_shared<Errand>();
  Result<std::unique_ptr<io::Thread>> thread =
      executor_.try_start("hexad-errand", [this, errand, work] {
        Status outcome = without_bad_alloc([&] { return work(); });
        const io::Lock lock(mutex_);
        errand->outcome = std::move(outcome);
        changed_.notify_all();
      });
  if (!thread.ok()) {
    const io::Recall::Stay stay;
    return work();
  }
  errand->thread = std::move(thread).value();
  std::list<std::shared_ptr<Errand>> left = {errand};
  {
    io::Lock lock(mutex_);
    while (!errand->outcome.has_value()) {
      changed_.wait_for(lock, io::Recall::kBetweenAsks);
      lock.unlock();
      std::optional<Error> why = leave();
      lock.lock();
      if (!why.has_value() || errand->outcome.has_value()) continue;
      left_.splice(left_.end(), left);
      return *std::move(why);
    }
  }
  errand->thread->join();
  return *std::move(errand->outcome);
}

void Errands::join_ended() {
  std::list<std::shared_ptr<Errand>> ended;
  {
    const io::Lock lock(mutex_);
    for (auto at = left_.begin(); at != left_.end();) {
      const auto one = at++;
      if ((*one)->outcome.has_value()) ended.splice(ended.end(), left_, one);
    }
  }
  for (const std::shared_ptr<Errand>& errand : ended) errand->thread->join();
}

void Errands::wait() {
  std::list<std::shared_ptr<Errand>> left;
  {
    const io::Lock lock(mutex_);
    left.swap(left_);
  }
  for (const std::shared_ptr<Errand>& errand : left) errand->thread->join();
}

}  // namespace hexad::core
