// A cursor is sent anywhere and turned round, beside a map that holds the same.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "io/rng.h"
#include "kv/walk.h"

namespace hexad::kv::testing {

// `probe` gives keys to seek, some of them in `model`.
template <typename Cursor, typename Model>
void require_turns(Cursor& cursor, const Model& model, io::Rng& rng,
                   const std::function<std::string()>& probe, int steps) {
  auto at = model.end();
  const auto before = [&](typename Model::const_iterator it) {
    return it == model.begin() ? model.end() : std::prev(it);
  };
  for (int step = 0; step < steps; ++step) {
    const std::string key = probe();
    Status status;
    const std::uint64_t choice = rng.below(at == model.end() ? 4 : 16);
    if constexpr (requires { cursor.advance(Direction::kForward, std::span<KeyValue>()); }) {
      if (choice >= 14) {  // many at a time
        const Direction direction = choice == 14 ? Direction::kForward : Direction::kBackward;
        std::vector<KeyValue> entries(1 + rng.below(70));
        const Result<std::size_t> passed = cursor.advance(direction, entries);
        REQUIRE(passed.ok());
        for (std::size_t i = 0; i < std::max<std::size_t>(*passed, 1); ++i) {
          at = direction == Direction::kForward ? std::next(at) : before(at);
          REQUIRE((at != model.end()) == (*passed > 0));
          if (at == model.end()) break;
          REQUIRE(entries[i].key == at->first);
          REQUIRE(entries[i].value == at->second);
        }
      }
    } else if (choice >= 14) {
      at = before(at);
      status = cursor.prev();
    }
    if (choice == 0) {
      at = model.lower_bound(key);
      status = cursor.seek(key);
    } else if (choice == 1) {
      at = before(model.lower_bound(key));
      status = cursor.seek_before(key);
    } else if (choice == 2) {
      at = model.begin();
      status = cursor.seek_to_first();
    } else if (choice == 3) {
      at = before(model.end());
      status = cursor.seek_to_last();
    } else if (choice < 9) {
      ++at;
      status = cursor.next();
    } else if (choice < 14) {
      at = before(at);
      status = cursor.prev();
    }
    REQUIRE(status.ok());
    REQUIRE(cursor.valid() == (at != model.end()));
    if (!cursor.valid()) continue;
    REQUIRE(cursor.key() == at->first);
    REQUIRE(cursor.value() == at->second);
  }
}

}  // namespace hexad::kv::testing
