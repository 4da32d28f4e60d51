// What one would use instead of hexad, to keep objects by their names: one small adapter each, all
// with the same promises, each set up as its own documentation says.
//
// A change is durable when it returns: no crash of the machine takes it back. Adapters end the
// program when something fails (benchmarks/commit_path/must.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace hexad {
class Store;
}

namespace hexad::bench {

// Any thread, but for fill() and reopen(): while no one else uses it.
class Peer {
 public:
  virtual ~Peer() = default;

  // Creates or replaces the object.
  virtual void put(const std::string& name, ByteView data) = 0;
  virtual Bytes get(const std::string& name) = 0;
  virtual void remove(const std::string& name) = 0;

  // Puts objects by the quickest way there is, durable in the end; nobody measures it.
  virtual void fill(const std::vector<std::string>& names, ByteView data) = 0;
  // Closes and opens again, with no cache of its own.
  virtual void reopen() = 0;
  // The store when this is hexad, for what only it can do; else null.
  virtual Store* store() { return nullptr; }
};

struct PeerPlace {
  std::filesystem::path directory;  // empty, the peer's own, on the disk that is measured
  std::uint64_t device_size = 0;    // bytes of each of hexad's six files
  // Bytes of users that peers have room for: those of hexad's six files less parity.
  std::uint64_t capacity() const { return 4 * device_size; }
};

struct PeerKind {
  std::string id;        // one word
  std::string what;      // for people
  std::string settings;  // what it runs with, for people
  // Null: it is not in this build; `settings` says what is missing.
  std::function<std::unique_ptr<Peer>(const PeerPlace&)> make;
};

PeerKind hexad_peer();
PeerKind lmdb_peer();
PeerKind lmdb_grouped_peer();
PeerKind rocksdb_peer();
PeerKind sqlite_peer();
PeerKind files_peer();
PeerKind coded_files_peer();
// All of them, in the order of tables.
std::vector<PeerKind> all_peers();

// A name in `directories` folders is found by its hash.
std::size_t folder_of(const std::string& name, std::size_t folders);

}  // namespace hexad::bench
