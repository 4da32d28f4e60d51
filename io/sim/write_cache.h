// What a disk has promised and what it has not: the durable image, and the writes on their way to
// it. This is the model of volatile caches behind power cuts (io/sim/sim_device.h) and crash states
// (io/sim/crash_states.h).
//
// A write is pending from its submission until something makes it durable: its own completion when
// it is a durable write, or a successful flush submitted after its completion. A crash may leave
// any subset of the pending writes on the disk, each whole, torn, or not at all.
//
//   W1  pending writes that completed come first, in the order of completion; then those in flight,
//       in the order of submission. Applying a subset in that order is what a disk may have done.
//   W2  a pending write never covers bytes that a later write has made durable: those are cut out
//       of it (a cache gives up the older version of a sector).
//   W3  a failed flush leaves what it should have covered pending for ever: no later flush makes
//       it durable (D4), only an overwrite ends it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/id.h"
#include "io/device.h"
#include "io/sim/cow_image.h"

namespace hexad::io {

using OpId = Id<struct OpTag, std::uint64_t>;

// How much of a pending write a crash leaves.
struct Survival {
  enum class Kind : std::uint8_t {
    kLost,
    kWhole,
    kPrefix,   // bytes [0, cut)
    kSuffix,   // bytes [cut, length)
    kSectors,  // each 512-byte sector by chance, drawn from `seed`
    kGarbled,  // [0, cut) down to a whole physical block; that block, with what lay around the
               // write in it, is noise drawn from `seed`; the rest lost
  };
  Kind kind = Kind::kLost;
  std::uint64_t cut = 0;  // bytes, a multiple of 512
  std::uint64_t seed = 0;

  auto operator<=>(const Survival&) const = default;
};

class PendingWrite {
 public:
  OpId op = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::shared_ptr<const Bytes> data;  // null: zeros (a discard)
  WriteMode mode = WriteMode::kCached;
  bool resize = false;  // a change of size to `offset` bytes instead of a write
  bool completed = false;
  bool orphaned = false;  // W3

  bool untouched() const { return pieces_.size() == 1 && pieces_[0].length == length; }

 private:
  friend class WriteCache;
  struct Piece {
    std::uint64_t at;  // bytes into the write
    std::uint64_t length;
  };
  std::vector<Piece> pieces_;  // what W2 has left of it
};

class WriteCache {
 public:
  // `physical_block`: bytes, what a torn write can garble.
  WriteCache(std::shared_ptr<CowImage> durable, std::uint32_t physical_block)
      : durable_(std::move(durable)), physical_block_(physical_block) {}

  void submit_write(OpId op, std::uint64_t offset, std::uint64_t length,
                    std::shared_ptr<const Bytes> data, WriteMode mode);
  // A size change that has happened; durable by the next flush.
  void resize(OpId op, std::uint64_t new_size);
  // The write has taken effect; durable now if that is its mode.
  void complete_write(OpId op);
  // The write failed without any effect, now or later.
  void drop_write(OpId op);
  // Completed writes that a flush submitted now covers.
  std::vector<OpId> begin_flush() const;
  // How it has ended: one of the two.
  void complete_flush(const std::vector<OpId>& covered);
  void fail_flush(const std::vector<OpId>& covered);

  // Changes durable bytes, as a fault of the medium does.
  void damage(std::uint64_t offset, ByteView bytes);

  const std::vector<PendingWrite>& pending() const { return pending_; }
  const std::shared_ptr<CowImage>& durable() const { return durable_; }
  // Grows whenever the durable image may have changed.
  std::uint64_t version() const { return version_; }

  // Puts what `survival` leaves of `write` on `image`, which grows if need be.
  void apply(CowImage& image, const PendingWrite& write, const Survival& survival) const;

 private:
  CowImage& own_durable();
  // Applies the write to the durable image and cuts it out of `older` (W2).
  void make_durable(const PendingWrite& write, std::vector<PendingWrite>& older);

  std::shared_ptr<CowImage> durable_;
  std::uint32_t physical_block_;
  std::vector<PendingWrite> pending_;  // W1
  std::uint64_t version_ = 0;
};

}  // namespace hexad::io
