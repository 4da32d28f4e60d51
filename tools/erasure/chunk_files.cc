#include "tools/erasure/chunk_files.h"

#include <errno.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/checksum.h"
#include "base/units.h"
#include "ec/codec.h"
#include "tools/cli/file.h"
#include "tools/cli/interrupt.h"

namespace hexad::tools {

namespace {

std::string chunk_path(const std::string& out, std::uint32_t index) {
  return fmt::format("{}.{}", out, index);
}

Status check_parity(const ec::Profile& profile) {
  if (profile.m > 0) return {};
  return Error{
      ErrorCode::kInvalidArgument,
      fmt::format("{} has no parity, which is what the chunks are for", ec::to_string(profile)),
      "Take a profile with parity, such as 4+2."};
}

// Bytes of each chunk handled at a time: about 1 MiB, a multiple of what the code works on.
std::uint64_t piece_size(const ec::Profile& profile) {
  return round_up(1_MiB, ec::alignment(profile));
}

// Fills `into` from `offset`; zeros behind the end of the file. Returns the bytes that were there.
Result<std::uint64_t> read_at(int fd, std::uint64_t offset, MutByteView into,
                              const std::string& path) {
  std::uint64_t done = 0;
  while (done < into.size()) {
    const ssize_t count =
        pread(fd, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error(errno, path, "cannot read");
    if (count == 0) break;
    done += static_cast<std::uint64_t>(count);
  }
  fill_zero(into.subspan(static_cast<std::size_t>(done)));
  return done;
}

Result<std::uint64_t> regular_file_size(int fd, const std::string& path) {
  struct stat info = {};
  if (fstat(fd, &info) != 0) return system_error(errno, path, "cannot look at");
  if (!S_ISREG(info.st_mode)) {
    return Error{ErrorCode::kInvalidArgument, path + " is not a regular file",
                 "Coding reads several places of the file at once; store a pipe in a file first."};
  }
  return static_cast<std::uint64_t>(info.st_size);
}

using Pieces = std::vector<Bytes>;

std::vector<MutByteView> views_of(Pieces& pieces, std::uint64_t size) {
  std::vector<MutByteView> views;
  for (Bytes& piece : pieces) views.emplace_back(piece.data(), static_cast<std::size_t>(size));
  return views;
}

// The chunks that can be used, and what is wrong with the others.
struct OpenChunks {
  std::vector<Fd> files;  // k+m; invalid where the chunk is not used
  ec::ShardSet present;
  std::uint64_t chunk = 0;  // bytes
};

Result<std::uint32_t> crc_of(int fd, std::uint64_t size, const std::string& path) {
  Bytes piece(1_MiB);
  std::uint32_t crc = 0;
  for (std::uint64_t at = 0; at < size; at += piece.size()) {
    if (interrupted()) return interrupted_error();
    const std::size_t length =
        static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), size - at));
    HEXAD_TRY(read_at(fd, at, {piece.data(), length}, path));
    crc = crc32c({piece.data(), length}, crc);
  }
  return crc;
}

// Whether the chunk is as long as it should be and what OUT.meta, when there is one, says of it.
Result<bool> is_good(int fd, std::uint32_t index, std::uint64_t chunk,
                     const std::optional<ChunkMeta>& meta, const std::string& path) {
  HEXAD_TRY_ASSIGN(const std::uint64_t size, regular_file_size(fd, path));
  if (size != chunk) return false;
  if (!meta) return true;
  HEXAD_TRY_ASSIGN(const std::uint32_t crc, crc_of(fd, chunk, path));
  return crc == meta->crc32c[index];
}

Result<OpenChunks> open_chunks(const std::string& out, const ec::Profile& profile,
                               std::uint64_t length, const std::optional<ChunkMeta>& meta,
                               DecodeReport& report) {
  OpenChunks chunks;
  chunks.chunk = chunk_size(profile, length);
  for (std::uint32_t i = 0; i < profile.shards(); ++i) {
    const std::string path = chunk_path(out, i);
    Result<Fd> file = open_input(path);
    bool good = false;
    if (file.ok()) {
      HEXAD_TRY_ASSIGN(good, is_good(file->get(), i, chunks.chunk, meta, path));
      if (!good) report.damaged.push_back(i);
    } else if (file.error().code == ErrorCode::kNotFound) {
      report.missing.push_back(i);
    } else {
      report.damaged.push_back(i);
    }
    if (good) chunks.present.add(i);
    chunks.files.push_back(good ? std::move(*file) : Fd());
  }
  if (chunks.present.size() >= profile.k) return chunks;
  return Error{ErrorCode::kUnavailable,
               fmt::format("{}: {} of {} chunks are good, {} are needed ({} missing, {} damaged or "
                           "not of {} bytes)",
                           out, chunks.present.size(), profile.shards(), profile.k,
                           report.missing.size(), report.damaged.size(), chunks.chunk),
               "Bring more of the files " + out + ".N back."};
}

// OUT.meta, if it is there.
Result<std::optional<ChunkMeta>> read_meta(const std::string& out) {
  const std::string path = out + ".meta";
  const Result<Fd> file = open_input(path);
  if (!file.ok() && file.error().code == ErrorCode::kNotFound) return std::optional<ChunkMeta>();
  if (!file.ok()) return file.error();
  Bytes text(64_KiB);
  HEXAD_TRY_ASSIGN(const std::uint64_t size, read_full(file->get(), text, path));
  const Result<ChunkMeta> meta =
      parse_meta(as_text(ByteView(text.data(), static_cast<std::size_t>(size))));
  if (!meta.ok()) return meta.error().with_context(path);
  return std::optional<ChunkMeta>(*meta);
}

