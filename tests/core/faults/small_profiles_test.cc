// Profiles with k <= m, where half of the devices can be all there is (doc/promises.md): a store
// that saw the others fail goes on with it, and so does whoever finds a device that knows; whoever
// finds nothing of the kind reads, and writes only when told to take the risk.
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <set>

#include "core/opening/pool_options.h"
#include "tests/core/faulty_system.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

struct Profile {
  std::uint8_t k;
  std::uint8_t m;
};
constexpr Profile kProfiles[] = {{1, 1}, {1, 2}, {2, 2}, {2, 3}};

using Devices = std::set<std::size_t>;

class Pool {
 public:
  explicit Pool(Profile profile)
      : count(std::size_t{profile.k} + profile.m),
        faulty_(memory_of_),
        fixture_(options(profile), &faulty_) {}

  DeviceFault& fault(std::size_t device) { return faulty_.fault(fixture_.device(device)); }
  const std::string& device(std::size_t index) const { return fixture_.device(index); }
  // From now on these data devices are there, and no others.
  void attach(const Devices& devices) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::string& path = fixture_.device(i);
      const bool here = devices.count(i) > 0;
      if (here == (away_.count(i) == 0)) continue;
      if (here) {
        const Bytes bytes = std::move(away_.at(i));
        away_.erase(i);
        REQUIRE(memory_of_.create_device(path, bytes.size()).ok());
        memory_of_.media(path)->write(0, bytes);
      } else {
        away_[i] = read_media(*memory_of_.media(path));
        memory_of_.remove_device(path);
      }
    }
  }
  // Log and index, for good.
  void lose_fast_tier() {
    memory_of_.remove_device(core::fast_log_path(fixture_.pool.fast_directories[0]));
    forget_index();
  }
  void forget_index() { std::filesystem::remove_all(fixture_.pool.fast_directories[0] + "/index"); }
  Result<Store> try_open(Access access = Access::kReadWrite, SplitRisk risk = SplitRisk::kRefuse) {
    RuntimeOptions options;
    options.split_risk = risk;
    options.catch_up = CatchUp::kWhenAsked;
    return fixture_.try_open(access, options);
  }
  Store open(Access access = Access::kReadWrite, SplitRisk risk = SplitRisk::kRefuse) {
    Result<Store> store = try_open(access, risk);
    if (!store.ok()) FAIL(store.error().to_string());
    return std::move(store).value();
  }
  Devices all() const { return from(0, count); }
  static Devices from(std::size_t begin, std::size_t end) {
    Devices devices;
    for (; begin < end; ++begin) devices.insert(begin);
    return devices;
  }

  const std::size_t count;

 private:
  static FormatOptions options(Profile profile) {
    FormatOptions format = small_format();
    format.device_size = 16_MiB;
    format.profile.k = profile.k;
    format.profile.m = profile.m;
    return format;
  }

  io::MemorySystem memory_of_;
  FaultySystem faulty_;
  StoreFixture fixture_;
  std::map<std::size_t, Bytes> away_;
};

