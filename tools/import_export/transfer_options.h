// What import and export are asked to do, beside what and where.
#pragma once

#include <cstdint>

namespace hexad::tools {

// Extended attributes, access control lists and capabilities.
enum class Xattrs : std::uint8_t { kKeep, kDrop };
// What is there with the size and the modification time of what would take its place.
enum class Same : std::uint8_t { kReplace, kKeep };
// What is there and has no counterpart where everything comes from.
enum class Extra : std::uint8_t { kKeep, kDelete };
enum class Run : std::uint8_t { kReal, kDry };
// Directories below the one that is imported on which other file systems are mounted. kSkip: what
// is in them stays out.
enum class Mounts : std::uint8_t { kEnter, kSkip };

struct TransferOptions {
  Xattrs xattrs = Xattrs::kKeep;
  Same same = Same::kReplace;
  Extra extra = Extra::kKeep;
  Run run = Run::kReal;
  Mounts mounts = Mounts::kEnter;  // of an import

  bool dry() const { return run == Run::kDry; }
};

}  // namespace hexad::tools
