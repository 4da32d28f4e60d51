#include "core/runs/coded_file.h"

#include <catch2/catch.hpp>

#include "tests/core/table_world.h"

namespace hexad::core {
namespace {

using hexad::testing::TableDevice;
using testing::problem_of;
using testing::TableWorld;
using testing::TableWorldOptions;

struct Fixture : TableWorld {
  explicit Fixture(const TableWorldOptions& options = {}) : TableWorld(options) { add_zone(); }

  CodedFileWriter::World world() { return {shape, preparer, *space, *members, counters}; }
  std::string read(const CodedFile& file, std::uint64_t offset, std::size_t length) {
    std::string bytes(length, '\0');
    const CodedFileReader from(*reader, file);
    const Status status =
        from.read(offset, {reinterpret_cast<std::byte*>(bytes.data()), bytes.size()});
    return status.ok() ? bytes : status.error().to_string();
  }
  std::string read(const CodedFile& file) { return read(file, 0, file.bytes); }
  // Runs of `free` units stay between single ones that are taken.
  void break_up(std::uint32_t free) {
    std::vector<alloc::Extent> gaps;
    for (;;) {
      Result<alloc::Extent> gap = space->allocate(free);
      if (!gap.ok()) break;
      gaps.push_back(*gap);
      if (!space->allocate(1).ok()) break;
    }
    while (space->allocate(1).ok()) {
    }
    for (const alloc::Extent& gap : gaps) space->discard(gap);
  }

  BlobPreparer preparer{shape, *codec, compressor};
};

Result<CodedFile> write_file(CodedFileWriter& writer, std::string_view bytes,
                             std::size_t step = 100'000) {
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    HEXAD_TRY(writer.append(as_bytes(bytes.substr(at, step))));
  }
  return writer.finish();
}

TEST_CASE("coded_file: what was written in any steps is read back, from anywhere") {
  Fixture f;
  const std::size_t page = kPageSpan;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{2047}, std::size_t{2048}, std::size_t{2049},
        std::size_t{70'000}, page - 1, page, page + 1, 2 * page + 12'345}) {
    CAPTURE(size);
    const std::string bytes = f.noise(size);
    CodedFile file;
    {
      CodedFileWriter writer(f.world());
      file = write_file(writer, bytes, 1 + size / 7).value();
      REQUIRE(writer.failed().empty());
    }
    REQUIRE(file.bytes == size);
    REQUIRE(file.pieces.size() == (size + page - 1) / page);
    REQUIRE(problem_of(check_file(file, f.shape.record)) == "");
    REQUIRE((f.read(file) == bytes));
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t offset = f.rng.below(size + 1);
      const std::size_t length = f.rng.below(size - offset + 1);
      REQUIRE((f.read(file, offset, length) == bytes.substr(offset, length)));
    }
    for (const alloc::Extent& stripe : stripes_of(file)) f.space->discard(stripe);
  }
  REQUIRE(f.space->counters().in_flight == 0);
}

TEST_CASE("coded_file: every cell is durable when the file is finished") {
  Fixture f;
  for (TableDevice* device : f.devices) device->asked.clear();
  CodedFileWriter writer(f.world());
  const CodedFile file = write_file(writer, f.noise(3 * kPageSpan)).value();
  for (const TableDevice* device : f.devices) {
    REQUIRE(device->asked.size() == file.pieces.size());
    for (const io::IoRequest& request : device->asked) {
      REQUIRE(request.op == io::IoOp::kWrite);
      REQUIRE(request.mode == io::WriteMode::kDurable);
    }
  }
  REQUIRE(f.counters.since_open(CounterId::kDeviceBytesRun) == 3 * kPageSpan);
  REQUIRE(f.counters.since_open(CounterId::kDeviceBytesParity) == 3 * kPageSpan / 2);
}

TEST_CASE("coded_file: it survives any m devices that fail while it is written, and names them") {
  for (std::uint32_t bad = 0; bad < 64; ++bad) {
    const std::uint64_t after = GENERATE(0, 1, 2);  // cells that they still take
    CAPTURE(bad, after);
    Fixture f;
    const std::uint64_t free = f.space->counters().free;
    std::set<DeviceId> failing;
    for (DeviceId id = 0; id < 6; ++id) {
      if ((bad >> id & 1) == 0) continue;
      failing.insert(id);
      f.devices[id]->asked.clear();
      f.devices[id]->fails = [device = f.devices[id], after](const io::IoRequest& request) {
        return request.op == io::IoOp::kWrite && device->asked.size() > after;
      };
    }
    const std::string bytes = f.noise(2 * kPageSpan + 5000);
    {
      CodedFileWriter writer(f.world());
      const Result<CodedFile> file = write_file(writer, bytes);
      REQUIRE(file.ok() == (failing.size() <= 2));
      if (file.ok()) {
        REQUIRE(writer.failed() == failing);
        for (const DeviceId id : writer.failed()) f.members->mark_failed(id, "told to fail");
        f.space->publish_internal(stripes_of(*file), 1);
        REQUIRE((f.read(*file) == bytes));
        REQUIRE(f.space->counters().live == free - f.space->counters().free);
        continue;
      }
      REQUIRE(file.error().code == ErrorCode::kIo);
    }
    // V3: what they did not take may still come.
    REQUIRE(f.space->counters().free < free);
    for (const DeviceId id : f.space->suspects()) f.members->mark_failed(id, "told to fail");
    f.space->free_kept_back();
    REQUIRE(f.space->counters().free == free);
  }
}

