// The submitting half of tools/bench/load.h: puts, writes and deletes.
#include <fmt/format.h>

#include <utility>

#include "base/aligned_buffer.h"
#include "tools/bench/load.h"
#include "tools/bench/payload.h"

namespace hexad::tools {

namespace {

// Its buffer is borrowed by the transaction until the callback.
struct Change {
  AlignedBuffer data;  // empty when the workload moves no bytes
  Place place;
};

// One transaction in flight.
struct Slot {
  std::vector<Change> changes;
  std::size_t count = 0;  // of the changes, that it has; the last deletes may be fewer
  io::Nanos started = 0;
  bool refused = false;  // for want of space; to be tried again
};

class Submitter {
 public:
  Submitter(LoadShared& shared, std::uint64_t seed)
      : shared_(shared),
        options_(shared.options()),
        rng_(seed),
        payload_(seed, options_.compressible_percent),
        slots_(options_.depth),
        mutex_(shared.executor()),
        changed_(shared.executor()) {
    for (Slot& slot : slots_) {
      slot.changes.resize(options_.batch);
      for (Change& change : slot.changes) {
        if (moves_bytes(options_.workload)) change.data = AlignedBuffer(options_.block);
      }
      free_.push_back(&slot);
    }
  }

  void run() {
    last_success_ = shared_.now();
    while (!shared_.stopped()) {
      Slot& slot = take();
      if (slot.refused) {
        shared_.executor().sleep_for(kSpacePause);
      } else if (!prepare(slot)) {
        give_back(slot);
        break;
      }
      submit(slot);
    }
    for (std::size_t i = 0; i < slots_.size(); ++i) take();
    shared_.merge(result_);
  }

 private:
  // False: there is nothing left to do.
  bool prepare(Slot& slot) {
    slot.count = 0;
    for (Change& change : slot.changes) {
      change.place = shared_.places().next(rng_);
      if (options_.workload == Workload::kDelete && change.place.lap > 0) {
        shared_.use_up();
        break;
      }
      payload_.fill(change.data.bytes());
      ++slot.count;
    }
    return slot.count > 0;
  }

  Slot& take() {
    io::Lock lock(mutex_);
    changed_.wait(lock, [&] { return !free_.empty(); });
    Slot& slot = *free_.back();
    free_.pop_back();
    return slot;
  }

  void give_back(Slot& slot) {
    const io::Lock lock(mutex_);
    free_.push_back(&slot);
  }

  Transaction transaction_of(const Slot& slot) const {
    Transaction transaction;
    for (std::size_t i = 0; i < slot.count; ++i) {
      const auto& [data, place] = slot.changes[i];
      const std::string name = bench_object_name(place.object);
      if (options_.workload == Workload::kPut) {
        transaction.put_borrowed(options_.collection, name, data);
      } else if (options_.workload == Workload::kDelete) {
        transaction.remove(options_.collection, name);
      } else {
        transaction.write(options_.collection, name, place.block * options_.block, data);
      }
    }
    return transaction;
  }

  void submit(Slot& slot) {
    Transaction transaction = transaction_of(slot);
    slot.started = shared_.now();
    shared_.store().submit(
        std::move(transaction),
        [this, &slot](const Result<Lsn>& result) { completed(slot, result.status()); },
        {options_.durability});
  }

  // On a thread of the store.
  void completed(Slot& slot, const Status& status) {
    const io::Nanos now = shared_.now();
    const bool no_space = !status.ok() && status.error().code == ErrorCode::kNoSpace;
    if (!status.ok() && !no_space) shared_.fail(status.error());
    const io::Lock lock(mutex_);
    slot.refused = no_space;
    if (status.ok()) {
      last_success_ = now;
      if (now <= shared_.deadline()) record(slot.count, now - slot.started);
    } else if (no_space) {
      ++result_.space_waits;
      if (now - last_success_ > kSpacePatience) shared_.fail(status.error());
    }
    free_.push_back(&slot);
    changed_.notify_one();
  }

  // Each change has waited for its transaction.
  void record(std::size_t changes, io::Nanos latency) {
    for (std::size_t i = 0; i < changes; ++i) {
      result_.changed.add(latency);
      shared_.count_operation();
    }
  }

  LoadShared& shared_;
  const LoadOptions& options_;
  io::Rng rng_;
  PayloadGenerator payload_;
  std::vector<Slot> slots_;
  io::Mutex mutex_;
  io::CondVar changed_;
  std::vector<Slot*> free_;  // guarded by mutex_, as all below
  LoadResult result_;
  io::Nanos last_success_ = 0;
};

}  // namespace

LoadThreads start_submitters(LoadShared& shared) {
  LoadThreads threads;
  for (std::uint32_t i = 0; i < shared.options().threads; ++i) {
    const std::uint64_t seed = shared.options().seed + i;
    threads.push_back(shared.executor().start(fmt::format("submit-{}", i),
                                              [&shared, seed] { Submitter(shared, seed).run(); }));
  }
  return threads;
}

}  // namespace hexad::tools
