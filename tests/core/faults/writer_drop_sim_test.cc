// Letting go of a writer: what it leaves behind is taken back, but nobody waits for that.
#include <catch2/catch.hpp>

#include "tests/core/noise.h"
#include "tests/core/sim_pool.h"

namespace hexad::testing {
namespace {

constexpr int kPages = 110;  // of 1 MiB: more than the log can describe at once
constexpr io::Nanos kWhile = 20'000'000'000;

SimPoolOptions large_disks() {
  SimPoolOptions options;
  options.device_size = 48_MiB;
  return options;
}

// It committed the pages away, record after record, in the writer's destructor; and where that
// failed, their space was lost until the next opening.
TEST_CASE("writer drop: a destructor commits nothing, and the pages are taken back all the same") {
  SimPool pool(large_disks());
  const std::string said = pool.with_store([&](Store& store) -> std::string {
    if (!store.checkpoint().ok()) return "checkpoint";
    const std::uint64_t before = store.space()->available;
    auto writer = store.open_writer(kDefaultCollection, "large").value();
    for (int i = 0; i < kPages; ++i) {
      const Status appended = writer->append(as_bytes(noise(1_MiB, i)));
      if (!appended.ok()) return "append: " + appended.error().to_string();
    }
    pool.sleep(kWhile);  // what is on its way lands
    if (before - store.space()->available < kPages * 1_MiB / 2) return "nothing was taken";
    const io::Nanos start = pool.now();
    writer.reset();
    if (pool.now() != start) return "the destructor waited";
    pool.sleep(kWhile);
    if (!store.checkpoint().ok()) return "checkpoint";
    pool.sleep(kWhile);
    // What the records of all that take in runs stays.
    if (store.space()->available + 2_MiB < before) return "space is missing";
    const Result<FsckReport> report = store.fsck({});
    return report.ok() && report->findings.empty() ? "" : "fsck";
  });
  REQUIRE(said == "");
}

}  // namespace
}  // namespace hexad::testing
