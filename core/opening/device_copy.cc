#include "core/opening/device_copy.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/units.h"
#include "io/recall.h"

namespace hexad::core {

namespace {

constexpr std::uint64_t kPiece = 4 << 20;  // bytes that are read at once
// A wait for the rate is cut into such parts, so that it is noticed when nobody wants more.
constexpr io::Nanos kNap = 50'000'000;
constexpr double kSecond = 1e9;

class Copier {
 public:
  Copier(Space& space, const ReplacedDevice& from, const Member& to, const Replacement& replacement,
         io::Executor& executor)
      : from_(from),
        to_(to),
        replacement_(replacement),
        executor_(executor),
        unit_(to.layout.unit),
        buffer_(std::max<std::uint64_t>(kPiece / unit_, 1) * unit_),
        began_(executor.clock().now()) {
    for (const alloc::ZoneId zone : space.zone_ids()) {
      for (const alloc::ZoneSlot& slot : space.slots(zone)) {
        if (slot.device != to.id) continue;
        for (const alloc::UnitRun& run : space.live_runs(zone)) {
          runs_.push_back({slot.slab, {zone, run.unit, run.units}});
          total_ += run.units * unit_;
        }
      }
    }
    std::sort(runs_.begin(), runs_.end(), [](const Run& a, const Run& b) {
      return std::pair(a.slab, a.where.unit) < std::pair(b.slab, b.where.unit);
    });
  }

  Result<DeviceCopy> run() {
    for (const Run& run : runs_) {
      const auto most = static_cast<std::uint32_t>(buffer_.size() / unit_);
      for (std::uint32_t done = 0; done < run.where.units;) {
        const std::uint32_t units = std::min(run.where.units - done, most);
        HEXAD_TRY(copy({run.slab, {run.where.zone, run.where.unit + done, units}}));
        done += units;
        HEXAD_TRY(rest());
      }
    }
    HEXAD_TRY(to_.device->flush());
    return std::move(copy_);
  }

 private:
  struct Run {
    std::uint32_t slab = 0;
    alloc::Extent where;
  };

  // What cannot be read as a whole is read unit by unit.
  Status copy(const Run& run) {
    const MutByteView bytes = buffer_.bytes().first(run.where.units * unit_);
    const Status read =
        from_.device->read(from_.layout.unit_offset(run.slab, run.where.unit), bytes);
    if (!read.ok() && io::Recall::has_come()) return read;  // NOLINT: the next ones fail likewise
    if (!read.ok() && run.where.units > 1) {
      for (std::uint32_t i = 0; i < run.where.units; ++i) {
        HEXAD_TRY(copy({run.slab, {run.where.zone, run.where.unit + i, 1}}));
      }
      return {};
    }
    if (read.ok()) {
      copy_.bytes += bytes.size();
    } else {
      fill_zero(bytes);
      note_unread(run.where);
    }
    done_ += bytes.size();
    return to_.device->write(to_.layout.unit_offset(run.slab, run.where.unit), bytes,
                             io::WriteMode::kCached, io::IoCause::kHeal);
  }

  void note_unread(const alloc::Extent& where) {
    if (!copy_.unread.empty()) {
      alloc::Extent& last = copy_.unread.back();
      if (last.zone == where.zone && last.end() == where.unit) {
        last.units += where.units;
        return;
      }
    }
    copy_.unread.push_back(where);
  }

  // Behind a piece: tells, and waits until another one may begin.
  Status rest() {
    for (;;) {
      if (replacement_.progress && !replacement_.progress(done_, total_)) {
        return Error{ErrorCode::kClosed,
                     "the copy of device " + std::to_string(to_.id) + " to " + to_.path +
                         " was ended at " + format_size(done_) + " of " + format_size(total_) +
                         "; the pool has not changed",
                     "Start over at any time."};
      }
      if (replacement_.rate == 0) return {};
      const double due = static_cast<double>(done_) / static_cast<double>(replacement_.rate);
      const auto waited = static_cast<double>(executor_.clock().now() - began_) / kSecond;
      if (waited >= due) return {};
      executor_.sleep_for(
          std::min(kNap, static_cast<io::Nanos>(std::min(due - waited, 1.0) * kSecond) + 1));
    }
  }

  const ReplacedDevice& from_;
  const Member& to_;
  const Replacement& replacement_;
  io::Executor& executor_;
  const std::uint64_t unit_;
  AlignedBuffer buffer_;
  const io::Nanos began_;
  std::vector<Run> runs_;
  std::uint64_t total_ = 0;
  std::uint64_t done_ = 0;
  DeviceCopy copy_;
};

}  // namespace

ReplacedDevice::~ReplacedDevice() {
  if (device == nullptr) return;
  io::IoQueue& queue = device->queue();
  queue.close(std::move(device));
}

Result<DeviceCopy> copy_device(Space& space, const ReplacedDevice& from, const Member& to,
                               const Replacement& replacement, io::Executor& executor) {
  return Copier(space, from, to, replacement, executor).run();
}

}  // namespace hexad::core
