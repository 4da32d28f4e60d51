#include "io/request_subject.h"

#include "base/units.h"

namespace hexad::io {

namespace {

const char* verb(IoOp op) {
  switch (op) {
    case IoOp::kRead:
      return "read";
    case IoOp::kWrite:
      return "write";
    case IoOp::kFlush:
      return "flush";
    case IoOp::kDiscard:
      return "discard";
  }
  return "request";
}

}  // namespace

std::string subject_of(const IoRequest& request) {
  std::string text = request.device->name() + ": " + verb(request.op);
  if (request.op == IoOp::kFlush) return text;
  return text + " of " + format_size(request.length) + " at byte " + std::to_string(request.offset);
}

}  // namespace hexad::io
