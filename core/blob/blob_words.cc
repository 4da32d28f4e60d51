#include "core/blob/blob_words.h"

#include "io/bounded_reads.h"

namespace hexad::core {

std::string describe(const alloc::Extent& where) {
  return "stripe at zone " + std::to_string(where.zone) + " unit " + std::to_string(where.unit);
}

std::string not_answered(io::Device& device) {
  return device.name() + " " + io::describe_silence(device);
}

Error mismatch() { return Error{ErrorCode::kCorruption, "does not match its checksum", ""}; }

std::string advice(TooFew why) {
  switch (why) {
    case TooFew::kAway:
      return "Attach the missing devices and open the store again.";
    case TooFew::kDamaged:
      return "More cells are damaged than parity gives back: store the object again from a copy. "
             "hexad fsck POOL --deep names all that is damaged.";
    case TooFew::kDamagedWithoutParity:
      break;
  }
  return "The devices are said to be redundant themselves, so the pool has no parity: see to the "
         "device, and store the object again from a copy. hexad fsck POOL --deep names all that is "
         "damaged.";
}

}  // namespace hexad::core
