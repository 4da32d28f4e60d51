#include "compression/codec.h"

#include <lz4.h>
#include <lz4hc.h>
#include <snappy.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <memory>
#include <string>

namespace hexad::compression {
namespace {

using Size = std::optional<std::size_t>;

constexpr int kDefaultZstdLevel = 1;
constexpr int kDefaultZlibLevel = 6;
constexpr int kFirstDenseLz4Level = 3;

// No zlib header or checksum around the data: six bytes that the store's own checksums make
// superfluous.
constexpr int kRawDeflateWindowBits = -15;
constexpr int kZlibMemoryLevel = 8;  // zlib's own default

const char* chars(ByteView bytes) { return reinterpret_cast<const char*>(bytes.data()); }
char* chars(MutByteView bytes) { return reinterpret_cast<char*>(bytes.data()); }
Bytef* zbytes(ByteView bytes) {  // zlib reads its input through a pointer without const
  return const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
}

// zlib refuses null pointers, which empty spans may have.
Bytef empty_bytes[1] = {};
Bytef* or_nothing(Bytef* pointer) { return pointer == nullptr ? empty_bytes : pointer; }

Error no_memory(Algorithm algorithm) {
  return Error{ErrorCode::kExhausted,
               std::string(to_string(algorithm)) + ": no memory for its working space",
               "Free memory on this machine and try again."};
}

Error corrupt(Algorithm algorithm, ByteView in, MutByteView out) {
  return Error{ErrorCode::kCorruption,
               std::string(to_string(algorithm)) + ": " + std::to_string(in.size()) +
                   " B are not the compressed form of " + std::to_string(out.size()) + " B",
               ""};
}

// The working space of one thread. Each part is made on first use and kept until the thread ends.
struct Contexts {
  Contexts() = default;
  Contexts(const Contexts&) = delete;
  Contexts& operator=(const Contexts&) = delete;
  ~Contexts() {
    ZSTD_freeCCtx(zstd_compressor);
    ZSTD_freeDCtx(zstd_decompressor);
    if (deflate_ready) deflateEnd(&deflater);
    if (inflate_ready) inflateEnd(&inflater);
  }

  // Null when memory is refused.
  ZSTD_CCtx* compressor() {
    if (zstd_compressor == nullptr) zstd_compressor = ZSTD_createCCtx();
    return zstd_compressor;
  }
  ZSTD_DCtx* decompressor() {
    if (zstd_decompressor == nullptr) zstd_decompressor = ZSTD_createDCtx();
    return zstd_decompressor;
  }
  z_stream* deflate_stream(int level) {
    if (deflate_ready && deflate_level == level) {
      deflateReset(&deflater);
      return &deflater;
    }
    if (deflate_ready) deflateEnd(&deflater);
    deflater = {};
    deflate_level = level;
    deflate_ready = deflateInit2(&deflater, level, Z_DEFLATED, kRawDeflateWindowBits,
                                 kZlibMemoryLevel, Z_DEFAULT_STRATEGY) == Z_OK;
    return deflate_ready ? &deflater : nullptr;
  }
  z_stream* inflate_stream() {
    if (inflate_ready) {
      inflateReset(&inflater);
    } else {
      inflater = {};
      inflate_ready = inflateInit2(&inflater, kRawDeflateWindowBits) == Z_OK;
    }
    return inflate_ready ? &inflater : nullptr;
  }

