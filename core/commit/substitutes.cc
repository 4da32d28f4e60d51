#include "core/commit/substitutes.h"

#include <utility>

#include "base/error.h"

namespace hexad::core {

bool Substitutes::try_start(io::Task rest) {
  std::list<Substitute> over;
  std::list<Substitute> added(1);
  {
    const io::Lock lock(mutex_);
    ++starting_;  // what it does may be done before it is known, and join() has to know it
    for (auto at = substitutes_.begin(); at != substitutes_.end();) {
      const auto one = at++;
      if (one->over) over.splice(over.end(), substitutes_, one);
    }
  }
  for (const Substitute& one : over) one.thread->join();
  Result<std::unique_ptr<io::Thread>> thread = executor_.try_start(
      "hexad-substitute", [this, rest = std::move(rest), self = &added.front()] {
        rest();
        const io::Lock lock(mutex_);
        self->over = true;
      });
  const bool started = thread.ok();
  const io::Lock lock(mutex_);
  if (started) {
    added.front().thread = std::move(thread).value();
    substitutes_.splice(substitutes_.end(), added);
  }
  --starting_;
  changed_.notify_all();
  return started;
}

void Substitutes::join() {
  std::list<Substitute> substitutes;
  {
    const io::Lock lock(mutex_);
    substitutes = std::exchange(substitutes_, {});
  }
  for (const Substitute& substitute : substitutes) substitute.thread->join();
}

}  // namespace hexad::core
