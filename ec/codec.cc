#include "ec/codec.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/checksum.h"
#include "ec/gfni.h"
#include "ec/isal.h"
#include "ec/jerasure.h"
#include "ec/kernel.h"
#include "ec/matrix.h"
#include "ec/summing_kernel.h"

namespace hexad::ec {
namespace {

Error invalid(const Profile& profile, std::string what) {
  return Error{ErrorCode::kInvalidArgument, "stripe " + to_string(profile) + ": " + std::move(what),
               ""};
}

Status check_count(const Profile& profile, std::string_view what, std::size_t given,
                   std::uint32_t expected) {
  if (given == expected) return ok_status();
  return invalid(profile, std::to_string(given) + " " + std::string(what) + " given, " +
                              std::to_string(expected) + " needed");
}

Status check_length(const Profile& profile, ShardIndex shard, std::size_t length,
                    std::size_t expected) {
  if (length == expected) return ok_status();
  return invalid(profile, "shard " + std::to_string(shard) + " has " + std::to_string(length) +
                              " B, others have " + std::to_string(expected) + " B");
}

Status check_aligned(const Profile& profile, std::size_t length) {
  if (length % alignment(profile) == 0) return ok_status();
  return invalid(profile, "shards of " + std::to_string(length) + " B, but " +
                              codec_to_string(profile) + " needs a multiple of " +
                              std::to_string(alignment(profile)) + " B");
}

// Bytes of each shard that are worked on together: the parts of a few of them, and what they are
// copied from, lie in the nearest caches then. Shorter ones are summed and coded more slowly
// (doc/benchmarks.md#preparing-large-payloads). An alignment is a power of two.
constexpr std::size_t kPartBytes = 8192;

// A code given by its parity matrix, computed by whichever kernel the factory stands for.
class LinearCodec : public Codec {
 public:
  LinearCodec(const Profile& profile, Matrix parity, ProgramFactory factory)
      : profile_(profile),
        parity_(std::move(parity)),
        factory_(std::move(factory)),
        encoder_(profile.m == 0 ? nullptr : factory_(parity_)),
        summing_(uses_packets(profile.codec) ? nullptr : make_summing_program(parity_)) {}

  const Profile& profile() const override { return profile_; }

  Status encode(std::span<const ByteView> data,
                std::span<const MutByteView> parity) const override {
    HEXAD_TRY(check_count(profile_, "data shards", data.size(), profile_.k));
    HEXAD_TRY(check_count(profile_, "parity shards", parity.size(), profile_.m));
    const std::size_t length = data[0].size();
    HEXAD_TRY(check_aligned(profile_, length));
    std::array<const std::byte*, kMaxShards> sources;
    std::array<std::byte*, kMaxShards> outputs;
    for (std::uint32_t i = 0; i < profile_.k; ++i) {
      HEXAD_TRY(check_length(profile_, i, data[i].size(), length));
      sources[i] = data[i].data();
    }
    for (std::uint32_t i = 0; i < profile_.m; ++i) {
      HEXAD_TRY(check_length(profile_, profile_.k + i, parity[i].size(), length));
      outputs[i] = parity[i].data();
    }
    if (length > 0 && encoder_ != nullptr) encoder_->run(sources.data(), outputs.data(), length);
    return ok_status();
  }

  Status encode_and_sum(std::span<const ByteView> sources, std::span<const MutByteView> shards,
                        std::span<std::uint32_t> sums) const override {
    HEXAD_TRY(check_count(profile_, "sources", sources.size(), profile_.k));
    HEXAD_TRY(check_count(profile_, "shards", shards.size(), profile_.shards()));
    HEXAD_TRY(check_count(profile_, "sums", sums.size(), profile_.shards()));
    const std::size_t length = shards[0].size();
    HEXAD_TRY(check_aligned(profile_, length));
    for (std::uint32_t i = 0; i < profile_.shards(); ++i) {
      HEXAD_TRY(check_length(profile_, i, shards[i].size(), length));
      if (i < profile_.k) HEXAD_TRY(check_length(profile_, i, sources[i].size(), length));
    }
    if (summing_ == nullptr || length % SummingProgram::kAlignment != 0) {
      return encode_and_sum_by_parts(sources, shards, sums);
    }
    std::array<const std::byte*, kMaxShards> from;
    std::array<std::byte*, kMaxShards> to;
    for (std::uint32_t i = 0; i < profile_.k; ++i) from[i] = sources[i].data();
    for (std::uint32_t i = 0; i < profile_.shards(); ++i) to[i] = shards[i].data();
    summing_->run(from.data(), to.data(), to.data() + profile_.k, length, sums.data());
    return ok_status();
  }

