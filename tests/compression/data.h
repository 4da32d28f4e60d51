// Bytes of several kinds to compress.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "io/rng.h"

namespace hexad::compression::data {

inline Bytes zeros(std::size_t size) { return Bytes(size); }

inline Bytes noise(std::size_t size, std::uint64_t seed) {
  io::Rng rng(seed);
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(rng.next());
  return bytes;
}

// Words of a small vocabulary: about as compressible as English.
inline Bytes text(std::size_t size, std::uint64_t seed) {
  static constexpr std::array<const char*, 24> kWords = {
      "the",  "stripe", "of",     "parity", "cells",  "and", "a",     "device",
      "that", "fails",  "before", "commit", "point",  "is",  "found", "again",
      "by",   "its",    "check",  "sum,",   "unless", "no",  "log",   "names it.\n"};
  io::Rng rng(seed);
  std::string out;
  while (out.size() < size) {
    out += kWords[rng.below(kWords.size())];
    out += rng.chance(1, 8) ? std::to_string(rng.below(100000)) + " " : " ";
  }
  out.resize(size);
  const ByteView bytes = as_bytes(out);
  return Bytes(bytes.begin(), bytes.end());
}

// As fio fills buffers for buffer_compress_percentage=P and buffer_pattern=0xdeadface: the first
// (100 - P) % of each block noise, the rest the pattern.
inline Bytes fio(std::size_t size, std::uint32_t percent, std::size_t block, std::uint64_t seed) {
  constexpr std::array<std::uint8_t, 4> kPattern = {0xde, 0xad, 0xfa, 0xce};
  Bytes bytes = noise(size, seed);
  for (std::size_t i = 0; i < size; ++i) {
    if (i % block >= block * (100 - percent) / 100) bytes[i] = std::byte{kPattern[i % 4]};
  }
  return bytes;
}

// Little-endian floats around 1: three noisy bytes, one that hardly varies.
inline Bytes floats(std::size_t size, std::uint64_t seed) {
  Bytes bytes = noise(size, seed);
  for (std::size_t i = 3; i < size; i += 4) bytes[i] = std::byte{0x3f} | (bytes[i] & std::byte{1});
  return bytes;
}

// Noise that occurs again and again: nothing for an entropy coder, everything for a dictionary.
inline Bytes repeated_noise(std::size_t size, std::size_t period, std::uint64_t seed) {
  const Bytes once = noise(period, seed);
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = once[i % period];
  return bytes;
}

// Records of fixed layout: counters, small numbers, an identifier of noise.
inline Bytes records(std::size_t size, std::uint64_t seed) {
  io::Rng rng(seed);
  Bytes bytes;
  for (std::uint64_t n = 0; bytes.size() < size; ++n) {
    const std::uint64_t words[4] = {n, rng.below(1000), rng.next(), 0x4000000000000000};
    for (std::uint64_t word : words) {
      for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<std::byte>(word >> (8 * i)));
    }
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace hexad::compression::data
