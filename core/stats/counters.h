// Named counters of one store: cumulative over its life (saved by checkpoints) and since opening.
// One registry, so that `perf dump` and metrics see the same numbers.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "core/api/types.h"

namespace hexad::core {

// Grouped by what a reader would ask. The names shown are in counter_name().
enum class CounterId : std::uint16_t {
  kTransactions,
  kTransactionsFailed,
  kTransactionsBuffered,
  kGroups,
  kCommitRounds,   // batches of cells and log blocks sent by the pipeline
  kCommitFlushes,  // flushes sent for them
  kReads,
  kBytesRead,        // user bytes handed out
  kBytesWritten,     // user bytes taken in
  kDeviceBytesUser,  // bytes written to data devices, by cause
  kDeviceBytesParity,
  kDeviceBytesPadding,
  kDeviceBytesLog,     // over all log copies
  kDeviceBytesSuper,   // labels, roots, slab headers
  kDeviceBytesZeroed,  // zeros over slabs of files, ahead of their first use
  kDeviceBytesRun,     // data cells of runs that checkpoints wrote
  kDeviceBytesMerge,   // ... and of runs that others were merged into
  kMergeBytesMoved,    // of those runs, blocks that were taken over as they are
  kMergeBytesMade,     // ... and all the rest
  kDeviceBytesClean,   // blobs that were moved by the cleaner
  kIndexBytes,         // handed to the index by checkpoints
  kIndexPageBytes,     // of pages that it wrote for them
  kDeviceBytesRead,
  kFlushes,
  kCheckpoints,
  kRunsMerged,      // runs that went into another one
  kIndexesRebuilt,  // times that the index on the fast tier was made from the runs
  kChecksumErrors,  // blocks that did not verify
  kReadErrors,      // requests a device failed
  kCellsReconstructed,
  kCellsHealed,
  kHealFailures,   // cells that a device did not take back
  kScrubStripes,   // that scrubs looked at
  kScrubBytes,     // ... which read so many from devices
  kScrubFindings,  // ... repaired or not
  kDegradedReads,
  kCellsAskedAgain,
  kDevicesLost,        // left the membership while open
  kDevicesReturned,    // ... and came back while open
  kStripes,            // of user data that became durable
  kPiecesCut,          // pieces of user data that found no free run of their length
  kPiecesCutInto,      // ... and the stripes that they became
  kCleanedStripes,     // that the cleaner wrote
  kCleanedBlobs,       // that it moved
  kCleanedBytes,       // ... and their bytes
  kCleanTooLate,       // blobs that had died, or changed, before they got their place
  kSlabsMoved,         // from one device to another
  kSlabBytesMoved,     // ... and the bytes that were copied for that
  kCleanUnexplained,   // stripes that were left alone: not all owners are known
  kCleanUnreadable,    // ... they could not be read
  kCleanNoGain,        // ... their blobs take no less elsewhere
  kCompactedLists,     // lists of extents that the cleaner compacted
  kCompactedBlobs,     // ... and the blobs that died by that
  kCompactedBytes,     // ... and the bytes of them that were written again
  kCompactNoGain,      // lists that were left alone: they take no less elsewhere
  kCompactUnreadable,  // ... they could not be read
  kLogPatches,         // values that the log got as changes of what it had
  kHedgedReads,        // reads that asked other devices, too, for one was late
  kHedgeDeviceReads,   // ... reads of devices for that
  kHedgesUsed,         // ... and pieces of cells that were sooner there so
  kRecoveredTransactions,
  kRecoveryTailKept,         // commits above the watermark that recovery proved and kept
  kRecoveryTailCut,          // ... that it could not prove and cut, some of their writes on devices
  kLogFirstBlobs,            // unplaced blobs that rode in the log
  kLogBlobsPacked,           // ... and got a place in a stripe later
  kRecoveryLogCopiesHealed,  // log blocks missing on some copy
  kWritersAbandoned,         // bodies without an object that openings found
  kCompressSuccess,
  kCompressRejected,
  kCompressSkipped,
  kCompressed,  // bytes after compression, of blobs kept compressed
  kCompressedOriginal,
  kCompressedAllocated,  // units of stripes of their own, and bytes in shared ones, of the same
                         // blobs
  kCompressNanos,
  kDecompressNanos,
  kCacheRecordHits,  // look-ups of objects and pages
  kCacheRecordMisses,
  kCacheBlockHits,  // of pieces of user bytes
  kCacheBlockMisses,
  kOnodeHits,  // look-ups of objects alone
  kOnodeMisses,
  kOnodeShardHits,  // ... and of pages alone
  kOnodeShardMisses,
  kBufferHitBytes,  // user bytes that reads had from the cache
  kBufferMissBytes,
  kDataReads,  // reads that asked devices for user bytes
  kMemtableHits,
  kMemtableMisses,
  kIndexAnswers,    // look-ups that the index on the fast tier answered
  kRunDeviceReads,  // pieces of runs that came from data devices
  kRunFilterHits,   // of filters of runs
  kRunFilterMisses,
  kRunIndexHits,  // of blocks of their index
  kRunIndexMisses,
  kRunBlockHits,  // of blocks of data
  kRunBlockMisses,
  kResidentHits,  // of pieces of runs that were not in memory, on the fast device
  kResidentMisses,
  kResidentBytes,   // written there
  kResidentErrors,  // reads and writes that failed there, pieces that did not verify
  kColdAttempts,    // of transactions: what they needed of runs was not in memory
  kCacheReads,      // reads that the cache answered alone; in kReads too
  kCacheBytesRead,  // user bytes of those; in kBytesRead too
  kCacheEvictions,  // entries that went because the cache was full
  // Lengths of time, each a count and a sum in ns right behind it: add_latency(). Per transaction.
  kThrottleLatCount,
  kThrottleLatNanos,
  kStatePrepareLatCount,
  kStatePrepareLatNanos,
  kStateKvQueuedLatCount,
  kStateKvQueuedLatNanos,
  kStateAioWaitLatCount,
  kStateAioWaitLatNanos,
  kStateKvCommittingLatCount,
  kStateKvCommittingLatNanos,
  kStateIoDoneLatCount,
  kStateIoDoneLatNanos,
  kStateKvDoneLatCount,
  kStateKvDoneLatNanos,
  kCommitLatCount,
  kCommitLatNanos,
  kReadLatCount,
  kReadLatNanos,
  kRecordsLatCount,  // of the layers (LayerStatus), what was timed
  kRecordsLatNanos,
  kMemtableLatCount,
  kMemtableLatNanos,
  kIndexLatCount,
  kIndexLatNanos,
  kRunBlocksLatCount,
  kRunBlocksLatNanos,
  kFastBlocksLatCount,
  kFastBlocksLatNanos,
  kRunsLatCount,
  kRunsLatNanos,
  kDataBlocksLatCount,
  kDataBlocksLatNanos,
  kDataLatCount,
  kDataLatNanos,
  kGroupBytes,  // records and cells that groups sent to devices
  kGroupsOf1,   // by the number of transactions
  kGroupsOf2,   // ... 2 and 3, and so on
  kGroupsOf4,
  kGroupsOf8,
  kGroupsOf16,
  kGroupsOf64,
  kCount,  // not a counter
};

// BlueStore's name where BlueStore has the thing.
std::string_view counter_name(CounterId id);

class Counters {
 public:
  // Any thread; relaxed.
  void add(CounterId id, std::uint64_t amount = 1) {
    values_[static_cast<std::size_t>(id)].fetch_add(amount, std::memory_order_relaxed);
  }
  // `nanos`: the sum of `count` lengths of time. `id` is the one that ends in LatCount.
  void add_latency(CounterId id, std::uint64_t count, std::int64_t nanos) {
    add(id, count);
    add(static_cast<CounterId>(static_cast<std::uint16_t>(id) + 1),
        static_cast<std::uint64_t>(nanos));
  }
  // For a number that somebody else counts.
  void set(CounterId id, std::uint64_t value) {
    values_[static_cast<std::size_t>(id)].store(value, std::memory_order_relaxed);
  }
  std::uint64_t since_open(CounterId id) const {
    return values_[static_cast<std::size_t>(id)].load(std::memory_order_relaxed);
  }
  std::uint64_t total(CounterId id) const {
    return since_open(id) + base_[static_cast<std::size_t>(id)];
  }
  std::vector<Counter> snapshot() const;

  // By name, so that versions with more or fewer counters read each other's: what this version
  // does not know is kept and written again. doc/format.md#counters
  std::string encode_totals() const;
  // At opening, before any other thread. Errors: kCorruption, and nothing has changed; survives any
  // input.
  Status load_base(std::string_view encoded);

 private:
  static constexpr std::size_t kSize = static_cast<std::size_t>(CounterId::kCount);
  std::array<std::atomic<std::uint64_t>, kSize> values_{};
  std::array<std::uint64_t, kSize> base_{};
  std::map<std::string, std::uint64_t> unknown_;  // saved by another version
};

}  // namespace hexad::core
