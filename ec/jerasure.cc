#include "ec/jerasure.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/assert.h"
#include "base/units.h"

// Neither library's header says that it is C.
extern "C" {
#include <gf_complete.h>
#include <jerasure.h>
#include <jerasure/cauchy.h>
#include <jerasure/galois.h>
#include <jerasure/reed_sol.h>
}

namespace hexad::ec {
namespace {

constexpr int kWordBits = 8;

struct FreeMemory {
  void operator()(int* memory) const { std::free(memory); }
};
struct FreeSchedule {
  void operator()(int** schedule) const { jerasure_free_schedule(schedule); }
};
using Schedule = std::unique_ptr<int*, FreeSchedule>;
using IntArray = std::unique_ptr<int, FreeMemory>;  // malloc'ed by the library

// Null is how the library says that it was refused memory: nothing else of what it is asked here
// fails.
template <typename Pointer>
void require_memory(const Pointer& made) {
  if (made == nullptr) throw std::bad_alloc();
}

// GF-Complete's field, and proof that Jerasure's own is ready. Jerasure fills process-wide tables
// on first use without any lock (the field in galois.c, the best Cauchy rows and the counts of ones
// in cauchy.c). Here they are all touched once, by whichever thread comes first while the others
// wait; after that they are only read. Both are kept until the process ends.
gf_t& field() {
  static gf_t shared = [] {
    IntArray best_rows(cauchy_good_general_coding_matrix(2, 2, kWordBits));
    IntArray counted_ones(cauchy_good_general_coding_matrix(3, 3, kWordBits));
    require_memory(best_rows);
    require_memory(counted_ones);
    gf_t made;
    if (gf_init_easy(&made, kWordBits) == 0) throw std::bad_alloc();
    return made;
  }();
  return shared;
}

class GfCompleteProgram : public Program {
 public:
  explicit GfCompleteProgram(const Matrix& matrix) : matrix_(matrix) { field(); }

  void run(const std::byte* const* sources, std::byte* const* outputs,
           std::size_t length) const override {
    std::vector<const std::byte*> from(sources, sources + matrix_.columns);
    std::vector<std::byte*> to(outputs, outputs + matrix_.rows);
    const bool aligned = all_aligned(from) && all_aligned(to);
    // The library's edges outside units of 16 bytes are not safe (it stops the process, or for the
    // shortest writes past the end), so it is given nothing else: what is not so goes through
    // memory that is, one block at a time.
    AlignedBuffer scratch;
    for (std::size_t at = 0; at < length; at += kBlockBytes) {
      const std::size_t size = std::min(kBlockBytes, length - at);
      const std::size_t whole = round_up(size, kUnit);
      const bool bounce = !aligned || size != whole;
      if (bounce && scratch.empty()) {
        scratch = AlignedBuffer::zeroed((matrix_.columns + matrix_.rows) * kBlockBytes);
      }
      for (std::uint32_t c = 0; c < matrix_.columns; ++c) {
        from[c] = sources[c] + at;
        if (!bounce) continue;
        std::byte* copy = scratch.data() + c * kBlockBytes;
        std::memcpy(copy, from[c], size);
        from[c] = copy;
      }
      for (std::uint32_t r = 0; r < matrix_.rows; ++r) {
        to[r] = bounce ? scratch.data() + (matrix_.columns + r) * kBlockBytes : outputs[r] + at;
        run_row(r, from.data(), to[r], whole);
        if (bounce) std::memcpy(outputs[r] + at, to[r], size);
      }
    }
  }

 private:
  // Small enough that a block of each shard stays in the second-level cache between rows.
  static constexpr std::size_t kBlockBytes = 16 * 1024;
  static constexpr std::size_t kUnit = 16;

  template <typename Pointers>
  static bool all_aligned(const Pointers& pointers) {
    return std::all_of(pointers.begin(), pointers.end(), [](const std::byte* p) {
      return reinterpret_cast<std::uintptr_t>(p) % kUnit == 0;
    });
  }

  void run_row(std::uint32_t row, const std::byte* const* from, std::byte* to,
               std::size_t size) const {
    int add = 0;  // the first product overwrites what is in `to`
    for (std::uint32_t c = 0; c < matrix_.columns; ++c) {
      const std::uint8_t factor = matrix_.at(row, c);
      if (factor == 0) continue;
      field().multiply_region.w32(&field(), const_cast<std::byte*>(from[c]), to, factor,
                                  static_cast<int>(size), add);
      add = 1;
    }
    if (add == 0) std::memset(to, 0, size);
  }

