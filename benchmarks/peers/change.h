// One change of what a peer keeps.
#pragma once

#include <string>

#include "base/bytes.h"

namespace hexad::bench {

struct Change {
  const std::string* name = nullptr;
  ByteView data;
  bool removes = false;
};

}  // namespace hexad::bench