  ZSTD_CCtx* zstd_compressor = nullptr;
  ZSTD_DCtx* zstd_decompressor = nullptr;
  z_stream deflater = {};
  z_stream inflater = {};
  int deflate_level = 0;
  bool deflate_ready = false;
  bool inflate_ready = false;
  // Snappy writes as much as its worst case and cannot be told to stop.
  std::unique_ptr<char[]> snappy_scratch;
  std::size_t snappy_scratch_size = 0;
};

Contexts& contexts() {
  thread_local Contexts of_this_thread;
  return of_this_thread;
}

Size snappy_compress(ByteView in, MutByteView out) {
  const std::size_t worst = snappy::MaxCompressedLength(in.size());
  std::size_t used = 0;
  if (out.size() >= worst) {
    snappy::RawCompress(chars(in), in.size(), chars(out), &used);
    return used;
  }
  // A large scratch is not kept: one odd call should not cost the thread its memory for good.
  constexpr std::size_t kLargestKept = std::size_t{2} << 20;
  std::unique_ptr<char[]> own;
  char* scratch = nullptr;
  if (worst > kLargestKept) {
    own.reset(new char[worst]);
    scratch = own.get();
  } else {
    Contexts& kept = contexts();
    if (kept.snappy_scratch_size < worst) {
      kept.snappy_scratch.reset(new char[worst]);
      kept.snappy_scratch_size = worst;
    }
    scratch = kept.snappy_scratch.get();
  }
  snappy::RawCompress(chars(in), in.size(), scratch, &used);
  if (used > out.size()) return std::nullopt;
  copy_bytes(out, {reinterpret_cast<const std::byte*>(scratch), used});
  return used;
}

Status snappy_decompress(ByteView in, MutByteView out) {
  std::size_t length = 0;
  if (!snappy::GetUncompressedLength(chars(in), in.size(), &length) || length != out.size() ||
      !snappy::RawUncompress(chars(in), in.size(), chars(out))) {
    return corrupt(Algorithm::kSnappy, in, out);
  }
  return ok_status();
}

Result<Size> zstd_compress(int level, ByteView in, MutByteView out) {
  ZSTD_CCtx* context = contexts().compressor();
  if (context == nullptr) return no_memory(Algorithm::kZstd);
  const std::size_t used =
      ZSTD_compressCCtx(context, out.data(), out.size(), in.data(), in.size(), level);
  // With valid arguments it fails for want of room in `out`; want of memory means the same to the
  // caller: the bytes are stored as they are.
  if (ZSTD_isError(used)) return Size();
  return Size(used);
}

Status zstd_decompress(ByteView in, MutByteView out) {
  ZSTD_DCtx* context = contexts().decompressor();
  if (context == nullptr) return no_memory(Algorithm::kZstd);
  // The one-shot call uses `out` as its window, so a frame that asks for a huge one gets none.
  const std::size_t made =
      ZSTD_decompressDCtx(context, out.data(), out.size(), in.data(), in.size());
  if (ZSTD_getErrorCode(made) == ZSTD_error_memory_allocation) return no_memory(Algorithm::kZstd);
  if (ZSTD_isError(made) || made != out.size()) return corrupt(Algorithm::kZstd, in, out);
  return ok_status();
}

Size lz4_compress(int level, ByteView in, MutByteView out) {
  const int in_size = static_cast<int>(in.size());
  const int out_size = static_cast<int>(out.size());
  const int used = level < kFirstDenseLz4Level
                       ? LZ4_compress_default(chars(in), chars(out), in_size, out_size)
                       : LZ4_compress_HC(chars(in), chars(out), in_size, out_size, level);
  if (used <= 0) return std::nullopt;
  return static_cast<std::size_t>(used);
}

Status lz4_decompress(ByteView in, MutByteView out) {
  // LZ4 takes a null destination for "no room" even when none is needed.
  char nothing[1];
  char* to = out.empty() ? nothing : chars(out);
  const int made =
      LZ4_decompress_safe(chars(in), to, static_cast<int>(in.size()), static_cast<int>(out.size()));
  if (made < 0 || static_cast<std::size_t>(made) != out.size()) {
    return corrupt(Algorithm::kLz4, in, out);
  }
  return ok_status();
}

Result<Size> zlib_compress(int level, ByteView in, MutByteView out) {
  z_stream* stream = contexts().deflate_stream(level);
  if (stream == nullptr) return no_memory(Algorithm::kZlib);
  stream->next_in = or_nothing(zbytes(in));
  stream->avail_in = static_cast<uInt>(in.size());
  stream->next_out = or_nothing(zbytes(out));
  stream->avail_out = static_cast<uInt>(out.size());
  if (deflate(stream, Z_FINISH) != Z_STREAM_END) return Size();
  return Size(out.size() - stream->avail_out);
}

Status zlib_decompress(ByteView in, MutByteView out) {
  z_stream* stream = contexts().inflate_stream();
  if (stream == nullptr) return no_memory(Algorithm::kZlib);
  stream->next_in = or_nothing(zbytes(in));
  stream->avail_in = static_cast<uInt>(in.size());
  stream->next_out = or_nothing(zbytes(out));
  stream->avail_out = static_cast<uInt>(out.size());
  const int ended = inflate(stream, Z_FINISH);
  if (ended == Z_MEM_ERROR) return no_memory(Algorithm::kZlib);
  if (ended != Z_STREAM_END || stream->avail_out != 0 || stream->avail_in != 0) {
    return corrupt(Algorithm::kZlib, in, out);
  }
  return ok_status();
}

Status check_sizes(Algorithm algorithm, std::size_t in, std::size_t out) {
  if (in <= kMaxCodecBytes && out <= kMaxCodecBytes) return ok_status();
  return Error{ErrorCode::kTooBig,
               std::string(to_string(algorithm)) + ": " + std::to_string(std::max(in, out)) +
                   " B in one call, at most " + std::to_string(kMaxCodecBytes) + " B",
               "Cut the data into frames."};
}

}  // namespace

std::string_view to_string(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kNone:
      return "none";
    case Algorithm::kSnappy:
      return "snappy";
    case Algorithm::kZstd:
      return "zstd";
    case Algorithm::kLz4:
      return "lz4";
    case Algorithm::kZlib:
      return "zlib";
  }
  return "unknown";
}

