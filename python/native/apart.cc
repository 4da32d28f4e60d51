#include "python/native/apart.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "python/native/errors.h"

namespace hexad::python {

namespace nb = nanobind;

namespace {

using Clock = std::chrono::steady_clock;

// How often the main thread looks for signals while it waits.
constexpr std::chrono::milliseconds kBetweenSignals{50};
// How long a call may take to end between two of its steps before it is left.
constexpr std::chrono::milliseconds kGrace{600};
// Whoever waits for the other thread of the two looks for so long before it sleeps: waking a thread
// takes as long as a small call.
constexpr std::chrono::microseconds kLook{60};

// Asking for the process id would be a system call in every call of a store.
std::atomic<std::uint64_t> forks = 0;

// Callers that are about to take the GIL; and that none may any more (PA5).
std::atomic<int> taking = 0;
std::atomic<bool> staying_away = false;

[[maybe_unused]] const int watching = pthread_atfork(nullptr, nullptr, [] {
  forks.fetch_add(1, std::memory_order_relaxed);
  taking = 0;
});

thread_local Task* task_here = nullptr;
// This thread runs something that a call has given back to it (PA3).
thread_local bool is_called_back = false;
// The last call that a signal has ended goes on. Of the main thread.
bool last_goes_on = false;

// Throws what the call that ends between two of its steps has to throw. Nobody catches it but
// whoever waits, who has something else to throw.
struct Ended : std::exception {
  const char* what() const noexcept override { return "the call was interrupted"; }
};

void take_gil(PyThreadState* state) {
  if (task_here == nullptr) {
    PyEval_RestoreThread(state);
    return;
  }
  ++taking;
  if (staying_away) {
    --taking;
    for (;;) pause();
  }
  PyEval_RestoreThread(state);
  --taking;
}

// True when `is_so()` is, soon.
template <typename Condition>
bool look(const Condition& is_so) {
  if (is_so()) return true;
  static const bool alone = std::thread::hardware_concurrency() < 2;
  if (alone) return false;
  for (const Clock::time_point end = Clock::now() + kLook; Clock::now() < end;) {
    if (is_so()) return true;
    sched_yield();
  }
  return false;
}

// As an exception says it.
void say(const nb::python_error& error, const std::string& note) {
  const nb::handle value = error.value();
  if (!nb::hasattr(value, "add_note")) return;  // before Python 3.11
  value.attr("add_note")(("hexad: " + note).c_str());
}

}  // namespace

// By number; asked for again in a forked child.
bool is_main_thread() {
  static std::atomic<unsigned long> main{0};
  static std::atomic<std::uint64_t> known_for{~std::uint64_t{0}};
  const std::uint64_t now = forks_before_this();
  if (known_for.load() != now) {
    const nb::object thread = nb::module_::import_("threading").attr("main_thread")();
    main = nb::cast<unsigned long>(thread.attr("ident"));
    known_for = now;
  }
  return PyThread_get_thread_ident() == main.load(std::memory_order_relaxed);
}

const void*& held_here() {
  thread_local const void* held = nullptr;
  return held;
}

std::uint64_t forks_before_this() { return forks.load(std::memory_order_relaxed); }

WithoutGil::~WithoutGil() {
  if (state_ != nullptr) take_gil(state_);
}

Task* Task::here() { return task_here; }

bool Task::is_to_end() {
  if (!to_end_.load(std::memory_order_relaxed)) return false;
  ends_ = true;
  return true;
}

void check_signals() {
  if (Task* const task = Task::here(); task != nullptr) {
    if (task->is_to_end()) throw Ended();
  } else if (PyErr_CheckSignals() != 0) {
    throw nb::python_error();
  }
}

std::string goes_on_note(const char* what) {
  return std::string(what) +
         ": it goes on by itself; whether its change was made shows what is read later";
}

void throw_interruption(const nb::python_error& interruption, bool goes_on,
                        const std::string& note) {
  last_goes_on = goes_on;
  if (!note.empty()) say(interruption, note);
  throw interruption;
}

bool is_to_be_apart() {
  return task_here == nullptr && !is_called_back && !staying_away && is_main_thread();
}

// A thread that makes calls, one after the other.
class Caller {
 public:
  // One that has nothing to do; null: there cannot be another thread. With the GIL.
  static Caller* find();

  // Both on the main thread, with the GIL.
  void give(Task& task);
  enum class Came : std::uint8_t { kDone, kAsks, kNothing };
  // Waits for one of the first two, or for `limit`.
  Came wait(const Task& task, std::chrono::milliseconds limit);
  // Runs what the call asks for.
  void answer();
  // Has the call end between two of its steps. True when it is over; false: it was left.
  bool end(Task& task);
  void put_back();

