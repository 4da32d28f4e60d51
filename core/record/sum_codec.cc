#include "core/record/sum_codec.h"

#include "base/error.h"

namespace hexad::core {

void encode_sums(Encoder& out, const SumList& sums, ChecksumType type) {
  for (const std::uint64_t sum : sums) {
    if (checksum_size(type) == 4) {
      HEXAD_ASSERT(sum <= 0xffffffff);
      out.le32(static_cast<std::uint32_t>(sum));
    } else {
      out.le64(sum);
    }
  }
}

SumList decode_sums(Decoder& in, std::uint64_t count, ChecksumType type) {
  SumList sums;
  if (count > in.remaining() / checksum_size(type)) in.fail();
  if (!in.ok()) return sums;
  sums.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    sums.push_back(checksum_size(type) == 4 ? in.le32() : in.le64());
  }
  return sums;
}

}  // namespace hexad::core
