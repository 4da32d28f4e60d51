// Edits of disk images that an input describes. Most of them change what stands behind a checksum,
// and make that fit again: a decoder behind a checksum sees nothing else of a fuzzer.
#include <algorithm>
#include <optional>
#include <utility>

#include "alloc/sealed_block.h"
#include "alloc/slab_header.h"
#include "base/assert.h"
#include "base/checksum.h"
#include "base/units.h"
#include "core/record/log_record.h"
#include "ec/stripe_layout.h"
#include "tests/core/faults/disk_images.h"

namespace hexad::testing {

namespace {

constexpr std::size_t kMostEdits = 24;
constexpr std::size_t kMostParts = 12;  // of a log record that the input describes
constexpr std::uint32_t kSector = 512;  // unit of cell sizes

// Bytes replaced by others somewhere: as many, or more, or fewer.
void edit_text(std::string& text, Decoder& in) {
  const std::size_t at = in.le16() % (text.size() + 1);
  const std::uint8_t how = in.u8();
  const std::size_t insert = std::min<std::size_t>(how & 15, in.remaining());
  const std::size_t drop = (how & 0x80) != 0 ? how >> 4 & 7 : insert;
  text.replace(at, std::min(drop, text.size() - at), in.raw(insert));
}

class Editor {
 public:
  explicit Editor(DiskImages& images) : images_(images), log_(images.log) {
    for (const auto& disk : images.disks) {
      disks_.push_back(disk == nullptr ? nullptr : std::make_shared<io::CowImage>(disk));
    }
  }

  void edit(Decoder& in) {
    switch (in.u8() % 12) {
      case 0:
        return poke(in);
      case 1:
        return edit_label(in);
      case 2:
      case 3:
        return edit_root(in);
      case 4:
        return edit_slab_header(in);
      case 5:
        return edit_manifest(in);
      case 6:
        return change_disk(in);
      case 7:
        return edit_record(in);
      case 8:
        return append_raw(in);
      default:
        return append_record(in);
    }
  }

  void append(std::string record) {
    ImageLogBlock& block = log_.emplace_back();
    block.header.kind = kv::LogBlockKind::kRecords;
    block.header.epoch = images_.root.epoch;
    block.records.push_back(std::move(record));
    log_changed_ = true;
  }

  void finish() {
    if (log_changed_) write_log();
    for (std::size_t i = 0; i < disks_.size(); ++i) images_.disks[i] = disks_[i];
  }

 private:
  // Nothing: the disk is not there, or too short.
  std::optional<std::string> read(std::size_t disk, std::uint64_t offset, std::uint64_t length) {
    if (disks_[disk] == nullptr || offset + length > disks_[disk]->size()) return std::nullopt;
    std::string bytes(length, '\0');
    disks_[disk]->read(offset,
                       MutByteView(reinterpret_cast<std::byte*>(bytes.data()), bytes.size()));
    return bytes;
  }
  void write(std::size_t disk, std::uint64_t offset, std::string_view bytes) {
    if (disks_[disk] == nullptr || offset + bytes.size() > disks_[disk]->size()) return;
    disks_[disk]->write(offset, as_bytes(bytes));
  }

  // Damage as the medium does it: nothing is made to fit.
  void poke(Decoder& in) {
    const std::size_t disk = in.u8() % kImageDisks;
    // From the header at the head to the end of the one at the tail.
    const std::uint64_t size = images_.label.layout.device_size;
    const std::uint64_t at =
        alloc::kHeadOffset + in.le32() % (2 * alloc::kHeaderSize + alloc::room_of(size));
    const std::size_t wanted = in.u8();
    const std::size_t length = std::min(wanted, in.remaining());
    write(disk, at, in.raw(length));
  }

  // The body of a sealed structure, on the disks of the mask; the same change on all of them.
  void edit_sealed(std::string_view magic, std::uint64_t offset, std::uint8_t mask, Decoder& in) {
    Decoder after = in;
    for (std::size_t disk = 0; disk < kImageDisks; ++disk) {
      if ((mask >> disk & 1) == 0) continue;
      const std::optional<std::string> slot = read(disk, offset, alloc::kHeaderSlotSize);
      if (!slot.has_value()) continue;
      const Result<std::string_view> body = alloc::unseal(magic, as_bytes(*slot), "slot");
      if (!body.ok()) continue;
      std::string changed(*body);
      after = in;
      edit_text(changed, after);
      const std::string frame = alloc::seal(magic, changed);
      if (frame.size() <= alloc::kHeaderSlotSize) write(disk, offset, frame);
    }
    in = after;
  }
  std::uint64_t label_at(alloc::DeviceEnd end) const {
    return alloc::label_offset(end, images_.label.layout.device_size);
  }
  std::uint64_t root_at(alloc::DeviceEnd end, unsigned slot) const {
    return alloc::root_offset(end, slot, images_.label.layout.device_size);
  }
  // The root in a slot, at both ends, or with a bit set at the head alone.
  void edit_roots(unsigned slot, std::uint8_t mask, Decoder& in) {
    Decoder tail = in;
    edit_sealed("HEXADROT", root_at(alloc::DeviceEnd::kHead, slot), mask, in);
    if ((mask & 0x40) == 0)
      edit_sealed("HEXADROT", root_at(alloc::DeviceEnd::kTail, slot), mask, tail);
  }
  void edit_label(Decoder& in) {
    const std::uint8_t mask = in.u8();
    Decoder both = in;
    edit_sealed("HEXADLBL", label_at(alloc::DeviceEnd::kHead), mask, both);
    // With a bit set the two copies differ.
    if ((mask & 0x80) == 0) edit_sealed("HEXADLBL", label_at(alloc::DeviceEnd::kTail), mask, in);
    in = both;
  }
  void edit_root(Decoder& in) {
    const std::uint8_t mask = in.u8();
    Decoder both = in;
    edit_roots(0, mask, both);
    if ((mask & 0x80) == 0) edit_roots(1, mask, in);
    in = both;
  }
  void edit_slab_header(Decoder& in) {
    const std::uint8_t mask = in.u8();
    const std::uint32_t slab = in.u8() % images_.label.layout.slab_count;
    edit_sealed("HEXADSLB", images_.label.layout.slab_offset(slab), mask, in);
  }

