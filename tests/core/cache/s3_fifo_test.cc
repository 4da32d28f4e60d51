#include "core/cache/s3_fifo.h"

#include <catch2/catch.hpp>
#include <list>
#include <map>
#include <optional>
#include <tuple>

#include "io/rng.h"

namespace hexad::core {
namespace {

struct Number : CacheValue {
  explicit Number(std::uint64_t of) : value(of) {}
  std::uint64_t value;
};

std::uint64_t hash_of(const CacheKey& key) {
  return mix_bits(mix_bits(key.id * 31 + key.sub) + key.kind +
                  std::hash<std::string_view>()(key.text));
}

// Puts a value of `charge` bytes under a number.
std::shared_ptr<const Number> put(S3Fifo& cache, std::uint64_t id, std::uint64_t charge) {
  const CacheKey key{0, id, 0, {}};
  auto value = std::make_shared<const Number>(id);
  cache.put(key, hash_of(key), value, charge);
  return value;
}
bool has(S3Fifo& cache, std::uint64_t id) {
  const CacheKey key{0, id, 0, {}};
  return cache.get(key, hash_of(key)) != nullptr;
}

TEST_CASE("s3_fifo: what takes the place of another one has its charge and its turn") {
  S3Fifo cache(1 << 20);
  const auto old = put(cache, 1, 1000);
  for (int i = 0; i < 3; ++i) REQUIRE(has(cache, 1));
  const std::uint64_t bytes = cache.bytes();
  const CacheKey key{0, 1, 0, {}};
  const auto fresh = std::make_shared<const Number>(7);
  REQUIRE(cache.replace(key, hash_of(key), fresh, 1000));
  CHECK(old->dropped());
  CHECK_FALSE(fresh->dropped());
  CHECK(cache.get(key, hash_of(key)) == fresh);
  CHECK(cache.bytes() == bytes);
  const auto longer = std::make_shared<const Number>(8);
  REQUIRE(cache.replace(key, hash_of(key), longer, 1500));
  CHECK(fresh->dropped());
  CHECK(cache.bytes() == bytes + 500);
  cache.check_invariants();
  // As often asked for as the one before: a scan does not take it.
  for (std::uint64_t id = 1000; id < 20'000; ++id) put(cache, id, 1000);
  CHECK(has(cache, 1));
  const CacheKey none{0, 2, 0, {}};
  CHECK_FALSE(cache.replace(none, hash_of(none), longer, 1000));
  cache.check_invariants();
}

TEST_CASE("s3_fifo: what is asked for again survives a scan of many times the capacity") {
  S3Fifo cache(1 << 20);
  for (std::uint64_t id = 0; id < 400; ++id) put(cache, id, 1000);
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t id = 0; id < 400; ++id) REQUIRE(has(cache, id));
  }
  for (std::uint64_t id = 1000; id < 20'000; ++id) put(cache, id, 1000);
  std::uint64_t kept = 0;
  for (std::uint64_t id = 0; id < 400; ++id) kept += has(cache, id);
  REQUIRE(kept == 400);
  cache.check_invariants();
}

TEST_CASE("s3_fifo: what comes back soon after it was dropped goes to the main queue") {
  S3Fifo cache(1 << 20);
  for (std::uint64_t id = 0; id < 2000; ++id) put(cache, id, 1000);
  std::uint64_t dropped = 0;
  while (has(cache, dropped)) ++dropped;  // not asked twice: the oldest ones are gone
  std::uint64_t last_gone = dropped;
  while (!has(cache, last_gone + 1)) ++last_gone;
  put(cache, last_gone, 1000);
  // A scan that `small` alone takes.
  for (std::uint64_t id = 5000; id < 5500; ++id) put(cache, id, 1000);
  REQUIRE(has(cache, last_gone));
  cache.check_invariants();
}

TEST_CASE("s3_fifo: what is dear is wanted where there is room, and when it comes a second time") {
  S3Fifo cache(1 << 20);
  const auto offer = [&](std::uint64_t id) {
    const bool wanted = cache.wants(hash_of({0, id, 0, {}}), 1000);
    if (wanted) put(cache, id, 1000);
    return wanted;
  };
  std::uint64_t id = 0;
  while (offer(id)) ++id;  // until it is full
  REQUIRE(id > 800);
  REQUIRE(cache.evictions() == 0);
  // Each once, a scan of many times the capacity takes nothing from what is there.
  for (std::uint64_t scanned = 10'000; scanned < 20'000; ++scanned) REQUIRE_FALSE(offer(scanned));
  REQUIRE(cache.evictions() == 0);
  for (std::uint64_t kept = 0; kept < id; ++kept) REQUIRE(has(cache, kept));
  // What was refused not long ago comes in.
  REQUIRE(offer(19'900));
  REQUIRE(has(cache, 19'900));
  REQUIRE_FALSE(offer(10'000));
  cache.check_invariants();
}

TEST_CASE("s3_fifo: a value too large for the capacity is refused and replaces nothing") {
  S3Fifo cache(1 << 16);
  const auto small = put(cache, 1, 100);
  REQUIRE(has(cache, 1));
  const auto large = put(cache, 1, 1 << 14);
  REQUIRE_FALSE(has(cache, 1));  // the old one is out of date all the same
  REQUIRE(small->dropped());
  REQUIRE(large->dropped());
  cache.check_invariants();
}

TEST_CASE("s3_fifo: a value says that it was dropped, whatever the reason") {
  std::shared_ptr<const Number> replaced, erased, evicted, left;
  {
    S3Fifo cache(1 << 16);
    replaced = put(cache, 1, 100);
    put(cache, 1, 100);
    erased = put(cache, 2, 100);
    const CacheKey key{0, 2, 0, {}};
    REQUIRE(cache.erase(key, hash_of(key)) == erased);
    REQUIRE(cache.erase(key, hash_of(key)) == nullptr);
    evicted = put(cache, 3, 100);
    for (std::uint64_t id = 10; id < 1000; ++id) put(cache, id, 100);
    left = put(cache, 4, 100);
    REQUIRE_FALSE(left->dropped());
    REQUIRE(cache.evictions() > 0);
  }
  REQUIRE(replaced->dropped());
  REQUIRE(erased->dropped());
  REQUIRE(evicted->dropped());
  REQUIRE(left->dropped());
}

TEST_CASE("s3_fifo: memory of the owner's leaves less for entries") {
  S3Fifo cache(1 << 16);
  for (std::uint64_t id = 0; id < 1000; ++id) put(cache, id, 100);
  cache.set_outside(1 << 15);
  REQUIRE(cache.bytes() <= cache.capacity());
  cache.check_invariants();
}

// The policy again, in the simplest words that say the same: two lists, no tables. Which keys the
// ghosts remember is the cache's own business; so the model is told where a key went.
using ModelKey = std::tuple<std::uint32_t, std::uint64_t, std::uint64_t, std::string>;

TEST_CASE(
    "s3_fifo: random operations keep the invariants, and what is found is what was put last") {
  const auto seed = GENERATE(range<std::uint64_t>(1, 21));
  CAPTURE(seed);
  io::Rng rng(seed);
  S3Fifo cache(8'000 + rng.below(192'000));
  std::map<ModelKey, std::shared_ptr<const Number>> last;  // put, and neither erased nor dropped
  std::uint64_t found = 0;
  for (std::uint64_t step = 0; step < 5000; ++step) {
    CAPTURE(step);
    const std::uint64_t id = rng.below(rng.chance(1, 2) ? 20 : 400);
    const std::string text(rng.below(3) * 20, static_cast<char>('a' + id % 3));
    const CacheKey key{static_cast<std::uint32_t>(id % S3Fifo::kKinds), id, id % 2, text};
    // A poor hash now and then: chains have to work, too.
    const std::uint64_t hash = seed % 4 == 0 ? hash_of(key) & 7 : hash_of(key);
    const ModelKey model_key{key.kind, key.id, key.sub, text};
    switch (rng.below(9)) {
      case 0: {
        const auto erased = cache.erase(key, hash);
        const auto before = last.find(model_key);
        const bool was_there = before != last.end() && erased != nullptr;
        REQUIRE((erased != nullptr) == was_there);
        if (was_there) REQUIRE(erased == before->second);
        last.erase(model_key);
        break;
      }
      case 1:
      case 2: {
        const auto value = std::make_shared<const Number>(step);
        if (cache.put(key, hash, value, rng.below(1500) + 50)) {
          last[model_key] = value;
        } else {
          last.erase(model_key);
        }
        break;
      }
      case 3: {
        const auto model = last.find(model_key);
        if (model == last.end()) break;
        const bool there = !model->second->dropped();
        const bool grew = cache.add_charge(hash, *model->second, rng.below(500), 1);
        REQUIRE((there || !grew));
        break;
      }
      default: {
        const auto value = cache.get(key, hash);
        const auto model = last.find(model_key);
        if (value != nullptr) {
          ++found;
          REQUIRE(model != last.end());
          REQUIRE(value == model->second);
        }
        break;
      }
    }
    // What is not dropped is there, what is dropped is not.
    if (step % 50 == 0) {
      cache.check_invariants();
      std::uint64_t entries = 0;
      for (auto at = last.begin(); at != last.end();) {
        if (at->second->dropped()) {
          at = last.erase(at);
        } else {
          ++entries;
          ++at;
        }
      }
      REQUIRE(entries == cache.entries());
    }
  }
  REQUIRE(found > 100);
}

TEST_CASE("s3_fifo: a charge that grows counts as its kind, and goes with the entry") {
  S3Fifo cache(100'000);
  const CacheKey key{0, 1, 0, {}};
  const auto value = put(cache, 1, 100);
  const std::uint64_t before = cache.bytes();
  const std::uint64_t of_kind = cache.bytes_of(0);
  REQUIRE(cache.add_charge(hash_of(key), *value, 3000, 2));
  REQUIRE(cache.bytes() == before + 3000);
  REQUIRE(cache.bytes_of(0) == of_kind);
  REQUIRE(cache.bytes_of(2) == 3000);
  cache.check_invariants();
  // Too much for an entry; a value that is none's.
  REQUIRE_FALSE(cache.add_charge(hash_of(key), *value, 12'500 - 3000, 2));
  REQUIRE_FALSE(cache.add_charge(hash_of(key), Number(1), 10, 2));
  REQUIRE(cache.bytes() == before + 3000);
  // The memory of others is what it takes.
  for (std::uint64_t id = 2; id < 200; ++id) put(cache, id, 500);
  REQUIRE(has(cache, 199));
  const CacheKey last{0, 199, 0, {}};
  const auto kept = std::static_pointer_cast<const Number>(cache.get(last, hash_of(last)));
  const std::uint64_t evicted = cache.evictions();
  REQUIRE(cache.add_charge(hash_of(last), *kept, 9000, 1));
  REQUIRE(cache.evictions() > evicted);
  REQUIRE(cache.bytes() <= cache.capacity());
  cache.check_invariants();
  cache.erase(last, hash_of(last));
  REQUIRE(cache.bytes_of(1) == 0);
  cache.check_invariants();
}

// Order of eviction against the paper's pseudo code, without a ghost: keys never come back.
TEST_CASE("s3_fifo: entries leave in the order that the two queues say") {
  const auto seed = GENERATE(range<std::uint64_t>(1, 11));
  CAPTURE(seed);
  io::Rng rng(seed);
  struct Item {
    std::uint64_t id;
    int asked;
    bool operator==(const Item&) const = default;
  };
  S3Fifo cache(100'000);
  std::list<Item> small, main;  // newest in front
  std::uint64_t charge = 0;     // of one entry, all included
  for (std::uint64_t id = 1; id < 3000; ++id) {
    const std::uint64_t before = cache.bytes_of(0);
    const std::uint64_t evicted_before = cache.evictions();
    put(cache, id, 500);
    if (id == 1) charge = cache.bytes_of(0) - before;
    small.push_front({id, 0});
    for (std::uint64_t left = cache.evictions() - evicted_before; left > 0;) {
      if (small.size() * charge > cache.capacity() / 10 || main.empty()) {
        const Item item = small.back();
        small.pop_back();
        if (item.asked >= 2) {
          main.push_front({item.id, 0});
        } else {
          --left;
        }
      } else {
        Item item = main.back();
        main.pop_back();
        if (item.asked > 0) {
          --item.asked;
          main.push_front(item);
        } else {
          --left;
        }
      }
    }
    for (std::uint64_t asks = rng.below(6); asks > 0; --asks) {
      const std::uint64_t wanted = id - rng.below(std::min<std::uint64_t>(id, 150));
      bool present = false;
      for (std::list<Item>* queue : {&small, &main}) {
        for (Item& item : *queue) {
          if (item.id != wanted) continue;
          present = true;
          item.asked = std::min(item.asked + 1, 3);
        }
      }
      REQUIRE(has(cache, wanted) == present);
    }
  }
  REQUIRE(main.size() > 10);
}

}  // namespace
}  // namespace hexad::core