  Matrix matrix_;
};

class PacketProgram : public Program {
 public:
  PacketProgram(const Matrix& matrix, std::uint32_t packet_bytes)
      : columns_(matrix.columns), packet_(packet_bytes) {
    field();
    std::vector<int> coefficients(matrix.cells.begin(), matrix.cells.end());
    const int k = static_cast<int>(matrix.columns);
    const int rows = static_cast<int>(matrix.rows);
    IntArray bits(jerasure_matrix_to_bitmatrix(k, rows, kWordBits, coefficients.data()));
    require_memory(bits);
    const Schedule schedule(jerasure_smart_bitmatrix_to_schedule(k, rows, kWordBits, bits.get()));
    require_memory(schedule);
    // {source shard, its packet, output shard, its packet, 1 to add or 0 to copy}, ended by -1.
    for (int** step = schedule.get(); (*step)[0] >= 0; ++step) {
      const int* s = *step;
      steps_.push_back({static_cast<std::uint32_t>(s[0]), static_cast<std::uint32_t>(s[2]),
                        static_cast<std::uint32_t>(s[1]) * packet_,
                        static_cast<std::uint32_t>(s[3]) * packet_, s[4] != 0});
    }
  }

  // Jerasure's own loop over a schedule adds to process-wide statistics at every step, from every
  // thread; hence this one.
  void run(const std::byte* const* sources, std::byte* const* outputs,
           std::size_t length) const override {
    const std::size_t group = std::size_t{packet_} * kWordBits;
    for (std::size_t at = 0; at < length; at += group) {
      for (const Step& step : steps_) {
        // A step may build on an output that an earlier one has finished.
        const std::byte* from = step.from_shard < columns_ ? sources[step.from_shard]
                                                           : outputs[step.from_shard - columns_];
        from += at + step.from_offset;
        std::byte* to = outputs[step.to_shard - columns_] + at + step.to_offset;
        if (step.add) {
          add_packet(to, from);
        } else {
          std::memcpy(to, from, packet_);
        }
      }
    }
  }

 private:
  struct Step {
    std::uint32_t from_shard;   // below columns_: a source; from there on: an output
    std::uint32_t to_shard;     // counted likewise
    std::uint32_t from_offset;  // bytes from the start of the group
    std::uint32_t to_offset;
    bool add;
  };

  void add_packet(std::byte* to, const std::byte* from) const {
    for (std::uint32_t i = 0; i < packet_; i += sizeof(std::uint64_t)) {
      std::uint64_t a;
      std::uint64_t b;
      std::memcpy(&a, to + i, sizeof(a));
      std::memcpy(&b, from + i, sizeof(b));
      a ^= b;
      std::memcpy(to + i, &a, sizeof(a));
    }
  }

  std::uint32_t columns_;
  std::uint32_t packet_;  // bytes, a multiple of 8
  std::vector<Step> steps_;
};

}  // namespace

Matrix jerasure_matrix(CodecKind kind, std::uint32_t k, std::uint32_t m) {
  field();
  const int data = static_cast<int>(k);
  const int parity = static_cast<int>(m);
  IntArray made;
  switch (kind) {
    case CodecKind::kJerasureVandermonde:
      made.reset(reed_sol_vandermonde_coding_matrix(data, parity, kWordBits));
      break;
    case CodecKind::kJerasureRaid6:
      HEXAD_ASSERT(m == 2);
      made.reset(reed_sol_r6_coding_matrix(data, kWordBits));
      break;
    case CodecKind::kJerasureCauchyGood:
      made.reset(cauchy_good_general_coding_matrix(data, parity, kWordBits));
      break;
    case CodecKind::kJerasureCauchyOrig:
      made.reset(cauchy_original_coding_matrix(data, parity, kWordBits));
      break;
    case CodecKind::kIsaVandermonde:
    case CodecKind::kIsaCauchy:
      HEXAD_ASSERT(false);  // a matrix of Jerasure
  }
  require_memory(made);
  Matrix matrix(m, k);
  std::copy(made.get(), made.get() + std::size_t{m} * k, matrix.cells.begin());
  return matrix;
}

std::unique_ptr<Program> make_gf_complete_program(const Matrix& matrix) {
  return std::make_unique<GfCompleteProgram>(matrix);
}

std::unique_ptr<Program> make_packet_program(const Matrix& matrix, std::uint32_t packet_bytes) {
  return std::make_unique<PacketProgram>(matrix, packet_bytes);
}

}  // namespace hexad::ec