  // The data cells of the manifest and their checksums in the newest root; parity stays as it was,
  // as nobody asks for it.
  void edit_manifest(Decoder& in) {
    alloc::ManifestAddress& address = images_.root.manifest;
    if (address.is_nil() || address.slots.size() != images_.shape.cells()) return;
    const std::uint32_t k = images_.shape.k();
    const ec::StripeGeometry geometry{
        k, images_.shape.m(), core::stripe_rotation(address.extent.unit, images_.shape.cells())};
    const auto place = [&](std::uint32_t role) {
      const alloc::ZoneSlot& slot = address.slots[ec::slot_of_role(geometry, role)];
      return std::pair(std::size_t{slot.device},
                       images_.label.layout.unit_offset(slot.slab, address.extent.unit));
    };
    std::uint64_t cell = ec::cell_bytes(address.length, k, images_.shape.block);
    std::string manifest;
    for (std::uint32_t role = 0; role < k; ++role) {
      const auto [disk, offset] = place(role);
      const std::optional<std::string> bytes = read(disk, offset, cell);
      if (!bytes.has_value()) return;
      manifest += *bytes;
    }
    manifest.resize(address.length);
    edit_text(manifest, in);
    const std::uint64_t room = address.extent.units * images_.shape.unit * k;
    manifest.resize(std::clamp<std::uint64_t>(manifest.size(), 1, room));
    cell = ec::cell_bytes(manifest.size(), k, images_.shape.block);
    address.length = manifest.size();
    address.crc = crc32c(as_bytes(manifest));
    manifest.resize(cell * k);
    address.cell_sums.resize(images_.shape.cells());
    for (std::uint32_t role = 0; role < k; ++role) {
      const auto [disk, offset] = place(role);
      const std::string_view bytes = std::string_view(manifest).substr(role * cell, cell);
      address.cell_sums[role] = crc32c(as_bytes(bytes));
      write(disk, offset, bytes);
    }
    write_root();
  }
  void write_root() {
    if (!alloc::check_root(images_.root).ok()) return;
    const std::string frame = alloc::encode_root(images_.root);
    for (std::size_t disk = 0; disk < kImageDisks; ++disk) {
      for (const alloc::DeviceEnd end : alloc::kDeviceEnds) {
        for (unsigned slot = 0; slot < 2; ++slot) write(disk, root_at(end, slot), frame);
      }
    }
  }

  void change_disk(Decoder& in) {
    const std::size_t disk = in.u8() % kImageDisks;
    const std::size_t other = in.u8() % kImageDisks;
    std::shared_ptr<io::CowImage>& image = disks_[disk];
    switch (in.u8() % 4) {
      case 0:
        image = nullptr;
        break;
      case 1:
        if (image != nullptr) image = std::make_shared<io::CowImage>(image->size());
        break;
      case 2:
        if (image != nullptr) image->resize(in.le16() % (image->size() / kSector + 1) * kSector);
        break;
      default:
        if (disks_[other] != nullptr) {
          const Bytes bytes = disks_[other]->flatten();
          image = std::make_shared<io::CowImage>(bytes.size());
          image->write(0, bytes);
        }
    }
  }

  // --- the log ---

  // The bytes of a record that is there.
  void edit_record(Decoder& in) {
    const std::size_t which = in.u8();
    std::size_t count = 0;
    for (const ImageLogBlock& block : log_) count += block.records.size();
    if (count == 0) return;
    std::size_t left = which % count;
    for (ImageLogBlock& block : log_) {
      if (left >= block.records.size()) {
        left -= block.records.size();
        continue;
      }
      edit_text(block.records[left], in);
      log_changed_ = true;
      return;
    }
  }
  void append_raw(Decoder& in) {
    const std::size_t wanted = in.le16() % 2000;
    const std::size_t length = std::min(wanted, in.remaining());
    append(std::string(in.raw(length)));
  }

