// The next entries of one layer, in the order of travel of a cursor that reads them ahead: more
// each time, so that what a short walk does not want is not read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace hexad::core {

template <typename Entry>
class ReadAhead {
 public:
  static constexpr std::size_t kMost = 64;  // entries

  // As before the first refill().
  void restart() {
    entries_.clear();
    at_ = 0;
    ahead_ = 0;
    ends_ = false;
  }
  // Precondition: restart().
  void start_with(const Entry& entry) { entries_.push_back(entry); }
  // Nothing is behind the last entry.
  void end() { ends_ = true; }
  bool ends() const { return ends_; }
  bool empty() const { return at_ == entries_.size(); }
  bool wants_more() const { return empty() && !ends_; }

  // Preconditions: not empty().
  const Entry& front() const { return entries_[at_]; }
  void pop() { ++at_; }
  // All of it. They stay until the next refill() or restart().
  std::span<const Entry> take_rest() {
    const std::span<const Entry> rest = std::span<const Entry>(entries_).subspan(at_);
    at_ = entries_.size();
    return rest;
  }

  // For twice as many entries as the last time, `first` at least: most() of them are to be put in
  // place of those before.
  std::vector<Entry>& refill(std::size_t first) {
    ahead_ = std::clamp(2 * ahead_, first, kMost);
    at_ = 0;
    return entries_;
  }
  std::size_t most() const { return ahead_; }
  // Of keys in the order of travel, those that are `inside`; it ends with them.
  template <typename Inside>
  void keep(const Inside& inside) {
    if (entries_.empty() || inside(entries_.back().key)) return;
    entries_.erase(
        std::partition_point(entries_.begin(), entries_.end(),
                             [&inside](const Entry& entry) { return inside(entry.key); }),
        entries_.end());
    ends_ = true;
  }

 private:
  std::vector<Entry> entries_;
  std::size_t at_ = 0;
  std::size_t ahead_ = 0;  // how many were asked for
  bool ends_ = false;
};

}  // namespace hexad::core
