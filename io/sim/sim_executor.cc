#include "io/sim/sim_executor.h"

#include <algorithm>
#include <cstdio>

#include "base/assert.h"
#include "io/recall.h"

namespace hexad::io {

namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 29;
}

}  // namespace

struct SimExecutor::Strand {
  Strand(FiberStacks& stacks, std::string of, std::uint64_t number, Task task)
      : fiber(stacks, std::move(task)), name(std::move(of)), id(number) {}

  Fiber fiber;
  const std::string name;
  const std::uint64_t id;
  Recall* recall = nullptr;       // while others run
  const void* channel = nullptr;  // what it is parked on
  bool timed_out = false;
  bool has_timer = false;
  std::pair<Nanos, std::uint64_t> timer;  // its entry in events_
};

class SimExecutor::Join final : public Thread {
 public:
  Join(SimExecutor& executor, std::shared_ptr<Strand> strand)
      : executor_(executor), strand_(std::move(strand)) {}
  ~Join() override { HEXAD_ASSERT(strand_ == nullptr || executor_.abandoned_); }
  void join() override {
    HEXAD_ASSERT(strand_ != nullptr);
    while (!strand_->fiber.finished()) executor_.park(strand_.get(), -1);
    strand_ = nullptr;
  }

 private:
  SimExecutor& executor_;
  std::shared_ptr<Strand> strand_;
};

SimExecutor::SimExecutor(std::uint64_t seed, std::shared_ptr<FiberStacks> stacks)
    : rng_(seed),
      stacks_(stacks != nullptr ? std::move(stacks) : std::make_shared<FiberStacks>()) {}

SimExecutor::~SimExecutor() {
  if (abandoned_) return;
  while (!strands_.empty() && step()) {
  }
  if (strands_.empty()) return;
  std::fputs(explain("fibers that nobody joined wait for ever").c_str(), stderr);
  HEXAD_ASSERT(strands_.empty());
}

void SimExecutor::run(Task main) {
  const std::string stuck = run_or_explain(std::move(main));
  if (stuck.empty()) return;
  std::fputs(stuck.c_str(), stderr);
  HEXAD_ASSERT(stuck.empty());
}

std::string SimExecutor::run_or_explain(Task main) {
  HEXAD_ASSERT(!in_fiber() && !abandoned_);
  // What is thrown, by a check of a test that fails say, ends all of it. Fibers share one count of
  // exceptions that are on their way.
  const UnwindingAllowed allowed(UnwindingAllowed::Because::kSimulation);
  const std::shared_ptr<Strand> strand = spawn("main", std::move(main));
  while (!strand->fiber.finished()) {
    const bool too_long = step_limit_ != 0 && turns_ >= step_limit_;
    if (too_long || !step()) {
      std::string text = explain(too_long ? "too many turns" : "deadlock");
      abandon();
      return text;
    }
  }
  return "";
}

void SimExecutor::abandon() {
  HEXAD_ASSERT(!in_fiber());
  abandoned_ = true;
  events_.clear();
  runnable_.clear();
  parked_.clear();
  strands_.clear();
}

std::shared_ptr<SimExecutor::Strand> SimExecutor::spawn(std::string name, Task task) {
  auto strand =
      std::make_shared<Strand>(*stacks_, std::move(name), next_strand_++, std::move(task));
  strands_.push_back(strand);
  runnable_.push_back(strand.get());
  return strand;
}

Result<std::unique_ptr<Thread>> SimExecutor::try_start(const std::string& name, Task task) {
  return std::unique_ptr<Thread>(std::make_unique<Join>(*this, spawn(name, std::move(task))));
}

void SimExecutor::post(Task task) { spawn("task", std::move(task)); }

void SimExecutor::sleep_for(Nanos duration) {
  const char channel = 0;
  park(&channel, now_ + std::max<Nanos>(duration, 0));
}

void SimExecutor::schedule(Nanos when, std::function<void()> event) {
  events_.emplace(std::pair(std::max(when, now_), next_event_++), std::move(event));
}

