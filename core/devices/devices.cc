#include "core/devices/devices.h"

#include <utility>

#include "core/devices/device_facts.h"
#include "io/bounded_reads.h"

namespace hexad::core {

Devices::Devices(DeviceParts parts, const Above& above)
    : parts_(std::move(parts)),
      turn_(parts_.executor(), above.silent),
      moves_(parts_, {above.make_zone, above.reclaim, [this] { catch_ups_.start(); }}),
      catch_ups_(parts_, {above.fill_cells, above.clean_again, [this] { moves_.want(); }}),
      fast_(parts_, turn_.openings(), above.indexes, above.index_directory),
      returns_(parts_, turn_, catch_ups_, above.look_again),
      drains_(parts_, turn_, moves_),
      changes_(parts_,
               {turn_, above.silent, moves_, catch_ups_, fast_, above.runs, above.run_apart}),
      replacement_(parts_,
                   {turn_, above.silent, moves_, catch_ups_, fast_, returns_, drains_, changes_}) {}

// A checkpoint has to have an LSN above the last one's to write them. Where that fails they are as
// the last checkpoint left them.
void Devices::keep_records() {
  if (parts_.pipeline.stopped().has_value() || !parts_.history.has_changed()) return;
  parts_.commits.commit_internal([](LogRecord&) { return Status(); }, {}, LogRoom::kPacking)
      .status()
      .ignore();
}

Status Devices::clear_errors(const std::vector<DeviceId>& devices) {
  HEXAD_TRY(parts_.writable());
  for (const DeviceId id : devices) HEXAD_TRY(check_has(parts_.members, id));
  parts_.history.clear_errors({devices.begin(), devices.end()});
  return parts_.history.has_changed() ? catch_ups_.settle_whole() : Status();
}

void Devices::show_calls(StoreStatus& status) {
  for (std::string& opening : turn_.openings().lasting(io::kSilence)) {
    status.warnings.push_back(std::move(opening));
  }
}

void Devices::show_unused(const Member& member, DeviceStatus& device, StoreStatus& status) {
  returns_.show(member, device, status);
  drains_.show(member.id, device, status);
}

bool Devices::outlast_calls() { return returns_.outlast_look() && turn_.outlast_openings(); }

}  // namespace hexad::core
