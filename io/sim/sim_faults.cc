#include "io/sim/sim_faults.h"

namespace hexad::io {

std::string_view to_string(FaultKind kind) {
  static constexpr std::string_view kNames[kFaultKinds] = {"read error",
                                                           "read flip",
                                                           "stored flip",
                                                           "read zeros",
                                                           "stale read",
                                                           "misdirected read",
                                                           "write error",
                                                           "partial write error",
                                                           "late write error",
                                                           "no space",
                                                           "torn write",
                                                           "lost write",
                                                           "misdirected write",
                                                           "flush error",
                                                           "lying flush",
                                                           "device error",
                                                           "refused",
                                                           "hang",
                                                           "slow"};
  return kNames[static_cast<std::size_t>(kind)];
}

bool strikes(FaultKind kind, IoOp op) {
  if (kind >= FaultKind::kDeviceError) return true;
  if (kind >= FaultKind::kFlushError) return op == IoOp::kFlush;
  if (kind >= FaultKind::kWriteErrorBefore) return op == IoOp::kWrite;
  return op == IoOp::kRead;
}

std::optional<Fault> FaultList::next(const IoRequest& request) {
  for (auto fault = faults_.begin(); fault != faults_.end(); ++fault) {
    if (!strikes(fault->kind, request.op)) continue;
    const std::uint64_t end = fault->length > Fault::kForever - fault->offset
                                  ? Fault::kForever
                                  : fault->offset + fault->length;
    const bool touches = request.op == IoOp::kFlush ||
                         (request.offset < end && request.offset + request.length > fault->offset);
    if (!touches) continue;
    if (fault->after > 0) {
      --fault->after;
      continue;
    }
    const Fault struck = *fault;
    if (fault->times != Fault::kForever && --fault->times == 0) faults_.erase(fault);
    count(struck.kind);
    return struck;
  }
  return std::nullopt;
}

}  // namespace hexad::io
