#include "benchmarks/peers/peer.h"

#include <catch2/catch.hpp>
#include <thread>

#include "base/units.h"
#include "tests/io/temporary.h"

using namespace hexad;
using namespace hexad::bench;

namespace {

Bytes bytes_of(std::size_t size, int seed) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + seed + i / 251);
  return bytes;
}

}  // namespace

TEST_CASE("peer: every peer of this build keeps what is put, replaces and removes it") {
  const io::testing::TemporaryDirectory directory;
  for (const PeerKind& kind : all_peers()) {
    CAPTURE(kind.id, kind.settings);
    CHECK_FALSE(kind.settings.empty());
    if (kind.make == nullptr) {
      WARN(kind.what << ": " << kind.settings);
      continue;
    }
    const std::unique_ptr<Peer> peer = kind.make({directory.path(kind.id), 64_MiB});
    peer->put("a", bytes_of(4_KiB, 1));
    peer->put("b", bytes_of(64_KiB, 2));
    peer->put("a", bytes_of(4_KiB, 3));
    peer->fill({"c", "d", "e"}, bytes_of(4_KiB, 4));
    CHECK(peer->get("a") == bytes_of(4_KiB, 3));
    peer->remove("d");
    peer->reopen();
    CHECK(peer->get("a") == bytes_of(4_KiB, 3));
    CHECK(peer->get("b") == bytes_of(64_KiB, 2));
    CHECK(peer->get("c") == bytes_of(4_KiB, 4));
    CHECK(peer->get("e") == bytes_of(4_KiB, 4));
    peer->put("d", bytes_of(4_KiB, 5));
    CHECK(peer->get("d") == bytes_of(4_KiB, 5));
  }
}

TEST_CASE("peer: several threads at once put, get and remove their own objects") {
  const io::testing::TemporaryDirectory directory;
  for (const PeerKind& kind : all_peers()) {
    if (kind.make == nullptr) continue;
    CAPTURE(kind.id);
    const std::unique_ptr<Peer> peer = kind.make({directory.path(kind.id), 64_MiB});
    std::vector<int> wrong(4, 0);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 10; ++i) {
          const std::string name = std::to_string(t) + "-" + std::to_string(i);
          peer->put(name, bytes_of(4_KiB, t + i));
          wrong[t] += peer->get(name) != bytes_of(4_KiB, t + i) ? 1 : 0;
          if (i % 2 == 0) peer->remove(name);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == std::vector<int>(4, 0));
  }
}
