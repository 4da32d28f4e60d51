// Any bytes as a key of the metadata: what is accepted as one of a kind is made again from its
// parts, and no key is of two kinds. And parts of names, against a look at every name.
#include <cstdint>
#include <string>
#include <vector>

#include "base/assert.h"
#include "base/codec.h"
#include "core/record/keys.h"
#include "core/record/name_parts.h"
#include "tools/build/fuzz_seeds.h"

using namespace hexad;
using namespace hexad::core;

namespace {

// How many kinds the key is of.
int kinds_of(std::string_view key) {
  int kinds = 0;
  const auto is = [&](const std::string& again) {
    ++kinds;
    HEXAD_ASSERT(again == key);
  };
  if (const auto at = parse_forward_key(key); at.ok()) {
    is(forward_key(at->zone, at->unit, at->list));
  }
  if (const auto at = parse_object_key(key); at.ok()) is(object_key(at->space, at->name));
  if (const auto at = parse_omap_key(key); at.ok()) is(omap_key(at->omap, at->key));
  if (const auto at = parse_layer_key(key); at.ok()) is(layer_key(*at));
  if (const auto at = parse_share_key(key); at.ok()) is(share_key(*at));
  if (const auto at = parse_totals_key(key); at.ok()) is(totals_key(*at));
  if (const auto at = parse_deletion_key(key); at.ok()) is(deletion_key(at->space, at->from));
  if (const auto at = parse_page_key(key); at.ok()) is(page_key(at->body, at->page));
  if (const auto at = parse_writer_key(key); at.ok()) is(writer_key(*at));
  if (const auto at = parse_zone_key(key); at.ok()) is(zone_key(*at));
  if (const auto at = parse_collection_key(key); at.ok()) is(collection_key(*at));
  return kinds;
}

void try_prefix(std::string_view prefix) {
  const std::optional<std::string> end = prefix_end(prefix);
  if (!end.has_value()) {
    HEXAD_ASSERT(prefix.find_first_not_of('\xff') == std::string_view::npos);
    return;
  }
  HEXAD_ASSERT(std::string(prefix) + "\xff\xff" < *end && *end > prefix);
  HEXAD_ASSERT(!end->starts_with(prefix));
}

// Names are one or two letters, so that every one of them can be asked for.
std::string small_name(std::uint8_t byte) {
  std::string name;
  if ((byte & 3) != 0) name.push_back(static_cast<char>('a' + (byte & 3)));
  if ((byte & 12) != 0) name.push_back(static_cast<char>('a' + (byte >> 2 & 3)));
  return name;
}

NameParts parts_of(Decoder& in) {
  NameParts parts = {{"", in.u8() % 3u}};
  for (std::size_t count = in.u8() % 6; count > 0; --count) {
    const std::string from = small_name(in.u8());
    const CollectionId space = in.u8() % 3u;
    if (from > parts.back().from && space != parts.back().space) parts.push_back({from, space});
  }
  return parts;
}

void try_parts(Decoder in) {
  const NameParts parts = parts_of(in);
  const NameParts other = parts_of(in);
  const std::string from = small_name(in.u8());
  const std::string end = small_name(in.u8());
  HEXAD_ASSERT(joined(ranges_of(parts)) == parts);
  const std::vector<NameRange> ranges = ranges_of(parts, from, end);
  const bool any = end.empty() || from < end;
  const NameParts mixed = any ? with_range_of(parts, other, from, end) : parts;
  for (int byte = 0; byte < 16; ++byte) {
    const std::string name = small_name(static_cast<std::uint8_t>(byte));
    const bool inside = any && name >= from && (end.empty() || name < end);
    int found = 0;
    for (const NameRange& range : ranges) {
      const std::string key = object_key(space_of(parts, name), name);
      if (range.has_key(key)) ++found;
    }
    HEXAD_ASSERT(found == (inside ? 1 : 0));
    HEXAD_ASSERT(space_of(mixed, name) == space_of(inside ? other : parts, name));
  }
}

}  // namespace

std::vector<std::string> hexad::testing::fuzz_seeds() {
  const std::uint64_t id = std::uint64_t{7} << 32 | 9;
  return {collection_key("default"),
          deletion_key(300, "a/"),
          deletion_key(300, ""),
          forward_key(3, 9, object_key(258, "ab")),
          layer_key(id),
          meta_key("counters"),
          object_key(258, "ab"),
          omap_key(id, "key"),
          omap_prefix(id),
          share_key(id),
          totals_key(300),
          writer_key(id),
          page_key(id, 2),
          zone_key(17),
          "\xff\xff"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view key(reinterpret_cast<const char*>(data), size);
  HEXAD_ASSERT(kinds_of(key) <= 1);
  try_prefix(key);
  try_parts(Decoder(key));
  return 0;
}
