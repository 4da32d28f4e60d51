// A store whose devices leave and come back, or are replaced: what it is filled with meanwhile, and
// an oracle that sees lost redundancy.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/core/store_fixture.h"

namespace hexad::testing {

struct Profile {
  std::uint8_t k;
  std::uint8_t m;
  std::size_t devices() const { return std::size_t{k} + m; }
};

inline FormatOptions format_of(Profile profile) {
  FormatOptions options = small_format();
  options.profile.k = profile.k;
  options.profile.m = profile.m;
  if (profile.k < 4) options.device_size = 16_MiB;
  return options;
}

// The test says when cells are filled, and checkpoints come often.
inline RuntimeOptions asked() {
  RuntimeOptions options = busy_runtime();
  options.catch_up = CatchUp::kWhenAsked;
  options.split_risk = SplitRisk::kTake;
  return options;
}

using Content = std::map<std::string, std::string>;

// Names are used again, and so are the units of what they had: overwritten, removed, of all sizes.
inline void churn(Store& store, Content& content, int round) {
  for (int i = 0; i < 12; ++i) {
    const std::string name = "object" + std::to_string((i * 7 + round) % 17);
    if ((i + round) % 5 == 4 && content.count(name) > 0) {
      REQUIRE(remove(store, name).ok());
      content.erase(name);
      continue;
    }
    const std::size_t size = i % 3 == 0 ? 300'000 + 1000 * round : 200 + 3000 * i;
    const std::string value = noise(size, 100 * round + i);
    REQUIRE(message_of(put(store, name, value).status()) == "");
    content[name] = value;
  }
  if (round % 2 == 0) REQUIRE(store.checkpoint().ok());
}

inline void require_content(Store& store, const Content& content) {
  for (const auto& [name, value] : content) {
    CAPTURE(name);
    REQUIRE((get(store, name) == value));
  }
}

inline std::vector<std::set<std::size_t>> sets_of(std::size_t devices, std::size_t count) {
  std::vector<std::set<std::size_t>> sets;
  for (unsigned bits = 0; bits < 1u << devices; ++bits) {
    std::set<std::size_t> set;
    for (std::size_t i = 0; i < devices; ++i) {
      if ((bits >> i & 1) != 0) set.insert(i);
    }
    if (set.size() == count) sets.push_back(std::move(set));
  }
  return sets;
}

inline void take_away(StoreFixture& fixture, const std::set<std::size_t>& devices) {
  for (const std::size_t device : devices) fixture.take_away(device);
}
inline void bring_back(StoreFixture& fixture, const std::set<std::size_t>& devices) {
  for (const std::size_t device : devices) fixture.bring_back(device);
}

// Every cell that is not noted as missing is what it should be; and then any m devices are not
// needed, in whatever way the store was left.
inline void require_whole(StoreFixture& fixture, Profile profile, const Content& content) {
  {
    Store store = fixture.open(Access::kReadOnly);
    REQUIRE(store.status().health == Health::kOk);
    REQUIRE(store.status().faults_tolerated == profile.m);
    REQUIRE(deep_findings(store) == "");
  }
  for (const auto& away : sets_of(profile.devices(), profile.m)) {
    CAPTURE(away);
    take_away(fixture, away);
    {
      Store store = fixture.open(Access::kReadOnly);
      require_content(store, content);
    }
    bring_back(fixture, away);
  }
}

inline void catch_up(Store& store) {
  const Result<CatchUpReport> report = store.catch_up();
  REQUIRE(message_of(report.status()) == "");
  for (const Finding& finding : report->findings) {
    FAIL(finding.subject << ": " << finding.problem);
  }
  REQUIRE(report->bytes_missing == 0);
  REQUIRE(store.status().health == Health::kOk);
}

}  // namespace hexad::testing