  Status reconstruct_wanted(std::span<const MutByteView> shards, ShardSet present,
                            ShardSet wanted) const override {
    HEXAD_TRY(check_count(profile_, "shards", shards.size(), profile_.shards()));
    if (!ShardSet::first(profile_.shards()).includes(present | wanted)) {
      return invalid(profile_, "a shard above " + std::to_string(profile_.shards() - 1) + " named");
    }
    if (!(present & wanted).empty()) {
      return invalid(profile_, "shard " + std::to_string(*(present & wanted).begin()) +
                                   " is both present and wanted");
    }
    if (wanted.empty()) return ok_status();
    if (present.size() < profile_.k) {
      return Error{ErrorCode::kUnavailable,
                   "stripe " + to_string(profile_) + ": " + std::to_string(present.size()) +
                       " shards present, " + std::to_string(profile_.k) + " needed",
                   "Bring more of the devices back."};
    }
    const std::size_t length = shards[*wanted.begin()].size();
    for (ShardIndex i : present | wanted) {
      HEXAD_TRY(check_length(profile_, i, shards[i].size(), length));
    }
    HEXAD_TRY(check_aligned(profile_, length));
    if (length == 0) return ok_status();

    const std::optional<Recovery> recovery = plan_recovery(parity_, present, wanted);
    if (!recovery) {
      // validate() keeps codes out for which this could happen; if one slips through, no wrong
      // bytes leave.
      return Error{ErrorCode::kUnavailable,
                   "stripe " + to_string(profile_) + ", " + codec_to_string(profile_) +
                       ": the shards present do not determine the others",
                   ""};
    }
    std::array<const std::byte*, kMaxShards> sources;
    std::array<std::byte*, kMaxShards> outputs;
    std::size_t count = 0;
    for (ShardIndex i : recovery->sources) sources[count++] = shards[i].data();
    count = 0;
    for (ShardIndex i : wanted) outputs[count++] = shards[i].data();
    factory_(recovery->coefficients)->run(sources.data(), outputs.data(), length);
    return ok_status();
  }

 private:
  // Copied, summed, coded, and the parity summed, a part of each shard after the other.
  Status encode_and_sum_by_parts(std::span<const ByteView> sources,
                                 std::span<const MutByteView> shards,
                                 std::span<std::uint32_t> sums) const {
    const std::size_t length = shards[0].size();
    std::array<ByteView, kMaxDataShards> data;
    std::array<MutByteView, kMaxParityShards> parity;
    const std::size_t step = std::max<std::size_t>(kPartBytes, ec::alignment(profile_));
    for (std::size_t begin = 0; begin < length; begin += step) {
      const std::size_t size = std::min(step, length - begin);
      for (std::uint32_t i = 0; i < profile_.k; ++i) {
        const MutByteView part = shards[i].subspan(begin, size);
        const ByteView source = sources[i].subspan(begin, size);
        if (source.data() != part.data()) copy_bytes(part, source);
        sums[i] = crc32c(part, sums[i]);
        data[i] = part;
      }
      for (std::uint32_t i = 0; i < profile_.m; ++i) {
        parity[i] = shards[profile_.k + i].subspan(begin, size);
      }
      HEXAD_TRY(encode(std::span(data).first(profile_.k), std::span(parity).first(profile_.m)));
      for (std::uint32_t i = 0; i < profile_.m; ++i) {
        std::uint32_t& sum = sums[profile_.k + i];
        sum = crc32c(parity[i], sum);
      }
    }
    return ok_status();
  }

  Profile profile_;
  Matrix parity_;
  ProgramFactory factory_;
  std::unique_ptr<Program> encoder_;         // null where there is no parity
  std::unique_ptr<SummingProgram> summing_;  // null where there is none
};

Matrix parity_matrix(const Profile& profile) {
  if (profile.m == 0) return Matrix(0, profile.k);
  switch (profile.codec) {
    case CodecKind::kIsaVandermonde:
      return isal_vandermonde(profile.k, profile.m);
    case CodecKind::kIsaCauchy:
      return isal_cauchy(profile.k, profile.m);
    default:
      return jerasure_matrix(profile.codec, profile.k, profile.m);
  }
}

// P and P+Q of RAID 6: from 16 KiB on ISA-L's functions for them are a fifth faster than GFNI.
class RaidProgram : public Program {
 public:
  RaidProgram(const Matrix& matrix, GfniWidth width)
      : short_(make_gfni_program(matrix, width)), long_(make_isal_program(matrix)) {}

