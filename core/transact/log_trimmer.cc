#include "core/transact/log_trimmer.h"

namespace hexad::core {

Status LogTrimmer::make(std::uint64_t record_bytes) {
  const Lsn before = index_.applied_lsn();
  // Unless somebody else has made room.
  HEXAD_TRY(checkpointer_.run(Checkpointer::Close::kGoesOn,
                              [&] { return pipeline_.has_room_for(record_bytes); }));
  // Others may have taken the room already; then the next one finds more to trim.
  if (index_.applied_lsn() > before || pipeline_.has_room_for(record_bytes)) return {};
  return Error{ErrorCode::kNoSpace, "the log has no room even after a checkpoint", ""};
}

}  // namespace hexad::core
