// The socket of a store that is open here, asked as another process would.
#include "core/control/control_server.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>

#include "core/control/control_client.h"
#include "core/hexad.h"
#include "io/lines/line_service.h"
#include "io/lines/private_socket.h"
#include "tests/io/temporary.h"

namespace hexad::core {
namespace {

using io::testing::TemporaryDirectory;

Result<Lsn> put(Store& store, const std::string& name, const std::string& value) {
  Transaction transaction;
  transaction.put(kDefaultCollection, name, value);
  return store.commit(std::move(transaction));
}

struct Pool {
  Pool() {
    FormatOptions format(Preset::kTiny);
    for (int i = 0; i < 6; ++i) format.devices.push_back(directory.path("d" + std::to_string(i)));
    format.fast_directories = {directory.path("fast")};
    const Result<PoolDescription> made = Store::format(format);
    if (!made.ok()) FAIL(made.error().to_string());
    description = *made;
  }
  Store open_quietly(Access access = Access::kReadWrite) const {
    RuntimeOptions options(Preset::kTiny);
    options.access = access;
    Result<Store> store = Store::open(description, options);
    if (!store.ok()) FAIL(store.error().to_string());
    return std::move(store).value();
  }
  Store open() const {
    Store store = open_quietly();
    const Status served = store.serve_control();
    if (!served.ok()) FAIL(served.error().to_string());
    return store;
  }
  ControlClient client() const {
    Result<ControlClient> found = ControlClient::find(description);
    if (!found.ok()) FAIL(found.error().to_string());
    return std::move(found).value();
  }
  ErrorCode why_not() const { return ControlClient::find(description).error().code; }

