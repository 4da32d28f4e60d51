// A transaction after the part of the work that needs no lock: payloads cut into pieces,
// compressed, checksummed and coded, on the caller's thread.
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "core/blob_prepare.h"
#include "core/record.h"
#include "core/transaction.h"

namespace hexad::core {

// One piece of an op's payload, within one page of the object.
struct PayloadPiece {
  std::uint64_t offset = 0;  // in the object, bytes
  std::uint64_t length = 0;
  std::string bytes;      // inline when not empty
  PreparedBlob prepared;  // else; `where` is filled in by the sequencer
};

struct PreparedOp {
  std::uint64_t base = 0;  // the offset in the object that the pieces were cut for
  std::vector<PayloadPiece> pieces;
};

// What an op needs done again: an append whose object has grown meanwhile, or small writes that
// have outgrown inline extents.
struct Redo {
  std::size_t op = 0;
  std::uint64_t base = 0;
  bool never_inline = false;
};

// One per op of the transaction, empty for ops without payload.
using PreparedOps = std::vector<PreparedOp>;

// Cuts `payload` at page boundaries for `base` and prepares the pieces. Payloads of at most
// kInlineLimit bytes become inline pieces, unless `never_inline`.
Result<PreparedOp> prepare_payload(const BlobPreparer& preparer, ByteView payload, Hint hint,
                                   const compression::Policy& policy, std::uint64_t base,
                                   bool never_inline);

}  // namespace hexad::core
