#include "core/run_catalogue.h"

#include <catch2/catch.hpp>
#include <map>

#include "kv/index.h"
#include "tests/core/table_world.h"

namespace hexad::core {
namespace {

using testing::problem_of;
using testing::TableWorld;

using Change = std::map<std::string, std::optional<std::string>>;

struct Fixture : TableWorld {
  Fixture() {
    zone = add_zone();
    catalogue = make();
  }
  std::unique_ptr<RunCatalogue> make() {
    return std::make_unique<RunCatalogue>(*executor, shape, *codec, *reader, *members, *space,
                                          counters);
  }
  // One of `count` changes, different for each LSN.
  Change change(Lsn lsn, int count = 40) {
    Change changes;
    for (int i = 0; i < count; ++i) {
      const std::string key = "key" + std::to_string(rng.below(400));
      changes[key] = i % 5 == 4 ? std::nullopt
                                : std::optional<std::string>(key + " at " + std::to_string(lsn));
    }
    return changes;
  }
  Status try_write(RunDraft& draft, const Change& changes, Lsn lsn) {
    const RunCatalogue::EachChange each = [&](const RunCatalogue::AddChange& add) -> Status {
      for (const auto& [key, value] : changes) {
        HEXAD_TRY(
            add(key, value.has_value() ? std::optional<std::string_view>(*value) : std::nullopt));
      }
      return {};
    };
    HEXAD_TRY(catalogue->merge(draft, preparer));
    HEXAD_TRY(catalogue->add_run(draft, preparer, lsn, 3, each));
    return catalogue->write_manifest(draft);
  }
  // A checkpoint whose root is committed.
  void checkpoint(const Change& changes, Lsn lsn) {
    RunDraft draft = catalogue->begin();
    REQUIRE(problem_of(try_write(draft, changes, lsn)) == "");
    const auto dirty = space->dirty_images(lsn, catalogue->deferred_in_images(draft));
    REQUIRE(problem_of(dirty.status()) == "");
    for (const alloc::ZoneImage& image : *dirty) images[image.zone] = image;
    address = draft.address;
    catalogue->adopt(std::move(draft));
    space->images_written();
    REQUIRE(problem_of(catalogue->release()) == "");
    space->reclaim(lsn);
    for (const auto& [key, value] : changes) {
      if (value.has_value()) {
        expected[key] = *value;
      } else {
        expected.erase(key);
      }
    }
  }
  std::string difference(const RunCatalogue& of) {
    const std::shared_ptr<const kv::RunSet> set = of.set();
    const std::unique_ptr<kv::IndexReader> reading = set->snapshot(set);
    const auto cursor = reading->cursor();
    if (!cursor.ok()) return cursor.error().to_string();
    Status status = (*cursor)->seek_to_first();
    for (const auto& [key, value] : expected) {
      if (!status.ok()) return status.error().to_string();
      if (!(*cursor)->valid()) return "ends before " + key;
      if ((*cursor)->key() != key || (*cursor)->value() != value) {
        return std::string((*cursor)->key()) + " instead of " + key;
      }
      status = (*cursor)->next();
    }
    return (*cursor)->valid() ? "more than there should be" : "";
  }
  // Units that live in the space and belong to nobody, or the other way round.
  std::uint64_t live() { return space->counters().live; }