  TemporaryDirectory directory;
  PoolDescription description;
};

bool has_note(const Store& store, const std::string& text) {
  const StoreStatus status = const_cast<Store&>(store).status();
  for (const std::string& note : status.notes) {
    if (note.find(text) != std::string::npos) return true;
  }
  return false;
}

TEST_CASE("control: nobody answers unless the store is told to") {
  const Pool pool;
  CHECK(pool.why_not() == ErrorCode::kNotFound);
  Store plain = pool.open_quietly();
  CHECK(pool.why_not() == ErrorCode::kNotFound);
  CHECK_FALSE(has_note(plain, "control socket"));
  REQUIRE(plain.close().ok());
}

TEST_CASE("control: what the store says of itself, the socket says") {
  const Pool pool;
  Store store = pool.open();
  CHECK(has_note(store, "control socket " + pool.directory.path("fast") + "/control/socket"));
  REQUIRE(put(store, "a/1", std::string(100'000, 'x')).ok());
  REQUIRE(put(store, "a/2", "2").ok());
  REQUIRE(put(store, "b", "3").ok());
  const ControlClient client = pool.client();
  CHECK(client.holder().process.pid == ::getpid());
  CHECK(client.holder().store == store.status().uuid);

  const StoreStatus status = client.status().value();
  CHECK(status.uuid == store.status().uuid);
  CHECK(status.last_lsn == store.status().last_lsn);
  CHECK(status.devices.size() == store.status().devices.size());
  CHECK(client.space()->objects == 3);
  CHECK(client.space()->user_bytes == store.space()->user_bytes);
  CHECK_FALSE(client.space()->broken_down);
  CHECK(client.space(SpaceDetail::kBreakdown)->broken_down);
  CHECK(client.space(SpaceDetail::kBreakdown)->user_bytes == client.space()->user_bytes);
  CHECK(status.metadata_on == store.status().metadata_on);
  REQUIRE(status.layers.size() == 8);
  CHECK(status.layers[1].name == "memtable");
  CHECK(status.fill.note == store.status().fill.note);
  CHECK(client.set_cache_size(1_MiB).ok());
  CHECK(store.status().layers.front().room == 1_MiB);
  CHECK(client.set_cache_size(1).error().code == ErrorCode::kInvalidArgument);
  CHECK(client.set_cache_size(0).ok());
  CHECK_FALSE(store.status().layers.front().in_use);
  CHECK(client.counters()->size() == store.counters().size());
  CHECK(client.collections()->at(0).objects == 3);

  ListOptions options;
  options.limit = 2;
  const ListPage page = client.list(kDefaultCollection, options).value();
  REQUIRE(page.entries.size() == 2);
  CHECK(page.entries[1].name == "a/2");
  options.start_after = page.next.value();
  CHECK(client.list(kDefaultCollection, options)->entries.at(0).name == "b");
  CHECK(client.list("none", {}).error().code == ErrorCode::kNotFound);

  const ObjectLook look = client.look(kDefaultCollection, "a/1", LookFor::kStatAndRanges).value();
  CHECK(look.stat.size == 100'000);
  CHECK(look.stat.version == store.stat(kDefaultCollection, "a/1")->version);
  CHECK(look.ranges.size() == 1);
  CHECK(client.look(kDefaultCollection, "none", LookFor::kStat).error().code ==
        ErrorCode::kNotFound);

  // Commits go on meanwhile, and are seen.
  REQUIRE(put(store, "c", "4").ok());
  CHECK(client.space()->objects == 4);
  CHECK(store.serve_control().ok());  // as it does already
  REQUIRE(store.close().ok());
  CHECK(store.serve_control().error().code == ErrorCode::kClosed);
  CHECK(client.status().error().code == ErrorCode::kBusy);
  CHECK(pool.why_not() == ErrorCode::kNotFound);
  CHECK_FALSE(std::filesystem::exists(pool.directory.path("fast/control")));
}

TEST_CASE("control: a scrub is started, looked at and stopped") {
  const Pool pool;
  Store store = pool.open();
  REQUIRE(put(store, "a", std::string(5'000'000, 'x')).ok());
  const ControlClient client = pool.client();
  CHECK(client.scrub()->began == 0);
  CHECK(client.stop_scrub().error().code == ErrorCode::kNotFound);
  const auto await_end = [&] {
    ControlScrub scrub = client.scrub().value();
    while (scrub.running) scrub = client.scrub().value();
    return scrub;
  };
  REQUIRE(client.start_scrub(0, "")->running);
  ControlScrub scrub = await_end();
  CHECK(scrub.failure.empty());
  CHECK(scrub.errors == 0);
  CHECK(scrub.report.next.empty());
  CHECK(scrub.report.bytes_checked >= 5'000'000);
  // One byte a second takes longer than this test.
  REQUIRE(client.start_scrub(1, "").ok());
  CHECK(client.start_scrub(1, "").error().code == ErrorCode::kAlreadyExists);
  bool shown = false;
  const StoreStatus status = client.status().value();
  for (const JobStatus& job : status.jobs) {
    shown = shown || (job.name == "scrub" && job.running);
  }
  CHECK(shown);
  REQUIRE(client.stop_scrub().ok());
  scrub = await_end();
  CHECK(scrub.began == 2);
  CHECK(scrub.failure.empty());
  CHECK(client.start_scrub(0, "nowhere").error().code == ErrorCode::kInvalidArgument);
  // Nor does one that goes on keep the store open.
  REQUIRE(client.start_scrub(1, "").ok());
  REQUIRE(store.close().ok());
}

TEST_CASE("control: a scrub is paused, and goes on where it was") {
  const Pool pool;
  Store store = pool.open();
  for (int i = 0; i < 8; ++i) {
    REQUIRE(put(store, std::to_string(i), std::string(5'000'000, 'x')).ok());
  }
  const ControlClient client = pool.client();
  const auto await_rest = [&] {
    ControlScrub scrub = client.scrub().value();
    while (scrub.running) scrub = client.scrub().value();
    return scrub;
  };
  CHECK(client.pause_scrub().error().code == ErrorCode::kNotFound);
  // With one byte a second it is not through by the first piece.
  REQUIRE(client.start_scrub(1, "").ok());
  REQUIRE(client.pause_scrub().ok());
  const ControlScrub paused = await_rest();
  CHECK(paused.paused);
  CHECK_FALSE(paused.report.next.empty());
  CHECK(client.start_scrub(0, "").error().code == ErrorCode::kAlreadyExists);
  REQUIRE(client.resume_scrub(1'000'000'000'000)->running);
  const ControlScrub through = await_rest();
  CHECK_FALSE(through.paused);
  CHECK(through.failure.empty());
  CHECK(through.began == 1);
  CHECK(through.errors == 0);
  CHECK(through.report.next.empty());
  CHECK(through.report.bytes_checked >= 40'000'000);
  CHECK(through.report.bytes_checked > paused.report.bytes_checked);
}

TEST_CASE("control: closing waits for nobody who asks") {
  const Pool pool;
  std::optional<Store> store = pool.open();
  const std::string directory = pool.directory.path("fast/control");
  std::vector<io::OwnFd> silent;
  for (int i = 0; i < 8; ++i) silent.push_back(io::connect_in(directory).value());
  REQUIRE(put(*store, "a", "1").ok());
  REQUIRE(store->close().ok());
  store.reset();
  Store again = pool.open();
  CHECK(pool.client().status().ok());
  CHECK(again.exists(kDefaultCollection, "a").value());
}

TEST_CASE("control: an open store that is let go of takes its socket with it") {
  const Pool pool;
  { const Store store = pool.open(); }
  CHECK_FALSE(std::filesystem::exists(pool.directory.path("fast/control")));
  { Store store = pool.open(); }
}

TEST_CASE("control: a scrub that the process does by itself is told of, too") {
  const Pool pool;
  Store store = pool.open();
  REQUIRE(put(store, "a", std::string(5'000'000, 'x')).ok());
  const ControlClient client = pool.client();
  const auto is_shown = [&] {
    const StoreStatus status = client.status().value();
    for (const JobStatus& job : status.jobs) {
      if (job.name == "scrub" && job.running) return true;
    }
    return false;
  };
  CHECK_FALSE(is_shown());
  bool shown = false;
  ScrubOptions options;
  options.progress = [&](const ScrubReport&) {
    shown = is_shown();
    return true;
  };
  REQUIRE(store.scrub(options).ok());
  CHECK(shown);
  CHECK_FALSE(is_shown());
  CHECK(client.scrub()->began == 0);
}

TEST_CASE("control: two pools have two sockets, and each is found by its own devices") {
  const Pool first;
  const Pool second;
  Store one = first.open();
  Store two = second.open();
  CHECK(first.client().holder().store == one.status().uuid);
  CHECK(second.client().holder().store == two.status().uuid);
  REQUIRE(one.close().ok());
  CHECK(first.why_not() == ErrorCode::kNotFound);
  CHECK(second.client().status().ok());
}

TEST_CASE("control: what another opening answers is not taken for an answer of the first") {
  const Pool pool;
  std::optional<Store> store = pool.open();
  const ControlClient client = pool.client();
  REQUIRE(client.start_scrub(1, "").ok());
  store.reset();
  CHECK(client.scrub().error().code == ErrorCode::kBusy);
  store = pool.open();
  const Error error = client.scrub().error();
  CHECK(error.code == ErrorCode::kBusy);
  CHECK(error.message.find("has opened it since") != std::string::npos);
}

TEST_CASE("control: it is found by the devices alone, through links, and in a runtime directory") {
  Pool pool;
  std::optional<Store> store = pool.open();
  PoolDescription by_devices{pool.description.devices, {}};
  CHECK(ControlClient::find(by_devices).ok());
  std::filesystem::create_directory_symlink(pool.directory.path(), pool.directory.path("link"));
  for (std::string& device : by_devices.devices) {
    device = pool.directory.path("link/") + std::filesystem::path(device).filename().string();
  }
  CHECK(ControlClient::find(by_devices).ok());
  by_devices.fast_directories = {pool.directory.path("link/fast")};
  CHECK(ControlClient::find(by_devices).ok());
  REQUIRE(store->close().ok());
  store.reset();

  // A file stands where the directory would have to be.
  io::testing::TemporaryDirectory runtime;
  ::setenv("XDG_RUNTIME_DIR", runtime.path().c_str(), 1);
  {
    std::unique_ptr<FILE, int (*)(FILE*)>(fopen(pool.directory.path("fast/control").c_str(), "w"),
                                          fclose);
  }
  Store elsewhere = pool.open();
  CHECK(has_note(elsewhere, "control socket " + runtime.path()));
  CHECK(pool.client().status().ok());
  REQUIRE(elsewhere.close().ok());
  ::unsetenv("XDG_RUNTIME_DIR");
}

TEST_CASE("control: reading and memory have none, and say why") {
  const Pool pool;
  Store reader = pool.open_quietly(Access::kReadOnly);
  CHECK(reader.serve_control().error().code == ErrorCode::kUnsupported);
  CHECK(has_note(reader, "no control socket: others can open"));
  CHECK(pool.why_not() == ErrorCode::kNotFound);
  REQUIRE(reader.close().ok());
  Store memory = Store::in_memory({}).value();
  CHECK(memory.serve_control().error().code == ErrorCode::kUnsupported);
  CHECK(has_note(memory, "no control socket: a store in memory"));
}

TEST_CASE("control: questions of those who have gone do not heap up") {
  io::testing::TemporaryDirectory directory;
  const std::unique_ptr<io::Executor> executor = io::make_thread_executor(1);
  std::mutex held;
  held.lock();
  std::atomic<bool> entered = false;
  std::atomic<int> counted = 0;
  ControlWork work;
  work.room_for = [&](std::uint64_t) -> Result<ObjectRoom> {
    entered = true;
    const std::lock_guard<std::mutex> lock(held);
    return ObjectRoom{};
  };
  work.counters = [&] {
    ++counted;
    return std::vector<Counter>();
  };
  ControlServer server(*executor, {}, std::move(work));
  const std::vector<std::string> places = {directory.path("control")};
  REQUIRE(server.start(places).ok());
  // When it is answered, all that was sent before has been heard.
  const auto greet = [&] { REQUIRE(io::ask_line(places, R"({"hexad":1,"ask":"hello"})").ok()); };
  const std::unique_ptr<io::Thread> patient = executor->start("patient", [&] {
    static_cast<void>(io::ask_line(places, R"({"hexad":1,"ask":"room","object_size":1})"));
  });
  while (!entered) executor->sleep_for(1'000'000);
  for (int i = 0; i < 50; ++i) {
    const io::OwnFd fd = io::connect_in(places[0]).value();
    const std::string line = "{\"hexad\":1,\"ask\":\"counters\"}\n";
    REQUIRE(::send(fd.get(), line.data(), line.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(line.size()));
    greet();
  }
  CHECK(server.waiting() == 1);
  greet();
  held.unlock();
  patient->join();
  while (server.waiting() > 0) executor->sleep_for(1'000'000);
  CHECK(counted == 0);
}

TEST_CASE("control: what is asked of a device reaches the store, and its answers come back") {
  const Pool pool;
  const std::unique_ptr<io::Executor> executor = io::make_thread_executor(1);
  std::vector<std::string> done;
  const auto note = [&](const char* what) {
    return [&done, what](DeviceId device) -> Status {
      done.push_back(what + std::to_string(device));
      if (device == 3) return {};
      return Error{ErrorCode::kNoSpace, "too full", "Remove something."};
    };
  };
  ControlWork work;
  work.add_device = [&](const std::string& path,
                        const std::string& failure_domain) -> Result<DeviceId> {
    done.push_back("add " + path + (failure_domain.empty() ? "" : " in " + failure_domain));
    return DeviceId{7};
  };
  work.replace_device = [&](DeviceId device, const std::string& path) -> Result<DeviceId> {
    done.push_back("replace " + std::to_string(device) + " " + path);
    return DeviceId{8};
  };
  work.drain_device = note("drain ");
  work.undrain_device = note("undrain ");
  work.remove_device = note("remove ");
  work.clear_device_errors = [&](std::optional<DeviceId> device) -> Status {
    if (device.has_value()) return note("clear ")(*device);
    done.push_back("clear all");
    return {};
  };
  ControlHolder holder;
  holder.store = inspect(pool.description)->uuid;
  holder.process.pid = ::getpid();
  ControlServer server(*executor, holder, std::move(work));
  REQUIRE(server.start({pool.directory.path("fast") + "/control"}).ok());
  const ControlClient client = pool.client();
  CHECK(client.add_device("/dev/new", "").value() == 7);
  CHECK(client.add_device("/dev/new", "shelf-1").value() == 7);
  CHECK(client.add_device("", "").error().code == ErrorCode::kInvalidArgument);
  CHECK(client.replace_device(3, "/dev/new").value() == 8);
  CHECK(client.drain_device(3).ok());
  CHECK(client.drain_device(4).error().hint == "Remove something.");
  // Device 0 is not meant by who names none.
  for (const char* ask : {"device replace", "device drain", "device undrain", "device remove"}) {
    const std::string line = std::string(R"({"hexad":1,"ask":")") + ask + "\"}";
    const auto answer = io::ask_line({pool.directory.path("fast") + "/control"}, line);
    REQUIRE(answer.ok());
    CHECK(decode_reply(answer->line)->result.error().code == ErrorCode::kInvalidArgument);
  }
  CHECK(client.undrain_device(3).ok());
  CHECK(client.undrain_device(4).error().code == ErrorCode::kNoSpace);
  CHECK(client.remove_device(3).ok());
  CHECK(client.remove_device(4).error().message == "too full");
  CHECK(client.clear_device_errors(3).ok());
  CHECK(client.clear_device_errors(4).error().code == ErrorCode::kNoSpace);
  CHECK(client.clear_device_errors(std::nullopt).ok());
  CHECK(done == std::vector<std::string>{"add /dev/new", "add /dev/new in shelf-1",
                                         "replace 3 /dev/new", "drain 3", "drain 4", "undrain 3",
                                         "undrain 4", "remove 3", "remove 4", "clear 3", "clear 4",
                                         "clear all"});
}

TEST_CASE("control: who waits for an answer while the store is closed is told so") {
  const Pool pool;
  Store store = pool.open();
  const ControlClient client = pool.client();
  std::atomic<bool> asking = false;
  std::optional<Error> error;
  const std::unique_ptr<io::Executor> executor = io::make_thread_executor(1);
  const std::unique_ptr<io::Thread> asker = executor->start("asker", [&] {
    for (;;) {
      const Result<StoreStatus> status = client.status();
      asking = true;
      if (status.ok()) continue;
      error = status.error();
      return;
    }
  });
  while (!asking) executor->sleep_for(1'000'000);
  REQUIRE(store.close().ok());
  asker->join();
  // Whether it was met while it asked, or came too late.
  CHECK(error->code == ErrorCode::kBusy);
  CHECK(error->message.find("does not answer any more") != std::string::npos);
}

TEST_CASE("control: a question of another version, or that nobody knows, is refused in words") {
  const Pool pool;
  Store store = pool.open();
  const std::vector<std::string> places = {pool.directory.path("fast/control")};
  const auto ask = [&](const std::string& line) {
    return decode_reply(io::ask_line(places, line)->line)->result.error();
  };
  CHECK(ask("nonsense").code == ErrorCode::kInvalidArgument);
  CHECK(ask(R"({"hexad":9,"ask":"status"})").code == ErrorCode::kUnsupported);
  CHECK(ask(R"({"hexad":1,"ask":"remove all"})").code == ErrorCode::kUnsupported);
  CHECK(ask(std::string(100'000, 'x')).code == ErrorCode::kTooBig);
  CHECK(pool.client().status().ok());
}

TEST_CASE("control: a child that was forked does not keep a dead store's socket alive") {
  const Pool pool;
  std::optional<Store> store = pool.open();
  int hold[2];
  REQUIRE(::pipe(hold) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(hold[1]);
    char byte = 0;
    ::_exit(::read(hold[0], &byte, 1) == 0 ? 0 : 1);
  }
  REQUIRE(store->close().ok());
  CHECK(pool.why_not() == ErrorCode::kNotFound);
  store.reset();
  Store again = pool.open();
  CHECK(pool.client().status().ok());
  ::close(hold[1]);
  ::close(hold[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
}

}  // namespace
}  // namespace hexad::core
