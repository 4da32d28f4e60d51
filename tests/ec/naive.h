// The codes once more, computed the plainest way, and stripes to try them on. Shares no code with
// ec.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "ec/codec.h"
#include "ec/matrix.h"
#include "ec/profile.h"

namespace hexad::ec::naive {

// Product in GF(2^8) modulo 0x11d, one bit after the other.
std::uint8_t multiply(std::uint8_t a, std::uint8_t b);

// The parity matrix as the publications define it; cauchy_good, a heuristic, is Jerasure's own.
Matrix parity_matrix(const Profile& profile);

// Parity of `data` under `profile`, a byte (or for the packet codes a packet bit) at a time.
std::vector<Bytes> encode(const Profile& profile, const std::vector<Bytes>& data);

// k+m shards: random data, naive parity. `length` a multiple of the alignment.
std::vector<Bytes> make_stripe(const Profile& profile, std::size_t length, std::uint64_t seed);

std::vector<ByteView> views(std::span<const Bytes> shards);
std::vector<MutByteView> mutable_views(std::span<Bytes> shards);

// Every profile of this shape that validate() accepts, packets of 8 bytes.
std::vector<Profile> profiles_of_shape(std::uint32_t k, std::uint32_t m);

// Calls `visit` with every set of at most `most` members below n, the empty one included.
void each_subset(std::uint32_t n, std::uint32_t most, const std::function<void(ShardSet)>& visit);

// Spoils what is in `lost`, has `codec` rebuild it, and compares. `stripe` is left as it was.
bool rebuilds(const Codec& codec, std::vector<Bytes>& stripe, ShardSet lost);

// A small generator for test data; not io::Rng, which ec's tests do not need otherwise.
class Noise {
 public:
  explicit Noise(std::uint64_t seed) : state_(seed * 2 + 1) {}
  std::uint64_t next();
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }

 private:
  std::uint64_t state_;
};

}  // namespace hexad::ec::naive
