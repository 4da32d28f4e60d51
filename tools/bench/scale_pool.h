// The folder of a measurement with very many objects: six sparse files of a pool, its fast
// directory, and a file that says what it was made for and what has been measured so far, so that
// a later run goes on from there.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "core/hexad.h"
#include "io/system.h"

namespace hexad::tools {

// The same for the life of a pool.
struct ScaleShape {
  std::uint64_t room = 0;  // objects that the devices are large enough for
  std::uint64_t seed = 0;  // of the objects' names
  bool fast = true;        // there is a fast directory, with the index and a copy of the log

  static constexpr std::uint64_t kObjectBytes = 4096;
  static constexpr std::uint64_t kTogether = 64;  // objects of a transaction
  static constexpr std::uint64_t kMaxRoom = 10'000'000'000;
};

// What the user says of it; what is left out is as the pool has it, or by default.
struct ScaleWish {
  std::uint64_t objects = 0;  // there is to be room for as many
  std::optional<std::uint64_t> room = {};
  std::optional<std::uint64_t> seed = {};
  bool no_fast = false;
};

// A permutation: no two objects have one name, and their order says nothing about that of the
// names. 16 hexadecimal digits.
std::string scale_object_name(std::uint64_t seed, std::uint64_t index);

class ScalePool {
 public:
  // Makes the pool in a folder that is not there or empty, or finds the one that was made there.
  // What an interrupted run has begun to make is made again. Errors: kAlreadyExists (the folder
  // holds something else), kInvalidArgument (the wish is not what the pool is, or has no room for),
  // and those of Store::format().
  static Result<ScalePool> open(const std::string& folder, const ScaleWish& wish,
                                io::System& system);

  const ScaleShape& shape() const { return shape_; }
  const PoolDescription& description() const { return description_; }
  bool is_new() const { return is_new_; }
  // Bytes on disk, of the whole folder.
  std::uint64_t disk_bytes() const;
  // Adds a line to what has been measured.
  Status note(const nlohmann::ordered_json& figures) const;
  // Where these lines are.
  std::string notes() const;

 private:
  ScalePool(std::string folder, const ScaleShape& shape)
      : folder_(std::move(folder)), shape_(shape) {}
  Status make(io::System& system);

  std::string folder_;
  ScaleShape shape_;
  PoolDescription description_;
  bool is_new_ = false;
};

}  // namespace hexad::tools
