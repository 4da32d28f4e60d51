#include "core/runs/manifest_store.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/checksum.h"
#include "base/units.h"
#include "core/blob/stripe_writer.h"
#include "ec/shard_subsets.h"
#include "ec/stripe_layout.h"
#include "io/bounded_reads.h"

namespace hexad::core {

namespace {

// The `count` lowest members.
ec::ShardSet lowest(ec::ShardSet of, std::uint32_t count) {
  ec::ShardSet chosen;
  for (const ec::ShardIndex i : of) {
    if (chosen.size() == count) break;
    chosen.add(i);
  }
  return chosen;
}

}  // namespace

// The cells of a manifest, one behind the other in role order.
struct ManifestStore::Cells {
  AlignedBuffer buffer;
  std::uint64_t bytes = 0;   // of a cell
  std::uint64_t stride = 0;  // from one to the next, in the buffer
  std::vector<CellPlace> places;
  ec::ShardSet read;     // of them, without those whose checksum is another
  bool damaged = false;  // there are such
  std::string problems;

  Cells(std::uint64_t cell_bytes, std::uint32_t count)
      : bytes(cell_bytes), stride(round_up(cell_bytes, AlignedBuffer::kAlignment)) {
    buffer = AlignedBuffer::zeroed(stride * count);
  }
  MutByteView cell(std::uint32_t role) { return buffer.bytes().subspan(role * stride, bytes); }
  // The first `length` bytes of the data cells, piece by piece.
  template <typename Use>
  void for_data(std::uint64_t length, const Use& use) {
    for (std::uint32_t role = 0; length > 0; ++role) {
      const ByteView part = cell(role).first(std::min(length, bytes));
      use(part);
      length -= part.size();
    }
  }
  std::uint32_t crc(std::uint64_t length) {
    std::uint32_t sum = 0;
    for_data(length, [&](ByteView part) { sum = crc32c(part, sum); });
    return sum;
  }
  void note(std::uint32_t role, const std::string& what) {
    problems += (problems.empty() ? "cell " : "; cell ") + std::to_string(role) + " on device " +
                std::to_string(places[role].id) + " " + what;
  }
};

Result<alloc::ManifestAddress> ManifestStore::write(Space& space, ByteView manifest,
                                                    std::set<DeviceId>& failed) const {
  HEXAD_ASSERT(!manifest.empty());
  if (manifest.size() > kMaxManifestBytes) {
    return Error{ErrorCode::kTooBig,
                 "a manifest of " + std::to_string(manifest.size()) + " bytes, at most " +
                     std::to_string(kMaxManifestBytes) + " can be read",
                 "Merge runs."};
  }
  HEXAD_TRY_ASSIGN(PreparedBlob coded, code_cells(manifest, shape_, codec_));
  const std::uint32_t units = coded.units;
  Result<alloc::Extent> where =
      space.allocate_internal(std::max(units, space.reserve_run()), Space::Internal::kManifest);
  if (!where.ok() && where.error().code == ErrorCode::kNoSpace) {
    where = space.allocate_internal(units, Space::Internal::kManifest);
  }
  if (!where.ok()) return where.error();
  alloc::ManifestAddress address;
  for (std::uint32_t role = 0; role < shape_.cells(); ++role) {
    address.cell_sums.push_back(crc32c(coded.cell(role)));
  }
  const StripeWriter writer(shape_, space, members_, counters_, StripeUse::kManifest);
  const StripeWrite stripe{*where, std::move(coded)};
  StripeBatch batch(writer);
  batch.add(stripe);
  const LandedStripes landed = batch.land();
  failed.insert(landed.failed.begin(), landed.failed.end());
  if (!landed.status.ok()) {
    writer.release(*where);
    return landed.status.error().with_context("manifest");
  }
  address.extent = *where;
  address.length = manifest.size();
  address.crc = crc32c(manifest);
  address.slots = space.slots(where->zone);
  return address;
}

// Before anything is computed from it: the root is sealed, but may be of another program.
Status ManifestStore::check(const alloc::ManifestAddress& address) const {
  const alloc::Extent& where = address.extent;
  std::string problem;
  std::set<DeviceId> devices;
  for (const alloc::ZoneSlot& slot : address.slots) {
    devices.insert(slot.device);
    const Member* member = members_.find(slot.device);
    if (member == nullptr) continue;  // its cell is not there
    const alloc::DeviceLayout& layout = member->layout;
    const std::uint32_t slabs = std::max(layout.slab_count, member->slabs_before);
    if (slot.slab >= slabs || where.end() > layout.slab_units) {
      problem = alloc::to_string(slot) + " does not have these units";
    }
  }
  if (devices.size() != shape_.cells() || address.slots.size() != shape_.cells()) {
    problem = std::to_string(address.slots.size()) + " slots on " + std::to_string(devices.size()) +
              " devices";
  }
  const std::uint64_t room = where.units * shape_.unit * shape_.k();
  if (where.unit == 0 || where.units == 0 || address.length == 0 || address.length > room ||
      address.length > kMaxManifestBytes) {
    problem = std::to_string(address.length) + " bytes do not lie there";
  }
  if (problem.empty()) return {};
  return Error{ErrorCode::kCorruption, "manifest at " + alloc::to_string(where) + ": " + problem,
               "Run hexad fsck POOL."};
}

void ManifestStore::read_roles(const alloc::ManifestAddress& address, Cells& cells,
                               std::uint32_t from, std::uint32_t to) const {
  std::vector<io::IoRequest> reads;
  std::vector<std::uint32_t> roles;
  for (std::uint32_t role = from; role < to; ++role) {
    const CellPlace& place = cells.places[role];
    if (!place.readable) {
      cells.note(role, "is not there");
      continue;
    }
    if (io::is_silent(*place.device)) {
      cells.note(role, io::describe_silence(*place.device));
      continue;
    }
    roles.push_back(role);
    reads.push_back(io::IoRequest::read(*place.device, place.offset, cells.cell(role)));
    counters_.add(CounterId::kDeviceBytesRead, cells.bytes);
  }
  if (reads.empty()) return;
  io::IoQueue& queue = reads.front().device->queue();
  const std::vector<Status> outcomes = io::read_round(queue, std::move(reads), cells.buffer);
  for (std::size_t i = 0; i < roles.size(); ++i) {
    const std::uint32_t role = roles[i];
    if (!outcomes[i].ok()) {
      counters_.add(CounterId::kReadErrors);
      cells.note(role, "cannot be read: " + outcomes[i].error().message);
    } else if (!address.cell_sums.empty() && crc32c(cells.cell(role)) != address.cell_sums[role]) {
      counters_.add(CounterId::kChecksumErrors);
      cells.places[role].device->note_mismatch();
      cells.damaged = true;
      cells.note(role, "is not what was written");
    } else {
      cells.read.add(role);
    }
  }
}

Result<std::string> ManifestStore::read(const alloc::ManifestAddress& address) const {
  HEXAD_TRY(check(address));
  Cells cells(ec::cell_bytes(address.length, shape_.k(), shape_.block), shape_.cells());
  const ec::StripeGeometry geometry{shape_.k(), shape_.m(),
                                    stripe_rotation(address.extent.unit, shape_.cells())};
  for (std::uint32_t role = 0; role < shape_.cells(); ++role) {
    const alloc::ZoneSlot& slot = address.slots[ec::slot_of_role(geometry, role)];
    CellPlace place;
    place.id = slot.device;
    place.device = members_.device(slot.device);
    place.readable = place.device != nullptr;
    if (place.readable) {
      place.offset = members_.find(slot.device)->layout.unit_offset(slot.slab, address.extent.unit);
    }
    cells.places.push_back(place);
  }
  read_roles(address, cells, 0, shape_.k());
  // Without parity the device may have another copy of what is not right.
  constexpr int kAskedAgain = 2;
  for (int i = 0; shape_.m() == 0 && i < kAskedAgain; ++i) {
    for (std::uint32_t role = 0; role < shape_.k(); ++role) {
      if (!cells.read.contains(role)) read_roles(address, cells, role, role + 1);
    }
  }
  const bool whole = cells.read == ec::ShardSet::first(shape_.k());
  if (!whole || cells.crc(address.length) != address.crc) {
    if (whole) counters_.add(CounterId::kChecksumErrors);
    read_roles(address, cells, shape_.k(), shape_.cells());
    HEXAD_TRY(put_together(address, cells));
  }
  std::string manifest;
  manifest.reserve(address.length);
  cells.for_data(address.length, [&](ByteView part) { manifest += as_text(part); });
  return manifest;
}

// The data cells are right afterwards.
Status ManifestStore::put_together(const alloc::ManifestAddress& address, Cells& cells) const {
  const std::string subject = "manifest at " + alloc::to_string(address.extent) + ": ";
  const std::uint32_t k = shape_.k();
  if (cells.read.size() < k) {
    return Error{cells.damaged ? ErrorCode::kCorruption : ErrorCode::kUnavailable,
                 subject + "only " + std::to_string(cells.read.size()) + " of " +
                     std::to_string(shape_.cells()) + " cells can be used and " +
                     std::to_string(k) + " are needed (" + cells.problems + ")",
                 cells.damaged && shape_.m() == 0
                     ? "The pool has no parity: see to the device, and open the store again."
                     : "Attach the missing devices and open the store again."};
  }
  // What was read stays in `cells`; what is rebuilt in its place goes into `right`.
  const ec::ShardSet data = ec::ShardSet::first(k);
  Cells right(cells.bytes, k);
  std::set<std::uint64_t> tried;
  const std::uint32_t spare = cells.read.size() - k;
  bool exhausted = false;
  for (std::uint32_t bad = 0; bad <= spare && !exhausted; ++bad) {
    for (ec::ShardSubsets choice(cells.read, bad); !choice.done(); choice.next()) {
      const ec::ShardSet from = lowest(cells.read - choice.get(), k);
      if (!tried.insert(from.bits()).second) continue;
      exhausted = tried.size() > kMaxManifestChoices;
      if (exhausted) break;
      const ec::ShardSet wanted = data - from;
      std::vector<MutByteView> shards;
      for (std::uint32_t role = 0; role < shape_.cells(); ++role) {
        shards.push_back(wanted.contains(role) ? right.cell(role) : cells.cell(role));
      }
      HEXAD_TRY(codec_.reconstruct_wanted(shards, from, wanted));
      std::uint32_t crc = 0;
      std::uint64_t left = address.length;
      for (std::uint32_t role = 0; left > 0; ++role) {
        const ByteView part = ByteView(shards[role]).first(std::min(left, cells.bytes));
        crc = crc32c(part, crc);
        left -= part.size();
      }
      if (crc != address.crc) continue;
      counters_.add(CounterId::kCellsReconstructed, wanted.size());
      for (const ec::ShardIndex role : wanted) {
        if (cells.read.contains(role) && !std::ranges::equal(cells.cell(role), right.cell(role))) {
          cells.places[role].device->note_mismatch();
        }
        copy_bytes(cells.cell(role), right.cell(role));
      }
      return {};
    }
  }
  std::string devices;
  for (const ec::ShardIndex role : cells.read) {
    devices += (devices.empty() ? "" : ", ") + std::to_string(cells.places[role].id);
  }
  return Error{ErrorCode::kCorruption,
               subject + "what is read from devices " + devices +
                   " gives it back from no choice of " + std::to_string(k) + " cells" +
                   (cells.problems.empty() ? "" : " (" + cells.problems + ")"),
               "Attach devices that are missing and open the store again."};
}

}  // namespace hexad::core
