// The blocking half of tools/bench/load.h: what is read, listed and asked, and reads with writes
// among them.
#include <fmt/format.h>

#include <utility>

#include "base/aligned_buffer.h"
#include "tools/bench/load.h"
#include "tools/bench/payload.h"

namespace hexad::tools {

namespace {

class Caller {
 public:
  Caller(LoadShared& shared, std::uint64_t seed)
      : shared_(shared),
        options_(shared.options()),
        rng_(seed),
        payload_(seed, options_.compressible_percent),
        data_(moves_bytes(options_.workload) ? options_.block : 0) {}

  void run() {
    last_success_ = shared_.now();
    while (!shared_.stopped()) {
      const Place place = shared_.places().next(rng_);
      const bool changes =
          options_.workload == Workload::kRandRw && rng_.below(100) >= options_.read_percent;
      if (changes) payload_.fill(data_.bytes());
      const io::Nanos started = shared_.now();
      const Status status = changes ? write(place) : look(place);
      const io::Nanos now = shared_.now();
      if (!status.ok()) {
        shared_.fail(status.error());
        continue;
      }
      last_success_ = now;
      if (now <= shared_.deadline()) {
        (changes ? result_.changed : result_.looked).add(now - started);
        shared_.count_operation();
      }
    }
    shared_.merge(result_);
  }

 private:
  Status look(const Place& place) {
    const std::string name = bench_object_name(place.object);
    if (options_.workload == Workload::kStat) {
      return shared_.store().stat(options_.collection, name).status();
    }
    if (options_.workload == Workload::kList) return list_behind(name);
    HEXAD_TRY_ASSIGN(const std::uint64_t count,
                     shared_.store().read(options_.collection, name, place.block * options_.block,
                                          data_.bytes()));
    if (count == data_.size()) return {};
    return Error{ErrorCode::kConflict,
                 fmt::format("{}: read {} of {} bytes", name, count, data_.size()),
                 "Another program changes the objects of this benchmark."};
  }

  Status list_behind(const std::string& name) {
    ListOptions page;
    page.start_after = name;
    HEXAD_TRY_ASSIGN(const ListPage found, shared_.store().list(options_.collection, page));
    result_.entries += found.entries.size();
    return {};
  }

  Status write(const Place& place) {
    for (;;) {
      Transaction transaction;
      transaction.write(options_.collection, bench_object_name(place.object),
                        place.block * options_.block, data_);
      const Result<Lsn> done =
          shared_.store().commit(std::move(transaction), {options_.durability});
      if (done.ok() || done.error().code != ErrorCode::kNoSpace) return done.status();
      ++result_.space_waits;
      if (shared_.now() - last_success_ > kSpacePatience) return done.status();
      shared_.executor().sleep_for(kSpacePause);
    }
  }

  LoadShared& shared_;
  const LoadOptions& options_;
  io::Rng rng_;
  PayloadGenerator payload_;
  AlignedBuffer data_;
  LoadResult result_;
  io::Nanos last_success_ = 0;
};

}  // namespace

LoadThreads start_callers(LoadShared& shared) {
  LoadThreads threads;
  const std::uint32_t count = shared.options().threads * shared.options().depth;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t seed = shared.options().seed + i;
    threads.push_back(shared.executor().start(fmt::format("call-{}", i),
                                              [&shared, seed] { Caller(shared, seed).run(); }));
  }
  return threads;
}

}  // namespace hexad::tools
