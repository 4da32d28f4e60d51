#include "core/check/scrub_run.h"

#include <algorithm>
#include <utility>

#include "core/check/pool_headers.h"
#include "io/recall.h"

namespace hexad::core {

namespace {

// Of one piece.
constexpr std::uint64_t kMostBytes = 8 << 20;  // read from devices
constexpr std::uint64_t kFewestBytes = 1 << 20;
constexpr std::uint64_t kMostSteps = 1000;  // stripes and keys
// A wait for the rate is cut into such parts, so that it is noticed when nobody wants more.
constexpr io::Nanos kNap = 100'000'000;
constexpr double kSecond = 1e9;
constexpr double kLongest = 1e9;  // seconds, of a whole pass; more do not fit into io::Nanos

}  // namespace

ScrubRun::ScrubRun(const CheckParts& parts, const ScrubOptions& options, ScrubScope scope)
    : parts_(parts),
      options_(options),
      scope_(scope),
      most_bytes_(options.rate == 0 ? kMostBytes
                                    : std::clamp(options.rate / 4, kFewestBytes, kMostBytes)),
      began_(parts.executor.clock().now()) {
  report_.bytes_expected = parts_.space.counters().live * parts_.shape.unit * parts_.shape.cells();
}

Status ScrubRun::fill(const alloc::Extent& stripe, const CellPlace& place, ByteView cell) {
  if (!place.missing || !parts_.space.may_heal()) return {};
  return parts_.space.fill_missing(stripe, place, cell);
}

void ScrubRun::count_stripe() {
  ++report_.stripes_checked;
  parts_.counters.add(CounterId::kScrubStripes);
}

void ScrubRun::count_bytes(std::uint64_t bytes) {
  report_.bytes_checked += bytes;
  parts_.counters.add(CounterId::kScrubBytes, bytes);
}

void ScrubRun::find(Finding finding) {
  parts_.counters.add(CounterId::kScrubFindings);
  report_.findings.push_back(std::move(finding));
}

Status ScrubRun::look_at_headers() {
  const BadHeaders bad = parts_.space.may_heal() ? BadHeaders::kMended : BadHeaders::kLeft;
  HEXAD_TRY_ASSIGN(report_.bad_header_slots,
                   parts_.headers.look(
                       bad, [this](Finding finding) { find(std::move(finding)); },
                       [this](DeviceId device) { silent_[device]; }));
  return {};
}

ScrubReport ScrubRun::take_report(const ScrubPosition& at) {
  report_.next = encode_position(at);
  for (const auto& [device, cells] : silent_) {
    find(parts_.silence.finding(device, cells));
  }
  return std::move(report_);
}

void ScrubRun::begin_piece() {
  bytes_before_ = report_.bytes_checked;
  steps_ = 0;
}

bool ScrubRun::is_full() const {
  if (io::Recall::has_come()) return true;
  return report_.bytes_checked - bytes_before_ >= most_bytes_ || steps_ >= kMostSteps;
}

Status ScrubRun::rest(const ScrubPosition& at) {
  report_.next = encode_position(at);
  for (;;) {
    if (!stopped_ && options_.progress) stopped_ = !options_.progress(report_);
    if (parts_.closed()) {
      return Error{ErrorCode::kClosed, "the store was closed while it was scrubbed",
                   "Open it again and start over; what was put right stays so."};
    }
    // All else would be asked for in vain, and each request keeps its memory.
    if (io::Recall::has_come()) {
      return Error{ErrorCode::kUnavailable,
                   "the thread was called back while it waited for devices in a scrub",
                   "Start over when they answer; what was put right stays so."};
    }
    const io::Nanos left = due() - parts_.executor.clock().now();
    if (stopped_ || at.part == ScrubPosition::Part::kOver || left <= 0) return {};
    parts_.executor.sleep_for(std::min(left, kNap));
  }
}

// When so much may have been read.
io::Nanos ScrubRun::due() const {
  if (options_.rate == 0) return began_;
  const double seconds =
      static_cast<double>(report_.bytes_checked) / static_cast<double>(options_.rate);
  return began_ + static_cast<io::Nanos>(std::min(seconds, kLongest) * kSecond);
}

}  // namespace hexad::core
