// Calls of Python's main thread that may wait, so that Ctrl-C ends each of them.
//
// Python tells its main thread alone of signals. While that waits in the engine, the engine asks it
// now and then whether it is wanted back (io/recall.h, StoreHandle::run()); that ends reads, and
// the waiting of commits, and costs nothing where nobody waits. The rest is made by a thread of its
// own, a caller, while the main thread waits for it and looks for signals: what takes long by its
// nature, and all calls of a store while one of its devices owes an answer. When a handler throws,
// the call ends between two of its steps, or is left: the main thread goes on with the exception,
// and the call comes to its end by itself, with all that it uses.
//
//   main thread    make Task ---- wait, look for signals ---- take the result, or leave
//   caller                  \---- run it, with a GIL of its own ----/
//
// A caller for every call would cost two changes of threads: several times what a small call takes.
//
// Rules
//   PA1  What a call uses belongs to its Task: arguments are kept by reference count, or by copy.
//   PA2  A Task is let go by the main thread when it is done, by the caller when it was left: the
//        state, which leaves kRuns once, says which.
//   PA3  What Python gave to be called in the middle (`progress`) runs on the main thread, as
//        without all this, with what the caller holds (held_here()); calls that it makes are not
//        made apart.
//   PA4  Callers never end. A forked child begins without any.
//   PA5  From stay_away() on, when the interpreter ends, a caller takes the GIL no more: Python
//        would end its thread, with the engine's frames on its stack.
//   PA6  What is called with hexad's lock of the process held (hexad/_process.py) runs no Python
//        code on the caller, which a finalizer that wants this lock could be.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "python/native/ids.h"  // IWYU pragma: keep

namespace hexad::python {

// How many fork() calls lie between the process that loaded this module and this one.
std::uint64_t forks_before_this();

// Gives the GIL away, if this thread has it, and takes it back (PA5). In place of nanobind's own.
class WithoutGil {
 public:
  WithoutGil() : state_(PyGILState_Check() != 0 ? PyEval_SaveThread() : nullptr) {}
  ~WithoutGil();
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* const state_;
};

// What there is to say of a call that was interrupted.
enum class CallKind : std::uint8_t {
  kLooks,    // nothing: it has changed nothing
  kChanges,  // whether its change was made
  kSettles,  // that it goes on: it changes nothing that could be read
};

class Caller;

// One call that is made apart.
class Task {
 public:
  explicit Task(bool needs_gil) : needs_gil_(needs_gil) {}
  virtual ~Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  // The one that this thread makes; null: this thread is no caller.
  static Task* here();
  // Whether it is to end between two of its steps: somebody has something to throw.
  bool is_to_end();
  // Runs `ask` on the main thread, with the GIL, and returns when it has; false: the main thread
  // has left. On the caller, without the GIL.
  template <typename Ask>
  bool on_main(const Ask& ask) {
    return on_main(&ask, [](const void* it) { (*static_cast<const Ask*>(it))(); });
  }

 protected:
  // On the caller, with the GIL if it needs that. Throws what the call does.
  virtual void run() = 0;

 private:
  friend class Caller;
  enum class State : std::uint8_t { kRuns, kDone, kLeft };
  bool on_main(const void* ask, void (*call)(const void*));

  const bool needs_gil_;
  Caller* caller_ = nullptr;
  std::exception_ptr thrown_;
  std::atomic<State> state_{State::kRuns};
  std::atomic<bool> to_end_{false};
  std::atomic<bool> ends_{false};  // and the call has seen that
};

// What this thread holds, which is what calls it back, too: the innermost StoreHandle::Hold.
const void*& held_here();

// Throws where the Task is to end, or, where this thread is no caller, what a signal's handler has
// thrown, as every call of Python does between two instructions.
void check_signals();

// Python's, which signals are told to.
bool is_main_thread();

// Whether a call that begins now can be made apart: this is the main thread, and not amid one.
bool is_to_be_apart();

// Of a change that was left.
std::string goes_on_note(const char* what);

// Throws what a signal's handler has thrown in a call of the main thread that `goes_on`, or not,
// with a note; "": none. With the GIL.
[[noreturn]] void throw_interruption(const nanobind::python_error& interruption, bool goes_on,
                                     const std::string& note);

// Makes the call apart, and returns when it is done; throws what it has thrown, or a signal's
// handler meanwhile. `what`: its name. `is_enough`, asked now and then: whether to leave it; then
// the result is null, and the call goes on. With the GIL.
std::unique_ptr<Task> make_apart(std::unique_ptr<Task> task, const char* what, CallKind kind,
                                 const std::function<bool()>& is_enough = {});

// Has the call made apart, and waits for nothing; makes it here where there cannot be another
// thread. What it throws is lost. With the GIL.
void make_left(std::unique_ptr<Task> task);

void bind_apart(nanobind::module_& module);

// An argument that a Task keeps.
template <typename T>
class Held {
 public:
  explicit Held(const std::remove_cvref_t<T>& given) : value_(given) {}
  std::remove_cvref_t<T>& get() { return value_; }

 private:
  std::remove_cvref_t<T> value_;
};

template <>
class Held<nanobind::handle> {
 public:
  explicit Held(nanobind::handle given) : value_(nanobind::borrow(given)) {}
  nanobind::handle get() { return value_; }

