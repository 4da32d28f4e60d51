#include "io/sim/crash_states.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "base/aligned_buffer.h"
#include "base/units.h"
#include "io/sim/sim_system.h"

using namespace hexad;
using namespace hexad::io;

namespace {

std::shared_ptr<const CowImage> blank() { return std::make_shared<CowImage>(64_KiB); }

Bytes filled(std::uint64_t length, int value) {
  return Bytes(length, static_cast<std::byte>(value));
}

int at(const CrashState& state, std::size_t disk, std::uint64_t offset) {
  Bytes one(1);
  state.image(disk)->read(offset, one);
  return static_cast<int>(one[0]);
}

// First bytes of blocks 0, 1, ... of the disk, as a string of digits.
std::string digits(const CrashState& state, std::size_t disk, int blocks) {
  std::string text;
  for (int i = 0; i < blocks; ++i) {
    text += static_cast<char>('0' + at(state, disk, static_cast<std::uint64_t>(i) * 512));
  }
  return text;
}

CrashOptions plain() {
  CrashOptions options;
  options.tears_per_write = 0;
  return options;
}

std::multiset<std::string> outcomes(const CrashRecorder& recorder, const CrashOptions& options,
                                    int blocks) {
  std::multiset<std::string> found;
  CrashStates(recorder, options).for_each([&](const CrashState& state) {
    std::string text;
    for (std::size_t disk = 0; disk < state.disks().size(); ++disk) {
      text += (disk > 0 ? "|" : "") + digits(state, disk, blocks);
    }
    found.insert(text);
    return true;
  });
  return found;
}

}  // namespace

TEST_CASE("crash_states: every subset of unflushed writes, and nothing of flushed ones is lost") {
  CrashRecorder recorder;
  recorder.add_disk("a", blank());
  recorder.record_write(0, 0, filled(512, 1));
  recorder.record_write(0, 512, filled(512, 2));
  recorder.record_sync(0);
  recorder.record_write(0, 1024, filled(512, 3));
  REQUIRE(outcomes(recorder, plain(), 3) ==
          std::multiset<std::string>{"000", "100", "020", "120", "120", "123"});
}

TEST_CASE("crash_states: disks lose their caches independently, unless they share a domain") {
  for (const bool shared : {false, true}) {
    CrashRecorder recorder;
    recorder.add_disk("a", blank());
    if (shared) {
      recorder.add_disk_in_domain_of(0, "b", blank());
    } else {
      recorder.add_disk("b", blank());
    }
    recorder.record_write(0, 0, filled(512, 1));
    recorder.record_write(1, 0, filled(512, 2));
    recorder.record_sync(0);
    std::set<std::string> at_end;
    CrashOptions options = plain();
    options.from = recorder.position();
    for (const std::string& outcome : outcomes(recorder, options, 1)) at_end.insert(outcome);
    REQUIRE(at_end ==
            (shared ? std::set<std::string>{"1|2"} : std::set<std::string>{"1|0", "1|2"}));
  }
}

TEST_CASE("crash_states: a durable write in flight may be there, and is when complete") {
  CrashRecorder recorder;
  recorder.add_disk("a", blank());
  const auto data = std::make_shared<const Bytes>(filled(512, 1));
  const OpId first = recorder.submit_write(0, 0, 512, data, WriteMode::kDurable);
  const OpId second = recorder.submit_write(0, 512, 512, data, WriteMode::kDurable);
  recorder.complete_write(second);
  recorder.complete_write(first);
  REQUIRE(outcomes(recorder, plain(), 2) ==
          std::multiset<std::string>{"00", "10", "01", "11", "01", "11", "11"});
}

TEST_CASE("crash_states: crashes at every event see fewer claims but no other images") {
  CrashRecorder recorder;
  recorder.add_disk("a", blank());
  for (int i = 0; i < 4; ++i) {
    recorder.record_write(0, static_cast<std::uint64_t>(i) * 512, filled(512, 1 + i));
    if (i == 1) recorder.record_sync(0);
  }
  CrashOptions every = plain();
  every.moments = CrashOptions::Moments::kEveryEvent;
  const auto all = outcomes(recorder, every, 4);
  const auto few = outcomes(recorder, plain(), 4);
  REQUIRE(std::set(all.begin(), all.end()) == std::set(few.begin(), few.end()));
  REQUIRE(all.size() > few.size());
}

TEST_CASE("crash_states: positions say what had happened") {
  CrashRecorder recorder;
  recorder.add_disk("a", blank());
  std::vector<std::uint64_t> acknowledged;
  for (int i = 0; i < 5; ++i) {
    recorder.record_write(0, static_cast<std::uint64_t>(i) * 4096, filled(512, 1));
    recorder.record_sync(0);
    acknowledged.push_back(recorder.position());
  }
  for (const auto moments :
       {CrashOptions::Moments::kEveryEvent, CrashOptions::Moments::kBeforeLoss}) {
    CrashOptions options;
    options.moments = moments;
    CrashStates(recorder, options).for_each([&](const CrashState& state) {
      for (std::size_t i = 0; i < acknowledged.size(); ++i) {
        if (acknowledged[i] <= state.position()) CHECK(at(state, 0, i * 4096) == 1);
      }
      return true;
    });
  }
}

