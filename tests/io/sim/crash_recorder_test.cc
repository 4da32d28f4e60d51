#include "io/sim/crash_recorder.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "base/aligned_buffer.h"
#include "base/units.h"
#include "io/sim/sim_system.h"
#include "tests/io/device_contract.h"

using namespace hexad;
using namespace hexad::io;
using Kind = CrashRecorder::Event::Kind;

namespace {

std::shared_ptr<const CowImage> blank() { return std::make_shared<CowImage>(64_KiB); }

std::shared_ptr<const Bytes> filled(std::size_t size, int value) {
  return std::make_shared<const Bytes>(size, static_cast<std::byte>(value));
}

// Every submission has at most one completion, of its own disk and kind, behind it.
void check_pairs(const CrashRecorder& recorder) {
  std::map<OpId, CrashRecorder::Event> open;
  OpId next = 0;
  for (const CrashRecorder::Event& event : recorder.events()) {
    REQUIRE(event.disk < recorder.disks().size());
    switch (event.kind) {
      case Kind::kSubmitWrite:
      case Kind::kSubmitFlush:
        REQUIRE(event.op == next++);
        REQUIRE(open.emplace(event.op, event).second);
        break;
      case Kind::kResize:
        REQUIRE(event.op == next++);
        break;
      default: {
        const bool write = event.kind == Kind::kCompleteWrite || event.kind == Kind::kDropWrite;
        const auto submitted = open.find(event.op);
        REQUIRE(submitted != open.end());
        REQUIRE(submitted->second.disk == event.disk);
        REQUIRE((submitted->second.kind == Kind::kSubmitWrite) == write);
        open.erase(submitted);
      }
    }
  }
}

}  // namespace

TEST_CASE("crash_recorder: disks have names, sectors and flush domains of their own or shared") {
  CrashRecorder recorder;
  const auto initial = blank();
  REQUIRE(recorder.add_disk("a", initial, 512) == 0);
  REQUIRE(recorder.add_disk("b", blank()) == 1);
  REQUIRE(recorder.add_disk_in_domain_of(0, "c", blank()) == 2);
  REQUIRE(recorder.add_disk_in_domain_of(2, "d", blank(), 512) == 3);
  for (CrashRecorder::DiskIndex i = 0; i < 4; ++i) {
    REQUIRE(recorder.disk_index(recorder.disks()[i].name) == i);
  }
  std::set<std::uint32_t> domains;
  for (const auto& disk : recorder.disks()) domains.insert(disk.flush_domain);
  REQUIRE(domains.size() == 2);
  REQUIRE(recorder.disks()[3].flush_domain == recorder.disks()[0].flush_domain);
  REQUIRE(recorder.disks()[1].flush_domain != recorder.disks()[0].flush_domain);
  REQUIRE(recorder.disks()[0].initial == initial);
  REQUIRE(recorder.disks()[0].physical_block == 512);
  REQUIRE(recorder.disks()[1].physical_block == 4096);
  recorder.keep_writes_whole(1);
  REQUIRE_FALSE(recorder.disks()[1].tears);
  REQUIRE(recorder.disks()[0].tears);
}

TEST_CASE("crash_recorder: events keep their order and everything they were told") {
  CrashRecorder recorder;
  recorder.add_disk("a", blank());
  recorder.add_disk("b", blank());
  REQUIRE(recorder.position() == 0);
  const auto data = filled(1024, 7);
  const OpId first = recorder.submit_write(1, 512, 1024, data, WriteMode::kDurable);
  const OpId zeros = recorder.submit_write(0, 0, 4096, nullptr, WriteMode::kCached);
  recorder.complete_write(zeros);
  recorder.drop_write(first);
  const OpId flush = recorder.submit_flush(1);
  recorder.complete_flush(flush);
  const OpId failed = recorder.submit_flush(0);
  recorder.fail_flush(failed);
  recorder.resize(1, 128_KiB);
  REQUIRE(recorder.position() == 9);
  const auto& events = recorder.events();
  std::vector<Kind> kinds;
  std::vector<CrashRecorder::DiskIndex> disks;
  for (const auto& event : events) {
    kinds.push_back(event.kind);
    disks.push_back(event.disk);
  }
  REQUIRE(kinds == std::vector<Kind>{Kind::kSubmitWrite, Kind::kSubmitWrite, Kind::kCompleteWrite,
                                     Kind::kDropWrite, Kind::kSubmitFlush, Kind::kCompleteFlush,
                                     Kind::kSubmitFlush, Kind::kFailFlush, Kind::kResize});
  REQUIRE(disks == std::vector<CrashRecorder::DiskIndex>{1, 0, 0, 1, 1, 1, 0, 0, 1});
  REQUIRE((events[0].offset == 512 && events[0].length == 1024 && events[0].data == data));
  REQUIRE(events[0].mode == WriteMode::kDurable);
  REQUIRE((events[1].data == nullptr && events[1].length == 4096));
  REQUIRE(events[8].offset == 128_KiB);
  check_pairs(recorder);
}

