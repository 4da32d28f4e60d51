// The place of one copy of the log on a device. All copies have the same size and, apart from
// blocks lost on the way, the same content.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/error.h"
#include "io/device.h"

namespace hexad::kv {

struct LogArea {
  io::Device* device = nullptr;  // borrowed
  std::uint64_t offset = 0;  // bytes from the start of the device, a multiple of the log's block
  std::uint64_t size = 0;    // bytes, a multiple of the log's block

  // "dev2 [64 KiB, +16 MiB)" for messages.
  std::string to_string() const;
};

// The area lies inside its device and fits `block_size`, which is a multiple of the device's
// logical block. Errors: kInvalidArgument.
Status check_log_area(const LogArea& area, std::uint32_t block_size);

// Fills the area with zeros in large writes and flushes the device: no block of an older store or
// of an older membership is left. Returns after the flush. `go_on`: asked before each write, with
// the bytes that are zeros by then; false ends it. Errors: kInvalidArgument (outside the device),
// kClosed (`go_on`), what the device reports.
Status format_log_area(const LogArea& area,
                       const std::function<bool(std::uint64_t bytes)>& go_on = {});

}  // namespace hexad::kv
