// Devices that have left come back by themselves: RS1 to RS5 of core/membership/return_schedule.h,
// BK13 to BK15 of doc/invariants.md#coming-back.
#include <string>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "core/devices/device_facts.h"
#include "core/devices/device_returns.h"
#include "core/opening/device_survey.h"
#include "io/bounded_reads.h"

namespace hexad::core {

namespace {

constexpr io::Nanos kSecond = 1'000'000'000;
constexpr io::Nanos kNap = 100'000'000;
constexpr std::uint64_t kFirstBlock = 4096;

// While somebody is in a call of the kernel that may not come back.
class Looking {
 public:
  explicit Looking(std::atomic<bool>& flag) : flag_(flag) { flag_.store(true); }
  ~Looking() { flag_.store(false); }
  Looking(const Looking&) = delete;
  Looking& operator=(const Looking&) = delete;

 private:
  std::atomic<bool>& flag_;
};

bool owes_answers(io::Device& device) {
  device.queue().has_abandoned();  // lets go what has been answered meanwhile
  return device.traffic().under_way.load() > 0;
}

// Whether the device answers at all, before its label and roots are waited for, for longer.
bool answers(io::Device& device) {
  AlignedBuffer block(kFirstBlock);
  std::vector<io::IoRequest> reads;
  reads.push_back(io::IoRequest::read(device, 0, block.bytes()));
  return io::read_round(device.queue(), std::move(reads), block).front().ok();
}

}  // namespace

void DeviceReturns::wake() {
  job_.note_change();
  parts_.jobs.wake(job_);
}

// Not those that were not there when the store was opened: which path is whose is not known then.
std::vector<AwayDevice> DeviceReturns::away_devices() const {
  std::vector<AwayDevice> away;
  if (!parts_.writable().ok()) return away;
  const Members& members = parts_.members;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Member& member = members.at(i);
    if (members.is_removed(i) || members.is_usable(i)) continue;
    if (members.handles(member.id).empty()) continue;
    if (is_emptied(parts_.members, parts_.space, member.id)) continue;
    away.push_back({member.id, member.uuid});
  }
  return away;
}

// BK13. A look that was not answered keeps its handle until it is: else each look at a disk that
// answers nothing would take places of the queue with it.
ReturnLook DeviceReturns::look_at_path(DeviceId id, const std::string& path) {
  if (const auto last = looks_.find(id); last != looks_.end()) {
    if (owes_answers(*last->second.device)) return {};
    looks_.erase(last);
  }
  SurveyedDevice found;
  {
    const Looking looking(looking_);
    if (job_.is_stopping()) return {};
    Result<std::unique_ptr<io::Device>> opened =
        parts_.system.open_device(path, io::OpenMode::kLook);
    if (!opened.ok()) return {};
    SurveyedDevice first;
    first.device = std::move(opened).value();
    if (!answers(*first.device)) {
      looks_.emplace(id, std::move(first));
      return {};
    }
    found = survey_device(path, io::OpenMode::kLook, parts_.system);
  }
  const Result<ReturnedTo> to = returned_to(id);
  ReturnLook look = to.ok() ? judge_look(found, *to) : ReturnLook();
  if (found.device != nullptr && owes_answers(*found.device)) looks_.emplace(id, std::move(found));
  return look;
}

// Under the turn only while nothing is waited for but what bring_back() waits for: a look may
// take as long as it likes, and nobody waits for it.
ReturnJob::Attempt DeviceReturns::attempt(DeviceId id) {
  using Became = ReturnJob::Outcome;
  Members& members = parts_.members;
  const auto is_away = [&] { return members.has(id) && !members.usable(id); };
  std::string path;
  {
    if (!turn_.mutex().try_lock()) return {Became::kBusy};
    const io::Lock one(turn_.mutex(), std::adopt_lock);
    if (!is_away()) return {Became::kBusy};
    // What it owes from before could come over what it gets now (BK10).
    if (!members.let_go(id).ok()) return {Became::kNotThere};
    path = members.find(id)->path;
  }
  const ReturnLook look = look_at_path(id, path);
  if (look.found == ReturnLook::Found::kRefused) return {Became::kRefused, look.why};
  if (look.found == ReturnLook::Found::kNotThere) return {Became::kNotThere};

  if (job_.is_stopping() || !turn_.mutex().try_lock()) return {Became::kBusy};
  const io::Lock one(turn_.mutex(), std::adopt_lock);
  if (!is_away() || is_emptied(parts_.members, parts_.space, id)) return {Became::kBusy};
  bool failed_again = false;
  const Status back = bring_back_locked(id, path, failed_again);
  if (back.ok()) return {Became::kBack};
  const Error& why = back.error();
  if (failed_again) return {Became::kLeft, why.message};
  if (!parts_.writable().ok()) return {Became::kBusy};
  const bool passing = why.code == ErrorCode::kBusy || why.code == ErrorCode::kNotFound;
  return {passing ? Became::kNotThere : Became::kFailed, why.message};
}

void DeviceReturns::show(const Member& member, DeviceStatus& device, StoreStatus& status) {
  const bool was_there = !parts_.members.handles(member.id).empty();
  if (!was_there || !parts_.writable().ok()) return;
  const auto add = [&device](const std::string& text) {
    device.detail += (device.detail.empty() ? "" : "; ") + text;
  };
  const std::string id = std::to_string(member.id);
  if (parts_.options.returns == Returns::kWhenAsked) {
    add("it is taken in when it is asked for: hexad device online POOL " + id);
    return;
  }
  if (is_emptied(parts_.members, parts_.space, member.id)) {
    add("nothing is left on it, so it does not come back by itself: hexad device remove POOL " +
        id);
    return;
  }
  const std::optional<ReturnSchedule::Standing> standing = job_.standing(member.id);
  if (!standing.has_value()) return;
  if (standing->stays_away) {
    add("it stays away until it is asked for: hexad device online POOL " + id);
    status.warnings.push_back(describe_device(parts_.members, member.id) + " has come back " +
                              std::to_string(ReturnSchedule::kMostReturns) +
                              " times within a day and left again, so it stays away until it is "
                              "asked for: hexad device online POOL " +
                              id);
    return;
  }
  if (standing->refused.has_value()) {
    status.warnings.push_back(
        describe_device(parts_.members, member.id) +
        " is away, and what is found at its path is not taken in: " + *standing->refused);
  }
  const io::Nanos left = standing->next - parts_.executor().clock().now();
  add("it is looked at again in " + std::to_string(std::max<io::Nanos>(0, left) / kSecond) + " s");
}

bool DeviceReturns::outlast_look() {
  job_.stop();
  const io::Nanos began = parts_.executor().clock().now();
  while (looking_.load()) {
    if (parts_.executor().clock().now() - began >= io::kReadPatience) return false;
    parts_.executor().sleep_for(kNap);
  }
  return true;
}

}  // namespace hexad::core
