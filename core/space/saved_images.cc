#include "core/space/saved_images.h"

#include <utility>

namespace hexad::core {

void SavedImages::load(alloc::ZoneId zone, LackingSlots lacking) {
  if (!lacking.empty()) last_[zone] = std::move(lacking);
}

void SavedImages::written() {
  unsaved_.clear();
  for (auto& [zone, lacking] : std::exchange(next_, {})) {
    if (lacking.empty()) {
      last_.erase(zone);
    } else {
      last_[zone] = std::move(lacking);
    }
  }
}

const LackingSlots& SavedImages::of(const Lacking& images, alloc::ZoneId zone) {
  static const LackingSlots none;
  const auto found = images.find(zone);
  return found == images.end() ? none : found->second;
}

}  // namespace hexad::core
