// Whether a store has a control socket, and what is said where it has none.
#include "core/control/control_slot.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/executor.h"

namespace hexad::core {
namespace {

Status always() { return {}; }

std::vector<std::string> notes_of(ControlSlot& slot) {
  StoreStatus status;
  slot.show(status);
  return status.notes;
}

TEST_CASE("why there is no control socket is said until there is one") {
  const std::unique_ptr<io::Executor> executor = io::make_thread_executor(1);
  ControlSlot slot(*executor);
  CHECK(slot.server() == nullptr);
  CHECK(notes_of(slot).empty());  // nobody has asked for one

  using Made = Result<std::shared_ptr<ControlServer>>;
  const Status refused = slot.serve(always, []() -> Made {
    return Error{ErrorCode::kUnsupported, "there is no room", ""};
  });
  CHECK(refused.error().code == ErrorCode::kUnsupported);
  CHECK(slot.server() == nullptr);
  CHECK(notes_of(slot) == std::vector<std::string>{"no control socket: there is no room"});

  const auto server = std::make_shared<ControlServer>(*executor, ControlHolder{}, ControlWork{});
  CHECK(slot.serve(always, [&]() -> Made { return server; }).ok());
  CHECK(slot.server() == server);
  CHECK(notes_of(slot).empty());  // it serves nowhere yet
}

TEST_CASE("a control socket is made once, and not where it may not be") {
  const std::unique_ptr<io::Executor> executor = io::make_thread_executor(1);
  ControlSlot slot(*executor);
  int made = 0;
  const auto make = [&]() -> Result<std::shared_ptr<ControlServer>> {
    ++made;
    return std::make_shared<ControlServer>(*executor, ControlHolder{}, ControlWork{});
  };
  const Status closed = slot.serve(
      []() -> Status {
        return Error{ErrorCode::kClosed, "closed", ""};
      },
      make);
  CHECK(closed.error().code == ErrorCode::kClosed);
  CHECK(made == 0);
  CHECK(notes_of(slot).empty());  // a store that is closed has nothing to say of it

  CHECK(slot.serve(always, make).ok());
  CHECK(slot.serve(always, make).ok());
  CHECK(made == 1);

  slot.end();
  CHECK(slot.server() == nullptr);
}

}  // namespace
}  // namespace hexad::core
