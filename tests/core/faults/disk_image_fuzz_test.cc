// Whole stores: the bytes of six small disks, changed as the input says, with checksums that fit
// again. Whatever they hold, opening them fails with an error or gives a store; what is then asked
// of it is answered or fails, and comes to an end, also when it is written to, and opened again.
#include <cstdint>
#include <string>
#include <vector>

#include "base/assert.h"
#include "core/check/fsck.h"
#include "core/check/scrubber.h"
#include "core/report/counter_report.h"
#include "core/report/space_report.h"
#include "core/report/status_report.h"
#include "tests/core/faults/disk_images.h"
#include "tools/build/fuzz_seeds.h"

using namespace hexad;
using namespace hexad::testing;

namespace {

constexpr std::uint64_t kMostNames = 200;      // of a collection that are looked at
constexpr std::uint64_t kMostBytes = 4 << 20;  // of an object that are read at once
constexpr std::size_t kPiece = 64 << 10;       // read of larger ones, at both ends

void look_at(core::Engine& engine, const std::string& collection, const std::string& name) {
  const Result<ObjectStat> stat = engine.reads().stat(collection, name);
  engine.reads().attributes(collection, name).status().ignore();
  engine.reads().omap_header(collection, name).status().ignore();
  OmapOptions omap;
  omap.limit = kMostNames;
  engine.reads().omap_list(collection, name, omap).status().ignore();
  engine.reads().extents(collection, name, {0, kMaxObjectSize}).status().ignore();
  if (!stat.ok()) return;
  if (stat->size <= kMostBytes) {
    const Result<Bytes> bytes = engine.reads().get(collection, name);
    if (bytes.ok()) HEXAD_ASSERT(bytes->size() == stat->size);
    return;
  }
  Bytes piece(kPiece);
  for (const std::uint64_t offset : {std::uint64_t{0}, stat->size - kPiece}) {
    engine.reads().read(collection, name, offset, piece).status().ignore();
  }
}

std::vector<std::pair<std::string, std::string>> names_of(core::Engine& engine) {
  std::vector<std::pair<std::string, std::string>> names;
  const Result<std::vector<CollectionInfo>> collections = engine.reads().collections();
  if (!collections.ok()) return names;
  for (const CollectionInfo& collection : *collections) {
    ListOptions options;
    options.limit = kMostNames;
    const Result<ListPage> page = engine.list(collection.name, options);
    if (!page.ok()) continue;
    HEXAD_ASSERT(page->entries.size() <= kMostNames);
    for (const ListEntry& entry : page->entries) {
      names.emplace_back(collection.name, entry.name);
    }
    options.reverse = true;
    engine.list(collection.name, options).status().ignore();
    engine.reads().collection_usage(collection.name).status().ignore();
  }
  return names;
}

void look_around(core::Engine& engine) {
  for (const auto& [collection, name] : names_of(engine)) look_at(engine, collection, name);
  engine.status_report().status();
  engine.space_report().usage(SpaceDetail::kTotals).status().ignore();
  engine.space_report().usage(SpaceDetail::kBreakdown).status().ignore();
  engine.counter_report().all();
  engine.fsck().run({true, false}).status().ignore();
}

// Every kind of change, on whatever is there. Each may fail.
void change(core::Engine& engine) {
  const auto commit = [&](auto build) {
    Transaction transaction;
    build(transaction);
    engine.commit(std::move(transaction)).status().ignore();
  };
  const auto names = names_of(engine);
  for (std::size_t i = 0; i < names.size() && i < 12; ++i) {
    const std::string& collection = names[i].first;
    const std::string& name = names[i].second;
    commit([&](Transaction& t) { t.write(collection, name, 500, as_bytes("written")); });
    commit([&](Transaction& t) { t.omap_set(collection, name, "new", "value"); });
    commit([&](Transaction& t) { t.clone(collection, name, kDefaultCollection, "new clone"); });
    if (i % 3 == 0) commit([&](Transaction& t) { t.truncate(collection, name, 700); });
    if (i % 3 == 1) commit([&](Transaction& t) { t.remove(collection, name); });
  }
  commit([](Transaction& t) { t.put(kDefaultCollection, "new", std::string(30'000, 'n')); });
  commit([](Transaction& t) { t.remove_collection("shelf", Contents::kRemoved); });
  engine.checkpoint().ignore();
  engine.scrubber().scrub({}).status().ignore();
  engine.fsck().run({true, true}).status().ignore();
}

const DiskImages& images_of(std::uint8_t byte) {
  static const DiskImages closed = make_images(Left::kClosed);
  static const DiskImages crashed = make_images(Left::kCrashed);
  return byte % 2 == 0 ? closed : crashed;
}

std::string text(std::initializer_list<int> bytes) {
  std::string result;
  for (const int byte : bytes) result.push_back(static_cast<char>(byte));
  return result;
}

}  // namespace

std::vector<std::string> hexad::testing::fuzz_seeds() {
  return {
      text({0}),
      text({1}),
      // A bit in the middle of a disk; one disk gone and one blank.
      text({0, 0, 2, 0, 0, 16, 0, 1, 0xff, 6, 0, 0, 0, 6, 1, 0, 1}),
      // The table of zones, and the address of the manifest, in every label and root.
      text({0, 1, 0x3f, 60, 0, 1, 9, 2, 0x3f, 120, 0, 1, 7}),
      text({1, 4, 0x01, 0, 20, 0, 1, 9, 5, 80, 0, 1, 1}),
      // Records that free what is in use, give objects the bytes of others, and take keys away.
      text({1, 9, 2, 0, 1, 4, 0, 9, 4, 1, 9, 9, 1, 9, 12, 1, 14, 9, 9, 3, 9, 7, 0}),
      text({1, 7, 0, 12, 0, 1, 5, 8, 10, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0}),
      text({0, 10, 3, 9, 20, 2, 3, 4, 0, 1, 9, 1, 0, 1, 7, 9, 22, 3, 5, 2, 0, 0x91, 7}),
  };
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static ImageOpener opener;
  Decoder in(ByteView(reinterpret_cast<const std::byte*>(data), size));
  DiskImages images = images_of(in.u8());
  edit_images(images, in);
  opener.open(images, Access::kReadOnly, look_around).ignore();
  const Status opened = opener.open(images, Access::kReadWrite, [](core::Engine& engine) {
    look_around(engine);
    change(engine);
    engine.close().ignore();
  });
  if (opened.ok()) opener.open(images, Access::kReadOnly, look_around).ignore();
  return 0;
}
