#include "alloc/root.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "alloc/header_slot.h"
#include "alloc/sealed_block.h"
#include "io/os_error.h"
#include "io/refused.h"

namespace hexad::alloc {

namespace {

// Bytes of the two slots at one end, or nothing where they cannot be read.
struct Slots {
  AlignedBuffer bytes[2];
  Status status[2];
};

// The valid root of each slot, or why there is none.
struct Decoded {
  std::optional<Root> root[2];
  Error error[2];
};

Decoded decode_slots(const Slots& slots) {
  Decoded decoded;
  for (int slot = 0; slot < 2; ++slot) {
    if (!slots.status[slot].ok()) {
      decoded.error[slot] = slots.status[slot].error();
      continue;
    }
    Result<Root> root = decode_root(slots.bytes[slot].bytes());
    if (root.ok()) {
      decoded.root[slot] = std::move(*root);
    } else {
      decoded.error[slot] = root.error();
    }
  }
  return decoded;
}

// The slot that does not hold the end's newest valid root.
unsigned slot_to_write(const Decoded& decoded, std::uint64_t sequence) {
  const auto& [a, b] = decoded.root;
  if (a && b) return is_newer(*a, *b) ? 1 : 0;
  if (a || b) return a ? 1 : 0;
  return static_cast<unsigned>(sequence % 2);
}

}  // namespace

const RootDevice* Root::find(DeviceId id) const {
  const auto at =
      std::lower_bound(devices.begin(), devices.end(), id,
                       [](const RootDevice& row, DeviceId key) { return row.id < key; });
  return at != devices.end() && at->id == id ? &*at : nullptr;
}

RootDevice* Root::find(DeviceId id) {
  return const_cast<RootDevice*>(static_cast<const Root*>(this)->find(id));
}

std::uint32_t Root::data_device_count() const {
  return static_cast<std::uint32_t>(
      std::count_if(devices.begin(), devices.end(),
                    [](const RootDevice& row) { return row.role == DeviceRole::kData; }));
}

std::uint32_t Root::left_count() const {
  return static_cast<std::uint32_t>(
      std::count_if(devices.begin(), devices.end(),
                    [](const RootDevice& row) { return row.state == MemberState::kLeft; }));
}

bool is_newer(const Root& a, const Root& b) {
  const auto place = [](const Root& root) {
    return std::tuple(root.epoch, root.left_count(), root.sequence, root.checkpoint_lsn,
                      root.log_trim.end, root.promised_epoch);
  };
  return place(a) > place(b);
}

Result<std::vector<Root>> read_roots(const LaidOutDevice& device, std::vector<std::string>* bad) {
  const std::string name = device.device->name() + ": roots";
  std::vector<Root> roots;
  std::optional<Error> unreadable;
  bool readable = false;
  for (const DeviceEnd end : kDeviceEnds) {
    Slots slots;
    for (unsigned slot = 0; slot < 2; ++slot) {
      Result<AlignedBuffer> bytes =
          read_header_slot(*device.device, root_offset(end, slot, device.size));
      slots.status[slot] = bytes.status();
      readable = readable || bytes.ok();
      if (bytes.ok()) {
        slots.bytes[slot] = std::move(*bytes);
      } else if (!io::is_medium(bytes.error())) {
        // The newest may be there, and an older one would stand for it.
        return bytes.error().with_context(name);
      } else {
        unreadable = bytes.error();
      }
    }
    Decoded decoded = decode_slots(slots);
    for (unsigned slot = 0; slot < 2; ++slot) {
      if (decoded.root[slot].has_value()) {
        roots.push_back(std::move(*decoded.root[slot]));
        continue;
      }
      const Error& error = decoded.error[slot];
      if (error.code == ErrorCode::kUnsupported) return error.with_context(device.device->name());
      if (bad == nullptr) continue;
      bad->push_back("the root in slot " + std::to_string(slot) + " at the " +
                     std::string(to_string(end)) + ": " + error.message);
    }
  }
  if (!readable) return unreadable->with_context(name);
  std::stable_sort(roots.begin(), roots.end(), is_newer);
  roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
  return roots;
}

Status write_root(const LaidOutDevice& device, const Root& root) {
  return std::move(write_root(std::vector<LaidOutDevice>{device}, root).front());
}

std::vector<Status> write_root(const std::vector<LaidOutDevice>& devices, const Root& root) {
  std::vector<Status> results(devices.size());
  if (devices.empty()) return results;
  const std::string bytes = encode_root(root);
  io::IoQueue& queue = devices.front().device->queue();

  // Of device i, its head and its tail at 2 * i and behind.
  std::vector<Slots> slots(2 * devices.size());
  io::IoBatch reads;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const LaidOutDevice& device = devices[i / 2];
    for (unsigned slot = 0; slot < 2; ++slot) {
      slots[i].bytes[slot] = AlignedBuffer(kHeaderSlotSize);
      reads.requests.push_back(
          io::IoRequest::read(*device.device, root_offset(kDeviceEnds[i % 2], slot, device.size),
                              slots[i].bytes[slot].bytes()));
      reads.requests.back().may_be_left = true;  // slots[i] is looked at only where it succeeds
    }
  }
  queue.run(reads);

  // A slot that the medium does not give holds no root that anybody can use: it may be written
  // over. One that could not be read just now may hold the newest.
  for (std::size_t i = 0; i < slots.size(); ++i) {
    for (unsigned slot = 0; slot < 2; ++slot) {
      Status& read = reads.requests[2 * i + slot].status;
      if (io::is_refused(reads.requests[2 * i + slot]) && results[i / 2].ok()) {
        results[i / 2] = read;
      }
      slots[i].status[slot] = std::move(read);
    }
  }
  std::vector<AlignedBuffer> buffers;
  io::IoBatch writes;
  std::vector<std::size_t> written;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const LaidOutDevice& device = devices[i / 2];
    if (!results[i / 2].ok()) continue;
    written.push_back(i / 2);
    const unsigned slot = slot_to_write(decode_slots(slots[i]), root.sequence);
    buffers.push_back(padded(bytes, write_block(device.device->geometry())));
    writes.requests.push_back(
        io::IoRequest::write(*device.device, root_offset(kDeviceEnds[i % 2], slot, device.size),
                             buffers.back().bytes(), io::WriteMode::kDurable, io::IoCause::kSuper));
  }
  queue.run(writes);
  for (std::size_t i = 0; i < written.size(); ++i) {
    Status& outcome = writes.requests[i].status;
    // What the device did not take weighs more than what it was refused just now.
    Status& result = results[written[i]];
    const bool heavier = !outcome.ok() && (result.ok() || io::is_medium(outcome.error()));
    if (heavier) result = std::move(outcome);
  }
  return results;
}

}  // namespace hexad::alloc
