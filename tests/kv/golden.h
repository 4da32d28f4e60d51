// Golden bytes from tests/format/NAME.hex: hexadecimal digits, comments from # to the end of line.
#pragma once

#include <fstream>
#include <string>

#include "base/assert.h"

namespace hexad::kv::testing {

inline std::string golden(const std::string& name) {
  std::ifstream file("tests/format/" + name + ".hex");
  HEXAD_ASSERT(file.good());
  std::string bytes;
  std::string line;
  std::string digits;
  while (std::getline(file, line)) {
    for (const char c : line.substr(0, line.find('#'))) {
      if (c == ' ') continue;
      digits.push_back(c);
      if (digits.size() < 2) continue;
      bytes.push_back(static_cast<char>(std::stoi(digits, nullptr, 16)));
      digits.clear();
    }
  }
  return bytes;
}

}  // namespace hexad::kv::testing
