#include "tools/bench/job.h"

#include <catch2/catch.hpp>
#include <functional>
#include <limits>

namespace hexad::tools {
namespace {

Result<std::vector<Job>> parse(const std::string& text) { return parse_jobs(text, Job()); }

TEST_CASE("job: a job file has one job per section, and what is global holds for those behind it") {
  const auto jobs = parse(
      "# the first lines\n"
      "[global]\n"
      "bs = 8KiB   # of all\n"
      "runtime=0.5\n"
      "\n"
      "[writes]\n"
      "rw = randwrite\n"
      "size = 2MiB\n"
      "[reads]\r\n"
      "  rw=randrw\n"
      "\tbs = 4k\n"
      "rwmixread = 75\n"
      "zipf = 1.2\n"
      "[global]\n"
      "runtime = 3\n"
      "[later]\n"
      "durability = buffered");
  REQUIRE(jobs.ok());
  REQUIRE(jobs->size() == 3);
  CHECK(jobs->at(0).name == "writes");
  CHECK(jobs->at(0).block == 8192);
  CHECK(jobs->at(0).runtime() == 500'000'000);
  CHECK(jobs->at(0).load("c")->workload == Workload::kRandWrite);
  CHECK(jobs->at(0).load("c")->object_size == 2 << 20);
  CHECK(jobs->at(0).load("c")->collection == "c");
  CHECK(jobs->at(1).block == 4096);
  CHECK(jobs->at(1).runtime_s == 0.5);
  CHECK(jobs->at(1).load("")->read_percent == 75);
  CHECK(jobs->at(1).load("")->zipf == 1.2);
  CHECK(jobs->at(2).runtime_s == 3);
  CHECK(jobs->at(2).workload == "put");
  CHECK(jobs->at(2).load("")->durability == Durability::kBuffered);
}

TEST_CASE("job: what the command line says holds where the file says nothing") {
  Job defaults;
  defaults.threads = 3;
  defaults.seed = 9;
  const auto jobs = parse_jobs("[a]\nseed=1\n[b]\n", defaults);
  REQUIRE(jobs.ok());
  CHECK(jobs->at(0).threads == 3);
  CHECK(jobs->at(0).seed == 1);
  CHECK(jobs->at(1).seed == 9);
}

TEST_CASE("job: a file that means nothing is refused, with the place") {
  const std::pair<const char*, const char*> files[] = {
      {"", "no section"},
      {"# nothing\n", "no section"},
      {"bs=4k\n[a]\n", "line 1"},
      {"[a]\n\nwhat\n", "line 3"},
      {"[a\n", "line 1"},
      {"[]\n", "line 1"},
      {"[a]\nblocks=1\n", "[a]"},
      {"[a]\nbs=many\n", "[a]"},
      {"[a]\n[b]\nrw=sideways\n", "[b]"},
      {"[a]\nthreads=0\n", "[a]"},
  };
  for (const auto& [text, place] : files) {
    CAPTURE(text);
    const auto jobs = parse(text);
    REQUIRE_FALSE(jobs.ok());
    CHECK(jobs.error().code == ErrorCode::kInvalidArgument);
    CHECK(jobs.error().message.find(place) != std::string::npos);
  }
}

TEST_CASE("job: values that no run can have are refused, by their option") {
  const std::pair<const char*, std::function<void(Job&)>> wrong[] = {
      {"--bs", [](Job& job) { job.block = 0; }},
      {"--bs", [](Job& job) { job.block = (64 << 20) + 1; }},
      {"--size",
       [](Job& job) {
         job.workload = "read";
         job.object_size = job.block - 1;
       }},
      {"--objects", [](Job& job) { job.objects = 0; }},
      {"--threads", [](Job& job) { job.threads = 0; }},
      {"--threads", [](Job& job) { job.threads = job.depth = 100; }},
      {"--threads", [](Job& job) { job.depth = ~std::uint64_t{0}; }},
      {"--runtime", [](Job& job) { job.runtime_s = 0; }},
      {"--runtime", [](Job& job) { job.runtime_s = std::numeric_limits<double>::quiet_NaN(); }},
      {"--zipf", [](Job& job) { job.zipf = -0.1; }},
      {"--zipf",
       [](Job& job) {
         job.workload = "delete";
         job.zipf = 1;
       }},
      {"--compressible", [](Job& job) { job.compressible_percent = 101; }},
      {"--rwmixread", [](Job& job) { job.read_percent = 101; }},
      {"--durability", [](Job& job) { job.durability = "perhaps"; }},
      {"--rw", [](Job& job) { job.workload = "sideways"; }},
  };
  for (const auto& [option, change] : wrong) {
    CAPTURE(option);
    Job job;
    REQUIRE(job.load("c").ok());
    change(job);
    const Result<LoadOptions> load = job.load("c");
    REQUIRE_FALSE(load.ok());
    CHECK(load.error().code == ErrorCode::kInvalidArgument);
    CHECK(load.error().message.find(option) != std::string::npos);
  }
}

TEST_CASE("job: whole objects are as long as a block, ranges lie in objects of their own size") {
  Job job;
  job.block = 8192;
  job.object_size = 100'000;
  CHECK(job.load("")->object_size == 8192);
  CHECK(job.load("")->blocks_per_object() == 1);
  job.workload = "randread";
  CHECK(job.load("")->object_size == 100'000);
  CHECK(job.load("")->blocks_per_object() == 12);
}

}  // namespace
}  // namespace hexad::tools
