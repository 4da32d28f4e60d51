// A store in a simulation that remembers every write, and the stores that crashes make of it.
//
// All of it from one seed: six small disks, a fast tier whose log is a simulated disk and whose
// index is a real LMDB file, recorded as one more disk. run() makes a pool, runs a workload with
// several commits in flight, and notes which transactions were acknowledged at which point of the
// recording. reopen() puts the disks and the index file of one crash state in place and opens. In
// every second state the index does not survive as it was: it is gone, an old copy, or damaged.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/store.h"
#include "io/sim/crash_recorder.h"
#include "io/sim/crash_states.h"
#include "io/sim/sim_system.h"
#include "kv/index.h"
#include "tests/core/log_order.h"
#include "tests/core/store_model.h"
#include "tests/io/temporary.h"

namespace hexad::testing {

struct CrashWorldOptions {
  std::uint64_t seed = 1;
  std::uint32_t physical_block = 512;   // bytes, of every disk
  std::uint64_t min_alloc = 4096;       // bytes
  std::uint64_t log_size = 32 << 10;    // bytes per copy
  std::uint64_t device_size = 1 << 20;  // bytes between the ends of each data disk
  std::uint64_t slab_size = 0;          // bytes; 0: as mkfs chooses
  int flush_domain = -1;                // >= 0: all disks share one
  int transactions = 96;
  int in_flight = 3;  // transactions at once
  // A checkpoint is asked for each time that so many transactions are done; 0: once, after a third.
  // Besides those that the log's filling asks for.
  int checkpoint_every = 0;
  LogDurability log_durability = LogDurability::kFull;
  // Of so many disks. Without parity they are said to be redundant themselves.
  ec::Profile profile = {};
  int data_disks = 6;
  bool fast = true;  // false: no fast directory, so no index, and the log on data disks alone
  // Three of four transactions are buffered: answered before anything is promised about them.
  bool buffered = false;
  // Not empty: these transactions, one after the other, instead of those that the world makes up.
  // They may fail, where the model says so. `before`: what there is when the recording begins.
  using Script = std::function<void(Transaction&)>;
  std::vector<Script> script = {};
  Script before = {};
  // How long a lane waits behind each of its transactions, so that what is done at rest is done.
  io::Nanos pause = 0;
  // Pages that a transaction of the recording shows of a range one by one; longer ones are copied
  // beside the commits (core/transact/page_copier.h).
  std::uint64_t ranges_at_once = kMaxClonedPages;
  // > 0: instead of LMDB an index in memory of at most so many bytes, which a crash takes along.
  // Where it does not fit blocks of the runs are on the fast device, and what the store remembers
  // has so little room that it asks for them all the time.
  std::uint64_t index_limit = 0;
};

class CrashWorld {
 public:
  // Works in a temporary directory until destroyed, so that no path of this machine is in what the
  // store writes: the trace hash is the same everywhere. One at a time.
  explicit CrashWorld(const CrashWorldOptions& options);
  ~CrashWorld();
  CrashWorld(const CrashWorld&) = delete;
  CrashWorld& operator=(const CrashWorld&) = delete;

  // Records the workload. Once.
  void run();

  const io::CrashRecorder& recorder() const { return recorder_; }
  std::uint64_t trace_hash() const { return trace_hash_; }
  std::uint64_t log_laps() const { return log_laps_; }
  std::uint64_t checkpoints() const { return checkpoints_; }
  std::uint64_t runs_merged() const { return runs_merged_; }
  std::uint64_t merge_moved() const { return merge_moved_; }  // bytes: merge_moved_bytes
  std::uint64_t blobs_moved() const { return blobs_moved_; }  // by the cleaner
  std::uint64_t lists_compacted() const { return lists_compacted_; }
  std::uint64_t indexes_made() const { return indexes_made_; }
  std::uint64_t blocks_found() const { return blocks_found_; }      // on the fast device
  std::uint64_t blocks_written() const { return blocks_written_; }  // there, bytes
  std::size_t transactions() const { return done_.size(); }
  // Of the recorded workload; check() says what is wrong in its order.
  const LogOrder& log() const { return log_; }
  // Records that the engine has made for itself between the transactions.
  std::uint64_t own_records() const {
    return done_.back().lsn - done_.front().lsn + 1 - done_.size();
  }

