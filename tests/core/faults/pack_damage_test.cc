// Pack stripes whose cells have gone bad on the media: what reads give, what a deep check finds and
// repairs.
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <set>

#include "ec/codec.h"
#include "tests/base/thinned.h"
#include "tests/core/cells_on_media.h"
#include "tests/core/faulty_system.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

using ec::CodecKind;

FormatOptions format_with(CodecKind codec) {
  FormatOptions options = small_format();
  options.profile = {4, 2, codec, codec == CodecKind::kJerasureCauchyGood ? 64u : 0u};
  return options;
}

enum class What { kBlob, kDead, kPadding, kFooter, kParity };

// A byte of one cell.
struct Hit {
  What what = What::kBlob;
  std::uint32_t role = 0;
  std::size_t at = 0;
};
using Hits = std::vector<Hit>;

// A store with a pack stripe that has blobs alive and dead in all its cells.
struct PackedStore {
  explicit PackedStore(const FormatOptions& options) : fixture(options) {
    fill();
    pack = find_pack(fixture, options);
    find_hits();
    for (const DeviceStatus& device : fixture.open(Access::kReadOnly).status().devices) {
      id_of[device.path] = device.id;
    }
  }

  void fill() {
    Store store = fixture.open();
    Transaction puts;
    for (int i = 10; i < 40; ++i) {
      const std::string name = "object" + std::to_string(i);
      values[name] = noise(3000 + 211 * static_cast<std::size_t>(i % 17), i);
      puts.put(kDefaultCollection, name, values[name]);
    }
    REQUIRE(store.commit(std::move(puts)).ok());
    Transaction removes;
    for (int i = 10; i < 40; i += 3) {
      const std::string name = "object" + std::to_string(i);
      removes.remove(kDefaultCollection, name);
      values.erase(name);
    }
    REQUIRE(store.commit(std::move(removes)).ok());
    REQUIRE(store.close().ok());
  }

  // A byte of every kind of range in every cell.
  void find_hits() {
    const auto k = static_cast<std::uint32_t>(pack.footer.cell_sums.size());
    std::set<std::pair<What, std::uint32_t>> seen;
    std::vector<std::size_t> filled(k, 0);
    const auto add = [&](What what, std::uint32_t role, std::size_t at) {
      if (seen.insert({what, role}).second) hits.push_back({what, role, at});
    };
    for (const core::PackEntry& entry : pack.footer.entries) {
      const bool alive = values.count(entry.owner.substr(entry.owner.size() - 8)) > 0;
      add(alive ? What::kBlob : What::kDead, entry.cell, entry.cell_offset + entry.stored / 2);
      filled[entry.cell] = entry.cell_offset + entry.stored;
    }
    for (std::uint32_t role = 0; role + 1 < k; ++role) {
      if (filled[role] < pack.cells[role].bytes.size()) add(What::kPadding, role, filled[role]);
    }
    const std::size_t size = pack.cells[0].bytes.size();
    hits.push_back({What::kFooter, k - 1, size - 1});
    hits.push_back({What::kFooter, k - 1, size - 30});  // in the sums
    hits.push_back({What::kFooter, k - 1, size - pack.footer.length});
    for (std::uint32_t role = k; role < pack.cells.size(); ++role) {
      hits.push_back({What::kParity, role, size / 3});
    }
    REQUIRE(hits.size() >= 2 * k + 5);
  }

  void damage(const Hits& chosen) {
    restore(fixture, pack.cells);
    for (const Hit& hit : chosen) flip_byte(fixture, pack.cells[hit.role], hit.at);
  }

  // What a deep check says of these damaged cells; `away`: a device whose cell it cannot see.
  std::string expected(const Hits& chosen, std::size_t away = ~std::size_t{0}) {
    std::set<std::uint32_t> roles;
    for (const Hit& hit : chosen) {
      if (pack.cells[hit.role].device != away) roles.insert(hit.role);
    }
    std::string text;
    for (const std::uint32_t role : roles) {
      text += (text.empty() ? "" : "; ") + std::string("cell ") + std::to_string(role) +
              " on device " + std::to_string(id_of[fixture.device(pack.cells[role].device)]) +
              (role < pack.footer.cell_sums.size() ? " does not match its checksum"
                                                   : " is not the code of the data");
    }
    return text;
  }

