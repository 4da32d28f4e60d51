// Memory for what a plan looks at while it is made: used again from attempt to attempt, so that
// planning asks the allocator for next to nothing.
//
//   RM1 what a plan has taken from the room is free when the plan has been made; the plan itself,
//       and all that anybody remembers of it, has memory of its own
//   RM2 one plan at a time takes from a room
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <string>
#include <vector>

#include "core/record/record.h"

namespace hexad::core {

class PlanRoom {
 public:
  // What a transaction of some fifty small ops takes.
  static constexpr std::size_t kFirstBytes = 64 * 1024;

  // The first bytes are kept for as long as the room is there; more come from `beyond`, which
  // outlives it, and go back after each plan.
  explicit PlanRoom(std::size_t first = kFirstBytes,
                    std::pmr::memory_resource* beyond = std::pmr::new_delete_resource());
  PlanRoom(const PlanRoom&) = delete;
  PlanRoom& operator=(const PlanRoom&) = delete;
  ~PlanRoom();

  // One plan's.
  class Use {
   public:
    explicit Use(PlanRoom& room);
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use();
    std::pmr::memory_resource* memory() const { return &room_.memory_; }

   private:
    PlanRoom& room_;
  };

  // For one value at a time.
  std::string& text() { return text_; }
  // An empty list, with memory where another has left some. That is not the room's, and the list
  // may be kept.
  ExtentList list();
  // Takes the memory of a list that nobody needs any more.
  void give(ExtentList&& list);

 private:
  const std::size_t first_bytes_;
  const std::unique_ptr<std::byte[]> first_;
  std::pmr::monotonic_buffer_resource memory_;
  std::vector<ExtentList> spare_;
  std::string text_;
  bool used_ = false;
};

}  // namespace hexad::core
