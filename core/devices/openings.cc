#include "core/devices/openings.h"

#include <utility>

namespace hexad::core {

Openings::Call::Call(Openings& openings, const std::string& path, Turn turn) : openings_(openings) {
  const io::Nanos now = openings_.executor_.clock().now();
  const io::Lock lock(openings_.mutex_);
  openings_.calls_.push_front({path, now, turn});
  at_ = openings_.calls_.begin();
}

Openings::Call::~Call() {
  const io::Lock lock(openings_.mutex_);
  openings_.calls_.erase(at_);
}

Openings::Claim::Claim(Openings& openings, std::string path)
    : openings_(openings), path_(std::move(path)) {
  const io::Lock lock(openings_.mutex_);
  ours_ = openings_.claimed_.insert(path_).second;
}

Openings::Claim::~Claim() {
  if (!ours_) return;
  const io::Lock lock(openings_.mutex_);
  openings_.claimed_.erase(path_);
}

Status Openings::Claim::check() const {
  if (ours_) return {};
  return Error{ErrorCode::kBusy, path_ + " is being added by another call",
               "Try again when that has ended."};
}

std::string Openings::describe(const Call::Entry& entry, io::Nanos now) {
  return entry.path + " is being opened or made, for " +
         std::to_string((now - entry.since) / 1'000'000'000) + " s now";
}

std::vector<std::string> Openings::lasting(io::Nanos limit) const {
  const io::Nanos now = executor_.clock().now();
  std::vector<std::string> all;
  const io::Lock lock(mutex_);
  for (const Call::Entry& entry : calls_) {
    if (now - entry.since < limit) continue;
    all.push_back(
        describe(entry, now) +
        (entry.turn == Turn::kHeld
             ? ": whoever adds, drains or removes devices waits, and is refused after 30 s"
             : ""));
  }
  return all;
}

Status Openings::check_turn(io::Nanos limit) const {
  const io::Nanos now = executor_.clock().now();
  const io::Lock lock(mutex_);
  for (const Call::Entry& entry : calls_) {
    if (entry.turn == Turn::kFree || now - entry.since < limit) continue;
    return Error{
        ErrorCode::kUnavailable, describe(entry, now) + "; devices are changed one at a time",
        "Try again when that has ended. Where its device does not answer it may never: then "
        "end the process, and open the store again without that path."};
  }
  return {};
}

bool Openings::any() const {
  const io::Lock lock(mutex_);
  return !calls_.empty();
}

}  // namespace hexad::core
