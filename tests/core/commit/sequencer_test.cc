#include "core/commit/sequencer.h"

#include <catch2/catch.hpp>
#include <memory>
#include <thread>

namespace hexad::core {
namespace {

TEST_CASE("sequencer: says whether this thread holds it, and not what others do") {
  const std::unique_ptr<io::Executor> executor = io::make_thread_executor(1);
  Sequencer sequencer(*executor);
  Sequencer other(*executor);
  CHECK_FALSE(Sequencer::held_here());
  {
    SequencerLock lock(sequencer);
    CHECK(Sequencer::held_here());
    bool held_there = true;
    std::thread([&] { held_there = Sequencer::held_here(); }).join();
    CHECK_FALSE(held_there);
    SequencerLock second(other);
    second.unlock();
    CHECK(Sequencer::held_here());
  }
  CHECK_FALSE(Sequencer::held_here());
}

TEST_CASE("sequencer: one thread at a time") {
  const std::unique_ptr<io::Executor> executor = io::make_thread_executor(1);
  Sequencer sequencer(*executor);
  int count = 0;
  const auto add = [&] {
    for (int i = 0; i < 10'000; ++i) {
      const SequencerLock lock(sequencer);
      ++count;
    }
  };
  std::thread first(add);
  std::thread second(add);
  first.join();
  second.join();
  CHECK(count == 20'000);
}

}  // namespace
}  // namespace hexad::core
