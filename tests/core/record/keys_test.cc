#include "core/record/keys.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

namespace hexad::core {
namespace {

TEST_CASE("keys: every key comes back as its parts") {
  const std::string long_name(kMaxNameSize, '\xff');
  for (const std::string& name : {std::string("a"), std::string("\0b", 2), long_name}) {
    for (const CollectionId collection : {0u, 1u, 0xffffffffu}) {
      const std::string key = object_key(collection, name);
      REQUIRE(key.size() <= kMaxKeySize);
      REQUIRE(parse_object_key(key)->space == collection);
      REQUIRE(parse_object_key(key)->name == name);
      REQUIRE(key.starts_with(object_prefix(collection)));
    }
    REQUIRE(*parse_collection_key(collection_key(name)) == name);
  }
  const BodyId body = 0x0102030405060708;
  const ShareId share{body.value()};
  REQUIRE(*parse_writer_key(writer_key(body)) == body);
  REQUIRE(*parse_totals_key(totals_key(0xfffffffe)) == 0xfffffffe);
  REQUIRE(*parse_layer_key(layer_key(body)) == body);
  REQUIRE(*parse_share_key(share_key(share)) == share);
  REQUIRE_FALSE(parse_layer_key(share_key(share)).ok());
  REQUIRE_FALSE(parse_share_key(layer_key(body)).ok());
  REQUIRE_FALSE(parse_share_key(share_key(share) + "x").ok());
  REQUIRE_FALSE(parse_totals_key(object_key(1, "x")).ok());
  REQUIRE_FALSE(parse_totals_key(totals_key(1) + "x").ok());
  REQUIRE_FALSE(has_extents(totals_key(1)));
  for (const std::string& key : {std::string(), std::string("\0", 1), long_name}) {
    REQUIRE(omap_key(body, key).size() <= kMaxKeySize);
    REQUIRE(parse_omap_key(omap_key(body, key))->omap == body);
    REQUIRE(parse_omap_key(omap_key(body, key))->key == key);
  }
  REQUIRE(has_extents(omap_key(body, "k")));
  REQUIRE_FALSE(parse_omap_key(omap_key(body, long_name + "x")).ok());
  REQUIRE_FALSE(parse_omap_key(omap_prefix(body).substr(0, 8)).ok());
  REQUIRE_FALSE(parse_omap_key(page_key(body, 1)).ok());
  for (const std::string& from : {std::string(), std::string("\0", 1), long_name}) {
    REQUIRE(parse_deletion_key(deletion_key(0xfffffffe, from))->space == 0xfffffffe);
    REQUIRE(parse_deletion_key(deletion_key(0xfffffffe, from))->from == from);
    REQUIRE(deletion_key(0xfffffffe, from).size() <= kMaxKeySize);
  }
  REQUIRE_FALSE(parse_deletion_key(totals_key(1)).ok());
  REQUIRE_FALSE(parse_deletion_key(deletion_key(1, "").substr(0, 4)).ok());
  REQUIRE_FALSE(parse_deletion_key(deletion_key(1, long_name + "x")).ok());
  for (const std::string& list :
       {object_key(7, long_name), omap_key(body, long_name), page_key(body, 1)}) {
    const std::string key = forward_key(0xfffffffe, 9, list);
    REQUIRE(key.size() <= kMaxForwardKeySize);
    REQUIRE(unplaced_forward_key(~Lsn{0}, 0xfffffffe, list).size() <= kMaxForwardKeySize);
    REQUIRE(parse_forward_key(key)->zone == 0xfffffffe);
    REQUIRE(parse_forward_key(key)->unit == 9);
    REQUIRE(parse_forward_key(key)->list == list);
    REQUIRE(key.starts_with(forward_prefix(0xfffffffe, 9)));
    REQUIRE_FALSE(parse_forward_key(forward_key(1, 0, list)).ok());
    REQUIRE_FALSE(parse_forward_key(unplaced_forward_key(1, 9, list)).ok());
  }
  REQUIRE_FALSE(parse_forward_key(forward_prefix(1, 9)).ok());
  REQUIRE_FALSE(parse_forward_key(forward_key(1, 9, totals_key(1))).ok());
  REQUIRE_FALSE(has_extents(forward_key(1, 9, page_key(body, 1))));
  REQUIRE(parse_page_key(page_key(body, 0xfffffffe))->body == body);
  REQUIRE(parse_page_key(page_key(body, 0xfffffffe))->page == 0xfffffffe);
  REQUIRE(page_key(body, 1).starts_with(page_prefix(body)));
  REQUIRE(*parse_zone_key(zone_key(77)) == 77);
  REQUIRE(meta_key("counters") == "mcounters");
}

TEST_CASE("keys: one for a look-up has the same bytes, long or short") {
  for (const std::size_t length : {0, 1, 14, 15, 98, 99, 100, 103, 104, 105, 1024}) {
    CAPTURE(length);
    const std::string name(length, 'n');
    for (const CollectionId space : {0u, 1u, 0x01020304u, 0xfffefdfcu}) {
      const LookupKey object = LookupKey::object(space, name);
      const LookupKey copy = object;
      REQUIRE(std::string_view(object) == object_key(space, name));
      REQUIRE(std::string_view(copy) == object_key(space, name));
    }
    REQUIRE(std::string_view(LookupKey::collection(name)) == collection_key(name));
  }
}

TEST_CASE("keys: objects sort by collection, then by name; pages by body, then by number") {
  const std::vector<std::string> in_order = {collection_key("default"),
                                             deletion_key(1, ""),
                                             deletion_key(1, "a"),
                                             deletion_key(2, ""),
                                             forward_key(1, 9, page_key(1, 0)),
                                             forward_key(1, 10, object_key(1, "a")),
                                             cut_key(1),
                                             cut_key(0x100000000),
                                             layer_key(1),
                                             meta_key("next"),
                                             object_key(1, "a"),
                                             object_key(1, "a\x01"),
                                             object_key(1, "b"),
                                             object_key(1, "\xff"),
                                             object_key(2, "a"),
                                             object_key(256, "a"),
                                             object_key(0x10000, "a"),
                                             omap_key(1, ""),
                                             omap_key(1, "a"),
                                             omap_key(256, ""),
                                             writer_key(1),
                                             writer_key(0x100000000),
                                             page_key(1, 0),
                                             page_key(1, 1),
                                             page_key(1, 256),
                                             page_key(2, 0),
                                             unplaced_forward_key(9, 1, page_key(1, 0)),
                                             zone_key(0),
                                             zone_key(1),
                                             zone_key(256)};
  REQUIRE(std::is_sorted(in_order.begin(), in_order.end()));
}

TEST_CASE("keys: what is no key of the kind is damage") {
  const std::vector<std::string> keys = {"",
                                         "o",
                                         "q",
                                         collection_key("x"),
                                         object_key(1, "x"),
                                         object_prefix(1),
                                         object_key(1, std::string(kMaxNameSize + 1, 'x')),
                                         collection_key(std::string(kMaxNameSize + 1, 'x')),
                                         "c",
                                         cut_key(1),
                                         cut_key(1) + "x",
                                         writer_key(1),
                                         writer_key(1) + "x",
                                         page_key(1, 2),
                                         page_prefix(1),
                                         zone_key(1),
                                         zone_key(1) + "x"};
  for (const std::string& key : keys) {
    CAPTURE(key);
    const auto check = [&](const auto& parsed, const std::string& only) {
      REQUIRE(parsed.ok() == (key == only));
      if (!parsed.ok()) REQUIRE(parsed.error().code == ErrorCode::kCorruption);
    };
    check(parse_object_key(key), object_key(1, "x"));
    check(parse_collection_key(key), collection_key("x"));
    check(parse_page_key(key), page_key(1, 2));
    check(parse_cut_key(key), cut_key(1));
    check(parse_writer_key(key), writer_key(1));
    check(parse_zone_key(key), zone_key(1));
  }
}

TEST_CASE("keys: every truncation of a key is refused") {
  for (const std::string& key : {page_key(1, 2), writer_key(3), zone_key(4), object_key(5, "n")}) {
    for (std::size_t size = 0; size < key.size(); ++size) {
      const std::string_view cut = std::string_view(key).substr(0, size);
      REQUIRE_FALSE(parse_object_key(cut).ok());
      REQUIRE_FALSE(parse_page_key(cut).ok());
      REQUIRE_FALSE(parse_zone_key(cut).ok());
      if (key[0] == 'w') REQUIRE_FALSE(parse_writer_key(cut).ok());
    }
  }
}

TEST_CASE("keys: prefix_end is the first string behind all that start with the prefix") {
  REQUIRE_FALSE(prefix_end("").has_value());
  REQUIRE_FALSE(prefix_end("\xff").has_value());
  REQUIRE_FALSE(prefix_end("\xff\xff").has_value());
  REQUIRE(*prefix_end("a") == "b");
  REQUIRE(*prefix_end("a\xff") == "b");
  REQUIRE(*prefix_end("a\xff\xff") == "b");
  REQUIRE(*prefix_end("\x7f") == "\x80");
  // Over all strings of up to three of these bytes.
  const std::vector<char> bytes = {'\0', 'a', '\xfe', '\xff'};
  std::vector<std::string> all = {""};
  for (std::size_t from = 0; from < 1 + 4 + 16; ++from) {
    for (const char byte : bytes) all.push_back(all[from] + byte);
  }
  for (const std::string& prefix : all) {
    const auto end = prefix_end(prefix);
    for (const std::string& text : all) {
      if (text < prefix) continue;
      REQUIRE(text.starts_with(prefix) == (!end.has_value() || text < *end));
    }
  }
}

}  // namespace
}  // namespace hexad::core