Result<ec::Profile> choose_profile(const std::string& out, const DecodeRequest& request,
                                   const std::optional<ChunkMeta>& meta) {
  if (!meta && (request.shape.empty() || !request.length)) {
    return Error{ErrorCode::kInvalidArgument, out + ".meta is not there",
                 "Say with --profile, --codec and --length what it would have said."};
  }
  if (!meta) {
    HEXAD_TRY_ASSIGN(const ec::Profile profile, ec::parse_profile(request.shape, request.codec));
    HEXAD_TRY(check_parity(profile));
    return profile;
  }
  const std::string shape = request.shape.empty() ? ec::to_string(meta->profile) : request.shape;
  const std::string codec =
      request.codec.empty() ? ec::codec_to_string(meta->profile) : request.codec;
  HEXAD_TRY_ASSIGN(const ec::Profile profile, ec::parse_profile(shape, codec));
  HEXAD_TRY(check_parity(profile));
  if (profile == meta->profile) return profile;
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("{}.meta says {} {}, not {} {}", out, ec::to_string(meta->profile),
                           ec::codec_to_string(meta->profile), ec::to_string(profile),
                           ec::codec_to_string(profile)),
               "Leave out --profile and --codec, or remove the file."};
}

}  // namespace

Result<ChunkMeta> encode_chunks(const std::string& file, const std::string& out,
                                const ec::Profile& profile, Progress& progress) {
  HEXAD_TRY(check_parity(profile));
  HEXAD_TRY_ASSIGN(const std::unique_ptr<ec::Codec> codec, ec::make_codec(profile));
  HEXAD_TRY_ASSIGN(const Fd input, open_input(file));
  ChunkMeta meta{profile, 0, 0, std::vector<std::uint32_t>(profile.shards())};
  HEXAD_TRY_ASSIGN(meta.length, regular_file_size(input.get(), file));
  meta.chunk = chunk_size(profile, meta.length);

  std::vector<OutputFile> outputs;
  for (std::uint32_t i = 0; i < profile.shards(); ++i) {
    HEXAD_TRY_ASSIGN(OutputFile output, OutputFile::create(chunk_path(out, i)));
    outputs.push_back(std::move(output));
  }
  HEXAD_TRY_ASSIGN(OutputFile meta_output, OutputFile::create(out + ".meta"));

  const std::uint64_t step = std::min(piece_size(profile), meta.chunk);
  Pieces pieces(profile.shards(), Bytes(static_cast<std::size_t>(step)));
  for (std::uint64_t at = 0; at < meta.chunk; at += step) {
    const std::uint64_t size = std::min(step, meta.chunk - at);
    const std::vector<MutByteView> views = views_of(pieces, size);
    for (std::uint32_t i = 0; i < profile.k; ++i) {
      HEXAD_TRY(read_at(input.get(), i * meta.chunk + at, views[i], file));
    }
    const std::vector<ByteView> data(views.begin(), views.begin() + profile.k);
    HEXAD_TRY(codec->encode(data, std::span(views).subspan(profile.k)));
    for (std::uint32_t i = 0; i < profile.shards(); ++i) {
      HEXAD_TRY(outputs[i].write(views[i]));
      meta.crc32c[i] = crc32c(views[i], meta.crc32c[i]);
    }
    progress.advance(size * profile.k);
  }
  HEXAD_TRY(meta_output.write(as_bytes(encode_meta(meta))));
  for (OutputFile& output : outputs) HEXAD_TRY(output.commit());
  HEXAD_TRY(meta_output.commit());
  return meta;
}

Result<DecodeReport> decode_chunks(const std::string& file, const std::string& out,
                                   const DecodeRequest& request, Progress& progress) {
  HEXAD_TRY_ASSIGN(const std::optional<ChunkMeta> meta, read_meta(out));
  HEXAD_TRY_ASSIGN(const ec::Profile profile, choose_profile(out, request, meta));
  DecodeReport report;
  report.length = request.length ? *request.length : meta->length;
  HEXAD_TRY_ASSIGN(const std::unique_ptr<ec::Codec> codec, ec::make_codec(profile));
  HEXAD_TRY_ASSIGN(const OpenChunks chunks, open_chunks(out, profile, report.length, meta, report));
  HEXAD_TRY_ASSIGN(OutputFile output, OutputFile::create(file));

  const ec::ShardSet wanted = ec::ShardSet::first(profile.k) - chunks.present;
  const std::uint64_t step = std::min(piece_size(profile), chunks.chunk);
  Pieces pieces(profile.shards(), Bytes(static_cast<std::size_t>(step)));
  // The file is the data chunks one after the other: each in turn is read, or rebuilt from k others
  // piece by piece.
  for (std::uint32_t i = 0; i < profile.k; ++i) {
    const ec::ShardSet sources = wanted.contains(i) ? chunks.present : ec::ShardSet{i};
    const std::uint64_t start = i * chunks.chunk;
    const std::uint64_t end = std::min(start + chunks.chunk, report.length);
    for (std::uint64_t at = 0; start + at < end; at += step) {
      const std::uint64_t size = std::min(step, chunks.chunk - at);
      const std::vector<MutByteView> views = views_of(pieces, size);
      std::uint32_t used = 0;
      for (const ec::ShardIndex source : sources) {
        if (++used > profile.k) break;
        HEXAD_TRY(read_at(chunks.files[source].get(), at, views[source], chunk_path(out, source)));
      }
      if (wanted.contains(i)) {
        HEXAD_TRY(codec->reconstruct_wanted(views, chunks.present, ec::ShardSet{i}));
      }
      HEXAD_TRY(output.write(
          ByteView(views[i]).first(static_cast<std::size_t>(std::min(size, end - start - at)))));
      progress.advance(size);
    }
  }
  HEXAD_TRY(output.commit());
  return report;
}

}  // namespace hexad::tools
