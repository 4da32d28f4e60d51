// Peers that keep keys and values, and commit several changes as one: also what small transactions
// are measured beside.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "benchmarks/peers/change.h"
#include "benchmarks/peers/peer.h"

namespace hexad::bench {

class KeyValuePeer : public Peer {
 public:
  // All of them or none, durable when it returns.
  virtual void commit(const std::vector<Change>& changes) = 0;

  void put(const std::string& name, ByteView data) override { commit({{&name, data, false}}); }
  void remove(const std::string& name) override { commit({{&name, {}, true}}); }
};

std::unique_ptr<KeyValuePeer> open_lmdb(const PeerPlace& place);
// Null: it is not in this build.
std::unique_ptr<KeyValuePeer> open_rocksdb(const PeerPlace& place);

}  // namespace hexad::bench
