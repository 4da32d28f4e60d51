// Any bytes as each part of a run: as a block, an address, a footer, the compressed form of a
// block; and as the content of a run whose checksums fit, which is then walked and checked.
#include <cstdint>
#include <memory>
#include <string>

#include "base/assert.h"
#include "base/checksum.h"
#include "base/codec.h"
#include "kv/run/run_reader.h"
#include "tests/kv/run_model.h"

using namespace hexad;
using namespace hexad::kv;

namespace {

// Blocks as the input has them, in an index as the input has it.
void walk_crafted(Decoder in) {
  testing::WrittenRun run;
  std::string& bytes = run.file->bytes;
  const auto put = [&](std::string_view raw) {
    const StoredRunBlock block =
        store_run_block(std::string(raw.empty() ? "x" : raw), bytes.size(), RunPacking::kPlain)
            .value();
    bytes += block.bytes;
    return block.address;
  };
  RunBlockBuilder index;
  std::string key;
  for (int i = 0; i < 3 && in.remaining() > 0; ++i) {
    const std::uint8_t size = in.u8();
    const RunBlockAddress address = put(in.raw(size < in.remaining() ? size : in.remaining()));
    key.push_back(static_cast<char>(in.u8()));
    index.add(key, encode_run_child({address, std::nullopt}));
  }
  if (index.empty()) return;
  RunFooter footer;
  footer.store = testing::run_store();
  footer.levels = 1;
  footer.root.filter = put(std::string(8, '\xff'));
  footer.root.block =
      put(in.remaining() > 4 ? std::string(in.rest()) : index.encode(RunBlockForm::kRows));
  footer.info.entries = 3;
  footer.info.bytes = bytes.size() + kRunFooterSize;
  bytes += encode_run_footer(footer);
  run.info = footer.info;
  const std::shared_ptr<RunReader> reader = run.open();
  reader->verify().ignore();
  const auto cursor = reader->cursor();
  Status status = cursor->seek_to_first();
  while (status.ok() && cursor->valid()) status = cursor->next();
  status = cursor->seek_to_last();
  while (status.ok() && cursor->valid()) status = cursor->prev();
  cursor->seek(key).ignore();
  cursor->seek_before(key).ignore();
  reader->get(key).status().ignore();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView input(reinterpret_cast<const std::byte*>(data), size);
  const std::string text(as_text(input));
  if (size > kMaxRunIndexBlock) return 0;

  if (const Result<RunBlock> block = RunBlock::parse(text); block.ok()) {
    std::string before;
    std::string key;
    for (std::size_t at = 0; at < block->count(); ++at) {
      block->read_key(at, key);
      HEXAD_ASSERT(before < key && block->lower_bound(key) == at);  // RB1
      before = key;
    }
    HEXAD_ASSERT(block->memory() <= 8 * size + 1000);
  }
  for (const RunBlockKind kind : {RunBlockKind::kData, RunBlockKind::kLeaf, RunBlockKind::kIndex}) {
    const Result<RunChild> child = decode_run_child(text, kind, 1 << 20);
    HEXAD_ASSERT(!child.ok() || encode_run_child(*child) == text);
  }
  decode_run_footer(input).status().ignore();
  if (size > 2) {
    Decoder in(input);
    RunBlockAddress address;
    address.raw = static_cast<std::uint32_t>(size - 2) + in.le16();
    address.stored = static_cast<std::uint32_t>(size - 2);
    std::string place;
    Encoder(place).le64(0);
    address.crc = crc32c(input.subspan(2), crc32c(as_bytes(place)));
    load_run_block(address, input.subspan(2)).status().ignore();
  }
  walk_crafted(Decoder(input));
  return 0;
}
