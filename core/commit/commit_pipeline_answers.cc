// What the pipeline does when a round is over: groups are answered and published in order.
#include <memory>
#include <utility>

#include "core/commit/commit_pipeline.h"
#include "io/no_unwinding.h"

namespace hexad::core {

void CommitPipeline::complete(Round& round, Waiting waiting) {
  const io::NoUnwinding none("the requests of commits");
  CommitGroup& group = *round.group;
  const bool ahead = &round == &group.ahead;
  bool ask_repair = false;
  {
    LsnWaiters::WakeUp wake_up;
    const io::Lock lock(mutex_);
    round.over = true;
    if (&round == &group.main) group.over_at = executor_.clock().now();
    bool failed = round.flush_failed;
    for (const io::IoRequest& request : round.batch.requests) {
      if (!request.status.ok()) failed = true;
    }
    ask_repair = failed && state_.pause_for_repair();
    tasks_.enter();
    advance(wake_up);
    changed_.notify_all();
  }
  if (ask_repair) repair_();
  if (ahead) {
    // Whatever has become of the cells: the log has to have all blocks when the membership changes.
    rounds_.run_main(group, waiting);
  } else {
    if (progress_) progress_();
    pump();
  }
  const io::Lock lock(mutex_);
  tasks_.leave();
  changed_.notify_all();
}

void CommitPipeline::answer(CommitGroup& group, CommitAnswers::Due& due) {
  answers_.take_members(group, due);
  group.answered = true;
  open_.expect(in_flight_.callers_under_way(), group.callers);
  group.answered_at = executor_.clock().now();
  answers_.note_times(group);
  positions_.raise_answered(group.last_lsn());
}

// Answers and publishes what is durable, in order.
void CommitPipeline::advance(LsnWaiters::WakeUp& wake_up) {
  CommitAnswers::Due due = answers_.nothing_due();
  const bool going = state_.is_going();
  for (const auto& group : in_flight_.groups()) {
    if (!going || !group->main.over) break;
    if (!group->answered) answer(*group, due);
  }
  while (going && in_flight_.front_done()) {
    const std::unique_ptr<CommitGroup> group = in_flight_.take_front();
    records_.publish(*group);
    positions_.raise_durable(group->last_lsn());
    positions_.raise_recorded(group->block.block.header.watermark);
    buffers_.put(group->block.block.take_buffer());  // all requests have their outcome
  }
  answers_.take_reached(positions_.answered(), positions_.durable(), due, wake_up);
  if (due.empty()) return;
  tasks_.post();
  const io::Nanos posted = executor_.clock().now();
  executor_.post([this, posted, due = std::move(due)] {
    due.tell(executor_.clock().now() - posted);
    task_over();
  });
}

}  // namespace hexad::core
