#include "core/check/fsck_check.h"

#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "core/commit/stripe_placer.h"
#include "core/record/keys.h"
#include "tests/core/space_world.h"

namespace hexad::core {
namespace {

const TornCells kNoneTorn;

using Catch::Contains;

// A space with blobs whose cells are on the devices.
struct Fixture : testing::SpaceWorld {
  Fixture() {
    space->allow_healing();
    reader.emplace(shape, *codec, compressor, *space, system.queue(), counters, log_blobs);
    packs.emplace(shape, *codec, *space, system.queue(), counters);
  }

  // --- what a store has ---

  Blob private_blob(std::size_t size) {
    PreparedBlob prepared = preparer.code(as_bytes(noise(size))).value();
    prepared.blob.where = space->allocate(prepared.units).value();
    write({prepared.blob.where, std::move(prepared)});
    LogRecord record;
    record.allocated.push_back({last_.where, last_.cell_bytes, false, last_.cell_sums, 0});
    space->publish(++lsn, record);
    return last_;
  }
  // So many unplaced blobs that share one pack stripe, as records name them.
  std::vector<Blob> packed_blobs(std::size_t count, std::size_t size) {
    std::vector<UnplacedBlob> unplaced;
    std::vector<Blob> blobs;
    ++lsn;
    for (std::uint32_t i = 0; i < count; ++i) {
      UnplacedBlob one;
      one.place = {lsn, i};
      one.stored = SharedBytes::copy_of(as_bytes(noise(size)));
      one.owner = object_key(1, "packed" + std::to_string(i));
      one.units = 1;
      space->reserve(PromisedUnits(one.units));
      blobs.push_back(unplaced_blob(one));
      unplaced.push_back(std::move(one));
    }
    const StripePlacer placer(shape, *codec, preparer, *space);
    PlacedBlobs placed = placer.place(std::move(unplaced), 0).value();
    REQUIRE(placed.stripes.size() == 1);
    LogRecord record;
    record.group = placed.part;
    log_blobs.set_places(placed.part.placed);
    space->publish(lsn, record);
    for (StripeWrite& stripe : placed.stripes) write(std::move(stripe));
    return blobs;
  }
  Blob unplaced_blob(const UnplacedBlob& unplaced) const {
    Blob blob;
    blob.placement = Placement::kLog;
    blob.log = unplaced.place;
    blob.raw = blob.stored = static_cast<std::uint32_t>(unplaced.stored.size());
    blob.cell_sums = {checksum(shape.record.checksum, unplaced.stored.bytes())};
    return blob;
  }
  static ExtentList shown(const Blob& blob) {
    Extent extent;
    extent.length = blob.raw;
    extent.blob = blob;
    return {extent};
  }

  // --- damage ---

  CellPlace place_of(const alloc::Extent& where, std::uint32_t role) {
    return space->locate(where).value().at(role);
  }
  AlignedBuffer read_cell(const Blob& blob, std::uint32_t role) {
    AlignedBuffer cell(blob.cell_bytes);
    const CellPlace place = place_of(blob.where, role);
    REQUIRE(place.device->read(place.offset, cell.bytes()).ok());
    return cell;
  }
  void write_cell(const alloc::Extent& where, std::uint32_t role, ByteView bytes) {
    const CellPlace place = place_of(where, role);
    REQUIRE(place.device->write(place.offset, bytes).ok());
  }
  void spoil(const alloc::Extent& where, std::uint32_t role) {
    AlignedBuffer bytes(shape.unit);
    fill_zero(bytes.bytes());
    write_cell(where, role, bytes);
  }

  // --- the check ---

  std::vector<Finding> check(const std::vector<std::pair<std::string, Blob>>& blobs,
                             const FsckOptions& options = {}) {
    FsckCheck check(options, shape, *codec, *reader, *packs, log_blobs, kNoneTorn,
                    FsckMoment(*space, log_blobs));
    for (const auto& [owner, blob] : blobs) REQUIRE(check.check_extents(owner, shown(blob)).ok());
    check.check_leaks();
    REQUIRE(check.check_packs([] { return Status(); }).ok());
    report = check.report;
    return report.findings;
  }

  std::optional<BlobReader> reader;
  std::optional<PackChecker> packs;
  Lsn lsn = 0;
  FsckReport report;

