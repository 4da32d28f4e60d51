#include "core/commit/commit_pipeline.h"

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "io/recall.h"

namespace hexad::core {

namespace {

// Of records in one log block; a single larger record still goes alone.
constexpr std::uint64_t kMaxGroupBytes = 4 << 20;
// Framing of one record: its length and its LSN.
constexpr std::uint64_t kRecordFraming = 20;
// An empty group part, and what the counts of a full one take more.
constexpr std::uint64_t kGroupFraming = 32;
// Payloads that have no place yet take at most this part of the log.
constexpr std::uint64_t kPayloadShare = 4;
// Of the log's reserve: see C4.
constexpr std::uint64_t kReserveParts = 4;
// A record that packs payloads takes at most this part of what a record may take.
constexpr std::uint64_t kPackingShare = 2;

// What sealing the submission sends to devices, without parity of blobs that have no place yet.
std::uint64_t bytes_to_write(const Submission& submission) {
  std::uint64_t bytes = submission.encoded.size() + kRecordFraming;
  for (const UnplacedBlob& blob : submission.unplaced) bytes += blob.stored.size();
  for (const StripeWrite& stripe : submission.stripes) bytes += stripe.prepared.cells.size();
  return bytes;
}

}  // namespace

CommitPipeline::CommitPipeline(io::Executor& executor, const StoreShape& shape, Members& members,
                               Space& space, LogBlobs& log_blobs, InFlightCells& in_flight_cells,
                               const StripePlacer& placer, Counters& counters, kv::LogWriter log,
                               LogDurability log_durability, std::function<void()> repair)
    : executor_(executor),
      shape_(shape),
      members_(members),
      space_(space),
      log_blobs_(log_blobs),
      in_flight_cells_(in_flight_cells),
      placer_(placer),
      counters_(counters),
      log_durability_(log_durability),
      repair_(std::move(repair)),
      mutex_(executor),
      changed_(executor),
      log_(std::move(log)),
      gate_(members.flush_domains()),
      sleepers_(executor),
      next_lsn_(log_.next_lsn()),
      durable_(next_lsn_ - 1),
      answered_(durable_),
      recorded_(durable_),
      wanted_(durable_),
      visible_(durable_) {}

// What a record can cost at most: a block of its own, and as much again lost at the end of a lap
// because blocks do not wrap (C4).
std::uint64_t CommitPipeline::room_for(std::uint64_t bytes) const {
  return 2 * round_up(kv::kLogHeaderSize + kv::kLogTrailerSize + kRecordFraming + bytes,
                      log_.block_size());
}

// Packing what rides in the log takes room in the log, too, and comes before the checkpoint that
// makes room: so much is left alone by everybody else.
std::uint64_t CommitPipeline::kept_for_packing() const {
  return packing_room(log_blobs_.payload_bytes(), log_blobs_.packing_bytes());
}

// What was kept for packing was there before fences and watermarks took theirs from the reserve.
bool CommitPipeline::has_room(std::uint64_t room, LogRoom from) const {
  const bool packing = from == LogRoom::kPacking;
  const std::uint64_t kept = packing ? 0 : kept_for_packing();
  const std::uint64_t alone = packing ? log_.reserve() / kReserveParts : log_.reserve();
  return log_.used() + reserved_ + kept + room <= log_.capacity() - alone;
}

// For a block that has no room set aside: with it, everything that has still fits, and so many
// parts of the reserve are left (C4).
Status CommitPipeline::check_reserve(std::uint64_t parts_left) const {
  const std::uint64_t taken = log_.used() + reserved_ + kept_for_packing();
  const std::uint64_t left = parts_left * (log_.reserve() / kReserveParts);
  if (taken + log_.block_size() + left <= log_.capacity()) return {};
  return Error{ErrorCode::kNoSpace,
               "the log has no room for a block of its own: of " + format_size(log_.capacity()) +
                   ", " + format_size(taken) + " are in use or set aside",
               "A checkpoint makes room."};
}

// Of the records that pack `payload` bytes, whose places take `places` bytes to say. All but the
// last are filled to a half at least, with the one or with the other.
std::uint64_t CommitPipeline::packing_room(std::uint64_t payload, std::uint64_t places) const {
  const std::uint64_t limit = record_limit() / kPackingShare;
  const std::uint64_t records = 2 + 2 * (payload / kPackBytes) + 2 * (places / limit);
  return records * (room_for(0) + 2 * std::uint64_t{log_.block_size()}) + 2 * places;
}

std::uint64_t CommitPipeline::max_record() {
  const io::Lock lock(mutex_);
  return record_limit();
}

std::uint64_t CommitPipeline::max_packing_record() {
  const io::Lock lock(mutex_);
  return record_limit() / kPackingShare;
}

std::uint64_t CommitPipeline::record_limit() const {
  const std::uint64_t share = (log_.capacity() - log_.reserve()) / 4;
  const std::uint64_t framing =
      kv::kLogHeaderSize + kv::kLogTrailerSize + kRecordFraming + log_.block_size();
  return std::min<std::uint64_t>(share, kv::kMaxLogBlock / 2) - framing;
}

Result<bool> CommitPipeline::try_reserve(Submission& submission, LogRoom from) {
  const std::uint64_t limit = max_record();
  const std::uint64_t size = record_bound(submission);
  if (size > limit) {
    return Error{ErrorCode::kTooBig,
                 "the metadata of one transaction takes " + format_size(size) +
                     ", the log takes at most " + format_size(limit),
                 "Use several transactions, or a writer for large objects."};
  }
  const io::Lock lock(mutex_);
  const std::uint64_t room = room_for(size);
  if (stopped_.has_value()) return *stopped_;
  if (!has_room(room, from)) return false;
  reserved_ += room;
  submission.reserved = room;
  return true;
}

std::uint64_t CommitPipeline::record_bound(const Submission& submission) const {
  std::uint64_t bytes = submission.encoded.size() + kGroupFraming;
  for (const UnplacedBlob& blob : submission.unplaced) {
    bytes += group_part_bound(blob.stored.size(), shape_.record);
  }
  const GroupPart& group = submission.record.group;
  if (!group.empty()) bytes += encode_group_part(group, shape_.record).size();
  return bytes;
}

bool CommitPipeline::has_room_for(std::uint64_t bytes) {
  const io::Lock lock(mutex_);
  return has_room(room_for(bytes));
}

Lsn CommitPipeline::next_lsn() {
  const io::Lock lock(mutex_);
  return next_lsn_;
}

void CommitPipeline::enqueue(Submission submission) {
  submission.queued = executor_.clock().now();
  // C6: before the next LSN is drawn, and so before anybody can be told of this one.
  if (!submission.unplaced.empty()) log_blobs_.expect(submission.unplaced);
  for (const StripeWrite& stripe : submission.stripes) {
    in_flight_cells_.add(stripe.where, stripe.prepared.cells, stripe.prepared.stride);
  }
  const io::Lock lock(mutex_);
  HEXAD_ASSERT(submission.lsn == next_lsn_);
  ++next_lsn_;
  if (!stopped_.has_value()) {
    if (submission.durability == Durability::kDurable) {
      wanted_ = submission.lsn;
      if (expected_ > 0) --expected_;
    } else {
      raise_visible(submission.lsn);
    }
    open_bytes_ += bytes_to_write(submission);
    open_.push_back(std::move(submission));
    return;
  }
  // Stopped since its room was reserved: nobody looks at open_ any more.
  std::vector<Submission> late;
  late.push_back(std::move(submission));
  fail_members(late, *stopped_);
  open_.push_back(std::move(late.front()));  // the cells are known to in_flight_cells_
}

bool CommitPipeline::may_seal() const {
  if (open_.empty()) return false;
  const bool due = open_.front().lsn <= wanted_ || open_bytes_ >= kLargeGroup;
  return due && !sealing_ && pauses_ == 0 && !stopped_.has_value() && has_slot() &&
         !waits_for_company();
}

// C14. Whoever waits so is woken when the other group is answered: complete() pumps then, and
// resume() does where the answer had to wait for a change of the membership.
bool CommitPipeline::waits_for_company() const {
  if (expected_ == 0 || open_bytes_ >= kLargeGroup || open_.front().lsn <= urgent_) return false;
  const std::size_t others = callers_under_way();
  return others > 0 && open_.size() < others + expected_;
}

// Who waits for groups that are not answered.
std::size_t CommitPipeline::callers_under_way() const {
  std::size_t callers = 0;
  for (const std::unique_ptr<CommitGroup>& group : in_flight_) {
    if (!group->answered) callers += group->callers;
  }
  return callers;
}

// What goes into the next group, in the order of LSNs.
std::vector<Submission> CommitPipeline::take_members() {
  std::uint64_t bytes = 0;
  std::size_t count = 0;
  for (; count < open_.size(); ++count) {
    bytes += open_[count].encoded.size() + kRecordFraming;
    for (const UnplacedBlob& blob : open_[count].unplaced) bytes += blob.stored.size();
    if (count > 0 && bytes > kMaxGroupBytes) break;
  }
  std::vector<Submission> members;
  members.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    open_bytes_ -= bytes_to_write(open_[i]);
    members.push_back(std::move(open_[i]));
  }
  open_.erase(open_.begin(), open_.begin() + static_cast<std::ptrdiff_t>(count));
  return members;
}