  ZoneCreation zone;
  BlobPreparer preparer{shape, *codec, compressor};
  std::unique_ptr<RunCatalogue> catalogue;
  alloc::ManifestAddress address;
  std::map<alloc::ZoneId, alloc::ZoneImage> images;  // as the runs have them
  std::map<std::string, std::string> expected;
};

TEST_CASE("run catalogue: what a manifest names is found again through its address alone") {
  Fixture f;
  for (Lsn lsn = 10; lsn <= 60; lsn += 10) f.checkpoint(f.change(lsn), lsn);
  CHECK(f.difference(*f.catalogue) == "");
  CHECK(f.live() == f.catalogue->units());
  const std::uint64_t units = f.catalogue->units();

  f.catalogue.reset();
  f.reopen();
  f.catalogue = f.make();
  REQUIRE(problem_of(f.catalogue->load(f.address, 60)) == "");
  CHECK(f.difference(*f.catalogue) == "");
  REQUIRE(problem_of(f.catalogue->mark_used()) == "");
  CHECK(f.live() == units);
  CHECK(f.catalogue->units() == units);
  // And it goes on.
  f.checkpoint(f.change(70), 70);
  CHECK(f.difference(*f.catalogue) == "");
  CHECK(f.live() == f.catalogue->units());
}

TEST_CASE(
    "run catalogue: nothing is there before the first manifest, and one of another LSN is "
    "refused") {
  Fixture f;
  REQUIRE(f.catalogue->load({}, 0).ok());
  CHECK(f.catalogue->set()->lsn() == 0);
  CHECK(f.catalogue->set()->runs().empty());
  CHECK(f.catalogue->owned().empty());
  f.checkpoint(f.change(10), 10);
  f.catalogue.reset();
  f.reopen();
  const Status status = f.make()->load(f.address, 11);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code == ErrorCode::kCorruption);
  CHECK_THAT(status.error().message,
             Catch::Contains("as of LSN 10") && Catch::Contains("the root names LSN 11"));
}

TEST_CASE("run catalogue: a draft that is discarded has taken nothing, and named nothing") {
  Fixture f;
  f.checkpoint(f.change(10), 10);
  const std::uint64_t live = f.live();
  const std::uint64_t free = f.space->counters().free;
  {
    RunDraft draft = f.catalogue->begin();
    REQUIRE(problem_of(f.try_write(draft, f.change(20), 20)) == "");
    CHECK(f.space->counters().free < free);
    f.catalogue->discard(draft);
  }
  CHECK(f.live() == live);
  CHECK(f.space->counters().free == free);
  CHECK(f.difference(*f.catalogue) == "");
  f.checkpoint(f.change(30), 30);
  CHECK(f.difference(*f.catalogue) == "");
}

TEST_CASE("run catalogue: runs are merged, and their stripes wait for whoever reads them") {
  Fixture f;
  for (Lsn lsn = 10; lsn <= 40; lsn += 10) f.checkpoint(f.change(lsn), lsn);
  const std::map<std::string, std::string> then = f.expected;
  std::shared_ptr<const kv::RunSet> old = f.catalogue->set();
  const std::unique_ptr<kv::IndexReader> reading = old->snapshot(old);
  std::size_t most = 0;
  for (Lsn lsn = 50; lsn <= 400; lsn += 10) {
    f.checkpoint(f.change(lsn), lsn);
    most = std::max(most, f.catalogue->manifest().runs.size());
    REQUIRE(f.live() == f.catalogue->units());
  }
  CHECK(most <= 9);
  CHECK(f.counters.since_open(CounterId::kRunsMerged) > 0);
  CHECK(f.difference(*f.catalogue) == "");
  for (const auto& [key, value] : then) REQUIRE(*reading->get(key).value() == value);
  // Each unit is somebody's, once.
  std::map<std::uint32_t, std::string> owner;
  std::uint64_t owned = 0;
  for (const RunCatalogue::Owned& each : f.catalogue->owned()) {
    std::vector<alloc::Extent> stripes = each.stripes;
    for (const Extent& piece : each.pieces) stripes.push_back(piece.blob.where);
    for (const alloc::Extent& stripe : stripes) {
      for (std::uint32_t unit = stripe.unit; unit < stripe.end(); ++unit) {
        REQUIRE(owner.emplace(unit, each.owner).second);
        ++owned;
      }
    }
  }
  CHECK(owned == f.live());
}

TEST_CASE("run catalogue: stripes of runs that nobody reads any more are free again") {
  Fixture f;
  f.checkpoint(f.change(10), 10);
  std::shared_ptr<const kv::RunSet> old = f.catalogue->set();
  for (Lsn lsn = 20; lsn <= 100; lsn += 10) f.checkpoint(f.change(lsn), lsn);
  const std::uint64_t kept = f.catalogue->units();
  old.reset();
  REQUIRE(f.catalogue->release().ok());
  CHECK(f.catalogue->units() < kept);
  CHECK(f.live() == f.catalogue->units());
}

TEST_CASE("run catalogue: after a crash what the manifest names is live, and nothing else is") {
  const bool read = GENERATE(false, true);
  CAPTURE(read);
  Fixture f;
  f.checkpoint(f.change(10), 10);
  std::shared_ptr<const kv::RunSet> old = read ? f.catalogue->set() : nullptr;
  for (Lsn lsn = 20; lsn <= 100; lsn += 10) f.checkpoint(f.change(lsn), lsn);
  old.reset();
  f.catalogue.reset();
  f.reopen();
  f.catalogue = f.make();
  REQUIRE(problem_of(f.catalogue->load(f.address, 100)) == "");
  for (const auto& [zone, image] : f.images) REQUIRE(problem_of(f.space->load_zone(image)) == "");
  REQUIRE(problem_of(f.catalogue->mark_used()) == "");
  CHECK(f.live() == f.catalogue->units());
  f.space->reclaim(100);
  CHECK(f.space->counters().deferred == 0);
  CHECK(problem_of(f.space->check_invariants()) == "");
}

TEST_CASE("run catalogue: any m cells may be lost, and devices that fail are told") {
  Fixture f;
  for (Lsn lsn = 10; lsn <= 30; lsn += 10) f.checkpoint(f.change(lsn), lsn);
  f.devices[1]->fail(io::IoOp::kWrite);
  RunDraft draft = f.catalogue->begin();
  REQUIRE(problem_of(f.try_write(draft, f.change(40), 40)) == "");
  CHECK(draft.failed == std::set<DeviceId>{1});
  f.catalogue->discard(draft);
  f.devices[1]->fail(io::IoOp::kRead);
  f.devices[4]->fail(io::IoOp::kRead);
  f.reopen();
  f.catalogue = f.make();
  REQUIRE(problem_of(f.catalogue->load(f.address, 30)) == "");
  CHECK(f.difference(*f.catalogue) == "");
}

}  // namespace
}  // namespace hexad::core
