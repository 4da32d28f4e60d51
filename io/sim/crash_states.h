// All the disks that a crash could have left: from a recording, for each moment, for each choice of
// what the volatile caches had written back by then.
//
//   CrashRecorder recorder;
//   SimSystem system(SimOptions{.seed = 1, .recorder = &recorder});
//   for (int i = 0; i < 6; ++i) system.add_disk(name(i), 1_MiB);
//   std::vector<std::uint64_t> acknowledged;           // positions
//   system.run([&] {
//     Store store = open(system);
//     for (...) { commit(store, ...); acknowledged.push_back(recorder.position()); }
//   });
//   CrashStates states(recorder, CrashOptions{.seed = 7});
//   const std::uint64_t tried = states.for_each([&](const CrashState& state) {
//     INFO(state.describe());
//     CrashRecorder again;                             // only for crashes during recovery
//     SimSystem after(state, SimOptions{.seed = 1, .recorder = &again});
//     after.run([&] {
//       Store store = open(after);
//       for (i = 0; i < acknowledged.size() && acknowledged[i] <= state.position(); ++i) {
//         REQUIRE(has(store, i));                      // acknowledged before the crash
//       }
//     });
//     // and CrashStates(again, ...) enumerates crashes inside that recovery
//     return true;                                     // false ends the enumeration
//   });
//
// A state costs what is pending at that moment; the durable images below are shared.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/sim/cow_image.h"
#include "io/sim/crash_recorder.h"
#include "io/sim/write_cache.h"

namespace hexad::io {

struct CrashOptions {
  enum class Moments : std::uint8_t {
    // Before every event that makes pending writes durable, and at the end: each image that any
    // moment can leave, and each with the strongest claim, since acknowledgements only add up until
    // then.
    kBeforeLoss,
    kEveryEvent,
  };
  Moments moments = Moments::kBeforeLoss;
  std::uint64_t from = 0;  // positions: crashes in [from, to]
  std::uint64_t to = ~std::uint64_t{0};
  // Up to so many pending writes every subset of them is tried. With more: every prefix in order of
  // submission, all or nothing for each disk, each write alone lost, each alone kept, and
  // `random_samples` choices, in which a quarter of the kept ones are torn.
  std::uint32_t exhaustive_limit = 12;
  std::uint32_t random_samples = 256;
  // For each pending write of more than a sector so many torn forms, each once with all others kept
  // and once with all others lost.
  std::uint32_t tears_per_write = 2;
  bool garble_blocks = true;  // tears may destroy the whole physical block they hit
  std::uint64_t max_states_per_moment = ~std::uint64_t{0};
  std::uint64_t seed = 1;
};

// One possible outcome. Its images may be kept, and are not changed later; the rest is for the
// visit.
class CrashState {
 public:
  // Crashed after this many events of the recording.
  std::uint64_t position() const { return position_; }
  // Counts the states of one enumeration from 0.
  std::uint64_t number() const { return number_; }
  // The recording's disks, in its order.
  const std::vector<CrashRecorder::Disk>& disks() const { return recorder_->disks(); }
  // What disk `index` holds.
  const std::shared_ptr<const CowImage>& image(std::size_t index) const { return images_[index]; }
  // States of one recording with equal identity have equal images.
  std::uint64_t identity() const { return identity_; }
  // "crash at 17 of 90: disk2 write op 5 at 4096+8192 kept, disk0 write op 6 ... torn, 3 lost"
  std::string describe() const;

 private:
  friend class CrashMoment;

  const CrashRecorder* recorder_ = nullptr;
  std::uint64_t position_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t identity_ = 0;
  std::vector<std::shared_ptr<const CowImage>> images_;
  const std::vector<const PendingWrite*>* writes_ = nullptr;  // pending, over all disks
  const std::vector<CrashRecorder::DiskIndex>* disk_of_ = nullptr;
  const std::vector<Survival>* choice_ = nullptr;  // one for each of writes_
};

class CrashStates {
 public:
  using Visit = std::function<bool(const CrashState&)>;

  // `recorder` outlives this and gets no more events.
  explicit CrashStates(const CrashRecorder& recorder, CrashOptions options = {});

  // Calls `visit` with every state, in order of position, until it returns false. Returns how many
  // it has seen. The same recording and options give the same states in the same order.
  std::uint64_t for_each(const Visit& visit) const;

 private:
  const CrashRecorder& recorder_;
  const CrashOptions options_;
};

}  // namespace hexad::io
