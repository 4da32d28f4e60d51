// Random transactions, streams, checkpoints and openings on a store, and the same on a model of
// plain maps: whatever the store answers or shows that the model does not is a difference. The same
// seed and options repeat the run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/store.h"

namespace hexad::testing {

// A new store, empty but for the collection "default", and how to open it again.
class RunnerTarget {
 public:
  enum class Ending : std::uint8_t {
    kClosed,   // by close()
    kDropped,  // only destroyed: the next opening recovers
    kCut,      // the power fails: what was buffered may be gone. Only where a run asks for it
  };

  virtual ~RunnerTarget() = default;
  virtual Store& store() = 0;
  virtual bool can_reopen() const = 0;
  // Everything that was committed is durable, but for kCut.
  virtual Status reopen(Ending ending, Access access) = 0;
  // Nothing, or what a deep fsck finds, and where there is a log, what is wrong in its order.
  virtual std::string check();
  // Lets the store work in the background for a while.
  virtual void wait();
};

// One on devices: what its openings have in common. The destructor of a derived class calls drop():
// the store goes before what it is on.
class ReopenedTarget : public RunnerTarget {
 public:
  Status open(Access access);
  Store& store() override;
  bool can_reopen() const override { return true; }
  Status reopen(Ending ending, Access access) override;

 protected:
  explicit ReopenedTarget(const RuntimeOptions& runtime) : runtime_(runtime) {}
  void drop() { store_.reset(); }

 private:
  virtual Result<Store> open_store(const RuntimeOptions& runtime) = 0;
  // Between a store and the next: the devices are as it has left them.
  virtual void between() {}

  RuntimeOptions runtime_;
  std::optional<Store> store_;
};

// In memory alone, with room for 256 MiB.
Result<std::unique_ptr<RunnerTarget>> make_memory_target(const MemoryStoreOptions& options,
                                                         const RuntimeOptions& runtime);
// Six devices of 24 MiB in memory, and with a `fast` directory the index in a temporary one.
// `format`: all but the places.
Result<std::unique_ptr<RunnerTarget>> make_device_target(FormatOptions format,
                                                         const RuntimeOptions& runtime, bool fast);
// Options that differ from seed to seed: compression, checksums, no fast directory for devices one
// time in four, and a memtable so small that checkpoints never end.
enum class TargetKind : std::uint8_t { kMemory, kDevice };
Result<std::unique_ptr<RunnerTarget>> make_target(TargetKind kind, std::uint64_t seed);
// The same, for a pool that is yet to get its places.
RuntimeOptions runtime_of_seed(std::uint64_t seed);
FormatOptions format_of_seed(std::uint64_t seed);

struct RunnerOptions {
  std::uint64_t seed = 1;
  std::uint64_t ops = 1000;      // of transactions; the last one is made whole
  std::uint64_t big_one_in = 5;  // of the sizes: up to 1 MiB, all others up to 16 KiB
  // After one transaction in so many, by chance; 0: never.
  std::uint64_t compare_one_in = 40;  // everything
  std::uint64_t check_one_in = 80;    // fsck, deep
  std::uint64_t checkpoint_one_in = 40;
  std::uint64_t reopen_one_in = 13;  // and compare everything and check
  std::uint64_t wait_one_in = 0;     // the store works in the background for a while
  // After one transaction in so many of those without: a reader, which reads an object as it was
  // then a piece at a time, one behind each transaction that follows.
  std::uint64_t read_one_in = 0;
  std::uint64_t buffered_in_4 = 1;  // transactions of four that are buffered
  // After one transaction in so many the power fails; what is left has to be a state that was
  // there, and no older than the last one that was durable.
  std::uint64_t cut_one_in = 0;
  // Objects of 64 KiB that take so much of what is usable, in a collection of their own, of which
  // every second transaction overwrites small parts: they are compacted all the time.
  std::uint64_t worn_percent = 0;
  // There may be no space; then a transaction has changed nothing.
  bool may_be_full = false;
};

struct RunnerTally {
  std::uint64_t ops = 0;
  std::uint64_t transactions = 0;
  std::uint64_t failures = 0;  // transactions that were refused, as the model says
  std::uint64_t streams = 0;   // objects written piece by piece
  std::uint64_t compared = 0;  // times that everything was
  std::uint64_t reopened = 0;
  std::uint64_t read = 0;     // objects by readers, to the end
  std::uint64_t cuts = 0;     // power failures
  std::uint64_t lost = 0;     // transactions that were buffered, by these
  std::uint64_t refused = 0;  // transactions and streams for which there was no space
  // The run ends with the first one. It names the seed, the transaction and its ops.
  std::string difference;

  void add(const RunnerTally& other);
  // runner seed=1 ops=1000 transactions=321 failures=12 differences=0
  std::string line(std::uint64_t seed) const;
};

// After the last op everything is compared, checked and removed, and all space has to be back.
RunnerTally run_store(RunnerTarget& target, const RunnerOptions& options);

}  // namespace hexad::testing
