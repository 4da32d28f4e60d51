#include "core/jobs/repair_job.h"

#include <catch2/catch.hpp>
#include <string>

namespace hexad::core {
namespace {

struct World {
  std::string order;
  std::function<void()> meanwhile;
  RepairJob job{{[this] {
                   order += "r";
                   if (meanwhile) meanwhile();
                 },
                 [this] { order += "s"; }}};
};

TEST_CASE("repair job: repairs when a request failed, and looks at suspects in any case") {
  World w;
  CHECK(w.job.due() == std::nullopt);
  w.job.want();
  CHECK(w.job.due() == io::Nanos{0});
  CHECK(w.job.step().value());
  CHECK(w.order == "rs");
  CHECK(w.job.due() == std::nullopt);
  w.job.want_suspects();
  CHECK(w.job.due() == io::Nanos{0});
  CHECK(w.job.step().value());
  CHECK(w.order == "rss");
  CHECK(w.job.due() == std::nullopt);
}

TEST_CASE("repair job: a request that fails during a repair gets another one") {
  World w;
  w.meanwhile = [&] { w.job.want(); };
  w.job.want();
  REQUIRE(w.job.step().ok());
  CHECK(w.job.due() == io::Nanos{0});
}

TEST_CASE("repair job: it is finished even while the store stops") {
  CHECK(World().job.must_finish());
}

}  // namespace
}  // namespace hexad::core
