#include "io/sim/crash_states.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/assert.h"
#include "io/rng.h"

namespace hexad::io {

namespace {

using Event = CrashRecorder::Event;
using DiskIndex = CrashRecorder::DiskIndex;
using Kind = Survival::Kind;

constexpr std::uint64_t kSector = 512;
constexpr Survival kKept{Kind::kWhole, 0, 0};

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 32;
}

// The caches of all disks after some prefix of the recording.
class Replay {
 public:
  explicit Replay(const CrashRecorder& recorder) : disks_(recorder.disks()) {
    for (const CrashRecorder::Disk& disk : disks_) {
      caches_.emplace_back(std::make_shared<CowImage>(disk.initial), disk.physical_block);
    }
  }

  // Will `event` make an image impossible that is possible before it?
  bool loses(const Event& event) const {
    switch (event.kind) {
      case Event::Kind::kDropWrite:
        return true;
      case Event::Kind::kCompleteWrite:
        return std::any_of(caches_[event.disk].pending().begin(),
                           caches_[event.disk].pending().end(), [&](const PendingWrite& one) {
                             return one.op == event.op && one.mode == WriteMode::kDurable;
                           });
      case Event::Kind::kCompleteFlush:
        return std::any_of(flushes_.at(event.op).begin(), flushes_.at(event.op).end(),
                           [](const auto& covered) { return !covered.second.empty(); });
      default:
        return false;
    }
  }

  void apply(const Event& event) {
    WriteCache& cache = caches_[event.disk];
    switch (event.kind) {
      case Event::Kind::kSubmitWrite:
        return cache.submit_write(event.op, event.offset, event.length, event.data, event.mode);
      case Event::Kind::kCompleteWrite:
        return cache.complete_write(event.op);
      case Event::Kind::kDropWrite:
        return cache.drop_write(event.op);
      case Event::Kind::kResize:
        return cache.resize(event.op, event.offset);
      case Event::Kind::kSubmitFlush:
        for (DiskIndex i = 0; i < disks_.size(); ++i) {
          if (disks_[i].flush_domain != disks_[event.disk].flush_domain) continue;
          flushes_[event.op].emplace_back(i, caches_[i].begin_flush());
        }
        return;
      case Event::Kind::kCompleteFlush:
        for (const auto& [disk, covered] : flushes_.at(event.op)) {
          caches_[disk].complete_flush(covered);
        }
        flushes_.erase(event.op);
        return;
      case Event::Kind::kFailFlush:
        for (const auto& [disk, covered] : flushes_.at(event.op)) caches_[disk].fail_flush(covered);
        flushes_.erase(event.op);
        return;
    }
  }

  const std::vector<WriteCache>& caches() const { return caches_; }

 private:
  const std::vector<CrashRecorder::Disk>& disks_;
  std::vector<WriteCache> caches_;
  std::map<OpId, std::vector<std::pair<DiskIndex, std::vector<OpId>>>> flushes_;
};

std::string words(const Survival& survival) {
  switch (survival.kind) {
    case Kind::kLost:
      return "lost";
    case Kind::kWhole:
      return "kept";
    case Kind::kPrefix:
      return "torn: first " + std::to_string(survival.cut);
    case Kind::kSuffix:
      return "torn: from " + std::to_string(survival.cut);
    case Kind::kSectors:
      return "torn: sectors of seed " + std::to_string(survival.seed);
    case Kind::kGarbled:
      return "torn: garbled at " + std::to_string(survival.cut);
  }
  return "";
}

}  // namespace

// One position of the recording: produces its choices one after the other.
class CrashMoment {
 public:
  CrashMoment(const CrashRecorder& recorder, const Replay& replay, const CrashOptions& options,
              std::uint64_t position, std::uint64_t& number, const CrashStates::Visit& visit)
      : caches_(replay.caches()),
        options_(options),
        number_(number),
        visit_(visit),
        rng_(mix(options.seed, position)) {
    state_.recorder_ = &recorder;
    state_.position_ = position;
    std::vector<std::pair<OpId, std::pair<DiskIndex, const PendingWrite*>>> found;
    for (DiskIndex disk = 0; disk < caches_.size(); ++disk) {
      for (const PendingWrite& write : caches_[disk].pending()) {
        found.push_back({write.op, {disk, &write}});
      }
    }
    std::sort(found.begin(), found.end());  // ops are unique: order of submission
    for (const auto& [op, where] : found) {
      disk_of_.push_back(where.first);
      writes_.push_back(where.second);
    }
    choice_.resize(writes_.size());
    state_.writes_ = &writes_;
    state_.disk_of_ = &disk_of_;
    state_.choice_ = &choice_;
  }

