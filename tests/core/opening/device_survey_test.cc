#include "core/opening/device_survey.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>

#include "alloc/device_layout.h"
#include "alloc/sealed_block.h"
#include "io/os_error.h"
#include "io/rng.h"
#include "tests/core/store_fixture.h"

namespace hexad::core {
namespace {

using hexad::testing::code_of;
using hexad::testing::read_media;
using hexad::testing::StoreFixture;

// Rewrites the label of a device whole, with checksums that are right.
void relabel(StoreFixture& fixture, const std::string& path,
             const std::function<void(alloc::Label&)>& change) {
  const std::unique_ptr<io::Device> device =
      fixture.memory.open_device(path, io::OpenMode::kReadWrite).value();
  alloc::Label label = alloc::read_label(*device).value().label;
  change(label);
  REQUIRE(alloc::write_label(*device, label).ok());
}

// Where the two labels of a device lie.
std::vector<std::uint64_t> labels_of(const io::MemoryMedia& media) {
  return {alloc::label_offset(alloc::DeviceEnd::kHead, media.size()),
          alloc::label_offset(alloc::DeviceEnd::kTail, media.size())};
}

// What opening for reading makes of the devices.
Assignment assigned(StoreFixture& fixture) {
  Survey survey = survey_devices(fixture.pool, io::OpenMode::kReadOnly, fixture.memory).value();
  return assign_members(survey).value();
}

const DeviceStatus* find_unrecognised(const Assignment& assignment, const std::string& path) {
  for (const DeviceStatus& status : assignment.unrecognised) {
    if (status.path == path) return &status;
  }
  return nullptr;
}

TEST_CASE("device_survey: a sound store has all its members, whatever the order of the paths") {
  StoreFixture fixture;
  std::reverse(fixture.pool.devices.begin(), fixture.pool.devices.end());
  const Assignment found = assigned(fixture);
  REQUIRE(found.unrecognised.empty());
  REQUIRE(found.members.size() == 7);
  for (DeviceId id = 0; id < 7; ++id) {
    CHECK(found.members[id].id == id);
    CHECK(found.members[id].state == "ok");
    CHECK(found.members[id].device != nullptr);
    CHECK(found.members[id].layout.log_size == 1_MiB);
    if (id < 6) CHECK(found.members[id].path == "dev" + std::to_string(id));
  }
  CHECK(found.members[6].role == alloc::DeviceRole::kLog);
}

TEST_CASE("device_survey: the labels know the fast directory when nobody names it") {
  StoreFixture fixture;
  const std::vector<std::string> fast = fixture.pool.fast_directories;
  fixture.pool.fast_directories.clear();
  const Survey survey =
      survey_devices(fixture.pool, io::OpenMode::kReadOnly, fixture.memory).value();
  REQUIRE(survey.fast_directories == fast);
  REQUIRE(survey.devices.back().path == fast_log_path(fast[0]));
  REQUIRE(survey.devices.back().label.has_value());
}

TEST_CASE(
    "device_survey: without paths, without labels or with a device in use there is no store") {
  StoreFixture fixture;
  const auto survey = [&](const PoolDescription& pool) {
    return survey_devices(pool, io::OpenMode::kReadWrite, fixture.memory);
  };
  REQUIRE(survey({}).error().message == "no devices given");
  REQUIRE(code_of(survey({})) == ErrorCode::kInvalidArgument);

  REQUIRE(fixture.memory.create_device("zeros", 1_MiB).ok());
  const Error none = survey({{"zeros", "nowhere"}, {}}).error();
  CHECK(none.code == ErrorCode::kNotFound);
  CHECK_THAT(none.message, Catch::StartsWith("none of the 2 devices carries a readable label:"));
  CHECK_THAT(none.message, Catch::Contains("\n  zeros: ") && Catch::Contains("\n  nowhere: "));

  for (const std::string& path :
       {fixture.device(3), fast_log_path(fixture.pool.fast_directories[0])}) {
    const auto held = fixture.memory.open_device(path, io::OpenMode::kReadWrite).value();
    const Error busy = survey(fixture.pool).error();
    CHECK(busy.code == ErrorCode::kBusy);
    CHECK_THAT(busy.message, Catch::Contains(path));
  }
}

// Tells which devices are opened, and in which order, and opens none of them where it is told so.
class Watched final : public io::System {
 public:
  explicit Watched(io::System& system, int refusal = 0) : system_(system), refusal_(refusal) {}
  io::Executor& executor() override { return system_.executor(); }
  io::Clock& clock() override { return system_.clock(); }
  io::IoQueue& queue() override { return system_.queue(); }
  std::uint64_t draw_seed() override { return system_.draw_seed(); }
  Result<std::unique_ptr<io::Device>> open_device(const std::string& path,
                                                  io::OpenMode mode) override {
    opened.push_back(path);
    if (refusal_ != 0) return io::os_error(refusal_, "cannot open " + path);
    return system_.open_device(path, mode);
  }
  Result<std::unique_ptr<io::Device>> create_device(const std::string& path,
                                                    std::uint64_t size) override {
    return system_.create_device(path, size);
  }