TEST_CASE("crash_recorder: a file beside the devices is recorded with its own copy of the bytes") {
  CrashRecorder recorder;
  recorder.add_disk("file", blank());
  Bytes bytes(512, std::byte{3});
  recorder.record_write(0, 1024, bytes);
  std::fill(bytes.begin(), bytes.end(), std::byte{4});
  recorder.record_sync(0);
  recorder.record_resize(0, 4096);
  recorder.record_write(0, 0, {}, WriteMode::kDurable);
  REQUIRE(recorder.position() == 7);
  const auto& events = recorder.events();
  REQUIRE(*events[0].data == Bytes(512, std::byte{3}));
  REQUIRE((events[0].offset == 1024 && events[0].mode == WriteMode::kCached));
  REQUIRE(events[1].kind == Kind::kCompleteWrite);
  REQUIRE(events[3].kind == Kind::kCompleteFlush);
  REQUIRE(events[4].kind == Kind::kResize);
  REQUIRE((events[5].length == 0 && events[5].mode == WriteMode::kDurable));
  check_pairs(recorder);
}

// The recording holds all that happened: carried out once more, it gives the disks as they are.
TEST_CASE("crash_recorder: replaying what a simulated system recorded gives its disks") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    CAPTURE(seed);
    CrashRecorder recorder;
    SimOptions options{.seed = seed};
    options.recorder = &recorder;
    SimSystem system(options);
    std::unique_ptr<Device> devices[2] = {system.create_device("a", 256_KiB).value(),
                                          system.create_device("b", 256_KiB).value()};
    system.disk("a").inject({FaultKind::kWriteErrorBefore, 0, Fault::kForever, 5, 2, 0});
    system.disk("b").inject({FaultKind::kFlushError, 0, Fault::kForever, 1, 1, 0});
    system.run([&] {
      Rng rng(seed);
      for (int round = 0; round < 30; ++round) {
        IoBatch batch;
        std::vector<AlignedBuffer> buffers;
        buffers.reserve(8);
        for (std::uint64_t slot = 0; slot < 8; ++slot) {
          Device& device = *devices[rng.below(2)];
          const std::uint64_t length = (1 + rng.below(8)) * 4096;
          switch (rng.below(6)) {
            case 0:
              batch.requests.push_back(IoRequest::flush(device));
              break;
            case 1:
              batch.requests.push_back(IoRequest::discard(device, slot * 32_KiB, length));
              break;
            default:
              buffers.push_back(io::testing::pattern(rng.next(), length));
              batch.requests.push_back(
                  IoRequest::write(device, slot * 32_KiB, buffers.back(),
                                   rng.chance(1, 3) ? WriteMode::kDurable : WriteMode::kCached));
          }
        }
        devices[0]->queue().submit(batch);
        devices[0]->queue().wait(batch);
        if (round == 20) REQUIRE(devices[1]->grow(512_KiB).ok());
      }
    });
    check_pairs(recorder);
    for (const char* name : {"a", "b"}) {
      const CrashRecorder::DiskIndex disk = recorder.disk_index(name);
      CowImage image(recorder.disks()[disk].initial);
      for (const auto& event : recorder.events()) {
        if (event.disk != disk) continue;
        if (event.kind == Kind::kResize) image.resize(event.offset);
        if (event.kind != Kind::kCompleteWrite) continue;
        const auto submitted = std::find_if(
            recorder.events().begin(), recorder.events().end(),
            [&](const auto& one) { return one.op == event.op && one.kind == Kind::kSubmitWrite; });
        if (submitted->data == nullptr) {
          image.zero(submitted->offset, submitted->length);
        } else {
          image.write(submitted->offset, *submitted->data);
        }
      }
      REQUIRE(image.flatten() == system.disk(name).peek(0, system.disk(name).size()));
    }
  }
}
