#include "core/clean/fragmented_lists.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hexad::core {

std::uint32_t FragmentedLists::shown(const HiddenBytes& bytes) {
  return static_cast<std::uint32_t>((bytes.of - bytes.hidden) * 1024 / bytes.of);
}

void FragmentedLists::erase(Entries::iterator at) {
  const HiddenBytes& bytes = at->second.bytes;
  hidden_.fetch_sub(bytes.hidden, std::memory_order_acq_rel);
  shown_.fetch_sub(bytes.of - bytes.hidden, std::memory_order_acq_rel);
  order_.erase({shown(at->second.bytes), at->first});
  entries_.erase(at);
}

void FragmentedLists::note(const std::string& key, const HiddenBytes& bytes, Lsn changed,
                           Lsn until) {
  const io::Lock lock(mutex_);
  std::uint64_t before = 0;
  const auto found = entries_.find(key);
  if (found != entries_.end()) {
    if (found->second.changed > changed) return;  // KQ1
    before = found->second.bytes.hidden;
  }
  const auto unreadable = unreadable_.find(key);
  const bool is_unreadable =
      unreadable != unreadable_.end() && unreadable->second.changed > changed;  // KQ1
  if (!is_unreadable && unreadable != unreadable_.end()) unreadable_.erase(unreadable);
  if (is_unreadable || bytes.hidden == 0) {
    if (found != entries_.end()) erase(found);
    return;
  }
  if (bytes.hidden > before) {
    grown_.fetch_add(bytes.hidden - before, std::memory_order_acq_rel);
  }
  if (found != entries_.end()) {
    replace(found, {bytes, changed, until});
  } else {
    insert(key, {bytes, changed, until});
  }
}

// In the memory that it has: small writes note the same list again and again.
void FragmentedLists::replace(Entries::iterator at, const Entry& entry) {
  const HiddenBytes& was = at->second.bytes;
  hidden_.fetch_sub(was.hidden, std::memory_order_acq_rel);
  shown_.fetch_sub(was.of - was.hidden, std::memory_order_acq_rel);
  auto place = order_.extract({shown(was), at->first});
  at->second = entry;
  place.value().first = shown(entry.bytes);
  order_.insert(std::move(place));
  hidden_.fetch_add(entry.bytes.hidden, std::memory_order_acq_rel);
  shown_.fetch_add(entry.bytes.of - entry.bytes.hidden, std::memory_order_acq_rel);
}

void FragmentedLists::insert(const std::string& key, const Entry& entry) {
  const HiddenBytes& bytes = entry.bytes;
  if (entries_.size() >= most_) {  // KQ2
    lost_ = true;
    const auto worst = std::prev(order_.end());
    if (worst->first <= shown(bytes)) return;
    erase(entries_.find(worst->second));
  }
  entries_[key] = entry;
  order_.insert({shown(bytes), key});
  hidden_.fetch_add(bytes.hidden, std::memory_order_acq_rel);
  shown_.fetch_add(bytes.of - bytes.hidden, std::memory_order_acq_rel);
}

std::uint64_t FragmentedLists::to_gain() const {
  constexpr std::uint64_t kCostPart = 16;
  const std::uint64_t cost = shown_.load(std::memory_order_acquire) / kCostPart;
  const std::uint64_t all = hidden();
  return all - std::min(all, cost);
}

void FragmentedLists::forget(const std::string& key, Lsn changed) {
  const io::Lock lock(mutex_);
  const auto found = entries_.find(key);
  if (found != entries_.end() && found->second.changed <= changed) erase(found);
  const auto unreadable = unreadable_.find(key);
  if (unreadable != unreadable_.end() && unreadable->second.changed <= changed) {
    unreadable_.erase(unreadable);
  }
}

void FragmentedLists::set_aside(const std::string& key, Lsn changed, Lsn until) {
  const io::Lock lock(mutex_);
  const auto found = entries_.find(key);
  if (found != entries_.end() && found->second.changed <= changed) found->second.until = until;
}

// KQ4
void FragmentedLists::note_unreadable(const std::string& key, Lsn changed) {
  const io::Lock lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end() || found->second.changed > changed) return;
  if (unreadable_.size() < most_) {
    unreadable_[key] = found->second;
  } else {
    lost_ = true;
  }
  erase(found);
}

void FragmentedLists::try_again() {
  const io::Lock lock(mutex_);
  for (std::size_t i = 0; i < kMostTries && !unreadable_.empty(); ++i) {
    const auto first = unreadable_.extract(unreadable_.begin());
    insert(first.key(), first.mapped());
  }
}

FragmentedLists::Choice FragmentedLists::best(std::size_t most, std::uint32_t most_shown,
                                              Lsn checkpointed) {
  const io::Lock lock(mutex_);
  Choice choice;
  std::size_t passed = 0;
  for (const auto& [part, key] : order_) {
    if (part > most_shown || choice.lists.size() == most || passed == kMostPassed) break;
    const Entry& entry = entries_.at(key);
    if (entry.until > checkpointed) {
      choice.waiting = true;
      ++passed;
      continue;
    }
    choice.lists.push_back({key, entry.bytes, entry.changed});
  }
  return choice;
}

bool FragmentedLists::take_lost() {
  const io::Lock lock(mutex_);
  return std::exchange(lost_, false);
}

bool FragmentedLists::empty() {
  const io::Lock lock(mutex_);
  return entries_.empty();
}

}  // namespace hexad::core
