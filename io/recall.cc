#include "io/recall.h"

#include <utility>

namespace hexad::io {

namespace {

thread_local Recall* of_this_thread = nullptr;

}  // namespace

Recall* Recall::here() noexcept { return of_this_thread; }

Recall* Recall::exchange(Recall* next) noexcept { return std::exchange(of_this_thread, next); }

bool Recall::comes() noexcept {
  Recall* const recall = of_this_thread;
  if (recall == nullptr) return false;
  recall->waited_ = 0;
  if (!recall->come_) recall->come_ = recall->is_wanted();
  return recall->come_;
}

void Recall::note_wait(Nanos waited) noexcept {
  Recall* const recall = of_this_thread;
  if (recall == nullptr) return;
  recall->waited_ += waited;
  if (recall->waited_ >= kBetweenAsks) comes();
}

bool Recall::has_come() noexcept {
  const Recall* const recall = of_this_thread;
  return recall != nullptr && recall->come_;
}

void Recall::note_left_commit() noexcept {
  if (of_this_thread != nullptr) of_this_thread->left_commit_ = true;
}

Recall::Scope::Scope(Recall& recall) noexcept : outer_(of_this_thread) { of_this_thread = &recall; }

Recall::Scope::~Scope() { of_this_thread = outer_; }

Recall::Stay::Stay() noexcept : outer_(of_this_thread) { of_this_thread = nullptr; }

Recall::Stay::~Stay() { of_this_thread = outer_; }

}  // namespace hexad::io