// How many bytes of payload the log can take besides what is reserved in it. They
// are set aside, with what packing them takes, until the group has its block: others reserve
// meanwhile (C4).
CommitPipeline::PayloadRoom CommitPipeline::hold_payload_room(
    const std::vector<Submission>& members) {
  if (!payloads_allowed_) return {};
  const std::uint64_t waiting = log_blobs_.payload_bytes();
  const std::uint64_t share = log_.capacity() / kPayloadShare;
  if (waiting >= share) return {};
  std::uint64_t keys = 0;
  std::uint64_t stored = 0;
  std::uint64_t places = 0;
  for (const Submission& member : members) {
    for (const UnplacedBlob& blob : member.unplaced) {
      keys += blob.owner.size();
      stored += blob.stored.size();
      places += group_part_bound(blob.stored.size(), shape_.record);
    }
  }
  // With half of the log used, a checkpoint is due, and what comes now should not be in its way.
  const std::uint64_t used = log_.used() + reserved_ + 2 * (keys + log_.block_size());
  const std::uint64_t half = (log_.capacity() - log_.reserve()) / 2;
  if (stored == 0 || used >= half) return {};
  PayloadRoom room;
  room.payload = std::min({share - waiting, (half - used) / 4, kMaxGroupBytes, stored});
  const std::uint64_t packing = log_blobs_.packing_bytes();
  room.held = 2 * (room.payload + keys + log_.block_size()) +
              packing_room(waiting + room.payload, packing + places) -
              packing_room(waiting, packing);
  if (!has_room(room.held)) return {};
  reserved_ += room.held;
  return room;
}