 private:
  nanobind::object value_;
};

// An instance of a bound class.
template <typename T>
requires(!std::is_const_v<T>) class Held<T&> {
 public:
  explicit Held(T& given) : value_(given), owner_(nanobind::find(given)) {}
  T& get() { return value_; }

 private:
  T& value_;
  nanobind::object owner_;
};

template <typename Result, typename Function, typename... Arguments>
class CallTask final : public Task {
 public:
  CallTask(bool needs_gil, Function function, Arguments... arguments)
      : Task(needs_gil),
        function_(std::move(function)),
        arguments_(Held<Arguments>(arguments)...) {}

  // When it is done.
  Result take() {
    if constexpr (!std::is_void_v<Result>) return *std::move(result_);
  }

 private:
  using Value = std::conditional_t<std::is_void_v<Result>, std::monostate, Result>;

  void run() override {
    std::apply(
        [&](auto&... held) {
          if constexpr (std::is_void_v<Result>) {
            function_(held.get()...);
          } else {
            result_.emplace(function_(held.get()...));
          }
        },
        arguments_);
  }

  Function function_;
  std::tuple<Held<Arguments>...> arguments_;
  std::optional<Value> result_;
};

// Calls a function that owns what it uses and touches nothing of Python's, without the GIL; apart
// where that is wanted. With the GIL.
template <typename Function>
auto call_apart(const char* what, CallKind kind, Function function) {
  using Result = decltype(function());
  if (!is_to_be_apart()) {
    const WithoutGil unlocked;
    return function();
  }
  using Call = CallTask<Result, Function>;
  const auto task = make_apart(std::make_unique<Call>(false, std::move(function)), what, kind);
  return static_cast<Call&>(*task).take();
}

// The same for what is tidied up, whose outcome is nothing to anybody, and which may be the way of
// an exception.
template <typename Function>
void tidy_apart(const char* what, Function function, const std::function<bool()>& is_enough) {
  if (!is_to_be_apart()) {
    const WithoutGil unlocked;
    function();
    return;
  }
  using Call = CallTask<void, Function>;
  make_apart(std::make_unique<Call>(false, std::move(function)), what, CallKind::kSettles,
             is_enough);
}

// The same without waiting at all.
template <typename Function>
void leave_apart(Function function) {
  if (is_to_be_apart()) {
    make_left(std::make_unique<CallTask<void, Function>>(false, std::move(function)));
  } else {
    const WithoutGil unlocked;
    function();
  }
}

// The same for what needs the GIL (PA6).
template <typename Function>
auto call_apart_with_gil(const char* what, CallKind kind, Function function) {
  using Result = decltype(function());
  if (!is_to_be_apart()) return function();
  using Call = CallTask<Result, Function>;
  const auto task = make_apart(std::make_unique<Call>(true, std::move(function)), what, kind);
  return static_cast<Call&>(*task).take();
}

// A function to be bound whose calls are made apart where that is possible, and `Wanted`, asked
// with its arguments, says so. `AtOnce` is tried before: what it returns, an optional, is the
// answer if there is one.
template <typename Function, typename Wanted, typename AtOnce, typename Signature>
class Apart;

template <typename Function, typename Wanted, typename AtOnce, typename Self, typename Result,
          typename... Arguments>
class Apart<Function, Wanted, AtOnce, Result (Self::*)(Arguments...) const> {
 public:
  Apart(const char* what, CallKind kind, Function function, Wanted wanted, AtOnce at_once)
      : what_(what), kind_(kind), function_(function), wanted_(wanted), at_once_(at_once) {}

  Result operator()(Arguments... arguments) const {
    if constexpr (!std::is_same_v<AtOnce, std::nullptr_t>) {
      if (auto answer = at_once_(arguments...); answer.has_value()) return *std::move(answer);
    }
    if (!is_to_be_apart() || !wanted_(arguments...)) return function_(arguments...);
    using Call = CallTask<Result, Function, Arguments...>;
    const auto task =
        make_apart(std::make_unique<Call>(true, function_, arguments...), what_, kind_);
    return static_cast<Call&>(*task).take();
  }

 private:
  const char* what_;
  CallKind kind_;
  Function function_;
  Wanted wanted_;
  AtOnce at_once_;
};

template <typename Function, typename Wanted, typename AtOnce = std::nullptr_t>
auto apart_if(Wanted wanted, const char* what, CallKind kind, Function function,
              AtOnce at_once = nullptr) {
  using Made = Apart<Function, Wanted, AtOnce, decltype(&Function::operator())>;
  return Made(what, kind, function, wanted, at_once);
}

// What takes long by its nature.
template <typename Function>
auto apart(const char* what, CallKind kind, Function function) {
  return apart_if([](const auto&...) { return true; }, what, kind, function);
}

// What takes long when a device does. The first argument has is_slow().
template <typename Function, typename AtOnce = std::nullptr_t>
auto apart_if_slow(const char* what, CallKind kind, Function function, AtOnce at_once = nullptr) {
  return apart_if([](auto& self, const auto&...) { return self.is_slow(); }, what, kind, function,
                  at_once);
}

}  // namespace hexad::python
