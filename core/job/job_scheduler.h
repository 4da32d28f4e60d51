// Runs jobs (core/job/job.h) on a few threads of its own.
//
// Jobs are put together in crews: a crew is one thread, and its jobs take turns, so that none of
// them starves; a job that may take long stands in a crew whose other jobs can wait for it. So a
// long job never holds up a checkpoint.
//
//   JB1 Two steps of one crew never run at once; steps of different crews do.
//   JB2 What makes a job due happens before wake(), and due() is asked after it: no wake-up is
//       lost, whenever it comes.
//   JB3 After stop() no step begins, and none is under way.
//   JB4 After wind_down(), or once stop() has begun, no step begins but of jobs that must finish.
//       Crews end in the order in which they were added: a step may wait for such jobs of a crew
//       that was added later.
//   JB5 The lock is a leaf: no job is called under it. So whoever wakes a job may hold any lock.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "core/api/types.h"
#include "core/job/job.h"
#include "io/executor.h"

namespace hexad::core {

class JobScheduler {
 public:
  explicit JobScheduler(io::Executor& executor);
  // As stop().
  ~JobScheduler();
  JobScheduler(const JobScheduler&) = delete;
  JobScheduler& operator=(const JobScheduler&) = delete;

  // A thread for these jobs, which outlive the scheduler. Before start().
  void add_crew(std::string thread_name, const std::vector<Job*>& jobs);
  // A thread for a job that nobody else has to do with: it is the scheduler's.
  void add_job(std::string thread_name, std::unique_ptr<Job> job);
  // Makes the threads: all that there will ever be. Once. Errors: the system refuses one; those
  // that there are by then are ended by stop().
  Status start();
  // A step of the job may be due. Any thread; cheap, but not for every commit.
  void wake(const Job& job);
  // The work of a job was done outside its steps, or failed there: as if a step had. Any thread.
  void note(const Job& job, const Status& outcome);
  // From now on only jobs that must finish take steps; those that are under way go on. Any thread.
  void wind_down();
  // Ends steps that are under way (Job::stop()) and waits for them. Any number of times, by one
  // thread at a time.
  void stop();

  // In the order in which they were added. Any thread.
  std::vector<JobStatus> status();

 private:
  struct Entry {
    Job* job = nullptr;
    std::uint64_t steps = 0;  // that did something
    std::uint64_t turn = 0;   // of the last step; 0: there was none
    bool running = false;
    io::Nanos since = 0;       // that it runs
    std::string problem = {};  // of the last step that did something or failed
  };
  struct Crew {
    explicit Crew(io::Executor& executor) : changed(executor) {}
    std::string thread_name;
    std::vector<Entry> entries;
    io::CondVar changed;
    std::uint64_t wakes = 0;
    bool ending = false;                           // when nothing is due
    std::unique_ptr<io::Thread> thread = nullptr;  // since start()
  };

  void work(Crew& crew);
  // Under the lock.
  static void note_step(Entry& entry, const Status& outcome);
  // The entry whose step is due and whose turn it is, or null; then `wait` is how long until one
  // is, or nothing.
  enum class Among : std::uint8_t { kAll, kThoseThatMustFinish };
  static Entry* next(Crew& crew, Among among, std::optional<io::Nanos>& wait);
  // Where the job is.
  std::pair<Crew*, Entry*> find(const Job& job);

  io::Executor& executor_;
  std::vector<std::unique_ptr<Job>> owned_;
  std::vector<std::unique_ptr<Crew>> crews_;  // the same since start()
  io::Mutex mutex_;                           // what changes of crews and entries, and below
  std::uint64_t turns_ HEXAD_GUARDED_BY(mutex_) = 0;
  bool winding_down_ HEXAD_GUARDED_BY(mutex_) = false;
  bool stopped_ HEXAD_GUARDED_BY(mutex_) = false;
};

}  // namespace hexad::core
