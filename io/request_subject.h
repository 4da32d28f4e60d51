// How messages about a request begin: "/dev/sdb: write of 4 KiB at byte 0".
#pragma once

#include <string>

#include "io/device.h"

namespace hexad::io {

std::string subject_of(const IoRequest& request);

}  // namespace hexad::io
