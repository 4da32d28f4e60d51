// Makes a new index on the fast tier when the one before could not be used, or did not take a
// checkpoint: a bit at a time, while reads come from the runs. Before that it verifies the one that
// was found at the opening, when that has been left for later.
//
// One that does not fit is not begun again before there is more room, or less metadata, or the
// store is opened again. Its room goes to blocks of the runs meanwhile
// (kv/run/resident_pieces.h), which give it back first. Where those have ended, since their device
// failed, they give it back as well, and get it again at the next checkpoint; when that goes on, at
// ever later ones.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/job/job.h"
#include "core/runs/index_rebuild.h"
#include "core/stats/counters.h"
#include "io/executor.h"
#include "kv/run/resident_pieces.h"
#include "kv/run/run_set.h"
#include "kv/tiered/tiered_index.h"

namespace hexad::core {

class IndexJob : public Job {
 public:
  struct Parts {
    kv::TieredIndex& index;
    kv::IndexHome* indexes = nullptr;
    std::string directory;  // of the index; empty: the pool has no place for one
    Uuid uuid;              // of the store
    std::function<std::shared_ptr<const kv::RunSet>()> runs;  // of now
    Counters& counters;
    // Runs stay what they are while this is held, and so does what the index has of them.
    io::Mutex& checkpoints;
    // To be attached when it is verified, and of the same writer as the runs that were found with
    // it; or null.
    std::unique_ptr<kv::Index> unverified = nullptr;
    std::optional<std::string> writer = {};
    // Gets the room of an index that does not fit; or null.
    kv::ResidentPieces* resident = nullptr;
    // Asked before anything in the directory is removed or made: an error says whose it is by now.
    // Empty: it stays the store's.
    std::function<Status()> is_ours = {};
  };
  explicit IndexJob(Parts parts) : parts_(std::move(parts)) {}

  // True: this is news, and the scheduler is to be woken. Any thread.
  bool want();

  std::string_view name() const override { return "index"; }
  std::string_view purpose() const override { return "making a new index on the fast tier"; }
  std::optional<io::Nanos> due() override;
  // What fails is tried again after the next checkpoint, which asks for it.
  Result<bool> step() override;
  JobProgress progress() override;

 private:
  // The index that was found at the opening, when it is sound.
  Status attach_verified();
  // A bit more of it. True: there is more to copy.
  Result<bool> rebuild_some();
  void end_rebuild(const Error& error);
  Status check_directory() const { return parts_.is_ours ? parts_.is_ours() : Status(); }
  bool is_too_large_yet() const;
  void give_blocks();
  // Their room follows what the file system has, and what there is to keep.
  void fit_blocks();
  std::uint64_t room_for_blocks(std::uint64_t could_have) const;
  void note_room_beside(std::uint64_t could_have);
  // Blocks that have ended give their room back, and get it again at a later checkpoint.
  void tend_blocks();
  void put_blocks_off();

  // The last one did not fit.
  struct TooLarge {
    Error error;
    std::uint64_t room = 0;  // bytes that an index could have
    std::uint64_t runs = 0;  // bytes of what it would have been made of
  };

  Parts parts_;                            // `unverified` by the job's thread alone
  std::unique_ptr<IndexRebuild> rebuild_;  // by the job's thread alone
  std::optional<TooLarge> too_large_;      // likewise
  std::uint64_t blocks_beside_ = 0;        // bytes of blocks that took none of the room; likewise
  int blocks_wait_ = 0;                    // checkpoints until they get room; likewise
  int next_blocks_wait_ = 0;               // likewise
  std::atomic<bool> wanted_{false};
  std::atomic<std::uint64_t> copied_{0};  // bytes, of the rebuild under way
};

}  // namespace hexad::core