  // A record that decodes, and says whatever the input wants.
  void append_record(Decoder& in) {
    core::LogRecord record;
    for (std::size_t parts = in.u8() % kMostParts; parts > 0 && in.remaining() > 0; --parts) {
      switch (in.u8() % 10) {
        case 0:
          record.freed.push_back(extent(in));
          break;
        case 1:
          record.packed_releases.push_back({in.u8(), 1u + in.u8(), 1u + in.le16()});
          break;
        case 2:
          record.unplaced_releases.push_back({1u + in.u8(), in.u8() % 8u});
          break;
        case 3: {
          core::StripeProof proof;
          proof.where = extent(in);
          proof.cell_bytes = kSector * (1 + in.u8() % 64);
          proof.durable_before = true;
          proof.live = in.le16() % (std::uint64_t{proof.cell_bytes} * images_.shape.k());
          record.allocated.push_back(std::move(proof));
          break;
        }
        case 4: {
          core::ZoneCreation zone;
          zone.zone = in.u8();
          zone.units = images_.label.layout.slab_units;
          const std::uint32_t slab = in.u8();
          for (DeviceId id = 0; id < images_.shape.cells(); ++id) zone.slots.push_back({id, slab});
          record.zones.push_back(std::move(zone));
          break;
        }
        case 5: {
          core::UnplacedPayload payload;
          payload.place = {1u + in.u8(), static_cast<std::uint32_t>(record.group.payloads.size())};
          payload.owner = key(in);
          payload.bytes = std::string(1 + in.u8(), 'p');
          if (!payload.owner.empty()) record.group.payloads.push_back(std::move(payload));
          break;
        }
        default:
          add_image(record, in);
      }
    }
    append(core::encode_log_record(record, images_.shape.record));
  }
  static alloc::Extent extent(Decoder& in) {
    const std::uint32_t zone = in.u8();
    const std::uint32_t unit = 1u + in.u8();
    return {zone, unit, 1u + in.u8() % 16};
  }
  // One of the metadata's, or one that the input makes of it.
  std::string key(Decoder& in) {
    const std::size_t which = in.u8();
    std::string key = images_.metadata[which % images_.metadata.size()].first;
    if (which >= images_.metadata.size()) edit_text(key, in);
    key.resize(std::min(key.size(), core::kMaxKeySize));
    return key;
  }
  // No value, or one of the metadata's, often changed.
  void add_image(core::LogRecord& record, Decoder& in) {
    core::PostImage image;
    image.key = key(in);
    if (image.key.empty()) return;
    const std::uint8_t how = in.u8();
    if (how != 0) {
      const std::size_t which = in.u8() % images_.metadata.size();
      image.value = images_.metadata[which].second;
      for (std::uint8_t edits = how % 4; edits > 0; --edits) edit_text(*image.value, in);
    }
    record.images.push_back(std::move(image));
  }

  // All blocks from the trim point on again, each behind the one before it, and a last one that
  // says that everybody was told of them: so that none is cut for lack of proof.
  void write_log() {
    const std::uint64_t size = images_.label.layout.log_size;
    ImageLogBlock& last = log_.emplace_back();
    last.header.kind = kv::LogBlockKind::kEmpty;
    last.header.epoch = images_.root.epoch;
    kv::LogPoint before = images_.trim;
    for (const ImageLogBlock& block : log_) {
      kv::LogBlockHeader header = block.header;
      header.uuid = images_.root.store;
      header.first_lsn = before.lsn + 1;
      header.watermark = before.lsn;
      header.previous_position = before.position;
      header.previous_crc = before.crc;
      header.epoch = std::max(header.epoch, before.epoch);
      if (header.kind == kv::LogBlockKind::kFence) header.fence_end_lsn = before.lsn;
      const std::vector<std::string_view> records(block.records.begin(), block.records.end());
      const std::uint64_t length = kv::log_block_length(records, images_.shape.log_block);
      header.position = before.end;
      if (header.position % size + length > size) {
        header.position = round_up(header.position, size);
      }
      if (header.position + length - images_.trim.end > size) return;  // the log is full
      const kv::EncodedLogBlock encoded =
          kv::encode_log_block(header, records, images_.shape.log_block);
      for (const DeviceId id : images_.root.log_devices) {
        write(id, images_.label.layout.log_offset + header.position % size, as_text(encoded.bytes));
      }
      before = encoded.point();
    }
  }

  DiskImages& images_;
  std::vector<std::shared_ptr<io::CowImage>> disks_;
  std::vector<ImageLogBlock> log_;
  bool log_changed_ = false;
};

}  // namespace

void append_record(DiskImages& images, const core::LogRecord& record) {
  Editor editor(images);
  editor.append(core::encode_log_record(record, images.shape.record));
  editor.finish();
}

void edit_images(DiskImages& images, Decoder in) {
  Editor editor(images);
  for (std::size_t i = 0; in.remaining() > 0 && in.ok() && i < kMostEdits; ++i) editor.edit(in);
  editor.finish();
}

}  // namespace hexad::testing