TEST_CASE("coded_file: a device that failed once is not written to again") {
  Fixture f;
  TableDevice& device = *f.devices[3];
  device.asked.clear();
  device.fail(io::IoOp::kWrite);
  CodedFileWriter writer(f.world());
  REQUIRE(write_file(writer, f.noise(20 * kPageSpan / 8)).ok());
  REQUIRE(writer.failed() == std::set<DeviceId>{3});
  // Those that were under way with the first.
  REQUIRE(device.asked.size() <= 12);
}

TEST_CASE("coded_file: cells that are lost or damaged are rebuilt, and written back") {
  for (DeviceId first = 0; first < 6; ++first) {
    for (DeviceId second = 0; second <= first; ++second) {
      CAPTURE(first, second);
      Fixture f;
      const std::string bytes = f.noise(kPageSpan + 40'000);
      CodedFileWriter writer(f.world());
      const CodedFile file = write_file(writer, bytes).value();
      f.space->publish_internal(stripes_of(file), 1);
      f.space->allow_healing();
      for (const Extent& piece : file.pieces) {
        const std::vector<CellPlace> places = f.space->locate(piece.blob.where).value();
        for (const CellPlace& place : places) {
          if (place.id != first && place.id != second) continue;
          for (std::byte& byte : f.cell(place, piece.blob.cell_bytes)) byte ^= std::byte{1};
        }
      }
      REQUIRE((f.read(file) == bytes));
      // So that data cells are good again; damaged parity was not looked at.
      for (const Extent& piece : file.pieces) {
        const std::vector<CellPlace> places = f.space->locate(piece.blob.where).value();
        for (std::uint32_t role = 0; role < f.shape.k(); ++role) {
          REQUIRE(checksum(f.shape.record.checksum, f.cell(places[role], piece.blob.cell_bytes)) ==
                  piece.blob.cell_sums[role]);
        }
      }
    }
  }
}

TEST_CASE("coded_file: with m+1 cells gone the read says which devices") {
  Fixture f;
  CodedFileWriter writer(f.world());
  const CodedFile file = write_file(writer, f.noise(1000)).value();
  for (const DeviceId id : {0, 1, 2, 3, 4}) f.devices[id]->fail(io::IoOp::kRead);
  const std::string problem = f.read(file);
  REQUIRE(problem.find("only 1 of 6 cells are good") != std::string::npos);
}

TEST_CASE("coded_file: where the space is in short runs, pieces are short, and all of it is used") {
  for (const std::uint32_t free : {1u, 2u, 3u, 7u, 40u}) {
    CAPTURE(free);
    Fixture f;
    f.break_up(free);
    const std::uint64_t units = f.space->counters().free;
    REQUIRE(f.space->largest_free_run() == free);
    const std::uint64_t fits = units * f.shape.k() * f.shape.unit;
    const std::string bytes = f.noise(fits);
    CodedFileWriter writer(f.world());
    Result<CodedFile> file = write_file(writer, bytes);
    REQUIRE(problem_of(file.status()) == "");
    REQUIRE(problem_of(check_file(*file, f.shape.record)) == "");
    REQUIRE((f.read(*file) == bytes));
    f.space->publish_internal(stripes_of(*file), 1);
    REQUIRE(f.space->counters().free == 0);
  }
}

TEST_CASE("coded_file: without space it fails, and gives back what it has taken") {
  Fixture f;
  const std::uint64_t free = f.space->counters().free;
  {
    CodedFileWriter writer(f.world());
    const Result<CodedFile> file = write_file(writer, f.noise(5 * kPageSpan));
    REQUIRE(file.error().code == ErrorCode::kNoSpace);
    REQUIRE(writer.finish().error().code == ErrorCode::kNoSpace);
    REQUIRE(writer.append({}).error().code == ErrorCode::kNoSpace);
  }
  REQUIRE(f.space->counters().free == free);
  {
    CodedFileWriter writer(f.world());
    REQUIRE(writer.append(as_bytes(f.noise(2 * kPageSpan))).ok());
  }
  REQUIRE(f.space->counters().free == free);
}

TEST_CASE("coded_file: a zone is made when no zone has room") {
  Fixture f;
  int asked = 0;
  const std::string bytes = f.noise(7 * kPageSpan);
  {
    CodedFileWriter writer(f.world(), [&]() -> Status {
      ++asked;
      f.add_zone();
      return {};
    });
    const CodedFile file = write_file(writer, bytes).value();
    REQUIRE(asked == 1);
    REQUIRE(file.pieces.size() == 7);
    REQUIRE((f.read(file) == bytes));
    for (const alloc::Extent& stripe : stripes_of(file)) f.space->discard(stripe);
  }
  // No slabs are left: what is there has to do.
  asked = 0;
  const std::uint64_t all = f.space->counters().free;
  {
    CodedFileWriter writer(f.world(), [&]() -> Status {
      ++asked;
      return Error{ErrorCode::kNoSpace, "no slabs", ""};
    });
    const Result<CodedFile> file = write_file(writer, f.noise(9 * kPageSpan));
    REQUIRE(file.error().code == ErrorCode::kNoSpace);
    REQUIRE(asked >= 1);
  }
  REQUIRE(f.space->counters().free == all);
  {
    CodedFileWriter writer(f.world(), [&]() -> Status {
      return Error{ErrorCode::kReadOnly, "read-only", ""};
    });
    REQUIRE(write_file(writer, f.noise(9 * kPageSpan)).error().code == ErrorCode::kReadOnly);
  }
  REQUIRE(f.space->counters().free == all);
}

TEST_CASE("coded_file: any profile, and units that are no powers of two") {
  for (const ec::Profile profile :
       {ec::Profile{1, 1}, ec::Profile{2, 1}, ec::Profile{3, 2},
        ec::Profile{1, 8, ec::default_codec(8)}, ec::Profile{10, 4, ec::default_codec(4)}}) {
    for (const std::uint32_t unit : {512u, 18u << 10}) {
      CAPTURE(profile.k, profile.m, unit);
      TableWorldOptions options;
      options.profile = profile;
      options.unit = unit;
      options.slabs = 1;
      options.slab_units = static_cast<std::uint32_t>((3 << 20) / unit);
      Fixture f(options);
      const std::string bytes = f.noise(kPageSpan + 777);
      CodedFileWriter writer(f.world());
      const Result<CodedFile> file = write_file(writer, bytes);
      REQUIRE(problem_of(file.status()) == "");
      REQUIRE(problem_of(check_file(*file, f.shape.record)) == "");
      REQUIRE((f.read(*file) == bytes));
    }
  }
}

TEST_CASE("coded_file: a read that leaves the file is refused") {
  Fixture f;
  CodedFileWriter writer(f.world());
  const CodedFile file = write_file(writer, f.noise(1000)).value();
  const CodedFileReader from(*f.reader, file);
  REQUIRE(from.size() == 1000);
  Bytes out(2);
  REQUIRE(from.read(998, out).ok());
  REQUIRE(from.read(1000, {}).ok());
  for (const std::uint64_t offset : {std::uint64_t{999}, std::uint64_t{1000}, ~std::uint64_t{0}}) {
    REQUIRE(from.read(offset, out).error().code == ErrorCode::kCorruption);
  }
}

TEST_CASE("coded_file: a description that breaks a rule is refused") {
  Fixture f;
  CodedFileWriter writer(f.world());
  const CodedFile good = write_file(writer, f.noise(2 * kPageSpan + 10)).value();
  const RecordShape& shape = f.shape.record;
  REQUIRE(check_file(good, shape).ok());
  const auto refused = [&](const std::function<void(CodedFile&)>& change) {
    CodedFile bad = good;
    change(bad);
    return !check_file(bad, shape).ok() &&
           check_file(bad, shape).error().code == ErrorCode::kCorruption;
  };
  CHECK(refused([](CodedFile& file) { ++file.bytes; }));
  CHECK(refused([](CodedFile& file) { file.pieces.pop_back(); }));
  CHECK(refused([](CodedFile& file) { file.pieces.erase(file.pieces.begin()); }));
  CHECK(refused([](CodedFile& file) { std::swap(file.pieces[0], file.pieces[1]); }));
  CHECK(refused([](CodedFile& file) { --file.pieces[2].length; }));
  CHECK(refused([](CodedFile& file) { file.pieces[2].blob_offset = 1; }));
  CHECK(refused([](CodedFile& file) { file.pieces[1].blob.placement = Placement::kPacked; }));
  CHECK(refused([](CodedFile& file) { file.pieces[1].blob.where = file.pieces[0].blob.where; }));
  CHECK(refused([](CodedFile& file) { file.pieces[1].blob.where.unit = 0; }));
  CHECK(refused([](CodedFile& file) { file.pieces[1].blob.cell_sums.pop_back(); }));
  CHECK(refused([](CodedFile& file) { file.pieces[1].blob.stored -= 1; }));
}

}  // namespace
}  // namespace hexad::core
