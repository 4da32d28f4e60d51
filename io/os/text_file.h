// Small readable files beside the store (the pool description): whole, and replaced atomically.
// They lie outside the engine's seam to devices, and nothing that is needed for data depends on
// them. Any thread; the operating system directly.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace hexad::io {

inline constexpr std::uint64_t kMaxTextFile = 1 << 20;  // bytes

// The whole content of a regular file. Errors: kNotFound, kInvalidArgument (no regular file),
// kTooBig (over kMaxTextFile), kIo.
Result<std::string> read_text_file(const std::string& path);

// Replaces the file, or creates it with mode 0600. After a crash, and to others meanwhile, it is
// the old file or the new one: a temporary file beside it is written, synced and renamed, and then
// the directory is synced. A failure leaves the old file. Errors: kTooBig, kIo.
Status write_text_file(const std::string& path, std::string_view text);

// Put behind the current directory when it is relative. Nothing is resolved. Errors: kIo.
Result<std::string> absolute_path(const std::string& path);

}  // namespace hexad::io
