// Label and roots lie at both ends of a device, clear of what others write there.
#include <algorithm>
#include <catch2/catch.hpp>

#include "alloc/device_layout.h"
#include "alloc/label.h"
#include "alloc/root.h"
#include "core/opening/opening.h"
#include "tests/core/noise.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

constexpr DeviceId kDevices = 6;

class Ends : public StoreFixture {
 public:
  Ends() {
    Store store = open();
    REQUIRE(put(store, "a", noise(100'000, 1)).ok());
    REQUIRE(message_of(store.close()) == "");
  }

  std::uint64_t size() { return media(0)->size(); }
  // `length` bytes of something else on each of the first devices.
  void write_over(std::uint64_t offset, std::uint64_t length, DeviceId devices = kDevices) {
    for (DeviceId id = 0; id < devices; ++id) {
      media(id)->write(offset, Bytes(length, std::byte{0x5a}));
    }
  }
  // Everything is there, and no device is lost. The details of all devices.
  std::string read_all(Access access) {
    Store store = open(access);
    const StoreStatus status = store.status();
    REQUIRE(status.health == Health::kOk);
    std::string details;
    for (const DeviceStatus& device : status.devices) {
      REQUIRE(device.state == "ok");
      details += device.detail;
    }
    REQUIRE((get(store, "a") == noise(100'000, 1)));
    REQUIRE(message_of(store.close()) == "");
    return details;
  }
};

TEST_CASE("device ends: partition tables, and the first or last MiB written over, end no device") {
  Ends pool;
  const std::uint64_t size = pool.size();
  constexpr std::uint64_t kTable = 34 * 512;
  const std::pair<std::uint64_t, std::uint64_t> kOver[] = {
      {0, 512}, {0, kTable}, {size - kTable, kTable}, {0, 1_MiB}, {size - 1_MiB, 1_MiB}};
  for (const auto& [offset, length] : kOver) {
    CAPTURE(offset, length);
    pool.write_over(offset, length);  // and what was written over before stays so
    const auto before = pool.fingerprint();
    REQUIRE(pool.read_all(Access::kReadOnly) == "");
    REQUIRE((pool.fingerprint() == before));
  }
  REQUIRE(pool.read_all(Access::kReadWrite) == "");
}

TEST_CASE("device ends: one header lost is told by a reader and written again by a writer") {
  Ends pool;
  for (const alloc::DeviceEnd end :
       {alloc::DeviceEnd::kHead, alloc::DeviceEnd::kTail, alloc::DeviceEnd::kHead}) {
    const std::string where = "at the " + std::string(alloc::to_string(end));
    CAPTURE(where);
    pool.write_over(alloc::header_offset(end, pool.size()), alloc::kHeaderSize);
    const auto before = pool.fingerprint();
    const std::string details = pool.read_all(Access::kReadOnly);
    CHECK_THAT(details, Catch::Contains("one label copy is damaged: " + where));
    CHECK_THAT(details, Catch::Contains("the root in slot 0 " + where));
    CHECK_THAT(details, Catch::Contains("the root in slot 1 " + where));
    REQUIRE((pool.fingerprint() == before));
    {
      Store store = pool.open();
      std::size_t mended = 0;
      for (const std::string& note : store.status().notes) {
        if (note.find("it has been written again") != std::string::npos) ++mended;
      }
      REQUIRE(mended == kDevices);
      REQUIRE(message_of(store.close()) == "");
    }
    REQUIRE(pool.read_all(Access::kReadOnly) == "");
  }
}

TEST_CASE("device ends: of a device with both headers lost there is nothing, of others all") {
  Ends pool;
  for (const alloc::DeviceEnd end : alloc::kDeviceEnds) {
    pool.write_over(alloc::header_offset(end, pool.size()), alloc::kHeaderSize, 1);
  }
  Store store = pool.open();
  REQUIRE(store.status().health == Health::kDegraded);
  REQUIRE(state_of(store, pool.device(0)) != "ok");
  REQUIRE((get(store, "a") == noise(100'000, 1)));
}

// What is the matter with one slot, in a finding about device 2.
bool names(const std::vector<Finding>& findings, const std::string& slot, bool repaired) {
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
    return finding.subject.starts_with("device 2 (") && finding.problem.find(slot) == 0 &&
           finding.repaired == repaired;
  });
}

TEST_CASE("device ends: fsck and scrub count and name each bad copy, and write it again") {
  Ends pool;
  const std::shared_ptr<io::MemoryMedia> media = pool.media(2);
  for (const alloc::DeviceEnd end : alloc::kDeviceEnds) {
    for (std::uint64_t slot = 0; slot < 3; ++slot) {
      const std::uint64_t begin =
          alloc::header_offset(end, media->size()) + slot * alloc::kHeaderSlotSize;
      const std::string where = " at the " + std::string(alloc::to_string(end));
      const std::string name =
          (slot == 0 ? "the label" : "the root in slot " + std::to_string(slot - 1)) + where;
      const bool label = slot == 0;
      CAPTURE(name);
      const auto damage = [&] { media->write(begin + 100, Bytes(8, std::byte{0x5a})); };
      damage();
      {
        Store reader = pool.open(Access::kReadOnly);
        CHECK(reader.status().devices[2].bad_header_slots == 1);
        const FsckReport report = reader.fsck({}).value();
        CHECK(report.bad_header_slots == 1);
        CHECK(report.errors() == 1);
        CHECK(names(report.findings, name, false));
        // One that may not write has not.
        const ScrubReport scrubbed = reader.scrub({}).value();
        CHECK(scrubbed.bad_header_slots == 1);
        CHECK(names(scrubbed.findings, name, false));
      }
      Store store = pool.open();
      CHECK(store.status().devices[2].bad_header_slots == 0);
      // The opening has put it right. The first who asks is told of a label.
      const FsckReport first = store.fsck({}).value();
      CHECK(first.bad_header_slots == (label ? 1 : 0));
      CHECK(first.errors() == 0);
      REQUIRE(store.fsck({}).value().findings.empty());
      damage();
      CHECK(store.fsck({}).value().bad_header_slots == 1);
      CHECK(store.status().devices[2].bad_header_slots == 1);
      const FsckReport repaired = store.fsck({.repair = true}).value();
      CHECK(repaired.bad_header_slots == 1);
      CHECK(names(repaired.findings, name, true));
      CHECK(store.status().devices[2].bad_header_slots == 0);
      REQUIRE(store.fsck({}).value().findings.empty());
      damage();
      const ScrubReport scrubbed = store.scrub({}).value();
      CHECK(scrubbed.bad_header_slots == 1);
      CHECK(scrubbed.errors() == 0);
      CHECK(names(scrubbed.findings, name, true));
      REQUIRE(store.fsck({}).value().findings.empty());
      // Checkpoints write roots, too, over what is no root (P10).
      damage();
      CHECK(store.fsck({}).value().errors() == 1);
      if (label) CHECK(store.scrub({}).value().errors() == 0);
      REQUIRE(put(store, "b", noise(1'000, slot)).ok());
      REQUIRE(message_of(store.checkpoint()) == "");
      REQUIRE(store.fsck({}).value().findings.empty());
      CHECK(store.status().devices[2].bad_header_slots == 0);
      REQUIRE(message_of(store.close()) == "");
    }
  }
  REQUIRE(pool.read_all(Access::kReadOnly) == "");
}

// HD2.
TEST_CASE("device ends: all roots of two devices of an open store are written again") {
  Ends pool;
  {
    Store store = pool.open();
    for (const std::size_t device : {1, 2}) {
      const std::shared_ptr<io::MemoryMedia> media = pool.media(device);
      for (const alloc::DeviceEnd end : alloc::kDeviceEnds) {
        media->write(alloc::header_offset(end, media->size()) + alloc::kHeaderSlotSize,
                     Bytes(2 * alloc::kHeaderSlotSize, std::byte{0}));
      }
    }
    CHECK(store.fsck({}).value().errors() == 8);
    const FsckReport report = store.fsck({.repair = true}).value();
    CHECK(report.bad_header_slots == 8);
    CHECK(report.errors() == 0);
    CHECK(names(report.findings, "the root in slot 1 at the tail", true));
    CHECK(store.fsck({}).value().findings.empty());
    CHECK(store.status().devices[1].bad_header_slots == 0);
    REQUIRE(message_of(store.close()) == "");
  }
  REQUIRE(pool.read_all(Access::kReadOnly) == "");
}

// HD2.
TEST_CASE("device ends: no root is written for the sake of a device that somebody else writes") {
  Ends pool;
  Ends other;
  const std::shared_ptr<io::MemoryMedia> media = pool.media(2);
  Store store = pool.open();
  const std::uint64_t label = alloc::label_offset(alloc::DeviceEnd::kTail, media->size());
  const std::uint64_t root = label + alloc::kHeaderSlotSize;
  Bytes theirs(4096);
  other.media(1)->read(label, theirs);
  Bytes before(4096);
  media->read(label, before);
  const Bytes damage(4096, std::byte{0x5a});
  media->write(label, theirs);
  media->write(root, damage);
  CHECK(store.fsck({.repair = true}).value().errors() == 2);
  CHECK(store.scrub({}).value().errors() == 2);
  Bytes after(4096);
  media->read(root, after);
  CHECK((after == damage));
  media->write(label, before);
  CHECK(store.scrub({}).value().errors() == 0);
  REQUIRE(message_of(store.close()) == "");
}

TEST_CASE("device ends: both labels of an open store's device are written again") {
  Ends pool;
  {
    Store store = pool.open();
    const std::shared_ptr<io::MemoryMedia> media = pool.media(2);
    for (const alloc::DeviceEnd end : alloc::kDeviceEnds) {
      media->write(alloc::label_offset(end, media->size()), Bytes(4096, std::byte{0}));
    }
    const FsckReport found = store.fsck({}).value();
    CHECK(found.bad_header_slots == 2);
    CHECK(found.errors() == 2);
    CHECK(store.scrub({}).value().errors() == 0);
    CHECK(store.fsck({}).value().findings.empty());
    REQUIRE(message_of(store.close()) == "");
  }
  REQUIRE(pool.read_all(Access::kReadOnly) == "");
}

// HD1.
TEST_CASE("device ends: a label that somebody else has written is told, and stays") {
  Ends pool;
  Ends other;
  const std::shared_ptr<io::MemoryMedia> media = pool.media(2);
  Store store = pool.open();
  Bytes theirs(4096);
  other.media(1)->read(alloc::label_offset(alloc::DeviceEnd::kTail, media->size()), theirs);
  Bytes later(4096);
  const auto device = pool.memory.open_device(pool.device(2), io::OpenMode::kLook).value();
  alloc::Label label = alloc::read_label(*device)->label;
  ++label.generation;
  const std::string encoded = alloc::encode_label(label);
  copy_bytes(later, as_bytes(encoded));
  for (const Bytes& written : {theirs, later}) {
    const std::uint64_t at = alloc::label_offset(alloc::DeviceEnd::kTail, media->size());
    Bytes before(4096);
    media->read(at, before);
    media->write(at, written);
    // The other one is damaged besides: what belongs there is not known any more.
    const std::uint64_t head = alloc::label_offset(alloc::DeviceEnd::kHead, media->size());
    media->write(head, Bytes(16, std::byte{0x5a}));
    const FsckReport report = store.fsck({.repair = true}).value();
    CHECK(report.bad_header_slots == 2);
    CHECK(names(report.findings, "the label at the tail: is of ", false) !=
          names(report.findings, "the label at the tail: is that of device 1 of store ", false));
    CHECK(store.scrub({}).value().errors() == 2);
    Bytes after(4096);
    media->read(at, after);
    CHECK((after == written));
    media->write(at, before);
    CHECK(store.scrub({}).value().errors() == 0);
  }
  REQUIRE(message_of(store.close()) == "");
}

// HD1, at the opening: the verb that repairs opens for writing, too.
TEST_CASE("device ends: a label that a later version has written at one end stays") {
  Ends pool;
  const std::shared_ptr<io::MemoryMedia> media = pool.media(2);
  const auto device = pool.memory.open_device(pool.device(2), io::OpenMode::kLook).value();
  alloc::Label label = alloc::read_label(*device)->label;
  ++label.generation;
  label.features.incompatible |= std::uint64_t{1} << 40;
  Bytes later(4096);
  const std::string encoded = alloc::encode_label(label);
  copy_bytes(later, as_bytes(encoded));
  for (const alloc::DeviceEnd end : alloc::kDeviceEnds) {
    CAPTURE(alloc::to_string(end));
    const std::uint64_t at = alloc::label_offset(end, media->size());
    Bytes before(4096);
    media->read(at, before);
    media->write(at, later);
    CHECK_THAT(pool.read_all(Access::kReadOnly), Catch::Contains("is not for this program"));
    {
      Store store = pool.open();
      CHECK(store.status().devices[2].bad_header_slots == 1);
      CHECK(store.fsck({.repair = true}).value().bad_header_slots == 1);
      REQUIRE(message_of(store.close()) == "");
    }
    Bytes after(4096);
    media->read(at, after);
    CHECK((after == later));
    media->write(at, before);
  }
}

TEST_CASE("device ends: every byte of label and roots may change at either end, one at a time") {
  Ends pool;
  const std::shared_ptr<io::MemoryMedia> media = pool.media(2);
  std::vector<std::uint64_t> places;
  for (const alloc::DeviceEnd end : alloc::kDeviceEnds) {
    const std::uint64_t header = alloc::header_offset(end, media->size());
    for (std::uint64_t slot = 0; slot < 3; ++slot) {
      const std::uint64_t begin = header + slot * alloc::kHeaderSlotSize;
      Bytes frame(16);
      media->read(begin, frame);
      // Its length, behind magic and checksum.
      std::uint64_t length = 0;
      for (int i = 0; i < 4; ++i)
        length |= std::uint64_t{static_cast<unsigned char>(frame[12 + i])} << 8 * i;
      REQUIRE(length > 100);
      for (std::uint64_t at = 0; at < length; ++at) places.push_back(begin + at);
    }
  }
  for (const std::uint64_t at : places) {
    CAPTURE(at);
    Bytes byte(1);
    media->read(at, byte);
    const Bytes changed = {byte[0] ^ std::byte{0x41}};
    media->write(at, changed);
    const auto device = pool.memory.open_device(pool.device(2), io::OpenMode::kReadOnly).value();
    const Result<alloc::LabelCopy> label = alloc::read_label(*device);
    REQUIRE(label.ok());
    std::vector<std::string> bad;
    const auto roots =
        alloc::read_roots({device.get(), label->label.layout.device_size}, &bad).value();
    REQUIRE(roots.size() == 2);
    // Survived, and named.
    REQUIRE((label->other_copy.has_value() ? 1 : 0) + bad.size() == 1);
    media->write(at, byte);
  }
}

}  // namespace
}  // namespace hexad::testing
