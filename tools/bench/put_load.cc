// The putting half of tools/bench/load.h.
#include <fmt/format.h>

#include <utility>

#include "base/aligned_buffer.h"
#include "tools/bench/load.h"
#include "tools/bench/payload.h"

namespace hexad::tools {

namespace {

constexpr io::Nanos kMillisecond = 1'000'000;
// No put at all has got through for so long: the space is really not there.
constexpr io::Nanos kPatience = 10'000 * kMillisecond;

// One put in flight: its buffer is borrowed by the transaction until the callback.
struct Slot {
  AlignedBuffer data;
  std::string name;
  io::Nanos started = 0;
  bool refused = false;  // for want of space; to be tried again
};

class PutThread {
 public:
  PutThread(LoadShared& shared, std::uint64_t seed)
      : shared_(shared),
        payload_(seed, shared.options().compressible_percent),
        slots_(shared.options().depth),
        mutex_(shared.executor()),
        changed_(shared.executor()) {
    for (Slot& slot : slots_) {
      slot.data = AlignedBuffer(shared.options().object_size);
      free_.push_back(&slot);
    }
  }

  void run() {
    last_success_ = shared_.now();
    while (!shared_.stopped()) {
      Slot& slot = take();
      if (slot.refused) {
        wait_for_space();
      } else {
        slot.name = shared_.next_name();
        payload_.fill(slot.data.bytes());
      }
      put(slot);
    }
    for (std::size_t i = 0; i < slots_.size(); ++i) take();
    shared_.merge(result_);
  }

 private:
  Slot& take() {
    io::Lock lock(mutex_);
    changed_.wait(lock, [&] { return !free_.empty(); });
    Slot& slot = *free_.back();
    free_.pop_back();
    return slot;
  }

  void put(Slot& slot) {
    Transaction transaction;
    transaction.put_borrowed(shared_.options().collection, slot.name, slot.data);
    slot.started = shared_.now();
    shared_.store().submit(std::move(transaction), [this, &slot](const Result<Lsn>& result) {
      completed(slot, result.status());
    });
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
      if (now <= shared_.deadline()) record(now - slot.started);
    } else if (no_space) {
      ++result_.space_waits;
      if (now - last_success_ > kPatience) shared_.fail(status.error());
    }
    free_.push_back(&slot);
    changed_.notify_one();
  }

  void record(io::Nanos latency) {
    ++result_.operations;
    result_.latency.add(static_cast<std::uint64_t>(latency));
    shared_.count_operation();
  }

  // What was overwritten is released once a later commit is durable: let those in flight finish.
  void wait_for_space() { shared_.executor().sleep_for(kMillisecond); }

  LoadShared& shared_;
  PayloadGenerator payload_;
  std::vector<Slot> slots_;
  io::Mutex mutex_;
  io::CondVar changed_;
  std::vector<Slot*> free_;  // guarded by mutex_, as all below
  LoadResult result_;
  io::Nanos last_success_ = 0;
};

}  // namespace

LoadThreads start_puts(LoadShared& shared) {
  LoadThreads threads;
  for (std::uint32_t i = 0; i < shared.options().threads; ++i) {
    const std::uint64_t seed = shared.options().seed + i;
    threads.push_back(shared.executor().start(fmt::format("put-{}", i),
                                              [&shared, seed] { PutThread(shared, seed).run(); }));
  }
  return threads;
}

}  // namespace hexad::tools
