// A program that forks with a store open: the child can do nothing with it and harms nothing, and
// the parent's locks are the parent's.
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <optional>
#include <string>

#include "base/units.h"
#include "core/hexad.h"
#include "tests/core/noise.h"
#include "tests/io/temporary.h"

namespace hexad::testing {
namespace {

constexpr const char* kBucket = kDefaultCollection;

struct FilePool {
  FilePool() {
    FormatOptions options;
    options.profile = {2, 1, ec::CodecKind::kIsaVandermonde, 0};
    options.device_size = 16_MiB;
    options.log_size = 1_MiB;
    for (const char* name : {"dev0", "dev1", "dev2"}) {
      options.devices.push_back(directory.path(name));
    }
    options.fast_directories = {directory.path("fast")};
    const Result<PoolDescription> made = Store::format(options);
    if (!made.ok()) FAIL(made.error().to_string());
    pool = *made;
  }
  Store open(Access access = Access::kReadWrite) {
    RuntimeOptions options;
    options.access = access;
    Result<Store> store = Store::open(pool, options);
    if (!store.ok()) FAIL(store.error().to_string());
    return std::move(store).value();
  }

  io::testing::TemporaryDirectory directory;
  PoolDescription pool;
};

Status put(Store& store, const std::string& name, const std::string& value) {
  Transaction t;
  t.put(kBucket, name, value);
  return store.commit(std::move(t)).status();
}

// In the child: what did not say kForked, by name.
class Answers {
 public:
  void expect(const char* name, const Status& status) {
    if (status.ok() || status.error().code != ErrorCode::kForked) wrong_ += std::string(" ") + name;
  }
  void expect(const char* name, bool good) {
    if (!good) wrong_ += std::string(" ") + name;
  }
  const std::string& wrong() const { return wrong_; }

 private:
  std::string wrong_;
};

std::string use_in_child(std::optional<Store>& store, std::unique_ptr<ObjectWriter>& writer,
                         std::unique_ptr<ObjectReader>& reader,
                         std::optional<Transaction>& published) {
  Answers answers;
  answers.expect("commit", put(*store, "child", "x"));
  ErrorCode told = ErrorCode::kIo;
  Transaction t;
  t.put(kBucket, "child", "x");
  store->submit(std::move(t), [&](const Result<Lsn>& result) { told = result.error().code; });
  answers.expect("submit", told == ErrorCode::kForked);
  answers.expect("sync", store->sync());
  answers.expect("get", store->get(kBucket, "a").status());
  answers.expect("stat", store->stat(kBucket, "a").status());
  answers.expect("list", store->list(kBucket, {}).status());
  answers.expect("collections", store->collections().status());
  answers.expect("open_writer", store->open_writer(kBucket, "b").status());
  answers.expect("open_reader", store->open_reader(kBucket, "a").status());
  answers.expect("checkpoint", store->checkpoint());
  answers.expect("space", store->space().status());
  answers.expect("fsck", store->fsck({}).status());
  answers.expect("cached", !store->cached(kBucket, "a").has_value());
  answers.expect("status", store->status().notes.size() == 1);
  answers.expect("counters", store->counters().empty());
  answers.expect("append", writer->append(as_bytes("more")));
  answers.expect("publish", writer->commit().status());
  Bytes into(10);
  answers.expect("read", reader->read(into).status());
  answers.expect("close", store->close());
  reader.reset();
  writer.reset();
  published.reset();
  store.reset();
  return answers.wrong();
}

// What `use` returns in a forked child.
template <typename Use>
std::string in_child(const Use& use) {
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string said = use();
    const bool told = ::write(pipe[1], said.data(), said.size()) >= 0;
    ::_exit(told ? 0 : 1);
  }
  ::close(pipe[1]);
  std::string said;
  char byte = 0;
  while (::read(pipe[0], &byte, 1) == 1) said += byte;
  ::close(pipe[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  return said;
}

TEST_CASE("fork: a child can do nothing with the store of its parent, and harms nothing") {
  FilePool files;
  std::optional<Store> store = files.open();
  const std::string value = noise(3'000'000, 1);
  REQUIRE(put(*store, "a", "before").ok());
  std::unique_ptr<ObjectWriter> writer = store->open_writer(kBucket, "streamed").value();
  REQUIRE(writer->append(as_bytes(value)).ok());
  std::unique_ptr<ObjectReader> reader = store->open_reader(kBucket, "a").value();
  std::unique_ptr<ObjectWriter> second = store->open_writer(kBucket, "second").value();
  REQUIRE(second->append(as_bytes(value)).ok());
  std::optional<Transaction> published(std::in_place);
  published->publish(*second);

  REQUIRE(in_child([&] { return use_in_child(store, writer, reader, published); }).empty());

  // The parent has its locks, its writers and its readers.
  REQUIRE(in_child([&]() -> std::string {
            const Result<Store> other = Store::open(files.pool);
            return other.ok() ? "open" : std::string(to_string(other.error().code));
          }) == to_string(ErrorCode::kBusy));
  Bytes into(10);
  REQUIRE(reader->read(into).value() == 6);
  reader.reset();
  REQUIRE(writer->commit().ok());
  REQUIRE(store->commit(std::move(*published)).ok());
  REQUIRE(put(*store, "a", "after").ok());
  REQUIRE(store->fsck({.deep = true})->findings.empty());
  REQUIRE(store->close().ok());
  store.reset();
  Store again = files.open();
  REQUIRE(as_text(again.get(kBucket, "streamed").value()) == value);
  REQUIRE(as_text(again.get(kBucket, "second").value()) == value);
  REQUIRE(as_text(again.get(kBucket, "a").value()) == "after");
}

TEST_CASE("fork: closing gives the locks up, however long children of the parent live") {
  FilePool files;
  int go[2];
  REQUIRE(::pipe(go) == 0);
  std::optional<Store> store = files.open();
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(go[1]);
    char byte = 0;
    ::_exit(::read(go[0], &byte, 1) == 0 ? 0 : 1);  // until its parent lets go
  }
  ::close(go[0]);
  REQUIRE(store->close().ok());
  store.reset();
  for (const Access access : {Access::kReadWrite, Access::kReadOnly}) {
    RuntimeOptions options;
    options.access = access;
    Result<Store> again = Store::open(files.pool, options);
    CHECK((again.ok() ? "" : again.error().to_string()) == "");
  }
  ::close(go[1]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
}

}  // namespace
}  // namespace hexad::testing