std::string algorithm_names() {
  std::string names;
  for (const Algorithm algorithm : kAlgorithms) {
    if (!names.empty()) names += algorithm == kAlgorithms.back() ? " or " : ", ";
    names += to_string(algorithm);
  }
  return names;
}

Result<Algorithm> parse_algorithm(std::string_view text) {
  for (Algorithm algorithm : kAlgorithms) {
    if (text == to_string(algorithm)) return algorithm;
  }
  return Error{ErrorCode::kInvalidArgument,
               "\"" + printable(text, 64) + "\" is not a compression algorithm",
               "Use " + algorithm_names() + "."};
}

Result<Algorithm> algorithm_from_disk(std::uint8_t value) {
  const auto algorithm = static_cast<Algorithm>(value);
  if (std::find(kAlgorithms.begin(), kAlgorithms.end(), algorithm) != kAlgorithms.end()) {
    return algorithm;
  }
  return Error{ErrorCode::kUnsupported,
               "compression algorithm number " + std::to_string(value) + " is unknown",
               "This version is older than the store: open it with the one that wrote it."};
}

LevelRange level_range(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kZstd:
      return {-7, 19};
    case Algorithm::kLz4:
      return {0, 12};
    case Algorithm::kZlib:
      return {0, 9};
    case Algorithm::kNone:
    case Algorithm::kSnappy:
      break;
  }
  return {0, 0};
}

Result<Size> compress(Algorithm algorithm, int level, ByteView in, MutByteView out) {
  HEXAD_TRY(check_sizes(algorithm, in.size(), out.size()));
  const LevelRange range = level_range(algorithm);
  if (level < range.min || level > range.max) {
    return Error{ErrorCode::kInvalidArgument,
                 std::string(to_string(algorithm)) + ": level " + std::to_string(level) +
                     " is not from " + std::to_string(range.min) + " to " +
                     std::to_string(range.max),
                 "Level 0 is the default."};
  }
  switch (algorithm) {
    case Algorithm::kNone:
      if (in.size() > out.size()) return Size();
      copy_bytes(out, in);
      return Size(in.size());
    case Algorithm::kSnappy:
      return snappy_compress(in, out);
    case Algorithm::kZstd:
      return zstd_compress(level == 0 ? kDefaultZstdLevel : level, in, out);
    case Algorithm::kLz4:
      return lz4_compress(level, in, out);
    case Algorithm::kZlib:
      return zlib_compress(level == 0 ? kDefaultZlibLevel : level, in, out);
  }
  return Error{ErrorCode::kInvalidArgument, "unknown compression algorithm", ""};
}

Status decompress(Algorithm algorithm, ByteView in, MutByteView out) {
  HEXAD_TRY(check_sizes(algorithm, in.size(), out.size()));
  switch (algorithm) {
    case Algorithm::kNone:
      if (in.size() != out.size()) return corrupt(algorithm, in, out);
      copy_bytes(out, in);
      return ok_status();
    case Algorithm::kSnappy:
      return snappy_decompress(in, out);
    case Algorithm::kZstd:
      return zstd_decompress(in, out);
    case Algorithm::kLz4:
      return lz4_decompress(in, out);
    case Algorithm::kZlib:
      return zlib_decompress(in, out);
  }
  return Error{ErrorCode::kInvalidArgument, "unknown compression algorithm", ""};
}

}  // namespace hexad::compression