  // False when the visitor wants no more.
  bool run() {
    if (writes_.size() <= options_.exhaustive_limit) {
      every_subset();
    } else {
      prefixes();
      whole_disks();
      single_writes();
      random_choices();
    }
    torn_writes();
    return go_on_;
  }

 private:
  bool done() const { return !go_on_ || emitted_.size() >= options_.max_states_per_moment; }

  void set_all(const Survival& survival) { std::fill(choice_.begin(), choice_.end(), survival); }

  void every_subset() {
    for (std::uint64_t mask = 0; mask < std::uint64_t{1} << writes_.size() && !done(); ++mask) {
      for (std::size_t i = 0; i < writes_.size(); ++i) {
        choice_[i] = (mask >> i & 1) != 0 ? kKept : Survival{};
      }
      emit();
    }
  }

  void prefixes() {
    set_all({});
    emit();
    for (std::size_t i = 0; i < writes_.size(); ++i) {
      choice_[i] = kKept;
      emit();
    }
  }

  // All or nothing for each disk: every combination of up to eight, else one disk at a time.
  void whole_disks() {
    const std::set<DiskIndex> unique(disk_of_.begin(), disk_of_.end());
    const std::vector<DiskIndex> disks(unique.begin(), unique.end());
    const std::uint64_t full = (std::uint64_t{1} << std::min<std::size_t>(disks.size(), 63)) - 1;
    std::vector<std::uint64_t> masks;
    if (disks.size() <= 8) {
      for (std::uint64_t mask = 0; mask <= full; ++mask) masks.push_back(mask);
    } else {
      for (std::size_t i = 0; i < std::min<std::size_t>(disks.size(), 63); ++i) {
        masks.push_back(std::uint64_t{1} << i);
        masks.push_back(full ^ std::uint64_t{1} << i);
      }
    }
    for (const std::uint64_t mask : masks) {
      for (std::size_t i = 0; i < writes_.size(); ++i) {
        const auto at = std::lower_bound(disks.begin(), disks.end(), disk_of_[i]) - disks.begin();
        choice_[i] = (mask >> at & 1) != 0 ? kKept : Survival{};
      }
      emit();
    }
  }

  void single_writes() {
    for (const bool keep : {true, false}) {
      for (std::size_t i = 0; i < writes_.size(); ++i) {
        set_all(keep ? Survival{} : kKept);
        choice_[i] = keep ? kKept : Survival{};
        emit();
      }
    }
  }

  void random_choices() {
    for (std::uint32_t sample = 0; sample < options_.random_samples && !done(); ++sample) {
      for (std::size_t i = 0; i < writes_.size(); ++i) {
        choice_[i] = rng_.chance(1, 2) ? Survival{} : kKept;
        if (choice_[i] == kKept && rng_.chance(1, 4)) {
          choice_[i] = torn(i, static_cast<std::uint32_t>(rng_.below(4)));
        }
      }
      emit();
    }
  }

  void torn_writes() {
    for (std::size_t i = 0; i < writes_.size(); ++i) {
      for (std::uint32_t form = 0; form < options_.tears_per_write; ++form) {
        const Survival tear = torn(i, form);
        if (tear == kKept) continue;
        for (const bool others : {true, false}) {
          set_all(others ? kKept : Survival{});
          choice_[i] = tear;
          emit();
        }
      }
    }
  }

