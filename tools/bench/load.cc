#include "tools/bench/load.h"

#include <fmt/format.h>

#include <utility>

namespace hexad::tools {

LoadShared::LoadShared(Store& store, io::Executor& executor, LoadOptions options,
                       io::Nanos deadline)
    : store_(store),
      executor_(executor),
      options_(std::move(options)),
      deadline_(deadline),
      places_(options_.objects, options_.blocks_per_object(),
              is_in_order(options_.workload) ? Places::Order::kInOrder : Places::Order::kRandom,
              options_.zipf),
      mutex_(executor) {}

void LoadShared::fail(const Error& error) {
  stop();
  const io::Lock lock(mutex_);
  if (first_error_.ok()) first_error_ = error;
}

void LoadShared::merge(const LoadResult& part) {
  const io::Lock lock(mutex_);
  result_.merge(part);
}

Result<LoadResult> LoadShared::result() {
  const io::Lock lock(mutex_);
  if (!first_error_.ok()) return first_error_.error();
  return result_;
}

std::string bench_object_name(std::uint64_t index) { return fmt::format("object-{:010}", index); }

LoadThreads start_load(LoadShared& shared) {
  return is_submitted(shared.options().workload) ? start_submitters(shared) : start_callers(shared);
}

}  // namespace hexad::tools
