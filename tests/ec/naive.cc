#include "tests/ec/naive.h"

#include "ec/jerasure.h"

namespace hexad::ec::naive {
namespace {

constexpr std::uint32_t kWordBits = 8;

std::uint8_t power(std::uint8_t base, std::uint32_t exponent) {
  std::uint8_t result = 1;
  for (std::uint32_t i = 0; i < exponent; ++i) result = multiply(result, base);
  return result;
}

std::uint8_t inverse_of(std::uint8_t a) { return power(a, 254); }

// Plank's systematic Vandermonde matrix (J. S. Plank and Y. Ding, "Note: Correction to the 1997
// tutorial on Reed-Solomon coding", 2005): an extended Vandermonde matrix of k+m rows, turned by
// column operations so that its top is the identity and its first parity row and column are ones.
Matrix plank_vandermonde(std::uint32_t k, std::uint32_t m) {
  const std::uint32_t n = k + m;
  std::vector<std::vector<std::uint8_t>> v(n, std::vector<std::uint8_t>(k));
  v[0][0] = 1;
  v[n - 1][k - 1] = 1;
  for (std::uint32_t i = 1; i + 1 < n; ++i) {
    for (std::uint32_t j = 0; j < k; ++j) v[i][j] = power(static_cast<std::uint8_t>(i), j);
  }
  for (std::uint32_t c = 0; c < k; ++c) {
    std::uint32_t pivot = c;
    while (v[c][pivot] == 0) ++pivot;
    for (auto& row : v) std::swap(row[c], row[pivot]);
    const std::uint8_t scale = inverse_of(v[c][c]);
    for (auto& row : v) row[c] = multiply(row[c], scale);
    for (std::uint32_t other = 0; other < k; ++other) {
      const std::uint8_t factor = v[c][other];
      if (other == c || factor == 0) continue;
      for (auto& row : v) row[other] ^= multiply(factor, row[c]);
    }
  }
  Matrix parity(m, k);
  for (std::uint32_t i = 0; i < m; ++i) {
    for (std::uint32_t j = 0; j < k; ++j) {
      parity.at(i, j) = multiply(v[k + i][j], inverse_of(v[k][j]));
    }
    const std::uint8_t scale = inverse_of(parity.at(i, 0));
    for (std::uint32_t j = 0; j < k; ++j) parity.at(i, j) = multiply(parity.at(i, j), scale);
  }
  return parity;
}

void add(Bytes& to, std::size_t to_at, const Bytes& from, std::size_t from_at, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[to_at + i] ^= from[from_at + i];
}

}  // namespace

std::uint8_t multiply(std::uint8_t a, std::uint8_t b) {
  unsigned product = 0;
  for (int bit = 7; bit >= 0; --bit) {
    product <<= 1;
    if (product & 0x100) product ^= 0x11d;
    if ((b >> bit) & 1) product ^= a;
  }
  return static_cast<std::uint8_t>(product);
}

Matrix parity_matrix(const Profile& profile) {
  if (profile.codec == CodecKind::kJerasureCauchyGood) {
    return jerasure_matrix(profile.codec, profile.k, profile.m);
  }
  if (profile.codec == CodecKind::kJerasureVandermonde) {
    return plank_vandermonde(profile.k, profile.m);
  }
  Matrix matrix(profile.m, profile.k);
  for (std::uint32_t i = 0; i < profile.m; ++i) {
    for (std::uint32_t j = 0; j < profile.k; ++j) {
      std::uint8_t& cell = matrix.at(i, j);
      if (profile.codec == CodecKind::kIsaCauchy) {
        cell = inverse_of(static_cast<std::uint8_t>((profile.k + i) ^ j));
      } else if (profile.codec == CodecKind::kJerasureCauchyOrig) {
        cell = inverse_of(static_cast<std::uint8_t>(i ^ (profile.m + j)));
      } else {  // ISA-L's Vandermonde, and RAID 6, which is its first two rows
        cell = power(power(2, i), j);
      }
    }
  }
  return matrix;
}

std::vector<Bytes> encode(const Profile& profile, const std::vector<Bytes>& data) {
  const Matrix matrix = parity_matrix(profile);
  const std::size_t length = data[0].size();
  std::vector<Bytes> parity(profile.m, Bytes(length));
  for (std::uint32_t i = 0; i < profile.m; ++i) {
    for (std::uint32_t j = 0; j < profile.k; ++j) {
      const std::uint8_t factor = matrix.at(i, j);
      if (!uses_packets(profile.codec)) {
        for (std::size_t at = 0; at < length; ++at) {
          parity[i][at] ^=
              static_cast<std::byte>(multiply(factor, static_cast<std::uint8_t>(data[j][at])));
        }
        continue;
      }
      // Packet b of a group holds bit b of as many words as a packet has bits. Multiplying by
      // `factor` sends bit b to the bits of factor * 2^b.
      const std::size_t packet = profile.packet_bytes;
      for (std::size_t group = 0; group < length; group += kWordBits * packet) {
        for (std::uint32_t b = 0; b < kWordBits; ++b) {
          const std::uint8_t image = multiply(factor, static_cast<std::uint8_t>(1U << b));
          for (std::uint32_t bit = 0; bit < kWordBits; ++bit) {
            if (((image >> bit) & 1) == 0) continue;
            add(parity[i], group + bit * packet, data[j], group + b * packet, packet);
          }
        }
      }
    }
  }
  return parity;
}

std::uint64_t Noise::next() {
  // splitmix64 (Steele, Lea, Flood 2014).
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

std::vector<Bytes> make_stripe(const Profile& profile, std::size_t length, std::uint64_t seed) {
  Noise noise(seed);
  std::vector<Bytes> shards(profile.k, Bytes(length));
  for (Bytes& shard : shards) {
    for (std::byte& byte : shard) byte = static_cast<std::byte>(noise.next());
  }
  for (Bytes& shard : encode(profile, shards)) shards.push_back(std::move(shard));
  return shards;
}

std::vector<ByteView> views(std::span<const Bytes> shards) {
  return {shards.begin(), shards.end()};
}

std::vector<MutByteView> mutable_views(std::span<Bytes> shards) {
  return {shards.begin(), shards.end()};
}

std::vector<Profile> profiles_of_shape(std::uint32_t k, std::uint32_t m) {
  std::vector<Profile> profiles;
  for (CodecKind kind : {CodecKind::kIsaVandermonde, CodecKind::kIsaCauchy,
                         CodecKind::kJerasureVandermonde, CodecKind::kJerasureCauchyGood,
                         CodecKind::kJerasureRaid6, CodecKind::kJerasureCauchyOrig}) {
    const Profile profile{k, m, kind, uses_packets(kind) ? 8U : 0U};
    if (validate(profile).ok()) profiles.push_back(profile);
  }
  return profiles;
}

void each_subset(std::uint32_t n, std::uint32_t most, const std::function<void(ShardSet)>& visit) {
  const std::function<void(std::uint32_t, ShardSet)> extend = [&](std::uint32_t from,
                                                                  ShardSet set) {
    visit(set);
    if (set.size() == most) return;
    for (std::uint32_t i = from; i < n; ++i) {
      ShardSet larger = set;
      larger.add(i);
      extend(i + 1, larger);
    }
  };
  extend(0, {});
}

bool rebuilds(const Codec& codec, std::vector<Bytes>& stripe, ShardSet lost) {
  std::vector<Bytes> original;
  std::vector<ShardIndex> list;
  for (ShardIndex i : lost) {
    list.push_back(i);
    original.push_back(stripe[i]);
    std::fill(stripe[i].begin(), stripe[i].end(), std::byte{0xa5});
  }
  const Status status = codec.reconstruct(mutable_views(stripe), list);
  bool equal = status.ok();
  for (std::size_t i = 0; i < list.size(); ++i) {
    equal = equal && stripe[list[i]] == original[i];
    stripe[list[i]] = std::move(original[i]);
  }
  return equal;
}

}  // namespace hexad::ec::naive