  // Opens the store of `state` for writing, calls `use` with it, and lets go of it without closing.
  // With a `recorder`, records what is written meanwhile, the index included. Returns what is
  // wrong, or nothing.
  using Use = std::function<std::optional<std::string>(Store&)>;
  std::optional<std::string> reopen(const io::CrashState& state, io::CrashRecorder* recorder,
                                    const Use& use);
  // The same for who lets simulated time pass.
  using UseInTime = std::function<std::optional<std::string>(Store&, io::Executor&)>;
  std::optional<std::string> reopen(const io::CrashState& state, io::CrashRecorder* recorder,
                                    const UseInTime& use);

  // For who opens several times, by open_narrow(), and changes disks between: `use` gets the system
  // of `state`. With CrashWorldOptions::index_limit.
  using UseDisks = std::function<std::optional<std::string>(io::SimSystem&)>;
  std::optional<std::string> with_disks(const io::CrashState& state, const UseDisks& use);
  // An index of at most so many bytes, and how a store with it is opened.
  static std::unique_ptr<kv::IndexHome> narrow_home(io::Executor& executor, std::uint64_t limit);
  Result<Store> open_narrow(io::System& system, kv::IndexHome& indexes) const;
  static constexpr const char* kBlocks = "fast/blocks";  // the disk

  // The state of the store must be the model after some number of transactions: all that were
  // acknowledged by `position`, none that was not begun. Metadata and space must agree, and the log
  // of the recording must be one that any crash may cut.
  std::optional<std::string> check(Store& store, std::uint64_t position) const;

 private:
  void look_at_log();
  static std::optional<std::string> compare(Store& store, const Model& model, Lsn last);
  static std::optional<std::string> check_metadata(Store& store);
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  struct Done {
    Lsn lsn = 0;
    std::uint64_t acknowledged = 0;  // position in the recording; kNever: nothing was promised
    std::size_t script = 0;          // index into script_
  };

  io::SimDiskOptions disk_options() const;
  bool has_lmdb() const { return options_.fast && options_.index_limit == 0; }
  Result<Store> open_recorded(io::System& system, kv::IndexHome* indexes) const;
  void record_index(io::CrashRecorder& recorder, io::CrashRecorder::DiskIndex disk);
  void write_index(const io::CowImage& image) const;
  void harm_index(std::uint64_t state) const;
  Transaction first_transaction() const;
  Transaction transaction(std::size_t index) const;
  std::string index_file() const { return directory_.path("fast/index/data.mdb"); }

  CrashWorldOptions options_;
  // The simulation has the syncs of the recording; those of thousands of openings need no disk.
  io::testing::TemporaryDirectory directory_{io::testing::TemporaryDirectory::On::kMemory};
  std::filesystem::path before_;  // working directory
  PoolDescription pool_;
  io::CrashRecorder recorder_;
  LogOrder log_;
  std::string log_problem_;
  std::vector<Done> done_;     // by LSN
  std::vector<Model> models_;  // models_[i]: after the first i of done_
  std::string first_index_;    // its file at the start of the recording
  std::uint64_t trace_hash_ = 0;
  std::uint64_t log_laps_ = 0;
  std::uint64_t checkpoints_ = 0;
  std::uint64_t runs_merged_ = 0;
  std::uint64_t merge_moved_ = 0;
  std::uint64_t blobs_moved_ = 0;
  std::uint64_t lists_compacted_ = 0;
  std::uint64_t indexes_made_ = 0;
  std::uint64_t blocks_found_ = 0;
  std::uint64_t blocks_written_ = 0;
  std::shared_ptr<io::FiberStacks> stacks_;
};

}  // namespace hexad::testing
