#include "core/clean/fragmented_lists.h"

#include <iterator>
#include <utility>

namespace hexad::core {

std::uint32_t FragmentedLists::shown(const HiddenBytes& bytes) {
  return static_cast<std::uint32_t>((bytes.of - bytes.hidden) * 1024 / bytes.of);
}

void FragmentedLists::erase(Entries::iterator at) {
  hidden_.fetch_sub(at->second.bytes.hidden, std::memory_order_acq_rel);
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
    erase(found);
  }
  if (bytes.hidden == 0) return;
  if (bytes.hidden > before) {
    grown_.fetch_add(bytes.hidden - before, std::memory_order_acq_rel);
  }
  if (entries_.size() >= most_) {  // KQ2
    lost_ = true;
    const auto worst = std::prev(order_.end());
    if (worst->first <= shown(bytes)) return;
    erase(entries_.find(worst->second));
  }
  entries_[key] = {bytes, changed, until};
  order_.insert({shown(bytes), key});
  hidden_.fetch_add(bytes.hidden, std::memory_order_acq_rel);
}

void FragmentedLists::forget(const std::string& key, Lsn changed) {
  const io::Lock lock(mutex_);
  const auto found = entries_.find(key);
  if (found != entries_.end() && found->second.changed <= changed) erase(found);
}

void FragmentedLists::set_aside(const std::string& key, Lsn changed, Lsn until) {
  const io::Lock lock(mutex_);
  const auto found = entries_.find(key);
  if (found != entries_.end() && found->second.changed <= changed) found->second.until = until;
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