  void require_found(Store& store, const std::string& wanted) {
    const Result<FsckReport> report = store.fsck({true, false});
    REQUIRE(report.ok());
    if (wanted.empty()) {
      REQUIRE(report->findings.empty());
      return;
    }
    REQUIRE(report->findings.size() == 1);
    REQUIRE_THAT(report->findings[0].subject, Catch::StartsWith("pack stripe at zone "));
    REQUIRE(report->findings[0].problem == wanted);
    REQUIRE_FALSE(report->findings[0].repaired);
  }

  void require_all_right(Store& store) {
    for (const auto& [name, value] : values) REQUIRE((get(store, name) == value));
  }
  // How many cannot be read; what can is right.
  int require_none_wrong(Store& store) {
    int lost = 0;
    for (const auto& [name, value] : values) {
      const Result<Bytes> found = store.get(kDefaultCollection, name);
      if (found.ok()) {
        REQUIRE((as_text(*found) == value));
        continue;
      }
      REQUIRE(found.error().code == ErrorCode::kUnavailable);
      REQUIRE_THAT(found.error().message, Catch::Contains(name));
      ++lost;
    }
    return lost;
  }

  StoreFixture fixture;
  std::map<std::string, std::string> values;  // alive
  PackOnMedia pack;
  Hits hits;
  std::map<std::string, DeviceId> id_of;  // by path
};

bool hits_blob(const Hits& hits) {
  return std::any_of(hits.begin(), hits.end(), [](const Hit& h) { return h.what == What::kBlob; });
}

// Every hit alone, and every `step`-th pair in different cells.
std::vector<Hits> up_to_two(const Hits& hits, std::size_t step) {
  std::vector<Hits> chosen;
  std::size_t count = 0;
  for (const Hit& hit : hits) chosen.push_back({hit});
  for (const auto& [a, b] : pairs_below(hits.size())) {
    if (hits[a].role != hits[b].role && count++ % (step * kThinned) == 0)
      chosen.push_back({hits[a], hits[b]});
  }
  return chosen;
}

// With each codec and each choice of hits: a store with that damage, and what a deep check says of
// it.
void for_each_damage(
    const std::function<void(PackedStore&, const Hits&, const std::string&)>& run) {
  const auto codec = GENERATE(CodecKind::kIsaVandermonde, CodecKind::kJerasureCauchyGood);
  PackedStore packed(format_with(codec));
  for (const Hits& hits : up_to_two(packed.hits, codec == CodecKind::kIsaVandermonde ? 1 : 2)) {
    packed.damage(hits);
    const std::string damaged = packed.expected(hits);
    CAPTURE(static_cast<int>(codec), damaged);
    run(packed, hits, damaged);
  }
}

TEST_CASE("store: any two cells of a pack stripe damaged are found, read around and repaired") {
  for_each_damage([](PackedStore& packed, const Hits&, const std::string& damaged) {
    {
      Store store = packed.fixture.open(Access::kReadOnly);
      packed.require_all_right(store);
      packed.require_found(store, damaged);
      REQUIRE(counter(store, "cells_healed") == 0);
    }
    Store store = packed.fixture.open();
    packed.require_found(store, damaged);
    REQUIRE(counter(store, "cells_healed") == 0);
    require_repair(store);
    REQUIRE(is_whole(packed.fixture, packed.pack.cells));
    packed.require_found(store, "");
    packed.require_all_right(store);
  });
}

TEST_CASE("store: reading a blob from a damaged cell heals its pack stripe") {
  for_each_damage([](PackedStore& packed, const Hits& hits, const std::string& damaged) {
    Store store = packed.fixture.open();
    packed.require_all_right(store);
    // Nobody reads dead ranges, footers and parity; but who looks at a stripe puts all of it right.
    const bool noticed = hits_blob(hits);
    REQUIRE(counter(store, "cells_healed") == (noticed ? hits.size() : 0));
    REQUIRE(is_whole(packed.fixture, packed.pack.cells) == noticed);
    packed.require_found(store, noticed ? "" : damaged);
  });
}