  void run(const std::byte* const* sources, std::byte* const* outputs,
           std::size_t length) const override {
    constexpr std::size_t kLong = 16384;
    (length < kLong ? short_ : long_)->run(sources, outputs, length);
  }

 private:
  std::unique_ptr<Program> short_;
  std::unique_ptr<Program> long_;
};

// The kernels for codes of bytes give the same ones, so the fastest serves every such code.
ProgramFactory program_factory(const Profile& profile) {
  const std::optional<GfniWidth> gfni = widest_gfni();
  if (gfni.has_value() && !uses_packets(profile.codec)) {
    return [width = *gfni](const Matrix& matrix) -> std::unique_ptr<Program> {
      if (is_raid(matrix)) return std::make_unique<RaidProgram>(matrix, width);
      return make_gfni_program(matrix, width);
    };
  }
  switch (profile.codec) {
    case CodecKind::kIsaVandermonde:
    case CodecKind::kIsaCauchy:
      return make_isal_program;
    case CodecKind::kJerasureVandermonde:
    case CodecKind::kJerasureRaid6:
      return make_gf_complete_program;
    default:
      return [packet = profile.packet_bytes](const Matrix& matrix) {
        return make_packet_program(matrix, packet);
      };
  }
}

}  // namespace

Status Codec::reconstruct(std::span<const MutByteView> shards,
                          std::span<const ShardIndex> lost) const {
  const std::uint32_t n = profile().shards();
  ShardSet wanted;
  for (ShardIndex i : lost) {
    if (i >= n) {
      return invalid(profile(), "shard " + std::to_string(i) + " named as lost, the last is " +
                                    std::to_string(n - 1));
    }
    if (wanted.contains(i)) {
      return invalid(profile(), "shard " + std::to_string(i) + " named twice as lost");
    }
    wanted.add(i);
  }
  if (wanted.size() > profile().m) {
    return Error{ErrorCode::kUnavailable,
                 "stripe " + to_string(profile()) + ": " + std::to_string(wanted.size()) +
                     " shards lost, at most " + std::to_string(profile().m) + " can be rebuilt",
                 "Bring some of the devices back."};
  }
  return reconstruct_wanted(shards, ShardSet::first(n) - wanted, wanted);
}

Result<bool> Codec::verify(std::span<const ByteView> shards) const {
  // A multiple of every alignment that validate() admits.
  constexpr std::size_t kBlockBytes = 32 * 1024;
  const std::uint32_t k = profile().k;
  const std::uint32_t m = profile().m;
  HEXAD_TRY(check_count(profile(), "shards", shards.size(), k + m));
  const std::size_t length = shards[0].size();
  HEXAD_TRY(check_aligned(profile(), length));
  for (std::uint32_t i = 0; i < k + m; ++i) {
    HEXAD_TRY(check_length(profile(), i, shards[i].size(), length));
  }
  if (m == 0) return true;
  AlignedBuffer expected(m * std::min(kBlockBytes, length));
  std::array<ByteView, kMaxDataShards> data;
  std::array<MutByteView, kMaxParityShards> parity;
  for (std::size_t at = 0; at < length; at += kBlockBytes) {
    const std::size_t size = std::min(kBlockBytes, length - at);
    for (std::uint32_t i = 0; i < k; ++i) data[i] = shards[i].subspan(at, size);
    for (std::uint32_t i = 0; i < m; ++i) parity[i] = expected.bytes().subspan(i * size, size);
    HEXAD_TRY(encode(std::span(data).first(k), std::span(parity).first(m)));
    for (std::uint32_t i = 0; i < m; ++i) {
      if (std::memcmp(parity[i].data(), shards[k + i].data() + at, size) != 0) return false;
    }
  }
  return true;
}

Result<std::unique_ptr<Codec>> make_codec(const Profile& profile) {
  HEXAD_TRY(validate(profile));
  return std::unique_ptr<Codec>(
      std::make_unique<LinearCodec>(profile, parity_matrix(profile), program_factory(profile)));
}

}  // namespace hexad::ec
