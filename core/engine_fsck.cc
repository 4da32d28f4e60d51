// fsck: that metadata and space agree, and, deep, that every cell is what its checksum says and
// that parity is the code of the data. Commits wait while it runs.
//
//   F1  every record decodes, and belongs to a collection that exists
//   F2  every blob lies in live units, and no unit belongs to two blobs
//   F3  every live unit belongs to a blob or to a pack stripe
//   F4  every page belongs to an object, or to a writer that has not published
//   F5  a pack stripe has as many live bytes as blobs in it have together
//   F6  deep: every cell verifies; re-encoding the data gives the parity
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/engine.h"
#include "core/keys.h"
#include "core/object_extents.h"

namespace hexad {

std::uint64_t FsckReport::errors() const {
  std::uint64_t count = 0;
  for (const Finding& finding : findings) count += finding.repaired ? 0 : 1;
  return count;
}

}  // namespace hexad

namespace hexad::core {

namespace {

struct Owned {
  std::uint32_t units = 0;
  std::string owner;
};

// What has been seen of one store.
class Check {
 public:
  Check(const FsckOptions& options, const StoreShape& shape, const ec::Codec& codec,
        const BlobReader& reader, const LogBlobs& log_blobs, Space& space)
      : options_(options),
        shape_(shape),
        codec_(codec),
        reader_(reader),
        log_blobs_(log_blobs),
        space_(space) {
    for (const alloc::ZoneId zone : space_.zone_ids()) {
      for (const alloc::PackStripe& pack : space_.packs(zone)) {
        owned_[{zone, pack.run.unit}] = {pack.run.units, "a pack stripe"};
        packs_[{zone, pack.run.unit}] = {pack, 0};
      }
    }
  }

  FsckReport report;

  void find(std::string subject, std::string problem, bool repaired = false) {
    report.findings.push_back({std::move(subject), std::move(problem), repaired});
  }

  Status extents(const std::string& owner, const ExtentList& extents) {
    for (const Blob& blob : blobs_of(log_blobs_.resolve(extents))) {
      switch (blob.placement) {
        case Placement::kPrivate:
          HEXAD_TRY(check_blob(owner, blob));
          break;
        case Placement::kPacked:
          check_packed(owner, blob);
          break;
        case Placement::kLog:
          if (!log_blobs_.find(blob.log).has_value()) {
            find(owner, "blob " + std::to_string(blob.log.index) + " of LSN " +
                            std::to_string(blob.log.lsn) + " is in no log block");
          }
          break;
      }
    }
    return {};
  }

  // F5.
  void check_packs() {
    for (const auto& [place, pack] : packs_) {
      if (pack.seen == pack.stripe.live) continue;
      find("pack stripe at zone " + std::to_string(place.first) + " unit " +
               std::to_string(place.second),
           std::to_string(pack.stripe.live) + " bytes are counted as alive, " +
               std::to_string(pack.seen) + " belong to blobs");
    }
  }

  // F3.
  void check_leaks() {
    for (const alloc::ZoneId zone : space_.zone_ids()) {
      for (const alloc::UnitRun& run : space_.live_runs(zone)) {
        std::uint64_t unit = run.unit;
        auto it = owned_.lower_bound({zone, run.unit});
        while (unit < run.end()) {
          const bool here =
              it != owned_.end() && it->first.first == zone && it->first.second < run.end();
          const std::uint64_t next = here ? it->first.second : run.end();
          if (next > unit) {
            find("zone " + std::to_string(zone) + " unit " + std::to_string(unit),
                 std::to_string(next - unit) + " units are taken and belong to nothing");
          }
          if (!here) break;
          unit = next + it->second.units;
          ++it;
        }
      }
    }
  }