std::string value_of(const std::string& name) { return noise(20'000, name.size() + name.back()); }

void put_all(Store& store, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    REQUIRE(message_of(put(store, name, value_of(name)).status()) == "");
}

void require_all(Store& store, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    CAPTURE(name);
    REQUIRE((get(store, name) == value_of(name)));
  }
}

TEST_CASE("small profiles: a store that sees m devices fail goes on, and whoever opens it later") {
  for (const Profile profile : kProfiles) {
    CAPTURE(+profile.k, +profile.m);
    Pool pool(profile);
    std::vector<std::string> names = {"before"};
    {
      Store store = pool.open();
      put_all(store, names);
      for (std::size_t i = 0; i < profile.m; ++i) {
        pool.fault(i).writes = true;
        names.push_back("failed" + std::to_string(i));
        put_all(store, {names.back()});
        REQUIRE(state_of(store, pool.device(i)) == "failed");
        if (i == 0) REQUIRE(store.checkpoint().ok());
      }
      REQUIRE(store.status().faults_tolerated == 0);
    }
    // Without them, with the fast tier and without it.
    pool.attach(Pool::from(profile.m, pool.count));
    for (int i = 0; i < 2; ++i) {
      Store store = pool.open();
      require_all(store, names);
      names.push_back("later" + std::to_string(i));
      put_all(store, {names.back()});
      REQUIRE(deep_findings(store) == "");
      REQUIRE(store.close().ok());
      if (i == 0) pool.lose_fast_tier();
    }
    // They come back, without what they missed; and alone they are not enough.
    for (std::size_t i = 0; i < profile.m; ++i) pool.fault(i).writes = false;
    pool.attach(pool.all());
    {
      Store store = pool.open();
      require_all(store, names);
      for (std::size_t i = 0; i < profile.m; ++i) {
        REQUIRE(state_of(store, pool.device(i)) == "behind");
      }
    }
    pool.forget_index();
    pool.attach(Pool::from(0, profile.m));
    const Result<Store> alone = pool.try_open();
    REQUIRE(code_of(alone) == ErrorCode::kUnavailable);
  }
}

TEST_CASE("small profiles: with any m devices away all is read, and written only by a word") {
  for (const Profile profile : kProfiles) {
    CAPTURE(+profile.k, +profile.m);
    const std::size_t count = std::size_t{profile.k} + profile.m;
    for (unsigned away = 0; away < 1u << count; ++away) {
      if (std::popcount(away) != profile.m) continue;
      CAPTURE(away);
      Pool pool(profile);
      {
        Store store = pool.open();
        put_all(store, {"before"});
        REQUIRE(store.close().ok());
      }
      Devices here;
      for (std::size_t i = 0; i < count; ++i) {
        if ((away >> i & 1) == 0) here.insert(i);
      }
      pool.attach(here);
      Epoch before = 0;
      {
        Store store = pool.open(Access::kReadOnly);
        before = store.status().epoch;
        require_all(store, {"before"});
        const std::vector<std::string> notes = store.status().notes;
        REQUIRE(std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
          return note.find("what is read is old") != std::string::npos;
        }));
      }
      const Result<Store> refused = pool.try_open();
      REQUIRE(code_of(refused) == ErrorCode::kUnavailable);
      REQUIRE(refused.error().hint.find("--risk-split") != std::string::npos);
      {
        Store store = pool.open(Access::kReadWrite, SplitRisk::kTake);
        // Far away, and with a low half, which is in the ids given out, that was never used.
        const Epoch after = store.status().epoch;
        constexpr Epoch kHalf = Epoch{1} << 32;
        REQUIRE(after / kHalf > before / kHalf);
        REQUIRE(after % kHalf > before % kHalf);
        REQUIRE(after % kHalf - before % kHalf <= kHalf / 8 + 2);
        require_all(store, {"before"});
        put_all(store, {"after"});
        REQUIRE(store.close().ok());
      }
      {
        // Whoever was away has left now: no word is needed any more.
        Store store = pool.open();
        require_all(store, {"before", "after"});
        put_all(store, {"more"});
      }
      // The others wrote nothing, so nothing has been written apart.
      pool.attach(pool.all());
      Store store = pool.open();
      require_all(store, {"before", "after", "more"});
      REQUIRE(deep_findings(store) == "");
    }
  }
}

TEST_CASE("small profiles: two halves that were written apart are recognised, and never joined") {
  for (const Profile profile : kProfiles) {
    for (const bool witnessed : {false, true}) {
      CAPTURE(+profile.k, +profile.m, witnessed);
      Pool pool(profile);
      const Devices first = Pool::from(0, profile.k);
      const Devices second = Pool::from(profile.k, pool.count);
      {
        Store store = pool.open();
        put_all(store, {"before"});
        // The second half's own process sees the first one fail, or all is closed in peace.
        if (!witnessed) REQUIRE(store.close().ok());
        if (witnessed && profile.k <= profile.m) {
          for (const std::size_t device : first) pool.fault(device).writes = true;
          put_all(store, {"second"});
        }
      }
      for (const std::size_t device : first) pool.fault(device).writes = false;
      pool.lose_fast_tier();
      pool.attach(first);
      {
        Store store = pool.open(Access::kReadWrite, SplitRisk::kTake);
        put_all(store, {"first"});
        REQUIRE(store.close().ok());
      }
      pool.forget_index();
      pool.attach(second);
      {
        Store store = witnessed ? pool.open() : pool.open(Access::kReadWrite, SplitRisk::kTake);
        put_all(store, {"second"});
        REQUIRE(store.close().ok());
      }
      pool.forget_index();
      pool.attach(pool.all());
      for (const Access access : {Access::kReadWrite, Access::kReadOnly}) {
        for (const SplitRisk risk : {SplitRisk::kRefuse, SplitRisk::kTake}) {
          const Result<Store> refused = pool.try_open(access, risk);
          REQUIRE(code_of(refused) == ErrorCode::kInvalidArgument);
          REQUIRE(refused.error().message.find("written apart") != std::string::npos);
        }
      }
      // Each goes on alone, with what it has.
      for (const bool is_first : {true, false}) {
        pool.forget_index();
        pool.attach(is_first ? first : second);
        Store store = pool.open();
        require_all(store, {"before", is_first ? "first" : "second"});
        REQUIRE(code_of(store.get(kBucket, is_first ? "second" : "first")) == ErrorCode::kNotFound);
        put_all(store, {"on its own"});
        REQUIRE(deep_findings(store) == "");
      }
    }
  }
}

TEST_CASE("small profiles: a device that fails while the store is opened is seen to fail") {
  for (const Profile profile : kProfiles) {
    for (int roots = 0; roots < 2; ++roots) {
      CAPTURE(+profile.k, +profile.m, roots);
      Pool pool(profile);
      {
        Store store = pool.open();
        put_all(store, {"before"});
      }
      for (std::size_t i = 0; i < profile.m; ++i) pool.fault(i).roots = roots;
      Store store = pool.open();
      require_all(store, {"before"});
      put_all(store, {"after"});
      for (std::size_t i = 0; i < profile.m; ++i) {
        REQUIRE(state_of(store, pool.device(i)) == "failed");
      }
    }
  }
}

}  // namespace
}  // namespace hexad::testing
