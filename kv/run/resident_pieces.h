// Pieces of runs on a fast device, as they are in the files of the runs: a file that is written
// like a ring, segment by segment. A look-up whose piece is not in memory costs a read there
// instead of one of the devices that the runs lie on.
//
//   position   0         S         2S        3S        4S        counts on, whatever is given up
//              +---------+---------+---------+---------+
//   segments   |    0    |    1    |    2    |    3    |    each lies in a slot of the file
//              +---------+---------+---------+---------+
//                        ^ the oldest that is still there      ^ in memory until it is full
//
//   file       slots of S bytes: of a segment, free, or given back to the file system
//
// Its room and the memory of its table change while it is used: more slots, or fewer, of which the
// oldest segments go; the table moves into another one a part at a time.
//
// Which pieces are there is known in memory alone, so it begins empty, and what the file holds from
// before means nothing. All of it is a copy: whatever becomes of the file, reads go to the devices.
//
//   FB1 a piece is found through the serial of the source that read it (RB4 of
//       kv/run/run_cache.h), and nothing is found of a source that has ended: numbers and LSNs of
//       runs come again, serials do not
//   FB2 what was read here is believed when it verifies by the checksum that its run has for it
//   FB3 no lock is held, and nothing waited for, while something is written; what comes while the
//       segment before is on its way finds no room. A read is waited for kPatience at most, and a
//       device that has owed an answer for so long, or has kMostUnderWay to do, is not asked
//   FB4 kMostErrors errors, of whatever kind, with few pieces between them that were found, end it
//       until room is given again
//   FB5 a slot is of one segment at most, and it is written, read and given back for that one
//       alone: a piece whose segment has had to go is not there, whatever its slot is for by then
//   FB6 where room or memory change, the lock is held for kEntriesAtOnce entries, kSlotsAtOnce
//       slots or one pass over the lists of slots at a time, and who looks for pieces does not wait
//       for the file system: while the file becomes longer there is nothing in it for them
//   FB7 where all room has been had, what is read for the first time as far as the table knows
//   takes
//       none; what a merge writes of pieces that were here does (inherit())
//
// Any thread. Its mutex is a leaf, but that of a change of size, which comes before it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "io/executor.h"
#include "io/system.h"
#include "kv/run/resident_table.h"
#include "kv/run/run_cache.h"

namespace hexad::kv {

class ResidentPieces {
 public:
  static constexpr io::Nanos kPatience = 500'000'000;
  static constexpr std::uint64_t kMostReadsAtOnce = 32;  // of one call
  static constexpr std::uint64_t kMostUnderWay = 64;     // of all calls
  static constexpr int kMostErrors = 8;
  static constexpr std::uint64_t kFewHits = 64;              // between two errors
  static constexpr std::uint64_t kLeastRoom = 256 << 10;     // bytes
  static constexpr std::uint64_t kLargestPiece = 256 << 10;  // bytes
  static constexpr std::uint64_t kEntriesAtOnce = 4096;
  static constexpr std::uint64_t kSlotsAtOnce = 64;

  // `path`: of the file; empty: there is no place for one. `most_memory`: of the table, bytes. The
  // system outlives it.
  ResidentPieces(io::System& system, std::string path, std::uint64_t most_memory);
  // Waits for what is on its way, or gives the device up when it does not answer.
  ~ResidentPieces();
  ResidentPieces(const ResidentPieces&) = delete;
  ResidentPieces& operator=(const ResidentPieces&) = delete;

  // Is told how much memory table and buffers take, whenever that changes. Before other threads;
  // it may take locks, but none that is held where something is called here.
  void tell_memory(std::function<void(std::uint64_t bytes)> tell) { tell_ = std::move(tell); }

  // --- room; one thread at a time, but for set_most_memory() ---
  // Begins with a file of at most so many bytes, in place of what there is; less where the table
  // would not know what is in the rest. Errors: kNoSpace (less
  // than kLeastRoom, or the file system is full), kUnsupported (it promises no room), those of the
  // file; then there is none.
  Status give_room(std::uint64_t bytes);
  // From now on the file has about so many bytes at most, as in give_room(), and what has room in
  // that stays: of less, the oldest goes, and its space is the file system's again. Where the
  // device owes an answer a file does not become longer, which is no error. Less than fits its
  // segments is give_room(). Errors: as there, but what there is stays as it is; then it may have
  // grown in part.
  Status change_room(std::uint64_t bytes);
  // Bytes of the file; 0: there is none.
  std::uint64_t room();
  // Of a file of so many bytes, those of which the table could know what is there: more would be of
  // no use. Any thread.
  std::uint64_t known_of(std::uint64_t bytes) const;
  // Forgets all of it, and deletes the file, whoever left it. Waits for nobody: what is being read
  // or written keeps the space of the file until it ends, and is_gone() has noticed that.
  void take_room();
  // The table has so many bytes at most when this returns; until then there may be two. Where it
  // has room for less than there is, the oldest goes. A file that could be larger now is when its
  // room is given, or changes. Any thread. Cost: a pass over the table, part by part.
  void set_most_memory(std::uint64_t bytes);
  // Deletes the file when it has ended by itself (FB4); why it has stays to be told. Whether it
  // had, since the last time.
  bool give_back_ended();
  // Whether the space of all files has come back.
  bool is_gone();

