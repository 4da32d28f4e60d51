#include <optional>

#include "benchmarks/commit_path/must.h"
#include "benchmarks/commit_path/pool.h"
#include "benchmarks/peers/peer.h"

namespace hexad::bench {

namespace {

class HexadPeer final : public Peer {
 public:
  explicit HexadPeer(const PeerPlace& place)
      : pool_(place.directory, place.device_size, Age::kWarm) {}

  void put(const std::string& name, ByteView data) override {
    Transaction transaction;
    transaction.put_borrowed(kDefaultCollection, name, data);
    must(pool_.store().commit(std::move(transaction)).status());
  }
  Bytes get(const std::string& name) override {
    return must(pool_.store().get(kDefaultCollection, name));
  }
  void remove(const std::string& name) override {
    Transaction transaction;
    transaction.remove(kDefaultCollection, name);
    must(pool_.store().commit(std::move(transaction)).status());
  }
  void fill(const std::vector<std::string>& names, ByteView data) override {
    for (std::size_t at = 0; at < names.size();) {
      Transaction transaction;
      std::size_t bytes = 0;
      for (; at < names.size() && bytes < kBatchBytes; ++at, bytes += data.size()) {
        transaction.put_borrowed(kDefaultCollection, names[at], data);
      }
      must(pool_.store().commit(std::move(transaction)).status());
    }
    must(pool_.store().checkpoint());
  }
  void reopen() override { pool_.reopen(RuntimeOptions()); }
  Store* store() override { return &pool_.store(); }

 private:
  static constexpr std::size_t kBatchBytes = 1 << 20;
  BenchPool pool_;
};

}  // namespace

PeerKind hexad_peer() {
  return {"hexad", "hexad, 4+2",
          "all options at their defaults, six files and one fast directory, log there and on three "
          "devices, slabs used before",
          [](const PeerPlace& place) { return std::make_unique<HexadPeer>(place); }};
}

}  // namespace hexad::bench