  std::vector<std::string> opened;

 private:
  io::System& system_;
  const int refusal_;  // an errno; 0: none
};

TEST_CASE("device_survey: devices that are refused to this user are there all the same") {
  StoreFixture fixture;
  for (const io::OpenMode mode : {io::OpenMode::kReadOnly, io::OpenMode::kReadWrite}) {
    for (const int refusal : {EACCES, EPERM}) {
      Watched system(fixture.memory, refusal);
      const Error refused = survey_devices(fixture.pool, mode, system).error();
      CHECK(refused.code == ErrorCode::kInvalidArgument);
      CHECK_THAT(refused.message, Catch::StartsWith("cannot open dev0: "));
      CHECK_THAT(refused.hint, Catch::StartsWith("Run as a user who may read and write it"));
    }
    Watched gone(fixture.memory, ENOENT);
    const Error missing = survey_devices(fixture.pool, mode, gone).error();
    CHECK(missing.code == ErrorCode::kNotFound);
    CHECK_THAT(missing.message, Catch::StartsWith("none of the "));
  }
}

TEST_CASE("device_survey: a device that is none is named once") {
  StoreFixture fixture;
  REQUIRE(fixture.memory.create_device("empty", 8_MiB).ok());
  const SurveyedDevice found = survey_device("empty", io::OpenMode::kReadOnly, fixture.memory);
  REQUIRE(found.problem.has_value());
  CHECK(found.problem->message == "empty: not a hexad device");
}

TEST_CASE("device_survey: whose the directory of an index is, the log beside it says") {
  StoreFixture fixture;
  const std::string index = fixture.pool.fast_directories[0] + "/index";
  const auto uuid_of = [&] { return fixture.open().status().uuid; };
  const Uuid ours = uuid_of();
  CHECK(check_index_directory(index, ours, fixture.memory).ok());
  // The pool has gone, and another one is there.
  FormatOptions again = hexad::testing::small_format();
  again.devices = fixture.pool.devices;
  again.fast_directories = fixture.pool.fast_directories;
  again.force = true;
  REQUIRE(Store::format(again, &fixture.memory).ok());
  const Status not_ours = check_index_directory(index, ours, fixture.memory);
  REQUIRE(code_of(not_ours) == ErrorCode::kConflict);
  CHECK_THAT(not_ours.error().message, Catch::Contains(to_string(uuid_of())));
  CHECK(check_index_directory(index, uuid_of(), fixture.memory).ok());
  // Without a log nobody says.
  CHECK(check_index_directory("elsewhere/index", ours, fixture.memory).ok());
}

// Two that open a store at once used to lock some of the devices each, and both were refused.
TEST_CASE("device_survey: behind a device that is in use none is opened") {
  StoreFixture fixture;
  Watched system(fixture.memory);
  const auto held = fixture.memory.open_device(fixture.device(2), io::OpenMode::kReadOnly).value();
  REQUIRE(code_of(survey_devices(fixture.pool, io::OpenMode::kReadWrite, system)) ==
          ErrorCode::kBusy);
  CHECK(system.opened == std::vector<std::string>{"dev0", "dev1", "dev2"});
}

TEST_CASE("device_survey: devices are opened in one order, whatever they are called") {
  StoreFixture fixture;
  namespace fs = std::filesystem;
  const auto place = [&](const std::string& name) { return (fixture.directory / name).string(); };
  for (const char* name : {"a", "b", "c"}) std::ofstream(place(name)) << name;
  fs::create_symlink(place("c"), place("0"));
  fs::create_directory_symlink(fixture.directory, place("here"));
  // Real files as far as their names go, which the system that opens them does not know.
  const auto order = [&](const std::vector<std::string>& devices) {
    Watched system(fixture.memory);
    CHECK(code_of(survey_devices({devices, {}}, io::OpenMode::kReadWrite, system)) ==
          ErrorCode::kNotFound);
    std::vector<std::string> files;
    for (const std::string& path : system.opened) files.push_back(fs::canonical(path).filename());
    return files;
  };
  const std::vector<std::string> expected = {"a", "b", "c"};
  CHECK(order({place("a"), place("b"), place("c")}) == expected);
  CHECK(order({place("c"), place("b"), place("a")}) == expected);
  CHECK(order({place("0"), place("here/b"), place("a")}) == expected);
}

TEST_CASE("device_survey: the store is the one that most labels name, others are foreign") {
  StoreFixture fixture;
  FormatOptions other = hexad::testing::small_format();
  other.devices = {"o0", "o1", "o2", "o3", "o4", "o5"};
  other.fast_directories = {(fixture.directory / "other").string()};
  REQUIRE(Store::format(other, &fixture.memory).ok());
  fixture.pool.devices.insert(fixture.pool.devices.begin(), {"o0", "o1", "o2"});
  const Assignment found = assigned(fixture);
  REQUIRE(found.members.size() == 7);
  for (const Member& member : found.members) CHECK(member.state == "ok");
  REQUIRE(found.unrecognised.size() == 3);
  for (const char* path : {"o0", "o1", "o2"}) {
    REQUIRE(find_unrecognised(found, path) != nullptr);
    CHECK(find_unrecognised(found, path)->state == "foreign");
  }
}

TEST_CASE("device_survey: absent, unreadable and damaged devices are shown at members") {
  StoreFixture fixture;
  fixture.take_away(1);
  // One label copy of device 2, both of device 4.
  const Bytes garbage(100, std::byte{0x5a});
  fixture.media(2)->write(alloc::kHeadOffset + 40, garbage);
  for (const std::uint64_t label : labels_of(*fixture.media(4))) {
    fixture.media(4)->write(label, garbage);
  }
  const Assignment found = assigned(fixture);
  REQUIRE(found.unrecognised.empty());
  CHECK(found.members[1].state == "missing");
  CHECK(found.members[1].device == nullptr);
  // So that nothing on it is taken for free.
  CHECK(found.members[1].layout.slab_count > 0);
  CHECK(found.members[2].state == "ok");
  CHECK_THAT(found.members[2].detail, Catch::StartsWith("one label copy is damaged: "));
  CHECK(found.members[2].device != nullptr);
  CHECK(found.members[4].device == nullptr);
  CHECK(found.members[4].state == "unreadable");
  CHECK(found.members[4].path == "dev4");
}

// What is wrong in a snapshot stays so: no opening writes there.
TEST_CASE("device_survey: of a snapshot it is told who puts right what, and where") {
  StoreFixture fixture;
  fixture.take_away(3);
  {
    Store store = fixture.open();
    REQUIRE(testing::put(store, "a", "b").ok());
    REQUIRE(store.close().ok());
  }
  fixture.bring_back(3);
  fixture.media(2)->write(alloc::kHeadOffset + 40, Bytes(100, std::byte{0x5a}));
  const Assignment live = assigned(fixture);
  CHECK(live.members[2].state == "ok");
  CHECK_THAT(live.members[2].detail,
             Catch::EndsWith("; the next opening for writing writes it again"));
  CHECK(live.members[3].state == "away");
  CHECK_THAT(live.members[3].detail, Catch::Contains("; an opening for writing takes it in again"));

  for (std::string& path : fixture.pool.devices) {
    const Bytes bytes = read_media(*fixture.memory.media(path));
    path = "rbd:log/" + path + "@monday";
    REQUIRE(fixture.memory.create_device(path, bytes.size()).ok());
    fixture.memory.media(path)->write(0, bytes);
  }
  const Assignment past = assigned(fixture);
  CHECK(past.members[2].state == "ok");
  CHECK_THAT(past.members[2].detail,
             Catch::EndsWith("; it stays so in a snapshot: the next opening for writing, or a "
                             "scrub, of the pool that it was taken of writes it again there"));
  CHECK(past.members[3].state == "away");
  CHECK_THAT(past.members[3].detail,
             Catch::Contains("; it stays so in a snapshot; in the pool that it was taken of, an "
                             "opening for writing takes it in again"));
}

TEST_CASE("device_survey: a label that contradicts itself or the others costs that device alone") {
  const auto [change, problem] = GENERATE(table<std::function<void(alloc::Label&)>, std::string>({
      {[](alloc::Label& l) { l.k = 2; }, "profile, 2+2, is not that of its pool options, 4+2"},
      {[](alloc::Label& l) { l.k = 0; }, "profile, 0+2"},
      {[](alloc::Label& l) { l.m = 255; }, "profile, 4+255"},
      {[](alloc::Label& l) { l.codec = 200; }, "is not that of its pool options"},
      {[](alloc::Label& l) { l.packet_bytes = 8; }, "is not that of its pool options"},
      {[](alloc::Label& l) { l.checksum_granularity = 0; }, "checksum blocks of 0 bytes"},
      {[](alloc::Label& l) { l.checksum_granularity = 5000; }, "checksum blocks of 5000 bytes"},
      {[](alloc::Label& l) { l.checksum_granularity *= 4; }, "describes the store otherwise"},
      {[](alloc::Label& l) { l.checksum = ChecksumType::kXxh3; }, "describes the store otherwise"},
      {[](alloc::Label& l) { l.layout.slab_units /= 2; }, "describes the store otherwise"},
      {[](alloc::Label& l) { l.pool_options.resize(5); }, "redundancy profile: too short"},
      {[](alloc::Label& l) { l.pool_options.clear(); }, "pool options"},
  }));
  CAPTURE(problem);
  StoreFixture fixture;
  const std::size_t which = GENERATE(0, 3);
  if (which == 0 && problem == "describes the store otherwise") return;  // then the others do
  relabel(fixture, fixture.device(which), change);
  const Assignment found = assigned(fixture);
  for (DeviceId id = 0; id < 7; ++id) {
    CAPTURE(id);
    if (id != which) {
      CHECK(found.members[id].state == "ok");
      continue;
    }
    CHECK(found.members[id].state == "damaged");
    CHECK(found.members[id].device == nullptr);
    CHECK_THAT(found.members[id].detail, Catch::Contains(problem));
  }
  // Degraded, and everything can be read.
  Store store = fixture.open(Access::kReadOnly);
  CHECK(store.status().health == Health::kDegraded);
}

TEST_CASE("device_survey: too few roots are an error that lists what is wrong with each device") {
  StoreFixture fixture;
  for (const std::size_t i : {0, 2, 5}) fixture.take_away(i);
  Survey survey = survey_devices(fixture.pool, io::OpenMode::kReadOnly, fixture.memory).value();
  const Error error = assign_members(survey).error();
  CHECK(error.code == ErrorCode::kUnavailable);
  for (const char* path : {"\n  dev0: ", "\n  dev2: ", "\n  dev5: "}) {
    CHECK_THAT(error.message, Catch::Contains(path));
  }
}

TEST_CASE("device_survey: devices whose roots are all gone are still those of a store") {
  StoreFixture fixture;
  const Bytes zeros(2 * alloc::kHeaderSlotSize);
  for (std::size_t i = 0; i < 6; ++i) {
    for (const std::uint64_t label : labels_of(*fixture.media(i))) {
      fixture.media(i)->write(label + alloc::kHeaderSlotSize, zeros);
    }
  }
  Survey survey = survey_devices(fixture.pool, io::OpenMode::kReadOnly, fixture.memory).value();
  REQUIRE(survey.options.devices.size() == 7);
  REQUIRE(code_of(assign_members(survey)) == ErrorCode::kUnavailable);
}

TEST_CASE("device_survey: random bytes in the headers never do more than cost their device") {
  const std::uint64_t seed = GENERATE(range(1, 31));
  CAPTURE(seed);
  io::Rng rng(seed);
  StoreFixture fixture;
  const std::size_t victims = 1 + rng.below(6);
  for (std::size_t i = 0; i < victims; ++i) {
    for (std::uint64_t hits = 1 + rng.below(4); hits > 0; --hits) {
      Bytes garbage(1 + rng.below(600));
      for (std::byte& byte : garbage) byte = static_cast<std::byte>(rng.next());
      // The beginning of a slot more often than its padding.
      const std::uint64_t header = labels_of(*fixture.media(i))[rng.below(2)];
      const std::uint64_t at = header + rng.below(3) * alloc::kHeaderSlotSize + rng.below(700);
      fixture.media(i)->write(at, garbage);
    }
  }
  Result<Survey> survey = survey_devices(fixture.pool, io::OpenMode::kReadOnly, fixture.memory);
  if (!survey.ok()) {
    REQUIRE(survey.error().code == ErrorCode::kNotFound);
    return;
  }
  const Result<Assignment> found = assign_members(*survey);
  if (!found.ok()) return;
  REQUIRE(found->members.size() == 7);
  for (std::size_t id = victims; id < 7; ++id) REQUIRE(found->members[id].state == "ok");
}

// Refused, and what to do; no byte has changed.
void refused_as_it_was(StoreFixture& fixture, Access access, const std::string& message,
                       const std::string& hint) {
  const auto before = fixture.fingerprint();
  const Result<Store> store = fixture.try_open(access);
  REQUIRE(code_of(store) == ErrorCode::kUnsupported);
  CHECK_THAT(store.error().message, Catch::Contains(message));
  CHECK_THAT(store.error().hint, Catch::Contains(hint));
  REQUIRE((fixture.fingerprint() == before));
}

TEST_CASE("device_survey: a store of format 1 is refused without a write, with the way out of it") {
  StoreFixture fixture;
  std::vector<std::string> paths = fixture.pool.devices;
  paths.push_back(fast_log_path(fixture.pool.fast_directories[0]));
  for (const std::string& path : paths) {
    const std::shared_ptr<io::MemoryMedia> media = fixture.memory.media(path);
    const Bytes bytes = read_media(*media);
    std::string body(
        alloc::unseal("HEXADLBL", ByteView(bytes).subspan(alloc::kHeadOffset), "label").value());
    body[0] = 1;
    const std::string label = alloc::seal("HEXADLBL", body);
    // Where version 1 had the two.
    const Bytes nothing(512);
    for (const std::uint64_t at : labels_of(*media)) media->write(at, nothing);
    for (const std::uint64_t at : {std::uint64_t{0}, 16_KiB}) media->write(at, as_bytes(label));
  }
  const Access access = GENERATE(Access::kReadOnly, Access::kReadWrite);
  refused_as_it_was(fixture, access, "label of format version 1; this program knows 2",
                    "Export the pool with the older program that made it (hexad export POOL DIR)");
}

TEST_CASE("device_survey: a feature that forbids writing leaves reading") {
  StoreFixture fixture;
  relabel(fixture, fixture.device(2), [](alloc::Label& l) { l.features.read_only = 1 << 5; });
  refused_as_it_was(fixture, Access::kReadWrite, "label with read-only compatible feature 5",
                    "open it for reading only");
  Store store = fixture.open(Access::kReadOnly);
  CHECK(store.status().health == Health::kOk);
}

TEST_CASE("device_survey: a compatible feature forbids nothing and stays") {
  StoreFixture fixture;
  relabel(fixture, fixture.device(2), [](alloc::Label& l) { l.features.compatible = 1 << 5; });
  fixture.open().close().ignore();
  Survey survey = survey_devices(fixture.pool, io::OpenMode::kReadOnly, fixture.memory).value();
  CHECK(survey.devices[2].label->features.compatible == 1 << 5);
}

}  // namespace
}  // namespace hexad::core