TEST_CASE("store: a device away and a cell of a pack stripe damaged give the exact bytes") {
  const auto codec = GENERATE(CodecKind::kIsaVandermonde, CodecKind::kJerasureCauchyGood);
  PackedStore packed(format_with(codec));
  for (std::size_t away = 0; away < 6; ++away) {
    for (std::size_t i = away % kThinned; i < packed.hits.size(); i += kThinned) {
      const Hit& hit = packed.hits[i];
      CAPTURE(static_cast<int>(codec), away, packed.expected({hit}, away));
      packed.damage({hit});
      packed.fixture.take_away(away);
      {
        Store store = packed.fixture.open(Access::kReadOnly);
        packed.require_all_right(store);
        packed.require_found(store, packed.expected({hit}, away));
      }
      packed.fixture.bring_back(away);
    }
  }
  // The one that is left to be repaired.
  packed.damage({packed.hits[0]});
  packed.fixture.take_away(packed.pack.cells[(packed.hits[0].role + 1) % 6].device);
  Store store = packed.fixture.open();
  REQUIRE(store.fsck({true, true})->errors() == 0);
  packed.require_found(store, "");
  packed.require_all_right(store);
}

TEST_CASE("store: a pack stripe with more than m cells away or damaged is reported, never wrong") {
  const auto codec = GENERATE(CodecKind::kIsaVandermonde, CodecKind::kJerasureCauchyGood);
  PackedStore packed(format_with(codec));
  io::Rng rng(1);
  for (int round = 0; round < 60 / static_cast<int>(kThinned); ++round) {
    std::set<std::uint32_t> roles;
    while (roles.size() < 3) roles.insert(static_cast<std::uint32_t>(rng.below(6)));
    std::vector<std::uint32_t> chosen(roles.begin(), roles.end());
    const std::uint64_t away = rng.below(3);
    restore(packed.fixture, packed.pack.cells);
    for (std::size_t i = away; i < 3; ++i) {
      const CellOnMedia& cell = packed.pack.cells[chosen[i]];
      Bytes bytes = cell.bytes;
      const std::size_t from = rng.chance(1, 2) ? 0 : rng.below(bytes.size());
      for (std::size_t at = from; at < bytes.size(); ++at) bytes[at] ^= std::byte{0x55};
      write_cell(packed.fixture, cell, bytes);
    }
    CAPTURE(static_cast<int>(codec), round, chosen, away);
    for (std::size_t i = 0; i < away; ++i) {
      packed.fixture.take_away(packed.pack.cells[chosen[i]].device);
    }
    // Reading and looking change nothing; all bytes are compared now and then, for that takes long.
    const bool compare = round % 10 == 0;
    std::map<std::string, std::uint64_t> before;
    if (compare) before = packed.fixture.fingerprint();
    {
      Store store = packed.fixture.open(Access::kReadOnly);
      const int lost = packed.require_none_wrong(store);
      const Result<FsckReport> report = store.fsck({true, false});
      REQUIRE(report.ok());
      // The stripe, and every object that cannot be read.
      REQUIRE(report->errors() == 1u + static_cast<unsigned>(lost));
    }
    if (compare) REQUIRE((packed.fixture.fingerprint() == before));
    if (away == 0) {
      std::vector<Bytes> cells;
      for (const CellOnMedia& cell : packed.pack.cells) {
        cells.push_back(read_cell(packed.fixture, cell));
      }
      Store store = packed.fixture.open();
      packed.require_none_wrong(store);
      REQUIRE(store.fsck({true, true})->errors() > 0);
      for (std::size_t role = 0; role < 6; ++role) {
        REQUIRE((read_cell(packed.fixture, packed.pack.cells[role]) == cells[role]));
      }
    }
    for (std::size_t i = 0; i < away; ++i) {
      packed.fixture.bring_back(packed.pack.cells[chosen[i]].device);
    }
  }
}

