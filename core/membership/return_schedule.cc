#include "core/membership/return_schedule.h"

#include <algorithm>
#include <set>

namespace hexad::core {

void ReturnSchedule::leave(Known& known, io::Nanos now) {
  std::erase_if(known.returns, [now](io::Nanos at) { return now - at >= kWithin; });
  known.away = true;
  known.stays_away = known.returns.size() >= kMostReturns;  // RS3
  known.wait = kFirstWait;
  for (std::size_t i = 0; i < known.returns.size(); ++i) known.wait *= kMoreForEachReturn;  // RS2
  known.next = now + known.wait;
  known.refused.reset();
}

void ReturnSchedule::update(const std::vector<AwayDevice>& away, io::Nanos now) {
  std::set<DeviceId> ids;
  for (const AwayDevice& one : away) {
    ids.insert(one.id);
    Known& known = known_[one.id];
    if (known.uuid != one.uuid) known = Known{one.uuid};  // RS5
    if (!known.away) leave(known, now);
  }
  for (auto& [id, known] : known_) {
    if (!ids.contains(id)) known.away = false;
  }
}

std::optional<io::Nanos> ReturnSchedule::next() const {
  std::optional<io::Nanos> first;
  for (const auto& [id, known] : known_) {
    if (!known.away || known.stays_away) continue;
    first = std::min(first.value_or(known.next), known.next);
  }
  return first;
}

std::optional<DeviceId> ReturnSchedule::due(io::Nanos now) const {
  std::optional<DeviceId> longest;
  for (const auto& [id, known] : known_) {
    if (!known.away || known.stays_away || known.next > now) continue;
    if (!longest.has_value() || known.next < known_.at(*longest).next) longest = id;
  }
  return longest;
}

ReturnSchedule::Known* ReturnSchedule::away(DeviceId id) {
  const auto found = known_.find(id);
  return found == known_.end() || !found->second.away ? nullptr : &found->second;
}

void ReturnSchedule::wait_longer(Known& known, io::Nanos now) {
  known.wait = std::min(2 * known.wait, kLongestWait);  // RS1
  known.next = now + known.wait;
}

void ReturnSchedule::note_not_there(DeviceId id, io::Nanos now) {
  Known* const known = away(id);
  if (known == nullptr) return;
  known->refused.reset();
  wait_longer(*known, now);
}

void ReturnSchedule::note_refused(DeviceId id, const std::string& why, io::Nanos now) {
  Known* const known = away(id);
  if (known == nullptr) return;
  known->refused = why;
  wait_longer(*known, now);  // RS4
}

void ReturnSchedule::put_off(DeviceId id, io::Nanos now) {
  if (Known* const known = away(id); known != nullptr) known->next = now + kInAMoment;
}

void ReturnSchedule::note_back(DeviceId id, io::Nanos now) {
  Known* const known = away(id);
  if (known == nullptr) return;
  known->away = false;
  known->refused.reset();
  known->returns.push_back(now);
  if (known->returns.size() > kMostReturns) known->returns.erase(known->returns.begin());
}

void ReturnSchedule::ask_for(DeviceId id, io::Nanos now) {
  const auto found = known_.find(id);
  if (found == known_.end()) return;
  Known& known = found->second;
  known.returns.clear();
  if (known.away) leave(known, now);
}

std::optional<ReturnSchedule::Standing> ReturnSchedule::standing(DeviceId id) const {
  const auto found = known_.find(id);
  if (found == known_.end() || !found->second.away) return std::nullopt;
  return Standing{found->second.stays_away, found->second.next, found->second.refused};
}

}  // namespace hexad::core
