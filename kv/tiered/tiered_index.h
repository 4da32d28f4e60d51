// The index that a store reads: the one on the fast tier as long as it can be trusted, else the
// runs, which hold the same and are slower to ask. The fast one can go at any moment, and a new one
// can take its place; readers of the old one keep it until they end.
//
// A reader that meets damage in the fast index goes on in the runs, from where it was, and the fast
// index is detached: that damage costs time and no answer. What LMDB takes for sound although it is
// not would cost one; so an index is verified before it is attached.
//
// Any thread. Between advance() and the apply() that follows, the fast index is a checkpoint behind
// the runs; the caller's frozen memtable covers the difference.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "io/executor.h"
#include "kv/index.h"
#include "kv/run/run_set.h"

namespace hexad::kv {

class TieredIndex final : public Index {
 public:
  // `fast` may be null. What `runs` holds is in `fast`, too, and `fast` has more only if there are
  // no runs at all. `executor` outlives it.
  TieredIndex(io::Executor& executor, std::shared_ptr<const RunSet> runs,
              std::unique_ptr<Index> fast);

  // --- the checkpoint's, one thread at a time ---
  // The runs as of the checkpoint that was just committed.
  void advance(std::shared_ptr<const RunSet> runs);
  // Applies to the fast index alone; without one there is nothing to do. An error of any kind means
  // that the fast index is behind for good: detach() it.
  Status apply(Lsn lsn, Epoch epoch, std::span<const IndexChange> changes) override;
  // Reads come from the runs from now on. The index itself goes with its last reader; whether it is
  // gone says detached_is_gone(). Any thread.
  void detach();
  bool detached_is_gone() const;
  // Precondition: there is none, and `fast` holds what the runs hold.
  void attach(std::unique_ptr<Index> fast);

  bool has_fast() const;
  // How often a reader has met damage.
  std::uint64_t damages() const { return damages_.load(std::memory_order_relaxed); }
  std::shared_ptr<const RunSet> runs() const;

  // One of so many look-ups in the fast index is timed.
  static constexpr std::uint64_t kTimedOneOf = 64;
  // What the fast index was asked for and answered, in look-ups of keys: whatever index that was.
  struct Tally {
    std::uint64_t answers = 0;
    std::uint64_t timed = 0;  // of these
    io::Nanos nanos = 0;      // how long the timed ones took
  };
  // Since it was made. Any thread.
  Tally tally() const;

  // --- Index ---
  Result<std::unique_ptr<IndexReader>> snapshot() override;
  bool reads_devices() const override { return !has_fast(); }
  // Of the runs; of the fast index where there are none.
  Lsn applied_lsn() const override;
  Epoch applied_epoch() const override;
  // Of the fast index; zeros without one.
  Result<IndexStats> stats() override;
  // By apply(), into whatever fast index there was, since this was made.
  std::uint64_t bytes_written() const override { return written_.load(std::memory_order_relaxed); }
  // Of the fast index. The runs verify themselves.
  Status verify() override;

 private:
  friend class TieredReader;
  std::shared_ptr<Index> fast() const;
  // A reader of `index` has met damage.
  void drop(const Index* index);
  template <typename Ask>
  auto counted(const Ask& ask);

  mutable io::Mutex mutex_;
  std::shared_ptr<const RunSet> runs_ HEXAD_GUARDED_BY(mutex_);
  std::shared_ptr<Index> fast_ HEXAD_GUARDED_BY(mutex_);
  std::weak_ptr<Index> detached_ HEXAD_GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> damages_{0};
  io::Clock& clock_;
  std::atomic<std::uint64_t> written_{0};  // bytes
  std::atomic<std::uint64_t> answers_{0};
  std::atomic<std::uint64_t> timed_{0};
  std::atomic<io::Nanos> nanos_{0};
};

}  // namespace hexad::kv