  // --- pieces ---
  void read(std::span<RunStoredRead> reads);
  // Was read and does not verify.
  void drop(const RunPieceKey& key);
  // Has been read from the devices. Kept while there is room that nothing has had yet; later when
  // it was asked for before, so that what is asked for once takes nothing from what is asked for
  // again and again.
  void offer(const RunPieceKey& key, ByteView stored);
  // Kept, whether it was asked for or not: a run was made of others of which such a piece was here.
  void inherit(const RunPieceKey& key, ByteView stored);
  bool holds(const RunPieceKey& key);
  void end_run(std::uint64_t serial);

  // --- looking ---
  struct Usage {
    bool open = false;
    std::uint64_t room = 0;    // bytes of the file
    std::uint64_t bytes = 0;   // of pieces that can be read
    std::uint64_t pieces = 0;  // so many
    std::uint64_t memory = 0;  // bytes of table and buffers
    std::string problem;       // why it is not open any more
  };
  // Cost: a pass over the table.
  Usage usage();
  std::uint64_t memory();  // Usage::memory alone
  struct Tally {
    std::uint64_t hits = 0;    // pieces that were found, those that did not verify then included
    std::uint64_t misses = 0;  // none while there is no room
    std::uint64_t bytes_written = 0;
    std::uint64_t errors = 0;   // reads and writes that failed, pieces that did not verify
    std::uint64_t rounds = 0;   // of reads of the device, each of some of the hits
    io::Nanos round_nanos = 0;  // ... how long they took in all
    std::uint64_t refused = 0;  // pieces that came while the segment before was on its way
  };
  // Since it was made.
  Tally tally();
  void check_invariants();  // for tests

 private:
  struct File;
  class Reading;
  using Numbers = std::map<std::uint64_t, std::uint64_t>;  // by serial

  const ResidentPlace* find(const RunPieceKey& key) HEXAD_REQUIRES(mutex_);
  ResidentKey key_of(const RunPieceKey& key, Numbers* fresh) HEXAD_REQUIRES(mutex_);
  bool is_there(ResidentPlace place) const HEXAD_REQUIRES(mutex_);
  bool in_memory(ResidentPlace place) const HEXAD_REQUIRES(mutex_);
  ByteView bytes_in_memory(ResidentPlace place) const HEXAD_REQUIRES(mutex_);
  std::uint64_t reads_left() HEXAD_REQUIRES(mutex_);
  bool make_entry_free() HEXAD_REQUIRES(mutex_);
  // What comes before `position`, a beginning of a segment, is gone, and its slots are free.
  void let_go_before(std::uint64_t position) HEXAD_REQUIRES(mutex_);
  void take_slots(std::vector<std::uint32_t>& taken, std::uint64_t count) HEXAD_REQUIRES(mutex_);
  // Whether a segment is to be written now: write_segment(), without the lock.
  bool add(ResidentKey key, ByteView stored) HEXAD_REQUIRES(mutex_);
  bool seal() HEXAD_REQUIRES(mutex_);
  void note_error(const std::string& what) HEXAD_REQUIRES(mutex_);
  void stop(std::string problem) HEXAD_REQUIRES(mutex_);

  void fit_table() HEXAD_EXCLUDES(resizing_);
  void move_table(const std::shared_ptr<File>& file, std::uint64_t slots) HEXAD_REQUIRES(resizing_);
  std::uint64_t first_that_fits(const std::shared_ptr<File>& file, std::uint64_t pieces);
  void give_back(const std::shared_ptr<File>& file, std::uint64_t slots);
  void discard(File& file, const std::vector<std::uint32_t>& slots);
  Result<std::uint64_t> use_again(const std::shared_ptr<File>& file, std::uint64_t slots);
  Status make_longer(const std::shared_ptr<File>& file, std::uint64_t slots);
  bool pause(const std::shared_ptr<File>& file);
  Result<std::unique_ptr<io::Device>> make_file(std::uint64_t bytes);
  enum class Reason : std::uint8_t { kOffered, kInherited };
  void put(const RunPieceKey& key, ByteView stored, Reason reason);
  void write_segment(const std::shared_ptr<File>& file);
  void written(File& file, const Status& status);

  io::System& system_;
  const std::string path_;
  std::atomic<std::uint64_t> most_memory_;  // of the table, bytes

  std::function<void(std::uint64_t)> tell_;

  io::Mutex resizing_;  // while the table changes, and somebody is told of it
  io::Mutex mutex_;
  io::CondVar changed_;
  std::shared_ptr<File> file_ HEXAD_GUARDED_BY(mutex_);  // null: no room
  // That may have something on its way yet.
  std::vector<std::shared_ptr<File>> retired_ HEXAD_GUARDED_BY(mutex_);
  Numbers numbers_ HEXAD_GUARDED_BY(mutex_);  // of runs in the table
  std::uint64_t last_number_ HEXAD_GUARDED_BY(mutex_) = 0;
  std::uint64_t on_the_way_ HEXAD_GUARDED_BY(mutex_) = 0;  // segments, of any file
  Tally tally_ HEXAD_GUARDED_BY(mutex_);
  std::string problem_ HEXAD_GUARDED_BY(mutex_);
  bool ended_ HEXAD_GUARDED_BY(mutex_) = false;  // by itself, and its file is there yet
};

}  // namespace hexad::kv
