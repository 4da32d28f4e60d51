// Any bytes as what the index in LMDB stores: its LSN marker, and entries of its tables, with
// checksums that fit and without. Many entries at once are read as each of them is.
#include <cstdint>
#include <string>
#include <vector>

#include "base/assert.h"
#include "base/checksum.h"
#include "base/codec.h"
#include "kv/lmdb/lmdb_state.h"
#include "kv/lmdb/long_key.h"
#include "tests/format/golden_bytes.h"
#include "tools/build/fuzz_seeds.h"

using namespace hexad;
using namespace hexad::kv;

namespace {

constexpr std::size_t kCrc = 4;  // bytes

std::string le32(std::uint32_t value) {
  std::string text;
  Encoder(text).le32(value);
  return text;
}

void try_state(std::string_view sealed) {
  const std::string bytes = std::string(sealed) + le32(crc32c(as_bytes(sealed)));
  const Result<LmdbState> state = decode_lmdb_state(bytes);
  if (state.ok()) HEXAD_ASSERT(encode_lmdb_state(*state) == bytes);
}

struct Entry {
  std::string key;
  std::string stored;
};

// A byte of flags, sizes, and then both; as many as there are.
std::vector<Entry> entries_of(Decoder in) {
  std::vector<Entry> entries;
  while (in.remaining() > 0 && entries.size() < 10) {
    const std::uint8_t flags = in.u8();
    // Around the longest key that stands in one piece.
    const std::size_t wanted = (flags & 1) != 0 ? kInlineKey - 2 + in.u8() % 5 : in.u8();
    Entry entry;
    entry.key = in.raw(std::min(wanted, in.remaining()));
    entry.key.resize((flags & 1) != 0 ? wanted : entry.key.size(), 'k');
    const std::size_t size = in.u8();
    entry.stored = in.raw(std::min(size, in.remaining()));
    if (entry.stored.size() >= kCrc && (flags & 2) == 0) {
      const ByteView covered = as_bytes(entry.stored).subspan(kCrc);
      entry.stored.replace(0, kCrc, le32(crc32c(covered, crc32c(as_bytes(entry.key)))));
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

void try_entries(const std::vector<Entry>& entries) {
  std::vector<KeyValue> all;
  std::size_t sound = 0;
  bool so_far = true;
  for (const Entry& entry : entries) {
    all.push_back({entry.key, entry.stored});
    const Result<std::string_view> value = decode_long_value(entry.key, entry.stored);
    const Result<std::uint64_t> marker = decode_long_marker(entry.key, entry.stored);
    HEXAD_ASSERT(!value.ok() || !marker.ok());
    if (value.ok()) HEXAD_ASSERT(value->size() + kCrc + 1 == entry.stored.size());
    so_far = so_far && value.ok() && entry.key.size() <= kInlineKey;
    if (so_far) ++sound;
  }
  HEXAD_ASSERT(decode_long_values(all) == sound);
  for (std::size_t i = 0; i < sound; ++i) {
    HEXAD_ASSERT(all[i].value == *decode_long_value(entries[i].key, entries[i].stored));
  }
}

}  // namespace

std::vector<std::string> hexad::testing::fuzz_seeds() {
  const std::string state(golden_bytes("lmdb_state"));
  const std::string value = std::string(1, '\0') + "\x03key\x0a" + "0000\x01value";
  const std::string marker = std::string("\x01\x03", 2) + std::string(kInlineKey + 1, 'k') +
                             "\x0d" + "0000\x02" + "12345678";
  return {state.substr(0, state.size() - kCrc), value, value + value + value + marker + value,
          marker};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView input(reinterpret_cast<const std::byte*>(data), size);
  decode_lmdb_state(as_text(input)).status().ignore();
  try_state(as_text(input));
  try_entries(entries_of(Decoder(input)));
  return 0;
}
