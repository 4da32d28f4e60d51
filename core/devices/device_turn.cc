#include "core/devices/device_turn.h"

#include "io/bounded_reads.h"

namespace hexad::core {

namespace {

constexpr io::Nanos kNap = 10'000'000;
constexpr io::Nanos kLongNap = 100'000'000;

}  // namespace

// Who has it may be in a call of the kernel that does not come back: so this waits in naps.
Status DeviceTurn::take() {
  while (!mutex_.try_lock()) {
    HEXAD_TRY(openings_.check_turn(io::kReadPatience));
    HEXAD_TRY(silent_.check_answers(io::kReadPatience));
    executor_.sleep_for(kNap);
  }
  return {};
}

bool DeviceTurn::outlast_openings() const {
  const io::Nanos began = executor_.clock().now();
  while (openings_.any()) {
    if (executor_.clock().now() - began >= io::kReadPatience) return false;
    executor_.sleep_for(kLongNap);
  }
  return true;
}

}  // namespace hexad::core
