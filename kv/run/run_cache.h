// What is kept in memory of runs: filters, blocks of the index, blocks of data. Here is how a piece
// is found; who has a budget of memory for them implements it (core/cache/read_cache.h).
//
//   RB4 a piece is found through the serial of the RunSource that read it, which no other source
//       ever gets. So a run that is gone takes its pieces along, whatever file, number and LSNs
//       the next one has: what is found is of the file that it is asked for
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <variant>

#include "base/bytes.h"
#include "io/clock.h"
#include "kv/run/run_block.h"
#include "kv/run/run_filter.h"

namespace hexad::kv {

// As it was read and checked; a block with every entry looked at. Never changes.
using RunPiece = std::variant<RunBlock, RunFilter>;

enum class RunPieceKind : std::uint8_t { kFilter, kIndex, kData };
inline constexpr std::size_t kRunPieceKinds = 3;

struct RunPieceKey {
  RunPieceKind kind = RunPieceKind::kData;
  std::uint64_t run = 0;     // the serial of a source
  std::uint64_t offset = 0;  // in its file

  auto operator<=>(const RunPieceKey&) const = default;
};

// What is kept of a piece that was read.
enum class RunAdmit : std::uint8_t {
  kAll,         // asked for by itself
  kReadBefore,  // one of many in a row: while there is room, or when it was read not long ago
};

// A piece whose bytes, as they are in the file of the run, may be on a faster device, too.
struct RunStoredRead {
  RunPieceKey key;
  MutByteView out;     // as long as the piece
  bool found = false;  // nobody has looked whether it is the piece: its checksum says that
};

// Any thread. Outlives the sources.
class RunCache {
 public:
  virtual ~RunCache() = default;
  virtual std::uint64_t new_run() = 0;  // RB4
  // How finding it counts. kQuiet: not at all, for whoever looks ahead of others.
  enum class Asking : std::uint8_t { kCounted, kQuiet };
  // Null: not kept. What was found stays as long as somebody holds it.
  virtual std::shared_ptr<const RunPiece> find(const RunPieceKey& key, Asking asking) = 0;
  // Counts as a miss: `piece` was read since it was not found. Returns it, kept or not.
  virtual std::shared_ptr<const RunPiece> keep(const RunPieceKey& key, RunPiece piece,
                                               RunAdmit admit) = 0;

  // --- how long it takes to read what is not kept ---
  virtual io::Nanos now() { return 0; }
  // So many pieces came from the files of their runs, in one round, which took so long.
  virtual void note_file_read(std::uint64_t, io::Nanos) {}

  // --- copies on a faster device than the run's (kv/run/resident_pieces.h); none by default ---
  // Does not wait for long; where there is an error nothing is found.
  virtual void read_stored(std::span<RunStoredRead>) {}
  // What was found does not verify.
  virtual void drop_stored(const RunPieceKey&) {}
  // Was not found, and has been read from the run's file and verified.
  virtual void offer_stored(const RunPieceKey&, ByteView) {}
  // Whether there is a copy.
  virtual bool has_stored(const RunPieceKey&) { return false; }
  // Has been written, of pieces of other runs of which there were copies.
  virtual void inherit_stored(const RunPieceKey&, ByteView) {}
  // The source with this serial has ended: nobody will ask for its pieces.
  virtual void end_run(std::uint64_t) {}
};

inline std::uint64_t memory_of(const RunPiece& piece) {
  return std::visit([](const auto& one) { return one.memory(); }, piece);
}

}  // namespace hexad::kv
