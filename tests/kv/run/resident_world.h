// Pieces of runs on a fast device that is memory, or simulated, and what each of them has.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/bytes.h"
#include "base/units.h"
#include "io/memory_system.h"
#include "io/rng.h"
#include "io/sim/sim_system.h"
#include "kv/run/resident_pieces.h"

namespace hexad::kv::testing {

inline constexpr const char* kPath = "fast/blocks";
inline constexpr std::uint64_t kTable = 1 << 20;

// What the piece at an offset of a run has.
inline Bytes content(std::uint64_t run, std::uint64_t offset, std::size_t size) {
  io::Rng rng(run * 1'000'003 + offset);
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(rng.next());
  return bytes;
}

inline RunPieceKey key(std::uint64_t run, std::uint64_t offset) {
  return {RunPieceKind::kData, run, offset};
}

inline constexpr std::size_t kPiece = 5000;

inline void offer(ResidentPieces& pieces, std::uint64_t run, std::uint64_t offset) {
  pieces.offer(key(run, offset), content(run, offset, kPiece));
}

// Nothing: it is not there.
inline std::optional<Bytes> read(ResidentPieces& pieces, std::uint64_t run, std::uint64_t offset) {
  Bytes out(kPiece);
  RunStoredRead one{key(run, offset), out};
  pieces.read({&one, 1});
  return one.found ? std::optional(out) : std::nullopt;
}

inline bool is_right(ResidentPieces& pieces, std::uint64_t run, std::uint64_t offset) {
  const std::optional<Bytes> found = read(pieces, run, offset);
  return found.has_value() && *found == content(run, offset, kPiece);
}

struct World {
  io::MemorySystem system;
  ResidentPieces pieces{system, kPath, kTable};

  void flip_everything() {
    const std::shared_ptr<io::MemoryMedia> media = system.media(kPath);
    Bytes all(media->size());
    media->read(0, all);
    for (std::byte& byte : all) byte ^= std::byte{1};
    media->write(0, all);
  }
};

struct SimWorld {
  io::SimSystem system{io::SimOptions{.seed = 3}};
};

}  // namespace hexad::kv::testing