TEST_CASE("crash_states: more writes than the limit are sampled with all the simple cases") {
  CrashRecorder recorder;
  recorder.add_disk("a", blank());
  recorder.add_disk("b", blank());
  constexpr int kWrites = 20;
  for (int i = 0; i < kWrites; ++i) {
    recorder.record_write(static_cast<std::uint32_t>(i % 2), static_cast<std::uint64_t>(i) * 512,
                          filled(512, 1));
  }
  CrashOptions options = plain();
  options.random_samples = 100;
  options.garble_blocks = false;
  std::set<std::string> seen;
  std::set<std::uint64_t> identities;
  CrashStates(recorder, options).for_each([&](const CrashState& state) {
    std::string text;
    for (int i = 0; i < kWrites; ++i) {
      text += at(state, static_cast<std::size_t>(i % 2), static_cast<std::uint64_t>(i) * 512) != 0
                  ? '1'
                  : '0';
    }
    REQUIRE(seen.insert(text).second);
    REQUIRE(identities.insert(state.identity()).second);
    return true;
  });
  for (int i = 0; i <= kWrites; ++i) {
    const std::string prefix = std::string(i, '1') + std::string(kWrites - i, '0');
    REQUIRE(seen.count(prefix) == 1);
  }
  for (int i = 0; i < kWrites; ++i) {
    std::string drop(kWrites, '1');
    drop[i] = '0';
    std::string keep(kWrites, '0');
    keep[i] = '1';
    REQUIRE((seen.count(drop) == 1 && seen.count(keep) == 1));
  }
  std::string only_b;
  for (int i = 0; i < kWrites; ++i) only_b += i % 2 == 1 ? '1' : '0';
  REQUIRE(seen.count(only_b) == 1);
  REQUIRE(seen.size() > 150);
}

TEST_CASE("crash_states: large writes are torn at sectors, and blocks garbled") {
  CrashRecorder recorder;
  recorder.add_disk("a", blank());
  recorder.record_write(0, 4096, filled(8192, 1));
  CrashOptions options;
  options.tears_per_write = 4;
  int torn = 0;
  int garbled = 0;
  CrashStates(recorder, options).for_each([&](const CrashState& state) {
    const Bytes bytes = state.image(0)->flatten();
    const auto kept = std::count(bytes.begin(), bytes.end(), std::byte{1});
    const auto zeros = std::count(bytes.begin(), bytes.end(), std::byte{0});
    if (static_cast<std::size_t>(kept + zeros) < bytes.size() - 100) {
      ++garbled;
      CHECK(state.describe().find("garbled") != std::string::npos);
    } else if (kept > 0 && kept < 8192) {
      CHECK(kept % 512 == 0);
      ++torn;
    }
    return true;
  });
  REQUIRE(torn >= 2);
  REQUIRE(garbled >= 1);
}

TEST_CASE("crash_states: the same recording and options give the same states") {
  const auto run = [](std::uint64_t seed) {
    CrashRecorder recorder;
    recorder.add_disk("a", blank());
    for (int i = 0; i < 16; ++i) {
      recorder.record_write(0, static_cast<std::uint64_t>(i) * 2048, filled(2048, 1));
    }
    std::vector<std::uint64_t> hashes;
    CrashOptions options;
    options.seed = seed;
    CrashStates(recorder, options).for_each([&](const CrashState& state) {
      hashes.push_back(state.image(0)->hash());
      return true;
    });
    return hashes;
  };
  REQUIRE(run(1) == run(1));
  REQUIRE(run(1) != run(2));
}

TEST_CASE("crash_states: the visitor ends the enumeration, a limit ends a moment") {
  CrashRecorder recorder;
  recorder.add_disk("a", blank());
  for (int i = 0; i < 6; ++i) recorder.record_write(0, 0, filled(512, 1));
  REQUIRE(CrashStates(recorder).for_each(
              [](const CrashState& state) { return state.number() < 4; }) == 5);
  CrashOptions options;
  options.max_states_per_moment = 10;
  REQUIRE(CrashStates(recorder, options).for_each([](const CrashState&) { return true; }) == 10);
}

TEST_CASE("crash_states: failed flushes and dropped writes are told apart from lost ones") {
  CrashRecorder recorder;
  recorder.add_disk("a", blank());
  const auto data = std::make_shared<const Bytes>(filled(512, 1));
  recorder.drop_write(recorder.submit_write(0, 0, 512, data, WriteMode::kCached));
  recorder.record_write(0, 512, filled(512, 2));
  recorder.fail_flush(recorder.submit_flush(0));
  recorder.record_sync(0);
  CrashOptions options = plain();
  options.from = recorder.position();
  REQUIRE(outcomes(recorder, options, 2) == std::multiset<std::string>{"00", "02"});
  REQUIRE(recorder.disk_index("a") == 0);
}

