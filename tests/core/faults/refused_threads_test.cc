// A process may have no more threads. An opening then says so, and a store that is open has all the
// threads that it will ever need: no later call asks for one, which used to end the process.
#include <future>

#include "base/units.h"
#include "core/store.h"
#include "tests/core/faults/refusing_system.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

// All that starts something in the background: buffered commits, callbacks, checkpoints whose runs
// are merged beside them, a scrub, a stream.
void use_everything(Store& store) {
  const std::string value = noise(300'000, 1);
  for (int i = 0; i < 40; ++i) {
    Transaction t;
    t.put(kBucket, "object " + std::to_string(i), value);
    CommitOptions options;
    options.durability = i % 2 == 0 ? Durability::kBuffered : Durability::kDurable;
    REQUIRE(message_of(store.commit(std::move(t), options).status()) == "");
    REQUIRE(message_of(store.checkpoint()) == "");
  }
  Transaction t;
  t.put(kBucket, "submitted", std::string_view("submitted"));
  std::promise<Status> done;
  store.submit(std::move(t), [&](const Result<Lsn>& lsn) { done.set_value(lsn.status()); });
  REQUIRE(message_of(done.get_future().get()) == "");
  REQUIRE(message_of(store.sync()) == "");
  REQUIRE(message_of(store.scrub().status()) == "");
  const std::unique_ptr<ObjectWriter> writer = store.open_writer(kBucket, "stream").value();
  REQUIRE(message_of(writer->append(as_bytes(std::string_view(value)))) == "");
  REQUIRE(message_of(writer->commit().status()) == "");
  REQUIRE(get(store, "stream") == value);
  REQUIRE(deep_findings(store) == "");
}

TEST_CASE("refused threads: each one at an opening is its error, and nothing else") {
  FormatOptions format = small_format();
  format.device_size = 32_MiB;
  StoreFixture fixture(format);
  {
    Store store = fixture.open();
    REQUIRE(put(store, "kept", "as it was").ok());
    REQUIRE(store.close().ok());
  }
  RefusingSystem system(fixture.memory);
  int needed = 0;
  for (;; ++needed) {
    CAPTURE(needed);
    system.threads.allow(needed);
    Result<Store> store = Store::open(fixture.pool, {}, &system);
    if (store.ok()) {
      use_everything(*store);  // and all further threads are refused
      REQUIRE(message_of(store->close()) == "");
      break;
    }
    REQUIRE(store.error().message.find("refuses the thread hexad-") != std::string::npos);
    REQUIRE_FALSE(store.error().hint.empty());
    // Neither locks nor anything that is not whole.
    Store after = fixture.open();
    REQUIRE(get(after, "kept") == "as it was");
    REQUIRE(deep_findings(after) == "");
    REQUIRE(after.close().ok());
  }
  REQUIRE(needed == 11);  // the pool's first, and one for each crew of jobs
}

TEST_CASE("refused threads: an opening for reading needs the pool's first alone") {
  StoreFixture fixture;
  {
    Store store = fixture.open();
    REQUIRE(put(store, "kept", "as it was").ok());
    REQUIRE(store.close().ok());
  }
  RefusingSystem system(fixture.memory);
  RuntimeOptions reading;
  reading.access = Access::kReadOnly;
  system.threads.allow(0);
  REQUIRE(code_of(Store::open(fixture.pool, reading, &system)) == ErrorCode::kIo);
  system.threads.allow(1);
  Result<Store> store = Store::open(fixture.pool, reading, &system);
  REQUIRE(message_of(store.status()) == "");
  REQUIRE(get(*store, "kept") == "as it was");
  REQUIRE(message_of(store->scrub().status()) == "");
  REQUIRE(message_of(store->close()) == "");
}

}  // namespace
}  // namespace hexad::testing