 private:
  Status check_blob(const std::string& owner, const Blob& blob) {
    ++report.stripes_checked;
    if (!space_.is_live(blob.where)) {
      find(owner, alloc::to_string(blob.where) + " is used but not taken");  // F2
    }
    const auto [it, fresh] =
        owned_.try_emplace({blob.where.zone, blob.where.unit}, Owned{blob.where.units, owner});
    bool overlaps = !fresh;
    if (fresh) {
      const auto next = std::next(it);
      overlaps = next != owned_.end() && next->first.first == blob.where.zone &&
                 next->first.second < blob.where.end();
      if (it != owned_.begin()) {
        const auto before = std::prev(it);
        overlaps = overlaps || (before->first.first == blob.where.zone &&
                                before->first.second + before->second.units > blob.where.unit);
      }
    }
    if (overlaps) find(owner, alloc::to_string(blob.where) + " belongs to another blob, too");
    return options_.deep ? check_cells(owner, blob) : Status();
  }

  // F2 for a blob in a pack stripe; deep, that its bytes verify.
  void check_packed(const std::string& owner, const Blob& blob) {
    const auto at = packs_.find({blob.where.zone, blob.where.unit});
    if (at == packs_.end()) {
      find(owner, "zone " + std::to_string(blob.where.zone) + " unit " +
                      std::to_string(blob.where.unit) + " is used as a pack stripe and is none");
      return;
    }
    at->second.seen += blob.stored;
    const std::uint64_t cell = at->second.stripe.run.units * shape_.unit;
    if (blob.cell_offset + std::uint64_t{blob.stored} > cell) {
      find(owner, "its bytes lie outside the cell of its pack stripe");
    } else if (options_.deep) {
      Bytes bytes(blob.raw);
      report.bytes_checked += blob.stored;
      const Status read = reader_.read(blob, 0, bytes);
      if (!read.ok()) find(owner, read.error().message);
    }
  }

  // F6.
  Status check_cells(const std::string& owner, const Blob& blob) {
    Result<BlobReader::Cells> read = reader_.read_cells(blob.where, blob.cell_bytes, blob.cell_sums,
                                                        ec::ShardSet::first(shape_.cells()));
    if (!read.ok()) {
      find(owner, read.error().message);
      return {};
    }
    BlobReader::Cells cells = std::move(read).value();
    report.bytes_checked += std::uint64_t{blob.cell_bytes} * cells.good.size();
    ec::ShardSet absent;
    for (std::uint32_t role = 0; role < shape_.cells(); ++role) {
      if (!cells.places[role].readable) absent.add(role);
    }
    const ec::ShardSet bad = ec::ShardSet::first(shape_.cells()) - cells.good - absent;
    if (cells.good.size() < shape_.k()) {
      find(owner, alloc::to_string(blob.where) + ": only " + std::to_string(cells.good.size()) +
                      " good cells, " + std::to_string(shape_.k()) + " are needed");
      return {};
    }
    if (!bad.empty()) {
      std::string problems;
      for (const std::string& problem : cells.problems) {
        problems += (problems.empty() ? "" : "; ") + problem;
      }
      bool repaired = false;
      if (options_.repair) {
        // rebuild() offers every cell to the map, which writes it back.
        HEXAD_TRY(reader_.rebuild(blob.where, blob.cell_sums, cells));
        HEXAD_TRY_ASSIGN(const BlobReader::Cells again,
                         reader_.read_cells(blob.where, blob.cell_bytes, blob.cell_sums, bad));
        repaired = again.good == bad;
      }
      find(owner, problems, repaired);
      return {};
    }
    if (!absent.empty()) return {};
    std::vector<ByteView> shards;
    for (std::uint32_t role = 0; role < shape_.cells(); ++role) shards.push_back(cells.cell(role));
    HEXAD_TRY_ASSIGN(const bool consistent, codec_.verify(shards));
    if (!consistent) {
      find(owner, alloc::to_string(blob.where) + ": parity is not the code of the data");
    }
    check_block_sums(owner, blob, cells);
    return {};
  }

  void check_block_sums(const std::string& owner, const Blob& blob, BlobReader::Cells& cells) {
    if (blob.block_sums.empty()) return;
    std::vector<std::uint64_t> sums;
    for (std::uint32_t role = 0; role < shape_.k(); ++role) {
      append_block_sums(shape_.record.checksum, cells.cell(role), shape_.record.checksum_block,
                        sums);
    }
    if (sums != blob.block_sums) {
      find(owner, alloc::to_string(blob.where) + ": block checksums contradict the cell checksums");
    }
  }

