// The bytes of a file in one piece.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace hexad::io::testing {

// Empty when there is no such file. In one read: files of devices have a hundred million bytes, and
// iterators over a stream take minutes for them in a build with sanitizers.
inline std::string file_bytes(const std::filesystem::path& path) {
  std::error_code missing;
  const std::uintmax_t size = std::filesystem::file_size(path, missing);
  if (missing) return {};
  std::string bytes(size, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), static_cast<std::streamsize>(size));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

}  // namespace hexad::io::testing