Status CommitPipeline::place_unplaced(std::vector<Submission>& members,
                                      std::uint64_t payload_room) {
  std::vector<UnplacedBlob> unplaced;
  std::vector<GivenPack> given;
  for (Submission& member : members) {
    for (GivenPack& pack : member.packs) {
      for (PackPlan::Slot& slot : pack.plan.slots) slot.item += unplaced.size();
      given.push_back(std::move(pack));
    }
    for (UnplacedBlob& blob : member.unplaced) unplaced.push_back(std::move(blob));
    member.unplaced.clear();
    member.packs.clear();
  }
  if (unplaced.empty()) return {};
  HEXAD_TRY_ASSIGN(PlacedBlobs placed, placer_.place(std::move(unplaced), payload_room, given));
  for (const StripeWrite& stripe : placed.stripes) {
    in_flight_cells_.add(stripe.where, stripe.prepared.cells, stripe.prepared.stride);
  }
  log_blobs_.set_places(placed.part.placed);
  for (UnplacedBlob& blob : placed.in_log) {
    const std::uint32_t units = blob.units;
    counters_.add(CounterId::kLogFirstBlobs);
    if (log_blobs_.add_payload(std::move(blob))) space_.release(PromisedUnits(units));
  }
  const auto append = [](auto& to, auto& from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  Submission& first = members.front();
  append(first.record.group.allocated, placed.part.allocated);
  append(first.record.group.placed, placed.part.placed);
  append(first.record.group.payloads, placed.part.payloads);
  append(first.stripes, placed.stripes);
  return {};
}

// In three steps: take the members (under the lock), decide about their unplaced blobs and encode
// (without), take a place in the log (under the lock again). One thread at a time (C5).
CommitGroup* CommitPipeline::seal() {
  const io::NoUnwinding none("a group of commits");
  std::vector<Submission> members;
  PayloadRoom room;
  io::Nanos taken_at = 0;
  {
    const io::Lock lock(mutex_);
    if (!may_seal()) return nullptr;
    taken_at = executor_.clock().now();
    sealing_ = true;
    members = take_members();
    room = hold_payload_room(members);
    // Also when they are put back: then their payloads ride in the next block.
    members.front().reserved += room.held;
  }
  if (const Status placed = place_unplaced(members, room.payload); !placed.ok()) {
    // A reservation that did not hold, our own bug, or no memory for what is coded. What is durable
    // stays readable.
    give_up(std::move(members), placed.error());
    return nullptr;
  }
  std::vector<std::string_view> records;
  for (Submission& member : members) {
    member.sealed = member.encoded + encode_group_part(member.record.group, shape_.record);
    records.push_back(member.sealed);
  }

  const io::Lock lock(mutex_);
  sealing_ = false;
  changed_.notify_all();
  if (stopped_.has_value()) fail_members(members, *stopped_);
  if (pauses_ > 0 || stopped_.has_value()) {
    // The membership changes: nothing may reach the log now. Whoever seals next decides about the
    // blobs that come on top. After stop() nobody seals, and what is visible stays readable.
    for (const Submission& member : members) open_bytes_ += bytes_to_write(member);
    open_.insert(open_.begin(), std::make_move_iterator(members.begin()),
                 std::make_move_iterator(members.end()));
    return nullptr;
  }
  for (const Submission& member : members) reserved_ -= member.reserved;
  // Room has been set aside for all of them; what fences and watermarks have taken since came out
  // of the reserve, so this may reach into it.
  Result<kv::PreparedBlock> block =
      log_.prepare(members.front().lsn, records, durable_, kv::LogPurpose::kInternal);
  HEXAD_ASSERT(block.ok());  // C4
  in_log_ = members.back().lsn;
  counters_.add(CounterId::kGroups);
  CommitGroup* group = admit(std::move(block).value(), std::move(members), taken_at);
  // Those who came meanwhile saw that somebody was sealing, and sleep.
  if (may_seal()) sleepers_.wake_one(open_.front().lsn);
  return group;
}

// Members of a group that cannot be sealed: they have LSNs, so everything behind them fails, too.
void CommitPipeline::give_up(std::vector<Submission> members, const Error& why) {
  {
    const io::Lock lock(mutex_);
    if (stopped_.has_value()) fail_members(members, *stopped_);
    open_.insert(open_.begin(), std::make_move_iterator(members.begin()),
                 std::make_move_iterator(members.end()));
  }
  stop(Error{ErrorCode::kUnknown, "a group of commits could not be sealed: " + why.message,
             "Close the store and open it again; run hexad fsck POOL."});
  const io::Lock lock(mutex_);
  sealing_ = false;  // not before: they have no places, and nobody else may seal them
  changed_.notify_all();
}

void CommitPipeline::fail_members(std::vector<Submission>& members, const Error& why) {
  for (Submission& member : members) {
    member.budget.reset();
    if (!member.done) continue;
    ++posted_;
    executor_.post([this, done = std::move(member.done), why] {
      done(why);
      task_over();
    });
  }
}

void CommitPipeline::raise_visible(Lsn lsn) {
  if (lsn > visible_.load(std::memory_order_relaxed)) {
    visible_.store(lsn, std::memory_order_release);
  }
}

Status CommitPipeline::make_visible(Lsn lsn) {
  const io::Lock lock(mutex_);
  HEXAD_ASSERT(lsn < next_lsn_);
  if (lsn <= visible_.load(std::memory_order_relaxed)) return {};
  if (stopped_.has_value()) return *stopped_;
  raise_visible(lsn);
  return {};
}

void CommitPipeline::request_durable() {
  {
    const io::Lock lock(mutex_);
    wanted_ = next_lsn_ - 1;
    urgent_ = wanted_;
  }
  pump();
}

void CommitPipeline::hurry(Lsn lsn) {
  const io::Lock lock(mutex_);
  wanted_ = std::max(wanted_, lsn);
  urgent_ = std::max(urgent_, lsn);
}

std::optional<CommitPipeline::Lost> CommitPipeline::lost_buffered() {
  const io::Lock lock(mutex_);
  const Lsn visible = visible_.load(std::memory_order_relaxed);
  if (!stopped_.has_value() || visible <= durable_) return std::nullopt;
  return Lost{durable_ + 1, visible};
}

void CommitPipeline::pump() {
  while (CommitGroup* group = seal()) run(group, Waiting::kCallback);
}

void CommitPipeline::pump_beside() {
  const io::NoUnwinding none("a group of commits");
  {
    const io::Lock lock(mutex_);
    if (pump_posted_ || !may_seal()) return;
    pump_posted_ = true;
  }
  post([this] {
    {
      const io::Lock lock(mutex_);
      pump_posted_ = false;
    }
    pump();
  });
}

Status CommitPipeline::wait_in_log(Lsn lsn) {
  const io::NoUnwinding none("a group of commits");
  for (;;) {
    {
      io::Lock lock(mutex_);
      if (in_log_ >= lsn) return {};
      if (stopped_.has_value()) return *stopped_;
      wanted_ = std::max(wanted_, lsn);
      urgent_ = std::max(urgent_, lsn);
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
    bool woken = true;
    bool called_back = false;
    {
      io::Lock lock(mutex_);
      if ((until == LsnWaiters::Until::kDurable ? durable_ : answered_) >= lsn) return {};
      if (stopped_.has_value()) return *stopped_;
      wanted_ = std::max(wanted_, lsn);
      if (until == LsnWaiters::Until::kDurable) urgent_ = std::max(urgent_, lsn);
      called_back = io::Recall::has_come();
      const bool waits = !called_back && !may_seal();
      if (waits && io::Recall::here() == nullptr) {
        sleepers_.sleep(lock, lsn, until);
        continue;
      }
      if (waits) woken = sleepers_.sleep_for(lock, lsn, until, io::Recall::kBetweenAsks);
    }
    if (called_back) {
      return leave_commit(lsn);
    } else if (!woken) {
      io::Recall::comes();  // under no lock of the pipeline's
    } else if (CommitGroup* group = seal()) {
      run(group, Waiting::kBlocking);
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
      if (durable_ >= lsn || stopped_.has_value()) return true;
      wanted_ = std::max(wanted_, lsn);
      urgent_ = std::max(urgent_, lsn);
      if (!may_seal()) {
        const io::Nanos left = end - executor_.clock().now();
        if (left <= 0) return false;
        sleepers_.sleep_for(lock, lsn, LsnWaiters::Until::kDurable, left);
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
    if (answered_ >= lsn) {
      now = ok_status();
    } else if (stopped_.has_value()) {
      now = Status(*stopped_);
    } else {
      wanted_ = std::max(wanted_, lsn);
      urgent_ = std::max(urgent_, lsn);
      waiters_.emplace(lsn, done);
    }
  }
  if (!now.has_value()) {
    pump();
    return;
  }
  post([done = std::move(done), now = *std::move(now)] { done(now); });
}

// No block is coming that would carry the watermark.
bool CommitPipeline::is_idle() const { return !sealing_ && open_.empty() && in_flight_.empty(); }

Result<CommitGroup*> CommitPipeline::admit_watermark() {
  HEXAD_TRY(check_reserve(2));
  HEXAD_TRY_ASSIGN(kv::PreparedBlock block, log_.empty_block(durable_));
  return admit(std::move(block), {}, executor_.clock().now());
}

Status CommitPipeline::record_watermark() {
  CommitGroup* group = nullptr;
  Lsn watermark = 0;
  {
    const io::Lock lock(mutex_);
    if (stopped_.has_value()) return *stopped_;
    if (recorded_ >= durable_ || pauses_ > 0 || !is_idle()) return {};
    watermark = durable_;
    HEXAD_TRY_ASSIGN(group, admit_watermark());
  }
  run(group, Waiting::kBlocking);
  io::Lock lock(mutex_);
  changed_.wait(lock, [&]() HEXAD_REQUIRES(mutex_) {
    return recorded_ >= watermark || pauses_ > 0 || stopped_.has_value();
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
      HEXAD_ASSERT(lsn <= durable_);
      if (recorded_ >= lsn) return {};
      if (stopped_.has_value()) return *stopped_;
      wanted_ = std::max<Lsn>(wanted_, next_lsn_ - 1);
      urgent_ = wanted_;
      if (pauses_ == 0 && is_idle()) {
        HEXAD_TRY_ASSIGN(group, admit_watermark());
      } else if (!may_seal()) {
        changed_.wait(lock);
        continue;
      }
    }
    if (group == nullptr) group = seal();
    if (group != nullptr) run(group, Waiting::kBlocking);
  }
}

Lsn CommitPipeline::durable() {
  const io::Lock lock(mutex_);
  return durable_;
}

Lsn CommitPipeline::recorded() {
  const io::Lock lock(mutex_);
  return recorded_;
}

std::uint64_t CommitPipeline::log_used() {
  const io::Lock lock(mutex_);
  return log_.used();
}

std::uint64_t CommitPipeline::log_capacity() {
  const io::Lock lock(mutex_);
  return log_.capacity();
}

Epoch CommitPipeline::epoch() {
  const io::Lock lock(mutex_);
  return log_.epoch();
}

Status CommitPipeline::drain() {
  for (;;) {
    {
      io::Lock lock(mutex_);
      if (stopped_.has_value()) return *stopped_;
      if (open_.empty() && !sealing_ && in_flight_.empty()) return {};
      wanted_ = next_lsn_ - 1;
      urgent_ = wanted_;
      if (!may_seal()) {
        changed_.wait(lock);
        continue;
      }
    }
    if (CommitGroup* group = seal()) run(group, Waiting::kBlocking);
  }
}

void CommitPipeline::pause_payloads() {
  const io::Lock lock(mutex_);
  payloads_allowed_ = false;
}

void CommitPipeline::resume_payloads() {
  const io::Lock lock(mutex_);
  payloads_allowed_ = true;
}

kv::LogPoint CommitPipeline::point_at(Lsn lsn) {
  const io::Lock lock(mutex_);
  return log_.point_at(lsn);
}

void CommitPipeline::trim(const kv::LogPoint& point) {
  const io::Lock lock(mutex_);
  log_.trim(point);
  changed_.notify_all();
}

void CommitPipeline::note_recorded(Lsn watermark) {
  const io::Lock lock(mutex_);
  recorded_ = std::max(recorded_, std::min(watermark, durable_));
  changed_.notify_all();
}

void CommitPipeline::post(io::Task task) {
  const io::NoUnwinding none("the answer of a commit");
  {
    const io::Lock lock(mutex_);
    ++posted_;
  }
  executor_.post([this, task = std::move(task)] {
    task();
    task_over();
  });
}

void CommitPipeline::task_over() {
  const io::Lock lock(mutex_);
  --posted_;
  changed_.notify_all();
}

void CommitPipeline::wait_idle() {
  io::Lock lock(mutex_);
  changed_.wait(lock, [this]() HEXAD_REQUIRES(mutex_) {
    const bool quiet = std::all_of(in_flight_.begin(), in_flight_.end(),
                                   [](const auto& group) { return group->io_done(); });
    return quiet && !sealing_ && posted_ == 0 && completing_ == 0;
  });
  const std::list<Substitute> substitutes = std::exchange(substitutes_, {});
  lock.unlock();
  for (const Substitute& substitute : substitutes) substitute.thread->join();
}

std::optional<Error> CommitPipeline::stopped() {
  if (!has_stopped_.load(std::memory_order_acquire)) return std::nullopt;
  const io::Lock lock(mutex_);
  return stopped_;
}

}  // namespace hexad::core