// A toy store: two copies of a counter on two disks, written one after the other with a durable
// write each; recovery takes the larger one and rewrites the other. It must survive every crash,
// those during recovery included.
namespace {

constexpr std::uint64_t kCopyOffset = 4096;

std::uint64_t read_counter(Device& device) {
  AlignedBuffer buffer(4096);
  REQUIRE(device.read(kCopyOffset, buffer.bytes()).ok());
  std::uint64_t value = 0;
  std::uint64_t check = 0;
  std::memcpy(&value, buffer.data(), 8);
  std::memcpy(&check, buffer.data() + 8, 8);
  return check == ~value ? value : 0;  // torn: as if never written
}

void write_counter(Device& device, std::uint64_t value) {
  AlignedBuffer buffer = AlignedBuffer::zeroed(4096);
  const std::uint64_t check = ~value;
  std::memcpy(buffer.data(), &value, 8);
  std::memcpy(buffer.data() + 8, &check, 8);
  REQUIRE(device.write(kCopyOffset, buffer, WriteMode::kDurable).ok());
}

std::uint64_t recover(SimSystem& system) {
  const auto a = system.open_device("a", OpenMode::kReadWrite).value();
  const auto b = system.open_device("b", OpenMode::kReadWrite).value();
  const std::uint64_t value = std::max(read_counter(*a), read_counter(*b));
  // The copy that holds the value stays untouched while the other one is rewritten.
  if (read_counter(*a) != value) write_counter(*a, value);
  if (read_counter(*b) != value) write_counter(*b, value);
  return value;
}

}  // namespace

TEST_CASE("crash_states: a toy store survives every crash, and every crash of its recovery") {
  const auto stacks = std::make_shared<FiberStacks>();
  CrashRecorder recorder;
  SimSystem system(SimOptions{.seed = 3, .recorder = &recorder});
  system.add_disk("a", 1_MiB);
  system.add_disk("b", 1_MiB);
  std::vector<std::uint64_t> acknowledged;
  system.run([&] {
    const auto a = system.open_device("a", OpenMode::kReadWrite).value();
    const auto b = system.open_device("b", OpenMode::kReadWrite).value();
    for (std::uint64_t value = 1; value <= 10; ++value) {
      write_counter(*a, value);
      write_counter(*b, value);
      acknowledged.push_back(recorder.position());
    }
  });
  std::uint64_t nested = 0;
  CrashOptions options;
  options.tears_per_write = 4;
  const std::uint64_t tried = CrashStates(recorder, options).for_each([&](const CrashState& state) {
    INFO(state.describe());
    std::uint64_t least = 0;
    while (least < acknowledged.size() && acknowledged[least] <= state.position()) ++least;
    CrashRecorder again;
    std::uint64_t value = 0;
    {
      SimSystem after(state, SimOptions{.seed = 1, .recorder = &again, .stacks = stacks});
      after.run([&] { value = recover(after); });
    }
    REQUIRE((value >= least && value <= least + 1));
    nested += CrashStates(again, options).for_each([&](const CrashState& inner) {
      INFO(inner.describe());
      SimSystem last(inner, SimOptions{.seed = 2, .stacks = stacks});
      last.run([&] {
        const std::uint64_t found = recover(last);
        REQUIRE(found == value);
      });
      return true;
    });
    return true;
  });
  REQUIRE(tried > 100);
  REQUIRE(nested > tried);
}

TEST_CASE("crash_states: fifty thousand states of six disks are quick") {
  CrashRecorder recorder;
  std::vector<Bytes> cells;
  for (int disk = 0; disk < 6; ++disk) {
    recorder.add_disk("disk" + std::to_string(disk), std::make_shared<CowImage>(1_MiB));
    recorder.record_write(static_cast<std::uint32_t>(disk), 0, filled(1_MiB, 9));
    recorder.record_sync(static_cast<std::uint32_t>(disk));
  }
  const std::uint64_t start = recorder.position();
  for (int group = 0; group < 60; ++group) {
    std::vector<OpId> ops;
    for (int i = 0; i < 9; ++i) {
      const auto data = std::make_shared<const Bytes>(filled(4096, group));
      ops.push_back(recorder.submit_write(
          static_cast<std::uint32_t>(i % 6),
          static_cast<std::uint64_t>(group) * 16384 + static_cast<std::uint64_t>(i / 6) * 4096,
          4096, data, WriteMode::kDurable));
    }
    for (const OpId op : ops) recorder.complete_write(op);
  }
  const auto stacks = std::make_shared<FiberStacks>();
  CrashOptions options;
  options.from = start;
  std::uint64_t sum = 0;
  const std::uint64_t tried = CrashStates(recorder, options).for_each([&](const CrashState& state) {
    SimSystem after(state, SimOptions{.seed = 1, .stacks = stacks});
    sum += after.disk("disk3").size();
    return true;
  });
  REQUIRE(tried > 50'000);
  REQUIRE(sum == tried * 1_MiB);
}
