#include "io/sim/sim_faults.h"

namespace hexad::io {

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
