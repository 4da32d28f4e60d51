#!/usr/bin/env python3
"""Writes the golden bytes of NAME.hex files as C++: embed_golden.py FILE... > golden_bytes.cc"""

import os
import sys


def bytes_of(path):
    digits = ""
    with open(path, encoding="utf-8") as file:
        for line in file:
            digits += "".join(line.split("#")[0].split())
    return bytes.fromhex(digits)


def main():
    print('#include "tests/format/golden_bytes.h"\n\n#include <map>\n\n#include "base/assert.h"\n')
    print("namespace hexad::testing {\n")
    print("std::string_view golden_bytes(std::string_view name) {")
    print("  static const std::map<std::string_view, std::string_view> kAll = {")
    for path in sys.argv[1:]:
        name = os.path.basename(path)[: -len(".hex")]
        content = bytes_of(path)
        text = "".join(f"\\x{byte:02x}" for byte in content)
        print(f'      {{"{name}", {{"{text}", {len(content)}}}}},')
    print("  };")
    print("  const auto found = kAll.find(name);")
    print("  HEXAD_ASSERT(found != kAll.end());")
    print("  return found->second;")
    print("}\n\n}  // namespace hexad::testing")


if __name__ == "__main__":
    main()
