// Space as a map: from the address of a stripe to its cells on devices, and back onto them.
#include <memory>

#include "base/aligned_buffer.h"
#include "core/space/space.h"
#include "ec/stripe_layout.h"
#include "io/bounded_reads.h"

namespace hexad::core {

// The slots of the zone that the stripe lies in.
Result<const std::vector<alloc::ZoneSlot>*> Space::slots_of(const alloc::Extent& where) const {
  const std::vector<alloc::ZoneSlot>* slots = zones_.slots(where.zone);
  if (slots == nullptr || where.end() > zones_.zone_units(where.zone)) {
    return Error{ErrorCode::kCorruption, alloc::to_string(where) + ": no such place",
                 "Run hexad fsck POOL."};
  }
  return slots;
}

CellPlace Space::place_of_cell(const std::vector<alloc::ZoneSlot>& slots,
                               const alloc::Extent& where, std::uint32_t role) const {
  // A packed blob names where its stripe begins, and cells are missing whole.
  const alloc::Extent begin{where.zone, where.unit, 1};
  const ec::StripeGeometry geometry{shape_.k(), shape_.m(),
                                    stripe_rotation(where.unit, shape_.cells())};
  const std::uint32_t slot = ec::slot_of_role(geometry, role);
  const alloc::ZoneSlot& at = slots[slot];
  CellPlace place;
  place.id = at.device;
  place.zone = where.zone;
  place.slot = slot;
  place.slab = at.slab;
  const Member* member = members_.find(at.device);
  if (member == nullptr) return place;
  place.device = member->device.get();
  place.offset = member->layout.unit_offset(at.slab, where.unit);
  const bool usable = members_.usable(at.device);
  place.missing = usable && zones_.is_missing(begin, slot);
  place.readable = usable && !place.missing;
  return place;
}

Result<std::vector<CellPlace>> Space::locate(const alloc::Extent& where) const {
  const io::Lock lock(mutex_);
  HEXAD_TRY_ASSIGN(const std::vector<alloc::ZoneSlot>* slots, slots_of(where));
  std::vector<CellPlace> places(shape_.cells());
  for (std::uint32_t role = 0; role < shape_.cells(); ++role) {
    places[role] = place_of_cell(*slots, where, role);
  }
  return places;
}

Result<CellPlace> Space::locate_cell(const alloc::Extent& where, std::uint32_t role) const {
  const io::Lock lock(mutex_);
  HEXAD_TRY_ASSIGN(const std::vector<alloc::ZoneSlot>* slots, slots_of(where));
  return place_of_cell(*slots, where, role);
}

std::optional<PackIdentity> Space::pack_stripe(const alloc::Extent& where) const {
  const io::Lock lock(mutex_);
  const std::optional<alloc::PackStripe> pack = zones_.pack_at(where.zone, where.unit);
  if (!pack.has_value()) return std::nullopt;
  return PackIdentity{{where.zone, pack->run.unit, pack->run.units}, pack->footer};
}

// Nobody waits for a device that has not answered the last one.
bool Space::heals_late(DeviceId device) {
  settle_late_heals();
  const io::Lock lock(mutex_);
  return kept_back_.is_late(device);
}

Error Space::late_answer(const io::Device& device) {
  return Error{ErrorCode::kUnavailable,
               device.name() + " has not answered an attempt for more than " +
                   std::to_string(io::kSilence / 1'000'000'000) + " s",
               ""};
}

// While it is there the slab does not move and nobody else writes the cell again (SL5, SL9). Not
// begun: the slab has moved since the cell was located, or another thread writes the cell.
class Space::CellWrite {
 public:
  CellWrite(Space& space, const CellPlace& place)
      : space_(space), place_(place), cell_{{place.id, place.slab}, place.offset} {}
  CellWrite(const CellWrite&) = delete;
  CellWrite& operator=(const CellWrite&) = delete;
  ~CellWrite() {
    if (!begun_) return;
    {
      const io::Lock lock(space_.mutex_);
      space_.moves_.end_cell(cell_);
    }
    space_.cell_written_.notify_all();
  }

  bool begin() {
    const io::Lock lock(space_.mutex_);
    return begun_ = is_in_place() && space_.moves_.begin_cell(cell_);
  }
  // Waits for another thread that writes the cell, which takes io::kSilence at most.
  bool begin_after_others() {
    io::Lock lock(space_.mutex_);
    while (is_in_place()) {
      begun_ = space_.moves_.begin_cell(cell_);
      if (begun_) break;
      space_.cell_written_.wait(lock);
    }
    return begun_;
  }

 private:
  bool is_in_place() const HEXAD_REQUIRES(space_.mutex_) {
    const std::vector<alloc::ZoneSlot>* const slots = space_.zones_.slots(place_.zone);
    return slots != nullptr && place_.slot < slots->size() && (*slots)[place_.slot] == cell_.slab;
  }

  Space& space_;
  const CellPlace& place_;
  const CellInSlab cell_;
  bool begun_ = false;
};

// The same bytes that were there before: whoever reads meanwhile sees them or is rebuilt like us.
Status Space::write_back(const CellPlace& place, ByteView cell) {
  if (heals_late(place.id)) return late_answer(*place.device);
  return write_for(place.id, *place.device, place.offset, AlignedBuffer::copy_of(cell),
                   io::IoCause::kHeal);
}

// In memory of its own, for whoever needed it may not wait for the device.
Status Space::write_for(DeviceId id, io::Device& device, std::uint64_t offset, AlignedBuffer bytes,
                        io::IoCause cause) {
  auto batch = std::make_unique<io::IoBatch>();
  batch->requests.push_back(
      io::IoRequest::write(device, offset, bytes, io::WriteMode::kDurable, cause));
  io::IoQueue& queue = device.queue();
  if (queue.run_for(*batch, io::kSilence)) return std::move(batch->requests.front().status);
  // The caller still pins what is there (V4).
  std::shared_ptr<Lsn> token;
  {
    const io::Lock lock(mutex_);
    token = kept_back_.send_late(id, queue);
  }
  std::vector<AlignedBuffer> buffers;
  buffers.push_back(std::move(bytes));
  queue.abandon(std::move(batch), std::move(buffers), std::move(token));
  return late_answer(device);
}

void Space::heal(const CellPlace& place, ByteView cell) {
  if (!may_heal()) return;
  CellWrite write(*this, place);
  if (!write.begin()) return;
  const Status written = write_back(place, cell);
  if (written.ok()) {
    stats_.add(CounterId::kCellsHealed);
    return;
  }
  // Nobody's commit rests on this cell, so the device stays: the next commit finds out whether it
  // takes writes at all. Until then people see why the cell is still bad.
  stats_.add(CounterId::kHealFailures);
  members_.note(place.id, "a cell could not be written back: " + written.error().message);
}

Status Space::fill_missing(const alloc::Extent& stripe, const CellPlace& place, ByteView cell) {
  CellWrite write(*this, place);
  if (!write.begin_after_others()) {
    return Error{ErrorCode::kUnavailable,
                 alloc::to_string(stripe) + ": its slab has moved to another device just now", ""};
  }
  {
    const io::Lock lock(mutex_);
    // A catch-up, a scrub and a read may find the same cell missing at once.
    if (!zones_.is_missing(stripe, place.slot)) return {};
  }
  HEXAD_TRY(write_back(place, cell));
  stats_.add(CounterId::kCellsHealed);
  const io::Lock lock(mutex_);
  // The note is of what the slot has now: a move may have been undone, and another device may have
  // the number, or be about to have it (RP3).
  const std::vector<alloc::ZoneSlot>* const slots = zones_.slots(stripe.zone);
  const Member* const member = members_.find(place.id);
  const bool same = slots != nullptr &&
                    (*slots)[place.slot] == alloc::ZoneSlot{place.id, place.slab} &&
                    member->device.get() == place.device && !unwritten_.is_in_place(place.id);
  if (!same) {
    return Error{ErrorCode::kUnavailable,
                 alloc::to_string(stripe) + ": its slab has changed hands just now", ""};
  }
  HEXAD_TRY(zones_.clear_missing(stripe, place.slot));
  unwritten_.note_filled(place.id, cell.size());
  return {};
}

}  // namespace hexad::core
