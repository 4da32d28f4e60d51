#include "io/no_unwinding.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <functional>
#include <new>
#include <string>

#include "base/aligned_buffer.h"
#include "io/executor.h"
#include "io/memory_device.h"

using namespace hexad;
using io::NoUnwinding;
using io::UnwindingAllowed;

namespace {

// What a child prints to standard error when it ends by SIGABRT; empty: it does not.
std::string end_of(const std::function<void()>& body) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGABRT, SIG_DFL);  // the test framework has a handler of its own
    dup2(ends[1], STDERR_FILENO);
    try {
      body();
    } catch (const std::bad_alloc&) {
    }
    _exit(0);
  }
  close(ends[1]);
  std::string errors;
  char part[256];
  for (ssize_t got = 0; (got = read(ends[0], part, sizeof part)) > 0;) {
    errors.append(part, static_cast<std::size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? errors : "";
}

void refuse() { throw std::bad_alloc(); }

// Runs `body` while an exception is on its way.
template <typename Body>
class WhileUnwinding {
 public:
  explicit WhileUnwinding(const Body& body) : body_(body) {}
  ~WhileUnwinding() { body_(); }

 private:
  const Body& body_;
};

// Never carries anything.
class StuckQueue : public io::IoQueue {
 public:
  void wait(io::IoBatch&) override {}
  std::string name() const override { return "stuck"; }

 protected:
  void submit_requests(io::IoBatch&) override {}
};

}  // namespace

TEST_CASE("no unwinding: an exception that leaves the scope ends the process, and it says why") {
  const std::string said = end_of([] {
    const NoUnwinding none("the test");
    refuse();
  });
  REQUIRE(said.find("hexad: ") == 0);
  REQUIRE(said.find("would leave the test half done") != std::string::npos);
}

TEST_CASE("no unwinding: without an exception, or with one that stays inside, nothing happens") {
  REQUIRE(end_of([] { const NoUnwinding none("the test"); }) == "");
  REQUIRE(end_of([] {
            const NoUnwinding none("the test");
            try {
              refuse();
            } catch (const std::bad_alloc&) {
            }
          }) == "");
}

TEST_CASE("no unwinding: one that was on its way before does not matter") {
  const auto body = [] { const NoUnwinding none("the test"); };
  REQUIRE(end_of([&] {
            const WhileUnwinding during(body);
            refuse();
          }) == "");
}

TEST_CASE("no unwinding: no exception leaves a lock that is held") {
  const auto executor = io::make_thread_executor(1);
  io::Mutex mutex(*executor);
  REQUIRE(end_of([&] {
            const io::Lock lock(mutex);
            refuse();
          }).find("what a lock guards") != std::string::npos);
  REQUIRE(end_of([&] {
            io::Lock lock(mutex);
            lock.unlock();
            refuse();
          }) == "");
}

TEST_CASE("no unwinding: where nobody else knows of anything it may leave all") {
  REQUIRE(end_of([] {
            const UnwindingAllowed allowed(UnwindingAllowed::Because::kNobodyElse);
            const NoUnwinding none("the test");
            refuse();
          }) == "");
  REQUIRE(end_of([] {
            { const UnwindingAllowed over(UnwindingAllowed::Because::kNobodyElse); }
            const NoUnwinding none("the test");
            refuse();
          }) != "");
}

TEST_CASE("no unwinding: nothing takes away what a device may still write into") {
  StuckQueue queue;
  const auto device = io::make_memory_device("memory", 1 << 20, queue).value();
  AlignedBuffer buffer(4096);
  const auto send = [&] {
    io::IoBatch batch;
    batch.requests.push_back(io::IoRequest::read(*device, 0, buffer.bytes()));
    queue.submit(batch);
    refuse();
  };
  REQUIRE(end_of(send).find("requests that are in flight") != std::string::npos);
  REQUIRE(end_of([&] {
            const UnwindingAllowed allowed(UnwindingAllowed::Because::kNobodyElse);
            send();
          }) != "");
  REQUIRE(end_of([&] {
            const UnwindingAllowed allowed(UnwindingAllowed::Because::kSimulation);
            send();
          }) == "");
}
