#include "io/sim/fiber.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <cstdint>
#include <exception>
#include <new>
#include <utility>

#include "base/assert.h"

#if defined(__SANITIZE_ADDRESS__)
#define HEXAD_FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEXAD_FIBER_ASAN 1
#endif
#endif

#ifdef HEXAD_FIBER_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif

namespace hexad::io {

namespace {

constexpr std::size_t kGuard = 4096;

}  // namespace

#ifdef HEXAD_FIBER_ASAN
const std::size_t FiberStacks::kSize = std::size_t{1} << 20;
#else
const std::size_t FiberStacks::kSize = std::size_t{256} << 10;
#endif

// The sanitizer keeps a shadow of the stack that is in use and has to be told about every change.
struct Fiber::State {
  ucontext_t inside{};
  ucontext_t outside{};
  std::byte* stack = nullptr;
  std::exception_ptr thrown;
#ifdef HEXAD_FIBER_ASAN
  void* inside_shadow = nullptr;
  void* outside_shadow = nullptr;
  const void* outside_bottom = nullptr;
  std::size_t outside_size = 0;
#endif
};

FiberStacks::~FiberStacks() {
  for (std::byte* stack : free_) munmap(stack - kGuard, kSize + kGuard);
}

std::byte* FiberStacks::take() {
  if (!free_.empty()) {
    std::byte* stack = free_.back();
    free_.pop_back();
    return stack;
  }
  void* whole = mmap(nullptr, kSize + kGuard, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (whole == MAP_FAILED || mprotect(whole, kGuard, PROT_NONE) != 0) throw std::bad_alloc();
  return static_cast<std::byte*>(whole) + kGuard;
}

void FiberStacks::release(std::byte* stack) {
#ifdef HEXAD_FIBER_ASAN
  // The frames that were left without returning.
  ASAN_UNPOISON_MEMORY_REGION(stack, kSize);
#endif
  free_.push_back(stack);
}

Fiber::Fiber(FiberStacks& stacks, Task task)
    : stacks_(stacks), state_(std::make_unique<State>()), task_(std::move(task)) {
  state_->stack = stacks_.take();
  const int rc = getcontext(&state_->inside);
  HEXAD_ASSERT(rc == 0);
  state_->inside.uc_stack.ss_sp = state_->stack;
  state_->inside.uc_stack.ss_size = FiberStacks::kSize;
  state_->inside.uc_link = nullptr;
  // makecontext passes ints only.
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  makecontext(&state_->inside, reinterpret_cast<void (*)()>(&Fiber::enter), 2,
              static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
}

Fiber::~Fiber() {
#ifdef HEXAD_FIBER_ASAN
  if (!finished_) {
    // What only this stack points to is leaked on purpose; the leak check has to see the stack.
    __lsan_register_root_region(state_->stack, FiberStacks::kSize);
    return;
  }
#endif
  stacks_.release(state_->stack);
}

void Fiber::enter(unsigned high, unsigned low) {
  // makecontext() passes ints, so the pointer comes in halves.
  // NOLINTNEXTLINE(performance-no-int-to-ptr): there is no other way through makecontext().
  reinterpret_cast<Fiber*>(static_cast<std::uintptr_t>(high) << 32 | low)->run();
}

void Fiber::run() {
#ifdef HEXAD_FIBER_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &state_->outside_bottom, &state_->outside_size);
#endif
  try {
    task_();
  } catch (...) {
    state_->thrown = std::current_exception();
  }
  task_ = nullptr;
  finished_ = true;
#ifdef HEXAD_FIBER_ASAN
  __sanitizer_start_switch_fiber(nullptr, state_->outside_bottom, state_->outside_size);
#endif
  setcontext(&state_->outside);
  HEXAD_ASSERT(false);
}

void Fiber::resume() {
  HEXAD_ASSERT(!finished_);
#ifdef HEXAD_FIBER_ASAN
  __sanitizer_start_switch_fiber(&state_->outside_shadow, state_->stack, FiberStacks::kSize);
#endif
  swapcontext(&state_->outside, &state_->inside);
#ifdef HEXAD_FIBER_ASAN
  __sanitizer_finish_switch_fiber(state_->outside_shadow, nullptr, nullptr);
#endif
  if (state_->thrown) std::rethrow_exception(std::exchange(state_->thrown, nullptr));
}

void Fiber::suspend() {
#ifdef HEXAD_FIBER_ASAN
  __sanitizer_start_switch_fiber(&state_->inside_shadow, state_->outside_bottom,
                                 state_->outside_size);
#endif
  swapcontext(&state_->inside, &state_->outside);
#ifdef HEXAD_FIBER_ASAN
  __sanitizer_finish_switch_fiber(state_->inside_shadow, &state_->outside_bottom,
                                  &state_->outside_size);
#endif
}

}  // namespace hexad::io
