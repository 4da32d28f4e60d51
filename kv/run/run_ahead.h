// Reads at once, of all runs, what look-ups and seeks are about to read one piece after the other:
// in each round the next piece on every way down that is not in the cache, where they find it then.
// Only costs time when it is wrong: what cannot be read is left to them, and they say why.
//
// Short-lived, one thread; ends before the runs do.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string_view>

#include "kv/run/run_cache.h"
#include "kv/run/run_reader.h"

namespace hexad::kv {

class RunAhead {
 public:
  explicit RunAhead(std::span<const std::shared_ptr<RunReader>> newest_first)
      : runs_(newest_first) {}

  // For RunSetReader::get() of each of the keys: filters, and what leads to them, of all runs; data
  // of the newest run that may have the key, and of the next one where that was an error. At most
  // kKeysAtOnce keys have their pieces on the way and in memory at a time.
  void get(std::span<const std::string_view> keys);
  // For a seek of every run to the block of the key; to the first one, to the last one.
  void seek(std::string_view key);
  enum class Edge : std::uint8_t { kFirst, kLast };
  void seek_to(Edge edge);

 private:
  static constexpr std::size_t kKeysAtOnce = 64;
  // A corrupt run would not end them.
  static constexpr int kMostRounds = 100;

  struct Place {
    const RunSource* source = nullptr;
    std::uint64_t offset = 0;

    auto operator<=>(const Place&) const = default;
  };
  struct Wanted {
    RunPieceKind kind = RunPieceKind::kData;
    RunBlockAddress address;
  };
  enum class Met : std::uint8_t { kNothing, kKey, kMissingAbove, kMissingData };

  // kFilter: not beyond one that knows the key.
  enum class Until : std::uint8_t { kFilter, kData };
  Met look_up(const RunSource& source, std::string_view key, Until until);
  template <typename Choose>
  void descend(const Choose& choose);
  template <typename Part>
  const Part* find(const RunSource& source, RunPieceKind kind, const RunBlockAddress& address);
  // Whether there was something to read, and it is there now.
  bool read_wanted();

  const std::span<const std::shared_ptr<RunReader>> runs_;
  // What was looked at, so that nothing is read twice although the cache lets go of it.
  std::map<Place, std::shared_ptr<const RunPiece>> held_;
  std::map<Place, Wanted> wanted_;
};

}  // namespace hexad::kv
