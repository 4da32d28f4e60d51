#include "core/job/job_scheduler.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace hexad::core {

JobScheduler::JobScheduler(io::Executor& executor) : executor_(executor), mutex_(executor) {}

JobScheduler::~JobScheduler() { stop(); }

void JobScheduler::add_crew(std::string thread_name, const std::vector<Job*>& jobs) {
  auto crew = std::make_unique<Crew>(executor_);
  crew->thread_name = std::move(thread_name);
  for (Job* const job : jobs) crew->entries.push_back({job});
  crews_.push_back(std::move(crew));
}

void JobScheduler::add_job(std::string thread_name, std::unique_ptr<Job> job) {
  owned_.push_back(std::move(job));  // first: a crew names no job that nobody owns
  add_crew(std::move(thread_name), std::vector<Job*>{owned_.back().get()});
}

Status JobScheduler::start() {
  for (const std::unique_ptr<Crew>& crew : crews_) {
    HEXAD_ASSERT(crew->thread == nullptr);
    HEXAD_TRY_ASSIGN(crew->thread,
                     executor_.try_start(crew->thread_name, [this, &crew] { work(*crew); }));
  }
  return {};
}

std::pair<JobScheduler::Crew*, JobScheduler::Entry*> JobScheduler::find(const Job& job) {
  for (const std::unique_ptr<Crew>& crew : crews_) {
    for (Entry& entry : crew->entries) {
      if (entry.job == &job) return {crew.get(), &entry};
    }
  }
  HEXAD_ASSERT(false && "the job is in no crew");
  return {};
}

void JobScheduler::wake(const Job& job) {
  Crew& crew = *find(job).first;
  const io::Lock lock(mutex_);
  ++crew.wakes;
  crew.changed.notify_all();
}

void JobScheduler::note_step(Entry& entry, const Status& outcome) {
  if (outcome.ok()) ++entry.steps;
  entry.problem = outcome.ok() ? "" : outcome.error().to_string();
}

void JobScheduler::note(const Job& job, const Status& outcome) {
  Entry& entry = *find(job).second;
  const io::Lock lock(mutex_);
  note_step(entry, outcome);
}

void JobScheduler::wind_down() {
  const io::Lock lock(mutex_);
  winding_down_ = true;
}

void JobScheduler::stop() {
  bool first = false;
  {
    const io::Lock lock(mutex_);
    first = !std::exchange(stopped_, true);
    winding_down_ = true;
  }
  // All are told before one is waited for: a checkpoint may wait for a merge.
  for (const std::unique_ptr<Crew>& crew : crews_) {
    if (!first) break;
    for (const Entry& entry : crew->entries) entry.job->stop();
  }
  for (const std::unique_ptr<Crew>& crew : crews_) {
    {
      const io::Lock lock(mutex_);
      crew->ending = true;
      crew->changed.notify_all();
    }
    if (crew->thread != nullptr) crew->thread->join();
    crew->thread.reset();
  }
}

// Turns are written by the crew's own thread alone, which is the one that asks.
JobScheduler::Entry* JobScheduler::next(Crew& crew, Among among, std::optional<io::Nanos>& wait) {
  Entry* found = nullptr;
  for (Entry& entry : crew.entries) {
    if (among == Among::kThoseThatMustFinish && !entry.job->must_finish()) continue;
    const std::optional<io::Nanos> due = entry.job->due();
    if (!due.has_value()) continue;
    if (*due > 0) {
      wait = std::min(wait.value_or(*due), *due);
    } else if (found == nullptr || entry.turn < found->turn) {
      found = &entry;
    }
  }
  return found;
}

void JobScheduler::work(Crew& crew) {
  io::Lock lock(mutex_);
  for (;;) {
    const std::uint64_t heard = crew.wakes;  // JB2
    const bool winding_down = winding_down_;
    const bool ending = crew.ending;
    lock.unlock();
    std::optional<io::Nanos> wait;
    Entry* const entry = next(crew, winding_down ? Among::kThoseThatMustFinish : Among::kAll, wait);
    lock.lock();
    if (entry != nullptr && winding_down != winding_down_) continue;
    if (entry == nullptr) {
      if (ending) return;
      if (crew.wakes != heard || crew.ending) continue;
      if (wait.has_value()) {
        crew.changed.wait_for(lock, *wait);
      } else {
        crew.changed.wait(lock);
      }
      continue;
    }
    entry->turn = ++turns_;
    entry->running = true;
    entry->since = executor_.clock().now();
    lock.unlock();
    const Result<bool> done = entry->job->step();
    lock.lock();
    entry->running = false;
    if (!done.ok() || *done) note_step(*entry, done.status());
  }
}

std::vector<JobStatus> JobScheduler::status() {
  std::vector<JobStatus> all;
  for (const std::unique_ptr<Crew>& crew : crews_) {
    for (const Entry& entry : crew->entries) {
      JobStatus status;
      status.name = entry.job->name();
      status.purpose = entry.job->purpose();
      const JobProgress progress = entry.job->progress();
      status.done = progress.done;
      status.total = progress.total;
      status.unit = progress.unit;
      const io::Lock lock(mutex_);
      status.steps = entry.steps;
      status.running = entry.running;
      if (entry.running) {
        status.seconds = static_cast<double>(executor_.clock().now() - entry.since) / 1e9;
      }
      status.problem = entry.problem;
      all.push_back(std::move(status));
    }
  }
  return all;
}

}  // namespace hexad::core
