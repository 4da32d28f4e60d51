#include "tools/import_export/object_compare.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/core/store_fixture.h"
#include "tests/io/temporary.h"
#include "tools/cli/file.h"

namespace hexad::tools {
namespace {

using hexad::testing::code_of;
using hexad::testing::noise;
using hexad::testing::StoreFixture;

constexpr const char* kC = kDefaultCollection;
constexpr std::uint64_t kSize = 300'000;

// Data from 10,000 on, a hole before it and one behind it.
struct World {
  World() : store(fixture.open()), executor(io::make_thread_executor(2)) {
    for (const char* name : {"a", "same", "other", "zeros"}) {
      Transaction t;
      t.write(kC, name, 10'000, as_bytes(data));
      t.truncate(kC, name, kSize);
      REQUIRE(store.commit(std::move(t)).ok());
    }
    Transaction t;
    t.write(kC, "other", 10'000 + data.size() - 1, as_bytes(std::string(1, data.back() ^ 1)));
    t.write(kC, "zeros", 200'000, as_bytes(std::string(10, '\0')));
    REQUIRE(store.commit(std::move(t)).ok());
  }
  bool same(const std::string& other) {
    return same_objects(store, *executor, kC, "a", other, kSize).value();
  }
  Fd file(const std::string& content) const {
    Fd fd(open(directory.path("file").c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600));
    REQUIRE(write_all(fd.get(), as_bytes(content), "file").ok());
    return fd;
  }
  bool same_file(const Fd& fd) {
    return same_as_file(store, *executor, kC, "a", kSize, fd.get()).value();
  }

  const io::testing::TemporaryDirectory directory;
  const std::string data = noise(150'000, 1);
  StoreFixture fixture;
  Store store;
  std::unique_ptr<io::Executor> executor;
};

TEST_CASE("object_compare: objects are the same in every byte and every hole, or they are not") {
  World w;
  CHECK(w.same("same"));
  CHECK_FALSE(w.same("other"));
  CHECK_FALSE(w.same("zeros"));
  CHECK(code_of(same_objects(w.store, *w.executor, kC, "a", "missing", kSize)) ==
        ErrorCode::kNotFound);
}

TEST_CASE("object_compare: a file is the same as an object whose holes it has as zeros") {
  World w;
  const std::string whole =
      std::string(10'000, '\0') + w.data + std::string(kSize - 10'000 - w.data.size(), '\0');
  CHECK(w.same_file(w.file(whole)));
  const Fd sparse = w.file("");
  REQUIRE(ftruncate(sparse.get(), kSize) == 0);
  REQUIRE(pwrite(sparse.get(), w.data.data(), w.data.size(), 10'000) ==
          static_cast<ssize_t>(w.data.size()));
  CHECK(w.same_file(sparse));
  for (const std::size_t at : {std::size_t{0}, std::size_t{9'999}, std::size_t{10'000},
                               std::size_t{159'999}, std::size_t{160'000}, kSize - 1}) {
    CAPTURE(at);
    std::string changed = whole;
    changed[at] ^= 1;
    CHECK_FALSE(w.same_file(w.file(changed)));
  }
  CHECK_FALSE(w.same_file(w.file(whole.substr(0, 100'000))));
  CHECK_FALSE(w.same_file(Fd(open(w.directory.path("").c_str(), O_RDONLY))));
}

}  // namespace
}  // namespace hexad::tools
