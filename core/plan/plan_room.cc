#include "core/plan/plan_room.h"

#include <utility>

#include "base/assert.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace hexad::core {

namespace {

// Lists of small objects, and not many: what is kept here nobody else can use.
constexpr std::size_t kMostSpare = 128;
constexpr std::size_t kLongestSpare = 4;
constexpr std::size_t kLongestText = 16 * 1024;

// Whoever still points into the room is found out under AddressSanitizer (RM1).
void close(std::byte* first, std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  ASAN_POISON_MEMORY_REGION(first, bytes);
#else
  static_cast<void>(first);
  static_cast<void>(bytes);
#endif
}

void open(std::byte* first, std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  ASAN_UNPOISON_MEMORY_REGION(first, bytes);
#else
  static_cast<void>(first);
  static_cast<void>(bytes);
#endif
}

}  // namespace

PlanRoom::PlanRoom(std::size_t first, std::pmr::memory_resource* beyond)
    : first_bytes_(first),
      first_(std::make_unique_for_overwrite<std::byte[]>(first)),
      memory_(first_.get(), first, beyond) {
  spare_.reserve(kMostSpare);  // so that give() asks for nothing: it is called where a plan ends
  close(first_.get(), first_bytes_);
}

PlanRoom::~PlanRoom() {
  HEXAD_ASSERT(!used_);
  open(first_.get(), first_bytes_);
}

PlanRoom::Use::Use(PlanRoom& room) : room_(room) {
  HEXAD_ASSERT(!room.used_);  // RM2
  room.used_ = true;
  open(room.first_.get(), room.first_bytes_);
}

PlanRoom::Use::~Use() {
  room_.memory_.release();
  if (room_.text_.capacity() > kLongestText) room_.text_ = {};
  close(room_.first_.get(), room_.first_bytes_);
  room_.used_ = false;
}

ExtentList PlanRoom::list() {
  if (spare_.empty()) return {};
  ExtentList list = std::move(spare_.back());
  spare_.pop_back();
  return list;
}

void PlanRoom::give(ExtentList&& list) {
  if (list.capacity() == 0 || list.capacity() > kLongestSpare || spare_.size() == kMostSpare) {
    return;
  }
  list.clear();
  spare_.push_back(std::move(list));
}

}  // namespace hexad::core
