// A catalogue of runs in a TableWorld, with the checkpoints that bring it forward.
#pragma once

#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/cache/read_cache.h"
#include "core/runs/run_catalogue.h"
#include "kv/index.h"
#include "tests/core/table_world.h"

namespace hexad::core::testing {

struct CatalogueWorld : TableWorld {
  using Change = std::map<std::string, std::optional<std::string>>;

  explicit CatalogueWorld(const TableWorldOptions& options = {}) : TableWorld(options) {
    zone = add_zone();
    catalogue = make();
  }
  std::unique_ptr<RunCatalogue> make() {
    return std::make_unique<RunCatalogue>(*executor, shape, *codec, *reader, *members, *space,
                                          counters, run_cache);
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
  Status merge(RunDraft& draft) {
    const std::optional<RunMerge> plan = catalogue->plan_merge(draft);
    if (!plan.has_value()) return {};
    HEXAD_TRY_ASSIGN(MergedRun merged, catalogue->merge(*plan, preparer, draft.failed));
    REQUIRE(catalogue->install(draft, merged));
    return {};
  }
  Status try_write(RunDraft& draft, const Change& changes, Lsn lsn) {
    const RunCatalogue::EachChange each = [&](const RunCatalogue::AddChange& add) -> Status {
      for (const auto& [key, value] : changes) {
        HEXAD_TRY(
            add(key, value.has_value() ? std::optional<std::string_view>(*value) : std::nullopt));
      }
      return {};
    };
    if (merges) HEXAD_TRY(merge(draft));
    HEXAD_TRY(catalogue->add_run(draft, preparer, lsn, 3, each));
    return catalogue->write_manifest(draft);
  }
  // A checkpoint whose root is committed.
  void checkpoint(const Change& changes, Lsn lsn) { checkpoint(changes, lsn, catalogue->begin()); }
  void checkpoint(const Change& changes, Lsn lsn, RunDraft draft) {
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
  // Nobody else has anything in this space.
  std::uint64_t internal() { return space->room().internal; }

  bool merges = true;  // in checkpoints
  ZoneCreation zone;
  BlobPreparer preparer{shape, *codec, compressor};
  ReadCache run_cache{*executor, 0};
  std::unique_ptr<RunCatalogue> catalogue;
  alloc::ManifestAddress address;
  std::map<alloc::ZoneId, alloc::ZoneImage> images;  // as the runs have them
  std::map<std::string, std::string> expected;
};

}  // namespace hexad::core::testing