  const FsckOptions& options_;
  const StoreShape& shape_;
  const ec::Codec& codec_;
  const BlobReader& reader_;
  const LogBlobs& log_blobs_;
  Space& space_;
  struct Pack {
    alloc::PackStripe stripe;
    std::uint64_t seen = 0;  // bytes of blobs in it
  };
  std::map<std::pair<alloc::ZoneId, std::uint32_t>, Pack> packs_;
  std::map<std::pair<alloc::ZoneId, std::uint32_t>, Owned> owned_;
};

}  // namespace

Result<FsckReport> Engine::fsck(const FsckOptions& options) {
  if (options.repair) HEXAD_TRY(writable());
  const io::Lock lock(sequencer_);
  if (lane_ != nullptr && !lane_->stopped().has_value()) HEXAD_TRY(lane_->drain());
  Check check(options, *parts_.shape, *parts_.codec, *reader_, *parts_.log_blobs, *parts_.space);
  const RecordShape& shape = parts_.shape->record;

  HEXAD_TRY_ASSIGN(ReadState state, read_state());
  std::map<CollectionId, std::string> collections;
  std::map<BodyId, std::string> bodies;
  HEXAD_TRY_ASSIGN(MetaView::Cursor opened, state.view->cursor());
  std::optional<MetaView::Cursor> cursor(std::move(opened));
  HEXAD_TRY(cursor->seek(""));
  while (cursor->valid()) {
    const std::string& key = cursor->key();
    const std::string subject = "metadata key " + printable(key, 64);
    switch (key.empty() ? '\0' : key[0]) {
      case 'c': {
        const Result<CollectionRecord> record = decode_collection(cursor->value());
        if (!record.ok())
          check.find(subject, record.error().message);
        else
          collections[record->id] = key.substr(1);
        break;
      }
      case 'o': {
        const Result<ObjectKey> parsed = parse_object_key(key);
        const Result<ObjectRecord> record = decode_object(cursor->value(), shape);
        if (!parsed.ok() || !record.ok()) {
          check.find(subject, parsed.ok() ? record.error().message : parsed.error().message);
          break;
        }
        ++check.report.objects_checked;
        const auto collection = collections.find(parsed->collection);
        const std::string owner =
            "object " +
            (collection == collections.end() ? "collection " + std::to_string(parsed->collection)
                                             : printable(collection->second)) +
            "/" + printable(parsed->name);
        if (collection == collections.end()) check.find(owner, "its collection does not exist");
        if (record->body != 0) bodies[record->body] = owner;
        HEXAD_TRY(check.extents(owner, record->extents));
        break;
      }
      case 'w': {
        const Result<BodyId> body = parse_writer_key(key);
        if (!body.ok())
          check.find(subject, body.error().message);
        else
          bodies[*body] = "unpublished writer " + std::to_string(*body);
        break;
      }
      case 'x': {
        const Result<PageKey> parsed = parse_page_key(key);
        if (!parsed.ok()) {
          check.find(subject, parsed.error().message);
          break;
        }
        const Result<ExtentList> extents = decode_page(cursor->value(), parsed->page, shape);
        const auto owner = bodies.find(parsed->body);
        if (owner == bodies.end()) check.find(subject, "a page of no object");
        if (!extents.ok())
          check.find(subject, extents.error().message);
        else
          HEXAD_TRY(check.extents(owner == bodies.end() ? subject : owner->second, *extents));
        break;
      }
      case 'm':
      case 'z':
        break;
      default:
        check.find(subject, "unknown kind of key");
    }
    HEXAD_TRY(cursor->next());
  }
  check.check_leaks();
  check.check_packs();
  const Status zones = parts_.space->check_invariants();
  if (!zones.ok()) check.find("zones", zones.error().message);
  cursor.reset();
  state.view.reset();
  const Status index = parts_.index->verify();
  if (!index.ok()) check.find("index", index.error().message);
  return std::move(check.report);
}

}  // namespace hexad::core
