// Store::list() as its users see it.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "core/store.h"
#include "io/rng.h"
#include "tests/core/list_model.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

Lsn commit(Store& store, Transaction&& transaction) {
  Result<Lsn> lsn = store.commit(std::move(transaction));
  if (!lsn.ok()) FAIL(lsn.error().to_string());
  return *lsn;
}

void compare(Store& store, const ListedNames& names, const ListOptions& options) {
  CAPTURE(printable(options.prefix), printable(options.start_after), printable(options.delimiter),
          options.limit, options.reverse);
  const Result<ListPage> page = store.list(kDefaultCollection, options);
  REQUIRE(message_of(page.status()) == "");
  REQUIRE(difference(*page, naive_page(names, options)) == "");
}

TEST_CASE(
    "store_list: random names and options agree with a map, across checkpoints and openings") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    io::Rng rng(seed);
    StoreFixture fixture;
    const RuntimeOptions options = seed % 2 == 0 ? busy_runtime() : RuntimeOptions();
    std::optional<Store> store(fixture.open(Access::kReadWrite, options));
    ListedNames names;
    for (int round = 0; round < 25; ++round) {
      Transaction t;
      std::map<std::string, std::optional<std::uint64_t>> changes;  // sizes
      for (int i = 0; i < 30; ++i) {
        const std::string name = random_listed_name(rng);
        if (rng.chance(2, 5)) {
          t.remove(kDefaultCollection, name);
          changes[name] = std::nullopt;
        } else {
          const std::uint64_t size = rng.below(500);
          t.put(kDefaultCollection, name, std::string(size, 'x'));
          changes[name] = size;
        }
      }
      const Lsn lsn = commit(*store, std::move(t));
      for (const auto& [name, size] : changes) {
        names.erase(name);
        if (size.has_value()) names[name] = {*size, lsn};
      }
      switch (rng.below(6)) {
        case 0:
        case 1:
          REQUIRE(store->checkpoint().ok());
          break;
        case 2:
          REQUIRE(store->close().ok());
          store.reset();
          store.emplace(fixture.open(Access::kReadWrite, options));
          break;
        case 3:  // without a checkpoint
          store.reset();
          store.emplace(fixture.open(Access::kReadWrite, options));
          break;
        default:
          break;
      }
      for (int i = 0; i < 25; ++i) compare(*store, names, random_list_options(rng, names));
      if (round % 8 != 7) continue;
      store.reset();
      {
        Store reader = fixture.open(Access::kReadOnly);
        for (int i = 0; i < 25; ++i) compare(reader, names, random_list_options(rng, names));
      }
      store.emplace(fixture.open(Access::kReadWrite, options));
    }
  }
}

TEST_CASE("store_list: what cannot be listed, and limits") {
  StoreFixture fixture;
  Store store = fixture.open();
  REQUIRE(put(store, "name", "value").ok());
  ListOptions options;
  REQUIRE(code_of(store.list("missing", options)) == ErrorCode::kNotFound);
  options.limit = 0;
  REQUIRE(code_of(store.list("missing", options)) == ErrorCode::kNotFound);
  REQUIRE(store.list(kDefaultCollection, options)->entries.empty());
  REQUIRE_FALSE(store.list(kDefaultCollection, options)->next.has_value());
  options.limit = ~std::uint64_t{0};
  REQUIRE(store.list(kDefaultCollection, options)->entries.size() == 1);
  for (std::string* text : {&options.prefix, &options.start_after, &options.delimiter}) {
    text->assign(kMaxNameSize, 'n');
    REQUIRE(store.list(kDefaultCollection, options).ok());
    text->push_back('n');
    REQUIRE(code_of(store.list(kDefaultCollection, options)) == ErrorCode::kInvalidArgument);
    text->clear();
  }
}

// One object wanders from name to name among others that stay.
TEST_CASE("store_list: a page is one state, whatever is committed and checkpointed meanwhile") {
  constexpr int kPlaces = 40;
  constexpr int kMoves = 1500;
  const auto place = [](int i) { return "p" + std::to_string(100 + i % kPlaces) + "/x"; };
  StoreFixture fixture;
  Store store = fixture.open(Access::kReadWrite, busy_runtime());
  Transaction first;
  for (int i = 0; i < kPlaces; ++i) first.touch(kDefaultCollection, place(i) + "/stays");
  first.touch(kDefaultCollection, place(0));
  commit(store, std::move(first));

  std::atomic<bool> moving{true};
  std::atomic<int> failed{0};
  std::thread mover([&] {
    for (int i = 0; i < kMoves; ++i) {
      Transaction t;
      t.remove(kDefaultCollection, place(i));
      t.touch(kDefaultCollection, place(i + 1));
      if (!store.commit(std::move(t), {Durability::kBuffered}).ok()) ++failed;
      if (i % 200 == 199 && !store.checkpoint().ok()) ++failed;
    }
    moving = false;
  });
  int pages = 0;
  while (moving || pages < 10) {
    ListOptions options;
    options.reverse = ++pages % 2 == 0;
    const Result<ListPage> page = store.list(kDefaultCollection, options);
    if (!page.ok() || page->entries.size() != kPlaces + 1) ++failed;
    options.delimiter = "/";
    const Result<ListPage> rolled_up = store.list(kDefaultCollection, options);
    if (!rolled_up.ok() || rolled_up->entries.size() != kPlaces) ++failed;
  }
  mover.join();
  REQUIRE(failed == 0);
}

TEST_CASE("store_list: a page that passes over many deleted names asks for a checkpoint") {
  constexpr int kNames = 12'000;
  constexpr int kPerTransaction = 1'000;
  FormatOptions format = small_format();
  format.log_size = 16_MiB;
  format.device_size = 48_MiB;
  StoreFixture fixture(format);
  Store store = fixture.open();
  const auto change_all = [&](bool remove) {
    for (int i = 0; i < kNames;) {
      Transaction t;
      for (const int end = i + kPerTransaction; i < end; ++i) {
        const std::string name = "n" + std::to_string(100'000 + i);
        if (remove) {
          t.remove(kDefaultCollection, name);
        } else {
          t.touch(kDefaultCollection, name);
        }
      }
      commit(store, std::move(t));
    }
  };
  change_all(false);
  REQUIRE(put(store, "z", "last").ok());
  REQUIRE(store.checkpoint().ok());
  const std::uint64_t before = counter(store, "checkpoints");
  change_all(true);
  ListOptions options;
  options.start_after = "n104000";  // 8,000 deleted names behind it
  REQUIRE(store.list(kDefaultCollection, options)->entries.size() == 1);
  REQUIRE(counter(store, "checkpoints") == before);
  REQUIRE(store.list(kDefaultCollection)->entries.size() == 1);
  while (counter(store, "checkpoints") == before) std::this_thread::yield();
  REQUIRE(store.list(kDefaultCollection)->entries.size() == 1);
}

}  // namespace
}  // namespace hexad::testing
