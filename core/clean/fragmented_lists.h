// Lists of extents that show some of their blobs in part, or some that leave much of their stripes
// empty, as far as anybody has said: what may be compacted. In memory, bounded; what is here is a
// hint, and whoever follows it looks at the list.
//
//   KQ1 of what is said of a list the newest counts
//   KQ2 the best are those that show least of these blobs; they are kept when there are too many
//   KQ3 a list of which nothing is to be had before some checkpoint is not chosen before that
//   KQ4 one that could not be read is not chosen before it has changed, or all are to be tried
//   again
//
// Any thread. A leaf: no other lock is taken under its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "core/record/blob_uses.h"
#include "io/executor.h"

namespace hexad::core {

class FragmentedLists {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 16;
  static constexpr std::size_t kMostPassed = 256;
  static constexpr std::size_t kMostTries = 4096;

  // `most`: lists that are kept.
  explicit FragmentedLists(io::Executor& executor, std::size_t most = kMost)
      : mutex_(executor), most_(most) {}

  // The list under the key is so since `changed`, and there is nothing to be had of it before a
  // checkpoint has passed `until`. What hides nothing is forgotten.
  void note(const std::string& key, const HiddenBytes& bytes, Lsn changed, Lsn until = 0);
  // There is nothing to be had of the list, unless it has changed since then.
  void forget(const std::string& key, Lsn changed);
  // ... before a checkpoint has passed `until`.
  void set_aside(const std::string& key, Lsn changed, Lsn until);
  // It could not be read (KQ4).
  void note_unreadable(const std::string& key, Lsn changed);
  // What could not be read is to be tried again: up to kMostTries lists of it.
  void try_again();

  struct Candidate {
    std::string key;
    HiddenBytes bytes;
    Lsn changed = 0;
  };
  struct Choice {
    std::vector<Candidate> lists;  // the best first (KQ2)
    bool waiting = false;          // there are some that wait for a checkpoint
  };
  // Up to `most` of those that show at most so many of 1024 parts of such blobs. Where kMostPassed
  // come first that wait, the others wait with them: commits have something to say meanwhile.
  Choice best(std::size_t most, std::uint32_t most_shown, Lsn checkpointed);

  // Bytes that all of them hide.
  std::uint64_t hidden() const { return hidden_.load(std::memory_order_acquire); }
  // ... less a sixteenth of what these blobs show, which is about what writing it again takes
  // besides its bytes.
  std::uint64_t to_gain() const;
  // By how much that has grown since the opening, what has gone again not taken off.
  std::uint64_t grown() const { return grown_.load(std::memory_order_acquire); }
  // Some were let go of since there were too many, after this was asked last.
  bool take_lost();
  bool empty();

 private:
  struct Entry {
    HiddenBytes bytes;
    Lsn changed = 0;
    Lsn until = 0;  // of a checkpoint that it waits for
  };
  using Entries = std::map<std::string, Entry>;
  static std::uint32_t shown(const HiddenBytes& bytes);  // of 1024 parts
  void erase(Entries::iterator at) HEXAD_REQUIRES(mutex_);
  void insert(const std::string& key, const Entry& entry) HEXAD_REQUIRES(mutex_);
  void replace(Entries::iterator at, const Entry& entry) HEXAD_REQUIRES(mutex_);

  io::Mutex mutex_;
  const std::size_t most_;
  Entries entries_ HEXAD_GUARDED_BY(mutex_);
  Entries unreadable_ HEXAD_GUARDED_BY(mutex_);                                     // KQ4
  std::set<std::pair<std::uint32_t, std::string>> order_ HEXAD_GUARDED_BY(mutex_);  // by shown()
  bool lost_ HEXAD_GUARDED_BY(mutex_) = false;
  std::atomic<std::uint64_t> hidden_{0};
  std::atomic<std::uint64_t> shown_{0};  // of the same blobs
  std::atomic<std::uint64_t> grown_{0};
};

}  // namespace hexad::core
