#include "tools/cli/interrupt.h"

#include <signal.h>

#include <atomic>

namespace hexad::tools {

namespace {

std::atomic<bool> g_interrupted{false};
std::atomic<bool> g_reader_gone{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set in a signal handler");

void on_signal(int) { g_interrupted.store(true, std::memory_order_relaxed); }

}  // namespace

void watch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  // Restarted calls: the engine's own I/O need not know about signals.
  action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // A reader that went away is an error value of write(), not a death.
  signal(SIGPIPE, SIG_IGN);
}

bool interrupted() { return g_interrupted.load(std::memory_order_relaxed); }

bool reader_gone() { return g_reader_gone.load(std::memory_order_relaxed); }

void set_reader_gone() { g_reader_gone.store(true, std::memory_order_relaxed); }

Error interrupted_error() { return Error{ErrorCode::kClosed, "interrupted", ""}; }

}  // namespace hexad::tools
