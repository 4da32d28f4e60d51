#include "core/opening/recovery.h"

#include <algorithm>

#include "alloc/zone_image.h"
#include "base/bytes.h"
#include "base/checksum.h"
#include "core/record/keys.h"
#include "io/os_error.h"

namespace hexad::core {

namespace {

// R7: nothing may be cut on the strength of a read that failed.
Error unknown_end(Lsn lsn, const std::vector<std::string>& unread) {
  std::string places;
  for (const std::string& place : unread) places += (places.empty() ? "" : "; ") + place;
  return Error{ErrorCode::kUnavailable,
               "recovery: it is not known whether LSN " + std::to_string(lsn) +
                   " was complete, since its data cannot be read (" + places + ")",
               kv::kUnreadableEndHint};
}

}  // namespace

Status Recovery::load_zones() {
  HEXAD_TRY_ASSIGN(const std::unique_ptr<kv::IndexReader> reader, index_.snapshot());
  HEXAD_TRY_ASSIGN(const std::unique_ptr<kv::IndexCursor> cursor, reader->cursor());
  HEXAD_TRY(cursor->seek(zone_key(0)));
  for (; cursor->valid();) {
    HEXAD_TRY_ASSIGN(const alloc::ZoneId zone, parse_zone_key(cursor->key()));
    HEXAD_TRY_ASSIGN(const alloc::ZoneImage image,
                     alloc::decode_zone_image(as_bytes(cursor->value())));
    if (image.zone != zone) {
      return Error{
          ErrorCode::kCorruption,
          "zone " + std::to_string(zone) + ": its image names zone " + std::to_string(image.zone),
          "The index is wrong: remove its directory, and opening makes it again from the runs."};
    }
    HEXAD_TRY(space_.load_zone(image));
    HEXAD_TRY(cursor->next());
  }
  return {};
}

Result<Recovery::Entries> Recovery::decode(const kv::LoadedLogBlock& block) const {
  Entries entries;
  for (const kv::LogRecord& record : block.block.records) {
    HEXAD_TRY_ASSIGN(LogRecord decoded, decode_log_record(record.bytes, shape_.record));
    entries.push_back({record.lsn, std::move(decoded)});
  }
  return entries;
}

// Before anything else of the block: its first record says where the blobs of all of them lie. A
// writer that opens zones as A10 has it does without; one from before may have placed them in a
// zone that a later record names.
Status Recovery::make_zones(const Entries& entries) {
  for (const Entry& entry : entries) HEXAD_TRY(space_.replay_zones(entry.record));
  return {};
}

// Of the cells that are marked missing. Marks that are known when a record is proved are of records
// before it, of whoever had its units then: they say nothing about its own cells, which their
// checksums name.
void Recovery::read_marked(const StripeProof& stripe, BlobReader::Cells& cells) const {
  for (std::uint32_t role = 0; role < shape_.cells(); ++role) {
    const CellPlace& place = cells.places[role];
    if (place.readable || !members_.usable(place.id)) continue;
    const Status read = place.device->read(place.offset, cells.cell(role));
    const bool good =
        read.ok() && checksum(shape_.record.checksum, cells.cell(role)) == stripe.cell_sums[role];
    if (good) cells.good.add(role);
  }
}

constexpr int kAskedAgain = 2;

// Of the cells that are not good. A crash leaves bytes of some kind, right or wrong, wherever it
// cuts a write; a device that gives an error instead says nothing. Those, and why, go to `unread`.
Status Recovery::read_again(const StripeProof& stripe, BlobReader::Cells& cells,
                            std::vector<std::string>& unread) const {
  AlignedBuffer bytes(stripe.cell_bytes);
  for (std::uint32_t role = 0; role < shape_.cells(); ++role) {
    const CellPlace& place = cells.places[role];
    if (cells.good.contains(role) || !members_.usable(place.id)) continue;
    Status read;
    for (int i = 0; i <= kAskedAgain; ++i) {
      read = place.device->read(place.offset, bytes.bytes());
      if (read.ok() || read.error().code == ErrorCode::kFenced) break;
    }
    if (!read.ok() && read.error().code == ErrorCode::kFenced) return read;
    if (!read.ok()) {
      unread.push_back(place.device->name() + ", bytes " + std::to_string(place.offset) + " to " +
                       std::to_string(place.offset + stripe.cell_bytes) + ": " +
                       read.error().message);
    } else if (checksum(shape_.record.checksum, bytes.bytes()) == stripe.cell_sums[role]) {
      copy_bytes(cells.cell(role), bytes.bytes());
      cells.good.add(role);
    }
  }
  return {};
}

// Whether every stripe that the block's transactions wrote has at least k good cells. Stripes with
// fewer than all go to `incomplete`. Errors: kUnavailable (nobody knows).
Result<bool> Recovery::prove(const Entries& entries, std::vector<IncompleteStripe>& incomplete) {
  std::vector<IncompleteStripe> found;  // counts only if the whole block does
  for (const auto& [lsn, record] : entries) {
    std::vector<StripeProof> stripes = record.group.allocated;
    stripes.insert(stripes.end(), record.allocated.begin(), record.allocated.end());
    for (const StripeProof& stripe : stripes) {
      if (stripe.durable_before) continue;
      HEXAD_TRY_ASSIGN(BlobReader::Cells cells,
                       reader_.read_cells(stripe.where, stripe.cell_bytes, stripe.cell_sums,
                                          ec::ShardSet::first(shape_.cells())));
      read_marked(stripe, cells);
      if (cells.good.size() < shape_.k()) {
        std::vector<std::string> unread;
        HEXAD_TRY(read_again(stripe, cells, unread));
        if (cells.good.size() + unread.size() < shape_.k()) return false;
        if (cells.good.size() < shape_.k()) return unknown_end(lsn, unread);
      }
      ec::ShardSet not_good;
      for (std::uint32_t role = 0; role < shape_.cells(); ++role) {
        const bool live = members_.usable(cells.places[role].id);
        if (live && !cells.good.contains(role)) not_good.add(role);
      }
      if (!not_good.empty()) found.push_back({stripe, not_good});
    }
  }
  incomplete.insert(incomplete.end(), found.begin(), found.end());
  return true;
}

Status Recovery::note_departures(const kv::LogScan& scan, const std::set<DeviceId>& left,
                                 Lsn above) {
  if (left.empty()) return {};
  for (std::size_t i = 0; i < scan.blocks.size(); ++i) {
    const kv::LogBlockHeader& header = scan.blocks[i].header;
    if (header.record_count == 0 || header.last_lsn() <= above) continue;
    HEXAD_TRY_ASSIGN(const kv::LoadedLogBlock block, kv::load_log_block(scan, i));
    HEXAD_TRY_ASSIGN(const Entries entries, decode(block));
    for (const auto& [lsn, record] : entries) {
      if (lsn <= above) continue;
      for (const DeviceId id : left) HEXAD_TRY(space_.replay_missing(record, id));
    }
  }
  return {};
}

Status Recovery::drop_zones(const Entries& entries) {
  for (const Entry& entry : entries) HEXAD_TRY(space_.drop_zones(entry.record));
  return {};
}

// The value that a patch makes of what the log has said of the key before.
Status Recovery::patch_image(PostImage& image, Lsn lsn) {
  const std::optional<std::string> base = metadata_.patch_base(image.key);
  Result<std::string> value = apply_patch(base.value_or(""), *image.patch);
  if (!value.ok()) return value.error().with_context("LSN " + std::to_string(lsn));
  image.value = std::move(value).value();
  return {};
}

Status Recovery::replay(Entries& entries, Lsn above) {
  for (auto& [lsn, record] : entries) {
    if (lsn <= above) continue;  // R6: the index has it
    HEXAD_TRY(space_.replay(lsn, record));
    for (const alloc::RootDevice& row : root_.devices) {
      if (row.state == alloc::MemberState::kLeft && lsn > row.left_lsn) {
        HEXAD_TRY(space_.replay_missing(record, row.id));
      }
    }
    for (PostImage& image : record.images) {
      if (image.patch.has_value()) HEXAD_TRY(patch_image(image, lsn));
    }
    for (const PostImage& image : record.images) {
      metadata_.apply(
          lsn, image.key,
          image.value.has_value() ? std::optional<std::string_view>(*image.value) : std::nullopt);
    }
    counters_.add(CounterId::kRecoveredTransactions);
  }
  return {};
}

Result<Recovered> Recovery::run() {
  const Lsn index_lsn = index_.applied_lsn();
  HEXAD_TRY(load_zones());

  std::vector<kv::LogArea> areas;
  for (const DeviceId id : root_.log_devices) {
    if (members_.usable(id)) areas.push_back(members_.find(id)->log_area());
  }
  if (areas.empty()) {
    return Error{ErrorCode::kUnavailable,
                 "none of the " + std::to_string(root_.log_devices.size()) +
                     " devices that hold the log can be used",
                 "Attach one of them and open the store again."};
  }
  kv::LogScanOptions options;
  options.uuid = shape_.uuid;
  options.block_size = shape_.log_block;
  options.trim = {root_.log_trim.position, root_.log_trim.end, root_.log_trim.crc,
                  root_.log_trim.epoch, root_.log_trim.lsn};
  options.recorded_watermark = root_.recorded_watermark;
  for (const alloc::Writer& writer : root_.writers) {
    options.writers.push_back({writer.first_epoch, writer.last_epoch, writer.nonce});
  }
  Recovered recovered;
  HEXAD_TRY_ASSIGN(recovered.scan, kv::scan_log(areas, options));
  kv::LogScan& scan = recovered.scan;
  HEXAD_TRY(kv::check_log_scan(scan));

  bool cut = false;
  for (std::size_t i = 0; i < scan.blocks.size(); ++i) {
    const kv::LogBlockHeader& header = scan.blocks[i].header;
    HEXAD_TRY_ASSIGN(const kv::LoadedLogBlock block, kv::load_log_block(scan, i));
    HEXAD_TRY_ASSIGN(Entries entries, decode(block));
    HEXAD_TRY(make_zones(entries));
    const bool above_watermark = header.record_count > 0 && header.last_lsn() > scan.max_watermark;
    if (above_watermark) {
      HEXAD_TRY_ASSIGN(const bool proved, prove(entries, recovered.incomplete));
      if (!proved) {
        for (std::size_t j = i; j < scan.blocks.size(); ++j) {
          counters_.add(CounterId::kRecoveryTailCut, scan.blocks[j].header.record_count);
        }
        recovered.notes.push_back("recovery: cut the log at LSN " +
                                  std::to_string(header.first_lsn - 1) + ": the data of LSN " +
                                  std::to_string(header.first_lsn) +
                                  " was not complete, nobody was told that it was");
        scan.cut(i);
        HEXAD_TRY(drop_zones(entries));
        cut = true;
        break;
      }
      counters_.add(CounterId::kRecoveryTailKept, header.record_count);
    }
    HEXAD_TRY(replay(entries, index_lsn));
  }
  // What follows a block that was cut has been acknowledged to nobody.
  if (!cut) HEXAD_TRY(kv::check_log_end(scan));
  recovered.last_lsn = std::max(scan.last_lsn(), index_lsn);
  if (scan.last_lsn() < index_lsn) {
    return Error{ErrorCode::kCorruption,
                 "the log ends at LSN " + std::to_string(scan.last_lsn()) +
                     ", the index holds LSN " + std::to_string(index_lsn),
                 "The devices are older than the fast tier: attach the right ones."};
  }
  return recovered;
}

Result<std::set<DeviceId>> Recovery::heal(const std::vector<IncompleteStripe>& incomplete) {
  std::set<DeviceId> failed;
  for (const IncompleteStripe& stripe : incomplete) {
    const StripeProof& proof = stripe.proof;
    HEXAD_TRY_ASSIGN(BlobReader::Cells cells,
                     reader_.read_cells(proof.where, proof.cell_bytes, proof.cell_sums,
                                        ec::ShardSet::first(shape_.cells())));
    const ec::ShardSet good = cells.good;
    HEXAD_TRY(reader_.rebuild(proof.where, proof.cell_sums, cells));
    for (std::uint32_t role = 0; role < shape_.cells(); ++role) {
      const CellPlace& place = cells.places[role];
      if (good.contains(role) || !place.readable) continue;
      const Status written = place.device->write(place.offset, cells.cell(role),
                                                 io::WriteMode::kDurable, io::IoCause::kHeal);
      if (!written.ok() && !io::is_medium(written.error())) return written.error();
      if (written.ok()) {
        counters_.add(CounterId::kCellsHealed);
      } else {
        failed.insert(place.id);
      }
    }
  }
  return failed;
}

Result<TornCells> Recovery::find_torn(const std::vector<IncompleteStripe>& incomplete) const {
  TornCells torn;
  for (const auto& [proof, not_good] : incomplete) {
    HEXAD_TRY_ASSIGN(const std::vector<CellPlace> places, space_.locate(proof.where));
    AlignedBuffer bytes(proof.cell_bytes);
    ec::ShardSet cells;
    for (const std::uint32_t role : not_good) {
      const CellPlace& place = places[role];
      if (!place.readable) continue;
      const Status read = place.device->read(place.offset, bytes.bytes());
      if (!read.ok() && read.error().code == ErrorCode::kFenced) return read.error();
      const bool is_torn =
          read.ok() && checksum(shape_.record.checksum, bytes.bytes()) != proof.cell_sums[role];
      if (is_torn) cells.add(role);
    }
    if (!cells.empty()) torn.add(proof.where, cells);
  }
  return torn;
}

}  // namespace hexad::core
