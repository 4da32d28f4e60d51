// How far the walk through the metadata has come that looks for lists which nobody has told of
// (Compactor::find_some()), and whether it begins again: KL6 of core/clean/compactor.h.
#pragma once

#include <string>
#include <utility>

namespace hexad::core {

class ListWalk {
 public:
  bool over() const { return over_; }
  void end() { over_ = true; }
  // Where it goes on.
  const std::string& from() const { return from_; }
  void go_on_at(std::string key) { from_ = std::move(key); }
  // Space has come back of some list.
  void note_gain() { gained_ = true; }
  // `take_lost`: whether lists were let go of since that was asked last. Asked only where the
  // answer counts.
  template <typename TakeLost>
  void maybe_again(const TakeLost& take_lost) {
    if (over_ && gained_ && take_lost()) *this = ListWalk();  // KL6
  }

 private:
  std::string from_;
  bool over_ = false;
  bool gained_ = false;  // since it began
};

}  // namespace hexad::core
