#include "core/cache/open_readers.h"

#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace hexad::core {
namespace {

struct Fixture {
  std::unique_ptr<io::Executor> executor = io::make_thread_executor(1);
  OpenReaders readers{*executor};

  OpenReaders::Entry add(const std::string& name) { return readers.add({"c", name, 5, {3, 4}}); }
  std::string names() {
    std::string names;
    for (const OpenReaders::Reader& reader : readers.all()) names += reader.name + " ";
    return names;
  }
};

TEST_CASE("open_readers: they are listed as they came, as long as they are open") {
  Fixture fixture;
  CHECK(fixture.names() == "");
  std::optional<OpenReaders::Entry> a = fixture.add("a");
  OpenReaders::Entry b = fixture.add("b");
  CHECK(fixture.names() == "a b ");
  const OpenReaders::Reader first = fixture.readers.all().front();
  CHECK(first.collection == "c");
  CHECK(first.opened == 5);
  CHECK(first.needed == alloc::ReadRange{3, 4});
  a.reset();
  CHECK(fixture.names() == "b ");
  OpenReaders::Entry moved = std::move(b);
  CHECK(fixture.names() == "b ");
  b = fixture.add("c");  // one that was moved from lists another
  moved = OpenReaders::Entry();
  CHECK(fixture.names() == "c ");
}

TEST_CASE("open_readers: threads come and go beside one that looks") {
  Fixture fixture;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&fixture] {
      for (int j = 0; j < 2000; ++j) const OpenReaders::Entry entry = fixture.add("x");
    });
  }
  for (int i = 0; i < 200; ++i) {
    for (const OpenReaders::Reader& reader : fixture.readers.all()) REQUIRE(reader.name == "x");
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(fixture.readers.all().empty());
}

}  // namespace
}  // namespace hexad::core