TEST_CASE("store: cells that belong to another stripe are damage like any other") {
  PackedStore packed(format_with(CodecKind::kIsaVandermonde));
  for (const auto& [a, b] : pairs_below(6)) {
    CAPTURE(a, b);
    restore(packed.fixture, packed.pack.cells);
    write_cell(packed.fixture, packed.pack.cells[a], packed.pack.cells[b].bytes);
    write_cell(packed.fixture, packed.pack.cells[b], packed.pack.cells[a].bytes);
    Store store = packed.fixture.open();
    const auto role = [](std::size_t i) { return static_cast<std::uint32_t>(i); };
    packed.require_found(store, packed.expected({{What::kBlob, role(a), 0},  //
                                                 {What::kBlob, role(b), 0}}));
    REQUIRE(store.fsck({true, true})->errors() == 0);
    REQUIRE(is_whole(packed.fixture, packed.pack.cells));
  }
}

TEST_CASE("store: F13 a footer that is right in itself and not the stripe's own is found") {
  const FormatOptions options = format_with(CodecKind::kIsaVandermonde);
  PackedStore packed(options);
  // The same stripe, but that its footer has lost an entry; sums and parity are right.
  const core::RecordShape shape{4, 2, options.checksum};
  core::PackFooter footer = packed.pack.footer;
  const auto at = std::find_if(footer.entries.begin(), footer.entries.end(), [&](const auto& one) {
    return packed.values.count(one.owner.substr(one.owner.size() - 8)) > 0;
  });
  REQUIRE(at != footer.entries.end());
  footer.entries.erase(at);
  std::vector<AlignedBuffer> cells;
  std::vector<ByteView> data;
  std::vector<MutByteView> parity;
  for (const CellOnMedia& cell : packed.pack.cells) {
    cells.emplace_back(cell.bytes.size());
    copy_bytes(cells.back().bytes(), cell.bytes);
  }
  const MutByteView last = cells[3].bytes();
  fill_zero(last.last(footer.length));
  const std::size_t begin = last.size() - encode_pack_footer(footer, shape).size();
  footer.cell_sums[3] = checksum(shape.checksum, last.first(begin));
  copy_bytes(last.subspan(begin), as_bytes(encode_pack_footer(footer, shape)));
  for (int i = 0; i < 4; ++i) data.push_back(cells[i].bytes());
  for (int i = 4; i < 6; ++i) parity.push_back(cells[i].bytes());
  REQUIRE(ec::make_codec(options.profile).value()->encode(data, parity).ok());
  for (int i = 0; i < 6; ++i) write_cell(packed.fixture, packed.pack.cells[i], cells[i].bytes());

  Store store = packed.fixture.open();
  packed.require_all_right(store);
  const Result<FsckReport> report = store.fsck({true, true});
  REQUIRE(report.ok());
  REQUIRE(report->findings.size() == 1);
  REQUIRE_THAT(report->findings[0].subject, Catch::StartsWith("pack stripe at zone "));
  REQUIRE_THAT(report->findings[0].problem,
               Catch::Contains("one of a stripe that was there before is"));
}

TEST_CASE("store: a cell that cannot be written back is counted and shown, and the read answers") {
  PackedStore packed(format_with(CodecKind::kIsaVandermonde));
  FaultySystem faulty(packed.fixture.memory);
  packed.fixture.system = &faulty;
  const Hit hit = *std::find_if(packed.hits.begin(), packed.hits.end(),
                                [](const Hit& one) { return one.what == What::kBlob; });
  packed.damage({hit});
  const std::string path = packed.fixture.device(packed.pack.cells[hit.role].device);
  Store store = packed.fixture.open();
  faulty.fault(path).heals = true;
  packed.require_all_right(store);
  REQUIRE(counter(store, "heal_failures") > 0);
  REQUIRE(counter(store, "cells_healed") == 0);
  for (const DeviceStatus& device : store.status().devices) {
    CAPTURE(device.path);
    REQUIRE(device.state == "ok");
    REQUIRE((device.detail.find("could not be written back") != std::string::npos) ==
            (device.path == path));
  }
  // A repair that did not work is no repair.
  REQUIRE(store.fsck({true, true})->errors() == 1);
  faulty.fault(path).heals = false;
  REQUIRE(store.fsck({true, true})->errors() == 0);
  packed.require_found(store, "");
}

}  // namespace
}  // namespace hexad::testing
