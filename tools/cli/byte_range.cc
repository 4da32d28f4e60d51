#include "tools/cli/byte_range.h"

#include "base/units.h"
#include "tools/cli/names.h"

namespace hexad::tools {

Result<ByteRange> parse_byte_range(std::string_view text) {
  const Error error{
      ErrorCode::kInvalidArgument, "\"" + display_name(text) + "\" is not a range of bytes",
      "Write OFFSET:LENGTH, for example 0:100 or 1MiB:4KiB; OFFSET: goes to the end."};
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return error;
  const Result<std::uint64_t> offset = parse_size(text.substr(0, colon));
  if (!offset.ok()) return error;
  const std::string_view rest = text.substr(colon + 1);
  if (rest.empty()) return ByteRange{*offset, kMaxObjectSize};
  const Result<std::uint64_t> length = parse_size(rest);
  if (!length.ok()) return error;
  return ByteRange{*offset, *length};
}

}  // namespace hexad::tools