 private:
  void write(StripeWrite stripe) {
    last_ = stripe.prepared.blob;
    last_.where = stripe.where;
    for (std::uint32_t role = 0; role < shape.cells(); ++role) {
      write_cell(stripe.where, role, stripe.prepared.cell(role));
    }
  }
  Blob last_;
};

const FsckOptions kShallow{};
const FsckOptions kDeep{true, false};
const FsckOptions kRepair{true, true};

TEST_CASE("fsck_check: a sound store has no findings, and deep looks at every byte") {
  Fixture f;
  std::vector<std::pair<std::string, Blob>> blobs = {{"a", f.private_blob(100'000)},
                                                     {"b", f.private_blob(1)}};
  for (const Blob& blob : f.packed_blobs(10, 3000)) blobs.emplace_back("packed", blob);
  REQUIRE(f.check(blobs).empty());
  REQUIRE(f.report.stripes_checked == 3);
  REQUIRE(f.report.bytes_checked == 0);
  REQUIRE(f.check(blobs, kDeep).empty());
  REQUIRE(f.report.stripes_checked == 3);
  const alloc::PackStripe pack = f.space->packs(1).at(0);
  REQUIRE(f.report.bytes_checked ==
          6 * (blobs[0].second.cell_bytes + 4096 + pack.run.units * f.shape.unit));
}

TEST_CASE("fsck_check: F2 a blob lies in units that are taken") {
  Fixture f;
  Blob blob = f.private_blob(100'000);  // seven units
  const std::vector<Finding> none = f.check({{"a", blob}});
  REQUIRE(none.empty());
  blob.where.unit += blob.where.units;
  const std::vector<Finding> found = f.check({{"a", blob}});
  REQUIRE(found.size() == 2);
  REQUIRE(found[0].subject == "a");
  REQUIRE(found[0].problem == alloc::to_string(blob.where) + " is used but not taken");
  REQUIRE_FALSE(found[0].repaired);
  // And those that are belong to nothing.
  REQUIRE(found[1].subject == "zone 1 unit 1");
}

TEST_CASE("fsck_check: F2 no unit belongs to two blobs, however they overlap") {
  Fixture f;
  f.private_blob(60'000);  // so that there is something before
  const Blob blob = f.private_blob(60'000);
  f.private_blob(60'000);
  REQUIRE(blob.where.units == 4);
  for (std::uint32_t unit = blob.where.unit - 4; unit <= blob.where.end(); ++unit) {
    for (const std::uint32_t units : {1u, 2u, 4u}) {
      for (const bool first : {true, false}) {
        CAPTURE(unit, units, first);
        Blob other = blob;
        other.where.unit = unit;
        other.where.units = units;
        const bool meet = unit < blob.where.end() && unit + units > blob.where.unit;
        FsckCheck check(kShallow, f.shape, *f.codec, *f.reader, *f.packs, f.log_blobs, kNoneTorn,
                        FsckMoment(*f.space, f.log_blobs));
        REQUIRE(check.check_extents("one", Fixture::shown(first ? other : blob)).ok());
        REQUIRE(check.check_extents("two", Fixture::shown(first ? blob : other)).ok());
        REQUIRE(check.report.findings.size() == (meet ? 1 : 0));
        if (!meet) continue;
        REQUIRE(check.report.findings[0].subject == "two");
        REQUIRE_THAT(check.report.findings[0].problem, Contains("belongs to somebody else, too"));
      }
    }
  }
}

TEST_CASE("fsck_check: F2 a pack stripe's units are its own") {
  Fixture f;
  const Blob blob = f.private_blob(16'384);
  const std::vector<Blob> packed = f.packed_blobs(4, 3000);
  std::vector<std::pair<std::string, Blob>> blobs;
  for (const Blob& one : packed) blobs.emplace_back("packed", one);
  Blob thief = blob;
  thief.where.unit = f.space->packs(1).at(0).run.unit;
  blobs.emplace_back("thief", thief);
  blobs.emplace_back("owner", blob);
  const std::vector<Finding> found = f.check(blobs);
  REQUIRE(found.size() == 1);
  REQUIRE(found[0].subject == "thief");
  REQUIRE_THAT(found[0].problem, Contains("belongs to somebody else, too"));
}

TEST_CASE("fsck_check: F2 a packed blob lies in a pack stripe, inside of its cell") {
  Fixture f;
  const std::vector<Blob> packed = f.packed_blobs(4, 3000);
  const Blob owner = f.private_blob(16'384);
  Blob blob = f.log_blobs.resolve(packed[0]);
  REQUIRE(blob.placement == Placement::kPacked);
  const auto problem_of = [&](const Blob& one) {
    FsckCheck check(kShallow, f.shape, *f.codec, *f.reader, *f.packs, f.log_blobs, kNoneTorn,
                    FsckMoment(*f.space, f.log_blobs));
    REQUIRE(check.check_extents("a", Fixture::shown(one)).ok());
    return check.report.findings.empty() ? "" : check.report.findings[0].problem;
  };
  REQUIRE(problem_of(blob) == "");
  const auto cell = static_cast<std::uint32_t>(f.space->packs(1).at(0).run.units * f.shape.unit);
  blob.cell_offset = cell - blob.stored;
  REQUIRE(problem_of(blob) == "");
  blob.cell_offset += 1;
  REQUIRE_THAT(problem_of(blob), Contains("outside the cell"));
  blob.cell_offset = ~0U;
  REQUIRE_THAT(problem_of(blob), Contains("outside the cell"));
  blob.cell_offset = 0;
  for (const std::uint32_t unit : {blob.where.unit + 1, owner.where.unit, 200u}) {
    blob.where.unit = unit;
    REQUIRE_THAT(problem_of(blob), Contains("is used as a pack stripe and is none"));
  }
}

TEST_CASE(
    "fsck_check: F14 a blob is the list's that the footer names, or is forwarded with a key") {
  Fixture f;
  const std::vector<Blob> blobs = f.packed_blobs(2, 1000);
  const Blob first = f.log_blobs.resolve(blobs[0]);
  const Blob second = f.log_blobs.resolve(blobs[1]);
  const std::string list = object_key(1, "packed0");
  const std::string other = object_key(1, "packed1");
  const std::string forward = forward_key(second.where.zone, second.where.unit, list);
  // Both in one list; `keys`: forward keys that there are.
  const auto findings = [&](const Blob& a, const Blob& b, const std::vector<std::string>& keys,
                            const FsckOptions& options) {
    FsckCheck check(options, f.shape, *f.codec, *f.reader, *f.packs, f.log_blobs, kNoneTorn,
                    FsckMoment(*f.space, f.log_blobs));
    for (const std::string& key : keys) check.note_forward(key);
    ExtentList extents = Fixture::shown(a);
    extents.push_back(Fixture::shown(b).front());
    extents.back().offset = 1000;
    REQUIRE(check.check_extents("owner", extents, list).ok());
    check.find_lost_forwards();
    REQUIRE(check.check_packs([] { return Status(); }).ok());
    std::string problems;
    for (const Finding& one : check.report.findings) problems += one.problem + "\n";
    return problems;
  };
  Blob forwarded = second;
  forwarded.forward = Forward::kWritten;
  CHECK(findings(first, forwarded, {forward}, kDeep) == "");
  CHECK_THAT(findings(first, forwarded, {}, kShallow), Contains("as forwarded, without a key"));
  CHECK_THAT(findings(first, forwarded, {forward, forward_key(1, 7, list)}, kShallow),
             Contains("a forward key to a list that does not show it"));
  CHECK_THAT(findings(first, forwarded, {forward_key(1, 7, list)}, kShallow),
             Contains("without a key"));
  CHECK_THAT(findings(first, second, {forward}, kShallow), Contains("does not show it"));
  CHECK(findings(first, second, {}, kShallow) == "");
  CHECK_THAT(findings(first, second, {}, kDeep),
             Contains("another owner's by the stripe's footer"));
  // An unplaced blob gets its key with the next checkpoint, and may have it before.
  Blob due = blobs[1];
  due.forward = Forward::kDue;
  CHECK(findings(first, due, {}, kDeep) == "");
  CHECK(findings(first, due, {forward}, kDeep) == "");
}

TEST_CASE("fsck_check: an unplaced blob has to be known to somebody") {
  Fixture f;
  UnplacedBlob unplaced;
  unplaced.place = {9, 3};
  unplaced.stored = SharedBytes::copy_of(as_bytes("in the log"));
  const Blob blob = f.unplaced_blob(unplaced);
  const std::vector<Finding> found = f.check({{"a", blob}});
  REQUIRE(found.size() == 1);
  REQUIRE(found[0].problem == "blob 3 of LSN 9 is in no log block");
  f.log_blobs.add_payload(unplaced);
  REQUIRE(f.check({{"a", blob}}, kDeep).empty());
}

TEST_CASE("fsck_check: F3 every live unit belongs to something") {
  Fixture f;
  std::vector<Blob> blobs;
  for (int i = 0; i < 4; ++i) blobs.push_back(f.private_blob(30'000));  // two units each
  for (std::uint32_t lost = 0; lost < 16; ++lost) {
    CAPTURE(lost);
    std::vector<std::pair<std::string, Blob>> named;
    std::vector<std::pair<std::string, std::string>> wanted;
    std::uint32_t run = 0;
    for (std::uint32_t i = 0; i <= 4; ++i) {
      if (i < 4 && (lost >> i & 1) != 0) {
        run += 2;
        continue;
      }
      if (i < 4) named.emplace_back("owner", blobs[i]);
      if (run > 0) {
        wanted.emplace_back("zone 1 unit " + std::to_string(1 + 2 * i - run),
                            std::to_string(run) + " units are taken and belong to nothing");
      }
      run = 0;
    }
    std::vector<std::pair<std::string, std::string>> found;
    for (const Finding& finding : f.check(named))
      found.emplace_back(finding.subject, finding.problem);
    REQUIRE(found == wanted);
  }
}

TEST_CASE("fsck_check: F5 what is counted as alive in a pack stripe is what blobs have there") {
  Fixture f;
  const std::vector<Blob> packed = f.packed_blobs(4, 3000);
  std::vector<std::pair<std::string, Blob>> blobs;
  for (const Blob& blob : packed) blobs.emplace_back("a", blob);
  REQUIRE(f.check(blobs).empty());
  blobs.pop_back();
  std::vector<Finding> found = f.check(blobs);
  REQUIRE(found.size() == 1);
  REQUIRE(found[0].subject == "pack stripe at zone 1 unit 1");
  REQUIRE(found[0].problem == "12000 bytes are counted as alive, 9000 belong to blobs");
  blobs.emplace_back("a", packed[0]);
  blobs.emplace_back("a", packed[0]);
  found = f.check(blobs);
  REQUIRE(found.size() == 1);
  REQUIRE_THAT(found[0].problem, Contains("15000 belong to blobs"));
}

TEST_CASE("fsck_check: F6 a bad cell is named with its device, and repaired when that is wanted") {
  Fixture f;
  const Blob blob = f.private_blob(100'000);
  for (std::uint32_t role = 0; role < f.shape.cells(); ++role) {
    CAPTURE(role);
    f.spoil(blob.where, role);
    REQUIRE(f.check({{"a", blob}}).empty());  // not deep
    for (const FsckOptions& options : {kDeep, kRepair}) {
      const std::vector<Finding> found = f.check({{"a", blob}}, options);
      REQUIRE(found.size() == 1);
      REQUIRE(found[0].subject == "a");
      REQUIRE_THAT(found[0].problem,
                   Contains("cell " + std::to_string(role)) &&
                       Contains("device " + std::to_string(f.place_of(blob.where, role).id)));
      REQUIRE(found[0].repaired == options.repair);
      REQUIRE(f.report.errors() == (options.repair ? 0 : 1));
    }
    REQUIRE(f.check({{"a", blob}}, kDeep).empty());
  }
  REQUIRE(f.report.bytes_checked == 6 * blob.cell_bytes);
}

TEST_CASE("fsck_check: F6 with too few good cells nothing is repaired, and it is said") {
  Fixture f;
  const Blob blob = f.private_blob(100'000);
  for (std::uint32_t role = 0; role < 3; ++role) f.spoil(blob.where, role);
  const std::vector<Finding> found = f.check({{"a", blob}}, kRepair);
  REQUIRE(found.size() == 1);
  REQUIRE_FALSE(found[0].repaired);
  REQUIRE_THAT(found[0].problem, Contains("only 3 good cells, 4 are needed"));
}

TEST_CASE(
    "fsck_check: F6 cells on devices that are away are no finding, bad ones beside them are") {
  Fixture f;
  const Blob blob = f.private_blob(100'000);
  f.members->mark_failed(f.place_of(blob.where, 2).id, "told to");
  REQUIRE(f.check({{"a", blob}}, kDeep).empty());
  REQUIRE(f.report.bytes_checked == 5 * blob.cell_bytes);
  f.spoil(blob.where, 4);
  const std::vector<Finding> found = f.check({{"a", blob}}, kRepair);
  REQUIRE(found.size() == 1);
  REQUIRE(found[0].repaired);
  REQUIRE(f.check({{"a", blob}}, kDeep).empty());
}

TEST_CASE("fsck_check: F6 parity that verifies and is not the code of the data is found") {
  Fixture f;
  Blob blob = f.private_blob(100'000);
  AlignedBuffer cell = f.read_cell(blob, 5);
  cell.bytes()[17] ^= std::byte{1};
  f.write_cell(blob.where, 5, cell);
  blob.cell_sums[5] = checksum(f.shape.record.checksum, cell);
  const std::vector<Finding> found = f.check({{"a", blob}}, kDeep);
  REQUIRE(found.size() == 1);
  REQUIRE_THAT(found[0].problem, Contains("parity is not the code of the data"));
}

TEST_CASE("fsck_check: F6 block checksums that contradict those of the cells are found") {
  Fixture f;
  Blob blob = f.private_blob(100'000);
  REQUIRE_FALSE(blob.block_sums.empty());
  blob.block_sums.back() ^= 1;
  const std::vector<Finding> found = f.check({{"a", blob}}, kDeep);
  REQUIRE(found.size() == 1);
  REQUIRE_THAT(found[0].problem, Contains("block checksums contradict"));
}

TEST_CASE("fsck_check: F6 a bad cell of a pack stripe is the stripe's, and repaired as a whole") {
  Fixture f;
  std::vector<std::pair<std::string, Blob>> blobs;
  for (const Blob& blob : f.packed_blobs(10, 3000)) blobs.emplace_back("a", blob);
  const alloc::PackStripe pack = f.space->packs(1).at(0);
  const alloc::Extent where{1, pack.run.unit, pack.run.units};
  for (std::uint32_t role = 0; role < f.shape.cells(); ++role) {
    CAPTURE(role);
    f.spoil(where, role);
    REQUIRE(f.check(blobs).empty());
    for (const FsckOptions& options : {kDeep, kRepair}) {
      const std::vector<Finding> found = f.check(blobs, options);
      REQUIRE(found.size() == 1);
      REQUIRE(found[0].subject == "pack stripe at zone 1 unit 1");
      REQUIRE_THAT(found[0].problem, Contains("cell " + std::to_string(role)));
      REQUIRE(found[0].repaired == options.repair);
    }
    REQUIRE(f.check(blobs, kDeep).empty());
  }
}

TEST_CASE("fsck_check: of a pack stripe that cannot be rebuilt the blobs are named that are lost") {
  Fixture f;
  std::vector<std::pair<std::string, Blob>> blobs;
  const std::vector<Blob> packed = f.packed_blobs(12, 3000);
  for (std::size_t i = 0; i < packed.size(); ++i) {
    blobs.emplace_back("object" + std::to_string(i), packed[i]);
  }
  const alloc::PackStripe pack = f.space->packs(1).at(0);
  const alloc::Extent where{1, pack.run.unit, pack.run.units};
  // One data cell and both of parity, all of them.
  for (const std::uint32_t role : {0u, 4u, 5u}) {
    f.write_cell(where, role, AlignedBuffer::zeroed(pack.run.units * f.shape.unit));
  }
  const std::vector<Finding> found = f.check(blobs, kRepair);
  std::set<std::string> lost;
  for (const Finding& finding : found) {
    REQUIRE_FALSE(finding.repaired);
    lost.insert(finding.subject);
  }
  REQUIRE(lost.erase("pack stripe at zone 1 unit 1") == 1);
  std::set<std::string> wanted;
  for (const auto& [owner, blob] : blobs) {
    if (f.log_blobs.resolve(blob).cell == 0) wanted.insert(owner);
  }
  REQUIRE_FALSE(wanted.empty());
  REQUIRE(lost == wanted);
}

TEST_CASE("fsck_check: F7 the footer of a pack stripe names every blob that lives there") {
  Fixture f;
  const std::vector<Blob> packed = f.packed_blobs(4, 3000);
  std::vector<std::pair<std::string, Blob>> blobs;
  for (const Blob& blob : packed) blobs.emplace_back("a", f.log_blobs.resolve(blob));
  // Of one, only the beginning is said to live: the bytes are right, the footer has another length.
  Blob& shorter = blobs[1].second;
  Bytes bytes(shorter.stored);
  REQUIRE(f.reader->read(shorter, 0, bytes).ok());
  shorter.raw = shorter.stored = 1000;
  shorter.cell_sums = {checksum(f.shape.record.checksum, ByteView(bytes).first(1000))};
  blobs[1].first = "shorter";
  const std::vector<Finding> found = f.check(blobs, kDeep);
  REQUIRE(found.size() == 2);
  REQUIRE_THAT(found[0].problem, Contains("10000 belong to blobs"));
  REQUIRE(found[1].subject == "shorter");
  REQUIRE_THAT(found[1].problem,
               Contains("its 1000 bytes in cell") && Contains("are not in the stripe's footer"));
}

TEST_CASE("fsck_check: what was repaired is no error any more") {
  FsckReport report;
  REQUIRE(report.errors() == 0);
  report.findings = {{"a", "b", true}, {"a", "c", false}, {"d", "e", false}};
  REQUIRE(report.errors() == 2);
}

TEST_CASE("fsck_check: F11: a shared blob has one place, and as many owners as show it") {
  Fixture f;
  Blob blob = f.private_blob(30'000);
  blob.share = 9;
  const auto findings = [&](std::uint64_t lists, std::uint64_t recorded) {
    FsckCheck check({}, f.shape, *f.codec, *f.reader, *f.packs, f.log_blobs, kNoneTorn,
                    FsckMoment(*f.space, f.log_blobs));
    for (std::uint64_t i = 0; i < lists; ++i) {
      REQUIRE(check.check_extents("owner", Fixture::shown(blob)).ok());
    }
    if (recorded > 0) check.note_blob_owners(9, recorded);
    check.find_wrong_owners();
    check.check_leaks();
    REQUIRE(check.check_packs([] { return Status(); }).ok());
    return check.report.findings.size();
  };
  CHECK(findings(1, 0) == 0);
  CHECK(findings(2, 2) == 0);
  CHECK(findings(3, 3) == 0);
  CHECK(findings(2, 0) == 1);
  CHECK(findings(2, 3) == 1);
  CHECK(findings(1, 2) == 1);
  CHECK(findings(0, 2) == 2);  // and the units leak

  Blob elsewhere = f.private_blob(30'000);
  elsewhere.share = 9;
  FsckCheck check({}, f.shape, *f.codec, *f.reader, *f.packs, f.log_blobs, kNoneTorn,
                  FsckMoment(*f.space, f.log_blobs));
  REQUIRE(check.check_extents("a", Fixture::shown(blob)).ok());
  REQUIRE(check.check_extents("b", Fixture::shown(elsewhere)).ok());
  REQUIRE(check.report.findings.size() == 1);
  CHECK_THAT(check.report.findings[0].problem, Contains("lies elsewhere"));
}

TEST_CASE("fsck_check: F11: a layer of omaps has as many owners as objects list it") {
  Fixture f;
  FsckCheck check({}, f.shape, *f.codec, *f.reader, *f.packs, f.log_blobs, kNoneTorn,
                  FsckMoment(*f.space, f.log_blobs));
  check.count_layers({5, 6, 7});
  check.count_layers({5, 6});
  check.note_layer_owners(5, 2);
  check.note_layer_owners(6, 1);
  check.note_layer_owners(8, 1);
  check.find_wrong_owners();
  std::vector<std::string> wrong;
  for (const Finding& finding : check.report.findings) wrong.push_back(finding.subject);
  CHECK(wrong == std::vector<std::string>{"omap layer 6", "omap layer 7", "omap layer 8"});
}

}  // namespace
}  // namespace hexad::core
