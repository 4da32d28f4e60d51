// What refused_memory_program.cc stores and refused_memory_test.cc looks for.
#pragma once

#include <cstddef>
#include <string>

#include "tests/core/noise.h"

namespace hexad::testing {

inline constexpr int kObjects = 10;

inline const char* object_name(int object) {
  static constexpr const char* kNames[kObjects] = {"o0", "o1", "o2", "o3", "o4",
                                                   "o5", "o6", "o7", "o8", "o9"};
  return kNames[object];
}

// Never 0, and no two alike.
inline unsigned long version_of(unsigned long round, int object, unsigned long step) {
  return ((round + 1) * 100 + step) * 16 + static_cast<unsigned long>(object);
}

// It begins with its version and size, so that what is found says what it should be. At least 64
// bytes.
inline std::string content(unsigned long version, std::size_t size) {
  std::string bytes = noise(size, version);
  const std::string numbers = std::to_string(version) + " " + std::to_string(size) + "\n";
  return bytes.replace(0, numbers.size(), numbers);
}

}  // namespace hexad::testing
