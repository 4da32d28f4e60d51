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
      mutex_(executor) {}

void LoadShared::fail(const Error& error) {
  stop();
  const io::Lock lock(mutex_);
  if (first_error_.ok()) first_error_ = error;
}

std::string LoadShared::next_name() {
  return bench_object_name(next_object_.fetch_add(1, std::memory_order_relaxed) % options_.objects);
}

void LoadShared::merge(const LoadResult& part) {
  const io::Lock lock(mutex_);
  result_.operations += part.operations;
  result_.latency.merge(part.latency);
  result_.space_waits += part.space_waits;
}

Result<LoadResult> LoadShared::result() {
  const io::Lock lock(mutex_);
  if (!first_error_.ok()) return first_error_.error();
  return result_;
}

std::string bench_object_name(std::uint64_t index) { return fmt::format("object-{:010}", index); }

}  // namespace hexad::tools
