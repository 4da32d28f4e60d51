// Random transactions against a model of plain maps.
#include "tests/core/store_model.h"

#include <catch2/catch.hpp>

#include "tests/base/thinned.h"
#include "tests/core/store_runner.h"

namespace hexad::testing {
namespace {

void run(TargetKind kind, std::uint64_t seed, std::uint64_t ops) {
  CAPTURE(seed);
  const Result<std::unique_ptr<RunnerTarget>> target = make_target(kind, seed);
  if (!target.ok()) FAIL(target.error().to_string());
  RunnerOptions options;
  options.seed = seed;
  options.ops = ops;
  const RunnerTally tally = run_store(**target, options);
  REQUIRE(tally.difference == "");
  CHECK(tally.failures > 0);
  CHECK(tally.compared > 0);
}

TEST_CASE("store: random transactions leave what plain maps say, after every kind of reopening") {
  for (std::uint64_t seed = 1; seed <= 30; seed += kThinned) run(TargetKind::kDevice, seed, 1000);
}

TEST_CASE("store: random transactions in memory alone leave what plain maps say") {
  for (std::uint64_t seed = 1; seed <= 10; seed += kThinned) run(TargetKind::kMemory, seed, 2000);
}

// A store that answers and stores all it is told, but for one thing that it forgot.
TEST_CASE("store: the model notices what a store has too much, too little or otherwise") {
  Store store = Store::in_memory().value();
  const auto commit = [&](Model* model, auto change) {
    Transaction t;
    change(t);
    if (model != nullptr) REQUIRE_FALSE(model->apply(t).has_value());
    const Result<Lsn> lsn = store.commit(std::move(t));
    REQUIRE(lsn.ok());
    if (model != nullptr) model->stamp(*lsn);
  };
  Model model;
  model.collections[kDefaultCollection];
  commit(&model, [](Transaction& t) {
    t.put(kDefaultCollection, "a", "some bytes");
    t.set_attr(kDefaultCollection, "a", "one", "1");
  });
  const auto differs = [&](const Model& other) {
    io::Rng rng(1);
    return difference(store, other, rng);
  };
  REQUIRE(differs(model) == "");
  Model other = model;
  other.collections["second"];
  CHECK(differs(other) == "the number of collections is 1 instead of 2");
  const auto with = [&](auto change) {
    Model changed = model;
    change(changed.collections[kDefaultCollection]);
    return differs(changed);
  };
  CHECK(with([](Model::Objects& objects) { objects["b"]; }) != "");
  CHECK(with([](Model::Objects& objects) { objects.erase("a"); }) != "");
  CHECK(with([](Model::Objects& objects) { objects["a"].attributes["one"] = "2"; }) != "");
  CHECK(with([](Model::Objects& objects) { objects["a"].attributes.clear(); }) != "");
  CHECK(with([](Model::Objects& objects) { ++objects["a"].version; }) != "");
  CHECK(with([](Model::Objects& objects) { objects["a"].hint = Hint::kAppendOnly; }) != "");
  CHECK(with([](Model::Objects& objects) {
          objects["a"].data = std::make_shared<const std::string>("Some bytes");
        }) == "\"default\"/\"a\" (10 bytes): get: 10 bytes instead of 10, different from byte 0");
  other = model;
  other.quotas[kDefaultCollection] = {5, 0};
  CHECK(differs(other) != "");
  commit(nullptr, [](Transaction& t) { t.write(kDefaultCollection, "a", 3, as_bytes("x")); });
  CHECK(differs(model) != "");
}

TEST_CASE("store: the runner repeats a run from its seed, and stops at the first difference") {
  RunnerOptions options;
  options.seed = 5;
  options.ops = 300;
  std::string lines[2];
  for (std::string& line : lines) {
    const auto target = make_target(TargetKind::kMemory, 5).value();
    const RunnerTally tally = run_store(*target, options);
    REQUIRE(tally.difference == "");
    line = tally.line(5);
  }
  REQUIRE(lines[0] == lines[1]);
  REQUIRE(lines[0].ends_with(" differences=0"));

  // Ops may remove the object before anything looks at it: enough of them that one looks.
  options.ops = 10'000;
  options.seed = 6;
  const auto target = make_target(TargetKind::kMemory, 6).value();
  Transaction t;
  t.put(kDefaultCollection, "a", "which the model does not know of");
  REQUIRE(target->store().commit(std::move(t)).ok());
  const RunnerTally tally = run_store(*target, options);
  REQUIRE(tally.difference.starts_with("seed 6, transaction "));
  REQUIRE(tally.line(6).ends_with(" differences=1"));
  REQUIRE(tally.ops < options.ops);
}

}  // namespace
}  // namespace hexad::testing
