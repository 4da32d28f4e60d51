#include "core/commit/commit_pipeline.h"

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "io/recall.h"

namespace hexad::core {

CommitPipeline::CommitPipeline(io::Executor& executor, const StoreShape& shape, Members& members,
                               Space& space, LogBlobs& log_blobs, InFlightCells& in_flight_cells,
                               const StripePlacer& placer, Counters& counters, kv::LogWriter log,
                               LogDurability log_durability, std::function<void()> repair)
    : executor_(executor),
      records_(shape, space, log_blobs, in_flight_cells, placer, counters),
      requests_(shape, space, members, counters, log_durability),
      repair_(std::move(repair)),
      mutex_(executor),
      changed_(executor),
      log_capacity_(log.capacity()),
      log_(std::move(log), log_blobs, shape.record),
      positions_(log_.writer().next_lsn()),
      open_(positions_.durable()),
      in_flight_(executor, members, log_durability),
      answers_(executor, counters),
      rounds_(executor, members, counters, mutex_, changed_, *this) {}

std::uint64_t CommitPipeline::max_record() {
  const io::Lock lock(mutex_);
  return log_.record_limit();
}

std::uint64_t CommitPipeline::max_packing_record() {
  const io::Lock lock(mutex_);
  return log_.packing_limit();
}

Result<bool> CommitPipeline::try_reserve(Submission& submission, LogRoom from) {
  const std::uint64_t size = record_bound(submission);
  const io::Lock lock(mutex_);
  if (const std::uint64_t limit = log_.record_limit(); size > limit) {
    return Error{ErrorCode::kTooBig,
                 "the metadata of one transaction takes " + format_size(size) +
                     ", the log takes at most " + format_size(limit),
                 "Use several transactions, or a writer for large objects."};
  }
  const std::uint64_t room = log_.room_for(size);
  if (state_.stopped().has_value()) return *state_.stopped();
  if (!log_.has_room(room, from)) return false;
  log_.set_aside(room);
  submission.reserved = room;
  return true;
}

std::uint64_t CommitPipeline::record_bound(const Submission& submission) const {
  return records_.bound(submission);
}

bool CommitPipeline::has_room_for(std::uint64_t bytes) {
  const io::Lock lock(mutex_);
  return log_.has_room(log_.room_for(bytes));
}

Lsn CommitPipeline::next_lsn() {
  const io::Lock lock(mutex_);
  return positions_.next();
}

void CommitPipeline::enqueue(Submission submission) {
  submission.queued = executor_.clock().now();
  // C6: before the next LSN is drawn, and so before anybody can be told of this one.
  records_.make_readable(submission);
  const io::Lock lock(mutex_);
  HEXAD_ASSERT(submission.lsn == positions_.next());
  positions_.advance_next();
  if (!state_.stopped().has_value()) {
    if (submission.durability != Durability::kDurable) positions_.raise_visible(submission.lsn);
    open_.add(std::move(submission));
    return;
  }
  // Stopped since its room was reserved: nobody seals what is open any more.
  std::vector<Submission> late;
  late.push_back(std::move(submission));
  fail_members(late, *state_.stopped());
  open_.keep(std::move(late.front()));  // the cells are known to in_flight_cells_
}

bool CommitPipeline::may_seal() const {
  return open_.is_due() && state_.is_going() && in_flight_.has_slot(open_.bytes()) &&
         !waits_for_company();
}

// C14. Whoever waits so is woken when the other group is answered: complete() pumps then, and
// resume() does where the answer had to wait for a change of the membership.
bool CommitPipeline::waits_for_company() const {
  return open_.may_wait() && open_.waits_with(in_flight_.callers_under_way());
}

// In three steps: take the members (under the lock), decide about their unplaced blobs and encode
// (without), take a place in the log (under the lock again; what is left to encode is the block's
// header). One thread at a time (C5).
CommitGroup* CommitPipeline::seal() {
  const io::NoUnwinding none("a group of commits");
  std::vector<Submission> members;
  CommitLog::PayloadRoom room;
  io::Nanos taken_at = 0;
  std::uint32_t block_size = 0;
  {
    const io::Lock lock(mutex_);
    if (!may_seal()) return nullptr;
    block_size = log_.writer().block_size();
    taken_at = executor_.clock().now();
    members = open_.take();
    room = log_.hold_payload_room(members);
    // Also when they are put back: then their payloads ride in the next block.
    members.front().reserved += room.held;
  }
  if (const Status placed = records_.place_unplaced(members, room.payload); !placed.ok()) {
    // A reservation that did not hold, our own bug, or no memory for what is coded. What is durable
    // stays readable.
    give_up(std::move(members), placed.error());
    return nullptr;
  }
  kv::LogBody records = records_.encode(members, block_size, buffers_, scratch_);

  LsnWaiters::WakeUp wake_up;
  const io::Lock lock(mutex_);
  open_.sealed();
  changed_.notify_all();
  if (state_.stopped().has_value()) fail_members(members, *state_.stopped());
  if (state_.is_paused() || state_.stopped().has_value()) {
    // The membership changes: nothing may reach the log now. Whoever seals next decides about the
    // blobs that come on top. After stop() nobody seals, and what is visible stays readable.
    open_.put_back(std::move(members));
    return nullptr;
  }
  for (const Submission& member : members) log_.take(member.reserved);
  // Room has been set aside for all of them; what fences and watermarks have taken since came out
  // of the reserve, so this may reach into it.
  Result<kv::PreparedBlock> block = log_.writer().prepare(
      members.front().lsn, std::move(records), positions_.durable(), kv::LogPurpose::kInternal);
  HEXAD_ASSERT(block.ok());  // C4
  positions_.set_in_log(members.back().lsn);
  CommitGroup* group = admit(std::move(block).value(), std::move(members), taken_at);
  // Those who came meanwhile saw that somebody was sealing, and sleep.
  if (may_seal()) answers_.sleepers().wake_one(open_.first_lsn(), wake_up);
  return group;
}

// Members of a group that cannot be sealed: they have LSNs, so everything behind them fails, too.
void CommitPipeline::give_up(std::vector<Submission> members, const Error& why) {
  {
    const io::Lock lock(mutex_);
    if (state_.stopped().has_value()) fail_members(members, *state_.stopped());
    open_.put_back(std::move(members));
  }
  stop(Error{ErrorCode::kUnknown, "a group of commits could not be sealed: " + why.message,
             "Close the store and open it again; run hexad fsck POOL."});
  const io::Lock lock(mutex_);
  open_.sealed();  // not before: they have no places, and nobody else may seal them
  changed_.notify_all();
}

CommitGroup* CommitPipeline::admit(kv::PreparedBlock block, std::vector<Submission> members,
                                   io::Nanos taken_at) {
  std::unique_ptr<CommitGroup> group =
      requests_.make(std::move(block), std::move(members), in_flight_.unproven());
  group->taken_at = taken_at;
  return in_flight_.add(std::move(group));
}

void CommitPipeline::fail_members(std::vector<Submission>& members, const Error& why) {
  CommitAnswers::Calls calls;
  CommitAnswers::fail_members(members, why, calls);
  for (std::function<void()>& call : calls) {
    tasks_.post();
    executor_.post([this, call = std::move(call)] {
      call();
      task_over();
    });
  }
}

Status CommitPipeline::make_visible(Lsn lsn) {
  const io::Lock lock(mutex_);
  HEXAD_ASSERT(lsn < positions_.next());
  if (lsn <= positions_.visible()) return {};
  if (state_.stopped().has_value()) return *state_.stopped();
  positions_.raise_visible(lsn);
  return {};
}

void CommitPipeline::request_durable() {
  {
    const io::Lock lock(mutex_);
    open_.hurry_all(positions_.last());
  }
  pump();
}

void CommitPipeline::hurry(Lsn lsn) {
  const io::Lock lock(mutex_);
  open_.hurry(lsn);
}

std::optional<CommitPipeline::Lost> CommitPipeline::lost_buffered() {
  const io::Lock lock(mutex_);
  const Lsn visible = positions_.visible();
  if (!state_.stopped().has_value() || visible <= positions_.durable()) return std::nullopt;
  return Lost{positions_.durable() + 1, visible};
}

void CommitPipeline::pump() {
  while (CommitGroup* group = seal()) rounds_.run(group, Waiting::kCallback);
}

void CommitPipeline::pump_beside() {
  const io::NoUnwinding none("a group of commits");
  {
    const io::Lock lock(mutex_);
    if (tasks_.has_pump() || !may_seal()) return;
    tasks_.post_pump();
  }
  post([this] {
    {
      const io::Lock lock(mutex_);
      tasks_.begin_pump();
    }
    pump();
  });
}

Status CommitPipeline::wait_in_log(Lsn lsn) {
  const io::NoUnwinding none("a group of commits");
  for (;;) {
    {
      io::Lock lock(mutex_);
      if (positions_.in_log() >= lsn) return {};
      if (state_.stopped().has_value()) return *state_.stopped();
      open_.hurry(lsn);
      if (!may_seal()) {
        changed_.wait(lock);
        continue;
      }
    }
    pump();
  }
}

Status CommitPipeline::wait_durable(Lsn lsn, LsnWaiters::Until until) {
  for (;;) {
    LsnWaiters::Woken woken = LsnWaiters::Woken::kLook;
    bool called_back = false;
    {
      io::Lock lock(mutex_);
      const bool all = until == LsnWaiters::Until::kDurable;
      if ((all ? positions_.durable() : positions_.answered()) >= lsn) return {};
      if (state_.stopped().has_value()) return *state_.stopped();
      if (all) {
        open_.hurry(lsn);
      } else {
        open_.want(lsn);
      }
      called_back = io::Recall::has_come();
      const bool waits = !called_back && !may_seal();
      if (waits && io::Recall::here() == nullptr) {
        if (answers_.sleepers().sleep(lock, lsn, until) == LsnWaiters::Woken::kReached) return {};
        continue;
      }
      if (waits) woken = answers_.sleepers().sleep_for(lock, lsn, until, io::Recall::kBetweenAsks);
    }
    if (woken == LsnWaiters::Woken::kReached) return {};
    if (called_back) {
      return leave_commit(lsn);
    } else if (woken == LsnWaiters::Woken::kTimeOver) {
      io::Recall::comes();  // under no lock of the pipeline's
    } else if (CommitGroup* group = seal()) {
      rounds_.run(group, Waiting::kBlocking);
    }
  }
}

// C15. It may be this thread that was to seal the next group, or was woken to do that.
Error CommitPipeline::leave_commit(Lsn lsn) {
  pump_beside();
  return {ErrorCode::kUnavailable,
          "the thread was called back while it waited for LSN " + std::to_string(lsn) +
              " to be durable, which goes on",
          "See what became of it when the devices answer."};
}

bool CommitPipeline::wait_durable_for(Lsn lsn, io::Nanos limit) {
  const io::Nanos end = executor_.clock().now() + limit;
  for (;;) {
    {
      io::Lock lock(mutex_);
      if (positions_.durable() >= lsn || state_.stopped().has_value()) return true;
      open_.hurry(lsn);
      if (!may_seal()) {
        const io::Nanos left = end - executor_.clock().now();
        if (left <= 0) return false;
        answers_.sleepers().sleep_for(lock, lsn, LsnWaiters::Until::kDurable, left);
        continue;
      }
    }
    pump();
  }
}

void CommitPipeline::when_durable(Lsn lsn, std::function<void(Status)> done) {
  const io::NoUnwinding none("the answer of a commit");
  std::optional<Status> now;  // nothing: later
  {
    const io::Lock lock(mutex_);
    if (positions_.answered() >= lsn) {
      now = ok_status();
    } else if (state_.stopped().has_value()) {
      now = Status(*state_.stopped());
    } else {
      open_.hurry(lsn);
      answers_.add(lsn, done);
    }
  }
  if (!now.has_value()) {
    pump();
    return;
  }
  post([done = std::move(done), now = *std::move(now)] { done(now); });
}

// No block is coming that would carry the watermark.
bool CommitPipeline::is_idle() const {
  return !open_.is_being_sealed() && open_.empty() && in_flight_.empty();
}

Result<CommitGroup*> CommitPipeline::admit_watermark() {
  HEXAD_TRY(log_.check_reserve(2));
  HEXAD_TRY_ASSIGN(kv::PreparedBlock block, log_.writer().empty_block(positions_.durable()));
  return admit(std::move(block), {}, executor_.clock().now());
}

Status CommitPipeline::record_watermark() {
  CommitGroup* group = nullptr;
  Lsn watermark = 0;
  {
    const io::Lock lock(mutex_);
    if (state_.stopped().has_value()) return *state_.stopped();
    if (positions_.recorded() >= positions_.durable() || state_.is_paused() || !is_idle())
      return {};
    watermark = positions_.durable();
    HEXAD_TRY_ASSIGN(group, admit_watermark());
  }
  rounds_.run(group, Waiting::kBlocking);
  io::Lock lock(mutex_);
  changed_.wait(lock, [&]() HEXAD_REQUIRES(mutex_) {
    return positions_.recorded() >= watermark || state_.is_paused() || state_.stopped().has_value();
  });
  return {};
}

// What is in flight may have been sealed before `lsn` was durable; whatever is sealed from now on
// was not.
Status CommitPipeline::wait_recorded(Lsn lsn) {
  for (;;) {
    CommitGroup* group = nullptr;
    {
      io::Lock lock(mutex_);
      HEXAD_ASSERT(lsn <= positions_.durable());
      if (positions_.recorded() >= lsn) return {};
      if (state_.stopped().has_value()) return *state_.stopped();
      open_.hurry_all(std::max(open_.wanted(), positions_.last()));
      if (!state_.is_paused() && is_idle()) {
        HEXAD_TRY_ASSIGN(group, admit_watermark());
      } else if (!may_seal()) {
        changed_.wait(lock);
        continue;
      }
    }
    if (group == nullptr) group = seal();
    if (group != nullptr) rounds_.run(group, Waiting::kBlocking);
  }
}

Lsn CommitPipeline::durable() {
  const io::Lock lock(mutex_);
  return positions_.durable();
}

Lsn CommitPipeline::recorded() {
  const io::Lock lock(mutex_);
  return positions_.recorded();
}

std::uint64_t CommitPipeline::log_used() {
  const io::Lock lock(mutex_);
  return log_.writer().used();
}

Epoch CommitPipeline::epoch() {
  const io::Lock lock(mutex_);
  return log_.writer().epoch();
}

Status CommitPipeline::drain() {
  for (;;) {
    {
      io::Lock lock(mutex_);
      if (state_.stopped().has_value()) return *state_.stopped();
      if (is_idle()) return {};
      open_.hurry_all(positions_.last());
      if (!may_seal()) {
        changed_.wait(lock);
        continue;
      }
    }
    if (CommitGroup* group = seal()) rounds_.run(group, Waiting::kBlocking);
  }
}

void CommitPipeline::pause_payloads() {
  const io::Lock lock(mutex_);
  log_.pause_payloads();
}

void CommitPipeline::resume_payloads() {
  const io::Lock lock(mutex_);
  log_.resume_payloads();
}

kv::LogPoint CommitPipeline::point_at(Lsn lsn) {
  const io::Lock lock(mutex_);
  return log_.writer().point_at(lsn);
}

void CommitPipeline::trim(const kv::LogPoint& point) {
  const io::Lock lock(mutex_);
  log_.writer().trim(point);
  changed_.notify_all();
}

void CommitPipeline::note_recorded(Lsn watermark) {
  const io::Lock lock(mutex_);
  positions_.note_recorded(watermark);
  changed_.notify_all();
}

void CommitPipeline::post(io::Task task) {
  const io::NoUnwinding none("the answer of a commit");
  {
    const io::Lock lock(mutex_);
    tasks_.post();
  }
  executor_.post([this, task = std::move(task)] {
    task();
    task_over();
  });
}

void CommitPipeline::task_over() {
  const io::Lock lock(mutex_);
  tasks_.run();
  changed_.notify_all();
}

void CommitPipeline::wait_idle() {
  {
    io::Lock lock(mutex_);
    changed_.wait(lock, [this]() HEXAD_REQUIRES(mutex_) {
      return in_flight_.all_io_done() && !open_.is_being_sealed() && tasks_.none() &&
             rounds_.is_idle();
    });
  }
  rounds_.join();
}

std::optional<Error> CommitPipeline::stopped() {
  if (!has_stopped()) return std::nullopt;
  const io::Lock lock(mutex_);
  return state_.stopped();
}

}  // namespace hexad::core
