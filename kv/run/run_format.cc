#include "kv/run/run_format.h"

#include <zstd.h>

#include <utility>

#include "base/checksum.h"
#include "base/codec.h"
#include "base/units.h"
#include "base/uuid_codec.h"

namespace hexad::kv {
namespace {

constexpr std::string_view kMagic = "HEXADRUN";
constexpr std::uint32_t kVersion = 1;
constexpr int kLevel = 1;  // of zstd

Error corrupt(std::string what) { return Error{ErrorCode::kCorruption, std::move(what), ""}; }

// zstd's working space, one for each thread that ever writes or reads a run.
struct Contexts {
  Contexts() = default;
  Contexts(const Contexts&) = delete;
  Contexts& operator=(const Contexts&) = delete;
  ~Contexts() {
    ZSTD_freeCCtx(compressor);
    ZSTD_freeDCtx(decompressor);
  }
  ZSTD_CCtx* compressor = nullptr;
  ZSTD_DCtx* decompressor = nullptr;
};

Contexts& contexts() {
  thread_local Contexts of_this_thread;
  return of_this_thread;
}

Error no_memory() {
  return Error{ErrorCode::kUnavailable, "run: no memory for the working space of zstd",
               "Free memory on this machine and try again."};
}

std::uint32_t crc_of(std::uint64_t offset, ByteView stored) {
  std::string place;
  Encoder(place).le64(offset);
  return crc32c(stored, crc32c(as_bytes(place)));
}

void encode_address(Encoder& out, const RunBlockAddress& address) {
  out.varint(address.offset);
  out.varint(address.stored);
  out.varint(address.raw - address.stored);
  out.le32(address.crc);
}

// `limit`: of its bytes before compression.
RunBlockAddress decode_address(Decoder& in, std::uint32_t limit, std::uint64_t end) {
  RunBlockAddress address;
  address.offset = in.varint_up_to(end);
  address.stored = static_cast<std::uint32_t>(in.varint_up_to(limit));
  address.raw =
      address.stored + static_cast<std::uint32_t>(in.varint_up_to(limit - address.stored));
  address.crc = in.le32();
  if (address.stored == 0 || address.stored > end - address.offset) in.fail();  // RB2
  return address;
}

RunChild decode_child(Decoder& in, RunBlockKind kind, std::uint64_t end) {
  RunChild child;
  child.block =
      decode_address(in, kind == RunBlockKind::kData ? kMaxRunDataBlock : kMaxRunIndexBlock, end);
  if (kind == RunBlockKind::kLeaf) child.filter = decode_address(in, kMaxRunIndexBlock, end);
  return child;
}

void encode_child(Encoder& out, const RunChild& child) {
  encode_address(out, child.block);
  if (child.filter.has_value()) encode_address(out, *child.filter);
}

}  // namespace

std::string encode_run_child(const RunChild& child) {
  std::string bytes;
  Encoder out(bytes);
  encode_child(out, child);
  return bytes;
}

Result<RunChild> decode_run_child(std::string_view value, RunBlockKind kind, std::uint64_t end) {
  Decoder in(value);
  const RunChild child = decode_child(in, kind, end);
  HEXAD_TRY(in.finish("address of a block"));
  return child;
}

Result<StoredRunBlock> store_run_block(std::string raw, std::uint64_t offset, RunPacking packing) {
  HEXAD_ASSERT(!raw.empty() && raw.size() <= kMaxRunDataBlock);
  StoredRunBlock block;
  block.address.offset = offset;
  block.address.raw = static_cast<std::uint32_t>(raw.size());
  if (packing == RunPacking::kCompress) {
    ZSTD_CCtx*& context = contexts().compressor;
    if (context == nullptr) context = ZSTD_createCCtx();
    if (context == nullptr) return no_memory();
    std::string packed(raw.size() - 1, '\0');
    const std::size_t size =
        ZSTD_compressCCtx(context, packed.data(), packed.size(), raw.data(), raw.size(), kLevel);
    // The only other error is that it would not be shorter.
    if (!ZSTD_isError(size)) {
      packed.resize(size);
      raw = std::move(packed);
    }
  }
  block.bytes = std::move(raw);
  block.address.stored = static_cast<std::uint32_t>(block.bytes.size());
  block.address.crc = crc_of(offset, as_bytes(block.bytes));
  return block;
}

RunBlockAddress move_run_block(const RunBlockAddress& from, ByteView stored, std::uint64_t offset) {
  HEXAD_ASSERT(stored.size() == from.stored);
  return {offset, from.stored, from.raw, crc_of(offset, stored)};
}

Status check_run_block(const RunBlockAddress& address, ByteView stored) {
  HEXAD_ASSERT(stored.size() == address.stored && address.stored <= address.raw);
  if (crc_of(address.offset, stored) != address.crc) return corrupt("checksum mismatch");
  return {};
}

Result<std::string> load_run_block(const RunBlockAddress& address, ByteView stored) {
  HEXAD_TRY(check_run_block(address, stored));
  if (address.stored == address.raw) return std::string(as_text(stored));
  ZSTD_DCtx*& context = contexts().decompressor;
  if (context == nullptr) context = ZSTD_createDCtx();
  if (context == nullptr) return no_memory();
  std::string raw(address.raw, '\0');
  const std::size_t size =
      ZSTD_decompressDCtx(context, raw.data(), raw.size(), stored.data(), stored.size());
  if (ZSTD_isError(size) || size != raw.size()) {
    return corrupt("not the compressed form of " + std::to_string(raw.size()) + " B");
  }
  return raw;
}

std::string encode_run_footer(RunFooter& footer) {
  std::string bytes;
  Encoder out(bytes);
  out.raw(kMagic);
  out.le32(kVersion);
  encode_uuid(out, footer.store);
  out.le64(footer.info.first_lsn);
  out.le64(footer.info.last_lsn);
  out.le64(footer.info.bytes);
  out.le64(footer.info.entries);
  out.le64(footer.info.tombstones);
  out.u8(static_cast<std::uint8_t>(footer.levels));
  if (footer.levels > 0) encode_child(out, footer.root);
  HEXAD_ASSERT(out.size() <= kRunFooterSize - 4);
  out.zeros(kRunFooterSize - 4 - out.size());
  footer.info.footer_crc = crc32c(as_bytes(bytes));
  out.le32(footer.info.footer_crc);
  return bytes;
}

Result<RunFooter> decode_run_footer(ByteView bytes) {
  if (bytes.size() != kRunFooterSize) return corrupt("shorter than its footer");
  if (as_text(bytes.first(kMagic.size())) != kMagic) return corrupt("no magic");
  Decoder in(bytes);
  in.raw(kMagic.size());
  const std::uint32_t version = in.le32();
  RunFooter footer;
  footer.store = decode_uuid(in);
  footer.info.first_lsn = in.le64();
  footer.info.last_lsn = in.le64();
  footer.info.bytes = in.le64();
  footer.info.entries = in.le64();
  footer.info.tombstones = in.le64();
  footer.info.footer_crc = Decoder(bytes.last(4)).le32();
  if (footer.info.footer_crc != crc32c(bytes.first(kRunFooterSize - 4))) {
    return corrupt("footer checksum mismatch");
  }
  if (version != kVersion) {
    return Error{ErrorCode::kUnsupported, "a run of version " + std::to_string(version),
                 "Open the store with the version of hexad that wrote it, or a later one."};
  }
  footer.levels = in.u8();
  if (footer.info.bytes < kRunFooterSize || footer.levels > kMaxRunLevels) in.fail();
  if (in.ok() && footer.levels > 0) {
    footer.root = decode_child(in, footer.levels == 1 ? RunBlockKind::kLeaf : RunBlockKind::kIndex,
                               footer.info.bytes - kRunFooterSize);
  }
  const RunInfo& info = footer.info;
  if (info.first_lsn > info.last_lsn || info.tombstones > info.entries ||
      (footer.levels == 0) != (info.entries == 0)) {
    in.fail();
  }
  if (in.remaining() >= 4) in.zeros(in.remaining() - 4);
  in.le32();
  HEXAD_TRY(in.finish("footer"));
  return footer;
}

}  // namespace hexad::kv