  // A torn form of the write; kKept when it has none.
  Survival torn(std::size_t index, std::uint32_t form) {
    const PendingWrite& write = *writes_[index];
    if (!state_.disks()[disk_of_[index]].tears) return kKept;
    const std::uint64_t sectors = write.length / kSector;
    const bool garble = options_.garble_blocks && !write.resize && write.untouched();
    if (write.resize || (sectors <= 1 && !garble)) return kKept;
    if (form % 4 == 1 && garble) {
      return {Kind::kGarbled, kSector * rng_.below(std::max<std::uint64_t>(sectors, 1)),
              rng_.next()};
    }
    if (sectors <= 1) return kKept;
    const std::uint64_t cut = kSector * (1 + rng_.below(sectors - 1));
    switch (form % 4) {
      case 0:
        return {Kind::kPrefix, cut, 0};
      case 2:
        return {Kind::kSuffix, cut, 0};
      default:
        return {Kind::kSectors, 0, rng_.next()};
    }
  }

  void emit() {
    if (done()) return;
    std::uint64_t identity = 0;
    for (const WriteCache& cache : caches_) identity = mix(identity, cache.version());
    for (std::size_t i = 0; i < writes_.size(); ++i) {
      if (choice_[i].kind == Kind::kLost) continue;
      identity = mix(identity, writes_[i]->op);
      identity = mix(identity, static_cast<std::uint64_t>(choice_[i].kind));
      identity = mix(identity, choice_[i].cut);
      identity = mix(identity, choice_[i].seed);
    }
    if (!emitted_.insert(identity).second) return;
    state_.identity_ = identity;
    state_.number_ = number_++;
    build_images();
    go_on_ = visit_(state_);
  }

  void build_images() {
    state_.images_.clear();
    for (DiskIndex disk = 0; disk < caches_.size(); ++disk) {
      const WriteCache& cache = caches_[disk];
      std::shared_ptr<CowImage> image;
      for (const PendingWrite& write : cache.pending()) {  // the order of W1
        const auto at = std::lower_bound(
            writes_.begin(), writes_.end(), &write,
            [](const PendingWrite* a, const PendingWrite* b) { return a->op < b->op; });
        const Survival& survival = choice_[static_cast<std::size_t>(at - writes_.begin())];
        if (survival.kind == Kind::kLost) continue;
        if (image == nullptr) image = std::make_shared<CowImage>(cache.durable());
        cache.apply(*image, write, survival);
      }
      state_.images_.push_back(image != nullptr ? image : cache.durable());
    }
  }

  const std::vector<WriteCache>& caches_;
  const CrashOptions& options_;
  std::uint64_t& number_;
  const CrashStates::Visit& visit_;
  Rng rng_;
  CrashState state_;
  std::vector<const PendingWrite*> writes_;  // in order of submission, over all disks
  std::vector<DiskIndex> disk_of_;
  std::vector<Survival> choice_;
  std::set<std::uint64_t> emitted_;
  bool go_on_ = true;
};

std::string CrashState::describe() const {
  std::string text = "crash at " + std::to_string(position_) + " of " +
                     std::to_string(recorder_->position()) + " (state " + std::to_string(number_) +
                     ")";
  std::size_t lost = 0;
  for (std::size_t i = 0; i < writes_->size(); ++i) {
    const PendingWrite& write = *(*writes_)[i];
    if ((*choice_)[i].kind == Kind::kLost) {
      ++lost;
      continue;
    }
    text += "; " + recorder_->disks()[(*disk_of_)[i]].name;
    text += write.resize
                ? " resize to " + std::to_string(write.offset)
                : " write " + std::to_string(write.offset) + "+" + std::to_string(write.length);
    text += " " + words((*choice_)[i]);
  }
  return text + "; " + std::to_string(lost) + " lost";
}

CrashStates::CrashStates(const CrashRecorder& recorder, CrashOptions options)
    : recorder_(recorder), options_(options) {
  HEXAD_ASSERT(options_.exhaustive_limit < 32);
}

std::uint64_t CrashStates::for_each(const Visit& visit) const {
  Replay replay(recorder_);
  const std::vector<Event>& events = recorder_.events();
  std::uint64_t number = 0;
  for (std::uint64_t position = 0;; ++position) {
    const bool last = position == events.size();
    const bool moment = options_.moments == CrashOptions::Moments::kEveryEvent || last ||
                        position == options_.to || replay.loses(events[position]);
    if (moment && position >= options_.from && position <= options_.to) {
      if (!CrashMoment(recorder_, replay, options_, position, number, visit).run()) break;
    }
    if (last || position >= options_.to) break;
    replay.apply(events[position]);
  }
  return number;
}

}  // namespace hexad::io
