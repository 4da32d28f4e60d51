// The getting half of tools/bench/load.h.
#include <fmt/format.h>

#include "base/aligned_buffer.h"
#include "tools/bench/load.h"

namespace hexad::tools {

namespace {

void run_gets(LoadShared& shared) {
  AlignedBuffer into(shared.options().object_size);
  LoadResult result;
  while (!shared.stopped()) {
    const std::string name = shared.next_name();
    const io::Nanos started = shared.now();
    const Result<std::uint64_t> count =
        shared.store().read(shared.options().collection, name, 0, into.bytes());
    const io::Nanos now = shared.now();
    if (!count.ok()) {
      shared.fail(count.error());
    } else if (*count != into.size()) {
      shared.fail(Error{ErrorCode::kConflict,
                        fmt::format("{}: read {} of {} bytes", name, *count, into.size()),
                        "Another program changes the objects of this benchmark."});
    } else if (now <= shared.deadline()) {
      ++result.operations;
      result.latency.add(static_cast<std::uint64_t>(now - started));
      shared.count_operation();
    }
  }
  shared.merge(result);
}

}  // namespace

LoadThreads start_gets(LoadShared& shared) {
  LoadThreads threads;
  const std::uint32_t count = shared.options().threads * shared.options().depth;
  for (std::uint32_t i = 0; i < count; ++i) {
    threads.push_back(
        shared.executor().start(fmt::format("get-{}", i), [&shared] { run_gets(shared); }));
  }
  return threads;
}

}  // namespace hexad::tools
