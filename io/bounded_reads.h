// Reads that nobody waits for longer than a device may be silent.
#pragma once

#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/error.h"
#include "io/device.h"

namespace hexad::io {

// A device with requests under way that has not answered any for so long is silent: reads do not
// wait for it.
inline constexpr Nanos kSilence = 5'000'000'000;

bool is_silent(Device& device);
// "has not answered for 12 s", "has owed an answer for 12 s, and gives others".
std::string describe_silence(Device& device);

// Sends the reads, which go into parts of `buffer`, and waits until all have been answered, or for
// `limit`. The outcome of each, in order: kUnavailable where there is no answer, which no device
// gives (io/os_error.h). Then `buffer` is another one with the same content, but for those parts,
// and views of it have to be made again: a device may still write into the one from before.
std::vector<Status> read_round(IoQueue& queue, std::vector<IoRequest> reads, AlignedBuffer& buffer,
                               Nanos limit = kSilence);

}  // namespace hexad::io
