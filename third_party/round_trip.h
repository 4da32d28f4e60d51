#pragma once

#include <string>

namespace hexad::third_party {

// Compresses `text` with zstd and expands it again; empty on any failure.
std::string zstd_round_trip(const std::string& text);

}  // namespace hexad::third_party
