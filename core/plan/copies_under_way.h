// Which bodies are being copied for clones (CopiedPages of core/plan/prepared.h), so that whoever
// changes a page finds the copies of its body, and no others.
//
// Belongs to whoever holds the sequencer's lock. Copies that nobody has any more are forgotten as
// they are met, and all of them when there may be as many as others: so add() looks at two for each
// that comes, in the mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "core/plan/prepared.h"
#include "core/record/keys.h"

namespace hexad::core {

class CopiesUnderWay {
 public:
  void add(const std::shared_ptr<CopiedPages>& copied);
  // Tells those of the body that a page has changed. Returns how many copies it has looked at.
  std::size_t tell(BodyId body, std::uint32_t page);
  bool empty() const { return by_body_.empty(); }
  std::size_t size() const { return by_body_.size(); }  // those to be forgotten included

 private:
  std::multimap<BodyId, std::weak_ptr<CopiedPages>> by_body_;
  std::size_t look_at_ = kFew;  // with so many it looks through all

  static constexpr std::size_t kFew = 16;
};

}  // namespace hexad::core
