// A deterministic Executor for tests: threads are fibers that take turns on the calling thread, and
// time is a number. From one seed follow the order in which fibers run and with it everything else,
// in every build mode; trace_hash() shows it.
//
//   SimExecutor executor(seed);
//   executor.run([&] {                        // the main fiber; may start, lock, wait, sleep
//     auto thread = executor.start("worker", [&] { ... });
//     executor.sleep_for(1'000'000);          // takes no real time
//     thread->join();
//   });
//
// A fiber runs until it waits, or until a lock gives another one a turn (interleave()). Virtual
// time moves only when no fiber can run: to the next timer or event. When there is none either,
// nobody can ever go on: a deadlock.
//
// One thread. What a task throws (a failed check of a test) leaves run(); the simulation cannot go
// on after that and drops its fibers, as after abandon().
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/executor.h"
#include "io/rng.h"
#include "io/sim/fiber.h"

namespace hexad::io {

class SimExecutor final : public Executor, private FiberScheduler, private Clock {
 public:
  // `stacks`: shared with other simulations, or null for stacks of its own.
  explicit SimExecutor(std::uint64_t seed, std::shared_ptr<FiberStacks> stacks = nullptr);
  // Runs what is left to its end, as the real executor does; fibers that then wait for ever are a
  // bug, listed and asserted, unless abandoned.
  ~SimExecutor() override;

  // Runs until `main` has returned; others may be left, for the next run() or the destructor.
  // A deadlock is listed on standard error and asserted.
  void run(Task main);
  // The same, but a deadlock (or passing the step limit) comes back as text that lists all fibers
  // and what they wait for; empty when `main` has returned. The simulation is abandoned then.
  std::string run_or_explain(Task main);
  // Turns that fibers may take in all before that counts as a livelock; 0 is no limit.
  void set_step_limit(std::uint64_t turns) { step_limit_ = turns; }
  // The fibers that have not finished are dropped as they stand. What they own is leaked.
  void abandon();

  Result<std::unique_ptr<Thread>> try_start(const std::string& name, Task task) override;
  // Each task is a fiber of its own.
  void post(Task task) override;
  void sleep_for(Nanos duration) override;
  Clock& clock() override { return *this; }
  FiberScheduler* fibers() override { return this; }

  // Runs `event` at virtual time `when` (or now, if that has passed), outside of any fiber: it may
  // unpark, post and schedule but not wait. Events of one time run in the order of scheduling.
  void schedule(Nanos when, std::function<void()> event);
  // For those who implement waiting over fibers (io/sim_queue.h). park() is for fibers only.
  FiberScheduler& scheduler() { return *this; }
  bool in_fiber() const { return current_ != nullptr; }
  // Moves the wall clock, not the steady one.
  void jump_wall_clock(Nanos by) { wall_offset_ += by; }
  Rng& rng() { return rng_; }

  // Adds an event and the virtual time to the running hash of everything that happened.
  void trace(std::string_view event, std::initializer_list<std::uint64_t> fields = {});
  std::uint64_t trace_hash() const { return trace_hash_; }
  // Receives every event as a line of text, to find where two runs differ.
  void set_trace_sink(std::function<void(const std::string&)> sink) { sink_ = std::move(sink); }

 private:
  struct Strand;
  class Join;

  bool park(const void* channel, Nanos deadline) override;
  void unpark_one(const void* channel) override;
  void unpark_all(const void* channel) override;
  void interleave() override;
  Nanos now() const override { return now_; }
  Nanos fiber_time() const override { return now_; }
  Nanos wall_time() const override { return now_ + wall_offset_; }

  std::shared_ptr<Strand> spawn(std::string name, Task task);
  // One turn of one fiber, or the next event. False when there is neither.
  bool step();
  bool run_next_event();
  void make_runnable(Strand& strand);
  std::string explain(const char* what) const;

  Rng rng_;
  std::shared_ptr<FiberStacks> stacks_;
  Nanos now_ = 1'000'000'000;
  Nanos wall_offset_ = 1'767'225'600'000'000'000;  // 2026-01-01
  std::vector<std::shared_ptr<Strand>> strands_;   // not finished; in order of start
  std::vector<Strand*> runnable_;
  std::vector<Strand*> parked_;  // oldest first
  Strand* current_ = nullptr;
  std::map<std::pair<Nanos, std::uint64_t>, std::function<void()>> events_;
  std::uint64_t next_event_ = 0;
  std::uint64_t next_strand_ = 0;
  std::uint64_t turns_ = 0;
  std::uint64_t step_limit_ = 0;
  bool abandoned_ = false;
  std::uint64_t trace_hash_ = 0;
  std::function<void(const std::string&)> sink_;
};

}  // namespace hexad::io