bool SimExecutor::step() {
  if (runnable_.empty()) return run_next_event();
  ++turns_;
  const std::size_t choice = rng_.below(runnable_.size());
  Strand* strand = runnable_[choice];
  // Order is kept: what rng_ chooses next depends on it.
  runnable_.erase(runnable_.begin() + static_cast<std::ptrdiff_t>(choice));
  trace("turn", {strand->id});
  current_ = strand;
  Recall* const outside = Recall::exchange(strand->recall);
  try {
    strand->fiber.resume();
  } catch (...) {
    Recall::exchange(outside);
    current_ = nullptr;
    abandon();
    throw;
  }
  strand->recall = Recall::exchange(outside);
  current_ = nullptr;
  if (strand->fiber.finished()) {
    unpark_all(strand);
    std::erase_if(strands_, [&](const auto& one) { return one.get() == strand; });
  }
  return true;
}

bool SimExecutor::run_next_event() {
  if (events_.empty()) return false;
  auto entry = events_.extract(events_.begin());
  now_ = std::max(now_, entry.key().first);
  entry.mapped()();
  return true;
}

bool SimExecutor::park(const void* channel, Nanos deadline) {
  HEXAD_ASSERT(in_fiber());  // only fibers can wait: call from inside run()
  Strand& self = *current_;
  self.channel = channel;
  self.timed_out = false;
  if (deadline >= 0) {
    self.timer = {std::max(deadline, now_), next_event_++};
    self.has_timer = true;
    events_.emplace(self.timer, [this, &self] {
      self.has_timer = false;
      self.timed_out = true;
      std::erase(parked_, &self);
      make_runnable(self);
    });
  }
  parked_.push_back(&self);
  self.fiber.suspend();
  return !self.timed_out;
}

void SimExecutor::make_runnable(Strand& strand) {
  strand.channel = nullptr;
  if (strand.has_timer) events_.erase(strand.timer);
  strand.has_timer = false;
  runnable_.push_back(&strand);
}

void SimExecutor::unpark_one(const void* channel) {
  const auto found = std::find_if(parked_.begin(), parked_.end(),
                                  [&](const Strand* one) { return one->channel == channel; });
  if (found == parked_.end()) return;
  Strand* strand = *found;
  parked_.erase(found);
  make_runnable(*strand);
}

void SimExecutor::unpark_all(const void* channel) {
  std::vector<Strand*> waiting;
  std::copy_if(parked_.begin(), parked_.end(), std::back_inserter(waiting),
               [&](const Strand* one) { return one->channel == channel; });
  std::erase_if(parked_, [&](const Strand* one) { return one->channel == channel; });
  for (Strand* strand : waiting) make_runnable(*strand);
}

void SimExecutor::interleave() {
  if (!in_fiber() || runnable_.empty() || !rng_.chance(1, 4)) return;
  runnable_.push_back(current_);
  current_->fiber.suspend();
}

void SimExecutor::trace(std::string_view event, std::initializer_list<std::uint64_t> fields) {
  std::uint64_t hash = mix(trace_hash_, static_cast<std::uint64_t>(now_));
  for (const char c : event) hash = mix(hash, static_cast<unsigned char>(c));
  for (const std::uint64_t field : fields) hash = mix(hash, field);
  trace_hash_ = hash;
  if (!sink_) return;
  std::string line = std::to_string(now_) + " " + std::string(event);
  for (const std::uint64_t field : fields) line += " " + std::to_string(field);
  sink_(line);
}

std::string SimExecutor::explain(const char* what) const {
  std::string text = "simulation: " + std::string(what) + " at " + std::to_string(now_) + " ns\n";
  for (const auto& strand : strands_) {
    text += "  fiber " + std::to_string(strand->id) + " " + strand->name;
    if (strand->channel == nullptr) {
      text += " can run\n";
    } else {
      char channel[32];
      std::snprintf(channel, sizeof channel, "%p", strand->channel);
      text += std::string(" waits on ") + channel + "\n";
    }
  }
  return text;
}

}  // namespace hexad::io
