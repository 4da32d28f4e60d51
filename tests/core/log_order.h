// Whether a log says things in the order in which a replay needs them, whatever prefix of it a
// crash leaves: so a run of any world fails when the order is wrong, without the crash that shows
// it.
//
//   zones      units lie in a zone that an earlier block names (A10), or one older than the log
//   log blobs  a place, a payload or a release is of a blob of a transaction at or before it: of
//   the
//              same block at the latest; a payload is of a blob of that block
//   blocks     what is written to one place of one epoch is always the same (A5)
//
// Blocks come in any order, and as often as there are copies. Epoch and position order them: what
// an epoch has begins behind what it keeps of those before.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "alloc/zone.h"
#include "base/bytes.h"
#include "base/ids.h"
#include "core/record/log_record.h"
#include "kv/log/log_format.h"

namespace hexad::testing {

// One thread.
class LogOrder {
 public:
  // Without a shape: the first device tells it.
  explicit LogOrder(std::optional<core::RecordShape> shape = std::nullopt) : shape_(shape) {}

  // A block of the log; anything else is passed over. Precondition: the shape is known.
  void see(ByteView bytes);
  // All blocks that are whole in the log of a device, those of earlier laps included; nothing where
  // its label is not. `read`: so many bytes from an offset.
  using Read = std::function<Bytes(std::uint64_t offset, std::uint64_t length)>;
  void see_device(const Read& read);

  // Nothing, or what is wrong first. What no block has been seen of is not missed: a zone without a
  // record is older than the log.
  std::string problem() const;

  std::size_t blocks() const { return blocks_.size(); }
  std::size_t zones() const;                // that some block names
  std::size_t group_stripes() const;        // that unplaced blobs share
  std::size_t zones_beside_groups() const;  // blocks that name zones and have such stripes, too

 private:
  using Where = std::pair<Epoch, kv::LogPosition>;
  // What matters here of one block.
  struct Block {
    std::uint32_t crc = 0;
    Lsn first = 0;
    Lsn last = 0;
    std::vector<alloc::ZoneId> named;           // zones
    std::map<alloc::ZoneId, std::string> used;  // and what of the zone comes first
    std::size_t group_stripes = 0;
    std::string problem;  // its own, if any
  };

  static std::string describe(const Where& where, const Block& block);
  void take(const kv::LogRecord& bytes, Block& block) const;

  std::optional<core::RecordShape> shape_;
  std::map<Where, Block> blocks_;
  std::string problem_;  // of two blocks in one place
};

}  // namespace hexad::testing