  // Without one.
  static void make_here(Task& task);
  // What it has thrown, if anything, when it is done.
  static const std::exception_ptr& thrown_by(const Task& task) { return task.thrown_; }
  // Nobody waits for it from now on. False: it is done.
  static bool leave(Task& task) {
    Task::State expected = Task::State::kRuns;
    return task.state_.compare_exchange_strong(expected, Task::State::kLeft);
  }
  // When it is done, with the GIL.
  static void let_go(std::unique_ptr<Task> task);

  // On the caller.
  bool ask(Task& task, const void* it, void (*call)(const void*));

 private:
  // Those that have nothing to do. Of one process; of a forked one its parent's is left lying.
  struct Idle {
    const std::uint64_t forks = forks_before_this();
    std::mutex mutex;
    std::vector<Caller*> callers;
  };
  static Idle& idle();
  static Caller* begin();

  [[noreturn]] void run();
  Task& next();
  void make(Task& task);

  std::atomic<Task*> given_{nullptr};
  std::mutex mutex_;
  std::condition_variable for_caller_;
  std::condition_variable for_main_;
  // What the call wants to be run on the main thread; null: nothing. Set and taken under the lock.
  std::atomic<void (*)(const void*)> asked_{nullptr};
  const void* asked_with_ = nullptr;
  const void* held_ = nullptr;  // by the caller
  PyThreadState* state_ = nullptr;
};

Caller::Idle& Caller::idle() {
  static Idle* the = new Idle;  // never ends, as its threads
  if (the->forks != forks_before_this()) the = new Idle;
  return *the;
}

Caller* Caller::find() {
  {
    Idle& idle = Caller::idle();
    const std::lock_guard lock(idle.mutex);
    if (!idle.callers.empty()) {
      Caller* const caller = idle.callers.back();
      idle.callers.pop_back();
      return caller;
    }
  }
  return begin();
}

Caller* Caller::begin() {
  auto caller = std::make_unique<Caller>();
  // Signals are the application's, and its threads'.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool begun = true;
  try {
    std::thread([it = caller.get()] {
      pthread_setname_np(pthread_self(), "hexad-caller");
      it->run();
    }).detach();
  } catch (const std::system_error&) {
    begun = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return begun ? caller.release() : nullptr;
}

void Caller::put_back() {
  Idle& idle = Caller::idle();
  const std::lock_guard lock(idle.mutex);
  idle.callers.push_back(this);
}

void Caller::give(Task& task) {
  task.caller_ = this;
  given_ = &task;
  { const std::lock_guard lock(mutex_); }
  for_caller_.notify_one();
}

Task& Caller::next() {
  const auto is_there = [this] { return given_.load() != nullptr; };
  if (!look(is_there)) {
    std::unique_lock lock(mutex_);
    for_caller_.wait(lock, is_there);
  }
  return *given_.exchange(nullptr);
}

void Caller::run() {
  state_ = PyThreadState_New(PyInterpreterState_Main());
  for (;;) make(next());
}

void Caller::make(Task& task) {
  task_here = &task;
  const bool needs_gil = task.needs_gil_;
  if (needs_gil) take_gil(state_);
  try {
    task.run();
  } catch (...) {
    task.thrown_ = std::current_exception();
  }
  if (needs_gil) PyEval_SaveThread();
  Task::State expected = Task::State::kRuns;
  if (task.state_.compare_exchange_strong(expected, Task::State::kDone)) {
    task_here = nullptr;
    // The task is gone, and this may have another one, when the main thread has seen that.
    { const std::lock_guard lock(mutex_); }
    for_main_.notify_one();
    return;
  }
  if (needs_gil) take_gil(state_);
  delete &task;
  if (needs_gil) PyEval_SaveThread();
  task_here = nullptr;
  put_back();
}

Caller::Came Caller::wait(const Task& task, std::chrono::milliseconds limit) {
  const auto has_come = [&] {
    return task.state_.load() == Task::State::kDone || asked_.load() != nullptr;
  };
  const WithoutGil unlocked;
  if (!look(has_come)) {
    std::unique_lock lock(mutex_);
    for_main_.wait_for(lock, limit, has_come);
  }
  if (task.state_.load() == Task::State::kDone) return Came::kDone;
  return asked_.load() != nullptr ? Came::kAsks : Came::kNothing;
}

void Caller::answer() {
  is_called_back = true;
  const void* const own = std::exchange(held_here(), held_);
  asked_.load()(asked_with_);  // throws nothing
  held_here() = own;
  is_called_back = false;
  {
    const std::lock_guard lock(mutex_);
    asked_ = nullptr;
  }
  for_caller_.notify_one();
}

bool Caller::ask(Task& task, const void* it, void (*call)(const void*)) {
  std::unique_lock lock(mutex_);
  if (task.is_to_end()) return false;
  asked_with_ = it;
  held_ = held_here();
  asked_ = call;
  for_main_.notify_one();
  for_caller_.wait(lock, [&] { return asked_.load() == nullptr || task.to_end_; });
  // Taken back under the lock: the main thread, which has something to throw, runs it no more.
  return asked_.exchange(nullptr) == nullptr;
}

bool Task::on_main(const void* ask, void (*call)(const void*)) {
  return caller_->ask(*this, ask, call);
}

void Caller::make_here(Task& task) {
  try {
    if (task.needs_gil_) {
      task.run();
    } else {
      const WithoutGil unlocked;
      task.run();
    }
  } catch (...) {
    task.thrown_ = std::current_exception();
  }
}

// What needs no GIL may take long to let go.
void Caller::let_go(std::unique_ptr<Task> task) {
  if (task->needs_gil_) return;
  const WithoutGil unlocked;
  task.reset();
}

bool Caller::end(Task& task) {
  {
    const std::lock_guard lock(mutex_);
    task.to_end_ = true;
  }
  for_caller_.notify_one();
  // What ends tidies up, and is waited for as long as nobody is impatient.
  for (const Clock::time_point end = Clock::now() + kGrace; task.ends_ || Clock::now() < end;) {
    if (wait(task, kBetweenSignals) == Came::kDone) return true;
    if (!task.ends_) continue;
    if (PyErr_CheckSignals() != 0) {
      PyErr_Clear();  // there is one to throw already
      break;
    }
  }
  return !leave(task);
}

namespace {

// Of a call that a signal has ended, for whoever sees the exception.
std::string outcome(const Task& task, const char* what) {
  const std::exception_ptr& thrown = Caller::thrown_by(task);
  if (thrown == nullptr) return std::string(what) + ": its change was made before";
  try {
    std::rethrow_exception(thrown);
  } catch (const Failure& failure) {
    return std::string(what) + ": it failed before: " + failure.error.message;
  } catch (...) {
    return "";
  }
}

[[noreturn]] void end_or_leave(Caller& caller, Task& task, const char* what, CallKind kind) {
  const nb::python_error interruption;  // what a handler has thrown
  const bool over = caller.end(task);
  std::string note;
  if (over) {
    caller.put_back();
    if (kind == CallKind::kChanges) note = outcome(task, what);
    Caller::let_go(std::unique_ptr<Task>(&task));
  } else {
    if (kind == CallKind::kChanges) note = goes_on_note(what);
    if (kind == CallKind::kSettles) note = std::string(what) + ": it goes on by itself";
  }
  throw_interruption(interruption, !over, note);
}

}  // namespace

void make_left(std::unique_ptr<Task> task) {
  Caller* const caller = Caller::find();
  if (caller == nullptr) {
    Caller::make_here(*task);
    Caller::let_go(std::move(task));
  } else {
    Caller::leave(*task);
    caller->give(*task.release());
  }
}

std::unique_ptr<Task> make_apart(std::unique_ptr<Task> task, const char* what, CallKind kind,
                                 const std::function<bool()>& is_enough) {
  last_goes_on = false;
  Caller* const caller = Caller::find();
  if (caller == nullptr) {
    Caller::make_here(*task);
  } else {
    Task& given = *task.release();
    caller->give(given);
    for (bool done = false; !done;) {
      switch (caller->wait(given, kBetweenSignals)) {
        case Caller::Came::kDone:
          done = true;
          break;
        case Caller::Came::kAsks:
          caller->answer();
          break;
        case Caller::Came::kNothing:
          if (PyErr_CheckSignals() != 0) end_or_leave(*caller, given, what, kind);
          if (is_enough && is_enough() && Caller::leave(given)) return nullptr;
          break;
      }
    }
    caller->put_back();
    task.reset(&given);
  }
  if (const std::exception_ptr thrown = Caller::thrown_by(*task); thrown != nullptr) {
    std::rethrow_exception(thrown);
  }
  return task;
}

void bind_apart(nb::module_& module) {
  // Whether the last call of this thread, if it was interrupted, goes on without it.
  module.def("goes_on", [] { return is_main_thread() && last_goes_on; });
  // At the end of the interpreter (PA5).
  module.def("stay_away", [] {
    staying_away = true;
    const WithoutGil unlocked;
    while (taking != 0) sched_yield();
  });
}

}  // namespace hexad::python
