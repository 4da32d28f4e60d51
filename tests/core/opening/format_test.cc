#include "core/opening/format.h"

#include <sys/stat.h>

#include <fstream>
#include <functional>
#include <string>

#include "alloc/device_layout.h"
#include "alloc/sealed_block.h"
#include "core/opening/device_survey.h"
#include "core/opening/pool_options.h"
#include "ec/profile.h"
#include "io/sim/sim_system.h"
#include "tests/core/store_fixture.h"
#include "tests/io/bound_by_modes.h"
#include "tests/io/file_bytes.h"
#include "tests/io/temporary.h"

namespace hexad::core {
namespace {

using hexad::testing::code_of;
using hexad::testing::StoreFixture;

// The options that made the fixture's store.
FormatOptions options_of(const StoreFixture& fixture) {
  FormatOptions options = hexad::testing::small_format();
  options.devices = fixture.pool.devices;
  options.fast_directories = fixture.pool.fast_directories;
  return options;
}

TEST_CASE("format: every refusal leaves every byte of an older store as it was") {
  const auto [change, code] = GENERATE(table<std::function<void(FormatOptions&)>, ErrorCode>({
      {[](FormatOptions& o) { o.force = false; }, ErrorCode::kAlreadyExists},
      {[](FormatOptions& o) { o.min_alloc = 5000; }, ErrorCode::kInvalidArgument},
      {[](FormatOptions& o) { o.min_alloc = 1024; }, ErrorCode::kInvalidArgument},
      {[](FormatOptions& o) { o.checksum_block = 512; }, ErrorCode::kInvalidArgument},
      {[](FormatOptions& o) { o.log_size = 16_MiB; }, ErrorCode::kNoSpace},
      {[](FormatOptions& o) { o.slab_size = 8_MiB; }, ErrorCode::kNoSpace},
      {[](FormatOptions& o) { o.slab_size = 4096; }, ErrorCode::kInvalidArgument},
      // More than a label has room for; found before the index is made anew.
      {[](FormatOptions& o) {
         o.fast_directories.push_back(o.fast_directories[0] + "/" + std::string(200, 'x'));
         for (int i = 0; i < 40; ++i) {
           o.fast_directories.push_back(o.fast_directories[1] + std::to_string(i));
         }
       },
       ErrorCode::kTooBig},
  }));
  CAPTURE(static_cast<int>(code));
  StoreFixture fixture;
  {
    Store store = fixture.open();
    REQUIRE(hexad::testing::put(store, "kept", "bytes").ok());
  }
  FormatOptions options = options_of(fixture);
  options.force = true;
  change(options);
  const auto before = fixture.fingerprint();
  const Result<PoolDescription> made = format_devices(options, fixture.memory);
  REQUIRE(code_of(made) == code);
  REQUIRE((fixture.fingerprint() == before));
  Store store = fixture.open();
  REQUIRE(hexad::testing::get(store, "kept") == "bytes");
}

TEST_CASE("format: whoever ends it has everything as it was, until something has changed") {
  StoreFixture fixture;
  FormatOptions options = options_of(fixture);
  options.force = true;
  options.devices.push_back("new");
  const auto before = fixture.fingerprint();
  for (int most = 0;; ++most) {
    REQUIRE(most < 100);
    CAPTURE(most);
    int calls = 0;
    std::uint64_t last = 0;
    options.progress = [&](std::uint64_t done, std::uint64_t total) {
      CHECK(total == 8 * options.log_size);  // of seven devices, and of the fast one
      CHECK(done >= last);
      last = done;
      return calls++ < most;
    };
    const Result<PoolDescription> made = format_devices(options, fixture.memory);
    if (made.ok()) {
      CHECK(most > 1);
      CHECK(calls > most);  // what they said then ended nothing
      CHECK(last > 0);
      break;
    }
    REQUIRE(code_of(made) == ErrorCode::kClosed);
    CHECK(calls == most + 1);
    CHECK(last == 0);
    REQUIRE((fixture.fingerprint() == before));
  }
}

TEST_CASE("format: one device that holds something is named, and the others are not touched") {
  StoreFixture fixture;
  FormatOptions options = options_of(fixture);
  options.devices = {"n0", "n1", "n2", fixture.device(3), "n4", "n5"};
  options.fast_directories = {(fixture.directory / "new").string()};
  for (const char* path : {"n0", "n1", "n2", "n4", "n5"}) {
    REQUIRE(fixture.memory.create_device(path, 8_MiB).ok());
  }
  const Error error = format_devices(options, fixture.memory).error();
  CHECK(error.code == ErrorCode::kAlreadyExists);
  CHECK_THAT(error.message, Catch::StartsWith("dev3 holds a hexad store "));
  CHECK(error.hint == "Choose another device, or pass --force to overwrite it.");
  for (const char* path : {"n0", "n1", "n2", "n4", "n5"}) {
    CHECK(is_zero(hexad::testing::read_media(*fixture.memory.media(path))));
  }
}

TEST_CASE("format: a store of another version is somebody's all the same") {
  StoreFixture fixture;
  const std::string path = fixture.device(3);
  const Bytes media = hexad::testing::read_media(*fixture.memory.media(path));
  std::string body(
      alloc::unseal("HEXADLBL", ByteView(media).subspan(alloc::kHeadOffset), "label").value());
  body[0] = 99;  // the version
  const std::string label = alloc::seal("HEXADLBL", body);
  for (const alloc::DeviceEnd end : alloc::kDeviceEnds) {
    fixture.media(3)->write(alloc::label_offset(end, media.size()), as_bytes(label));
  }
  FormatOptions options = options_of(fixture);
  options.devices = {"n0", "n1", "n2", path, "n4", "n5"};
  options.fast_directories = {(fixture.directory / "new").string()};
  const auto before = hexad::testing::read_media(*fixture.memory.media(path));
  const Error error = format_devices(options, fixture.memory).error();
  CHECK(error.code == ErrorCode::kAlreadyExists);
  CHECK_THAT(error.message, Catch::StartsWith("dev3 holds a hexad store of another version"));
  CHECK_THAT(error.message, Catch::Contains("format version 99"));
  CHECK(hexad::testing::read_media(*fixture.memory.media(path)) == before);
}

TEST_CASE("format: a device whose labels are damaged is somebody's all the same") {
  StoreFixture fixture;
  for (const alloc::DeviceEnd end : alloc::kDeviceEnds) {
    fixture.media(3)->write(alloc::label_offset(end, fixture.media(3)->size()) + 40,
                            Bytes(20, std::byte{0x5a}));
  }
  FormatOptions options = options_of(fixture);
  options.devices = {"n0", "n1", "n2", fixture.device(3), "n4", "n5"};
  options.fast_directories = {(fixture.directory / "new").string()};
  const Error error = format_devices(options, fixture.memory).error();
  CHECK(error.code == ErrorCode::kAlreadyExists);
  CHECK_THAT(error.message, Catch::StartsWith("dev3 holds a hexad store whose label is damaged"));
}

TEST_CASE("format: a device in use is refused, forced or not") {
  StoreFixture fixture;
  FormatOptions options = options_of(fixture);
  options.force = GENERATE(false, true);
  Store store = fixture.open(Access::kReadOnly);
  const auto before = fixture.fingerprint();
  REQUIRE(code_of(format_devices(options, fixture.memory)) == ErrorCode::kBusy);
  REQUIRE((fixture.fingerprint() == before));
}

TEST_CASE("format: what is made is what was asked for, on every label and root") {
  StoreFixture fixture;
  FormatOptions options = options_of(fixture);
  options.force = true;
  options.checksum = ChecksumType::kXxh3;
  options.checksum_block = 4_KiB;
  options.log_size = 512_KiB;
  REQUIRE(format_devices(options, fixture.memory).ok());
  const Survey survey =
      survey_devices(fixture.pool, io::OpenMode::kReadOnly, fixture.memory).value();
  REQUIRE(survey.options.profile == options.profile);
  REQUIRE(survey.options.fast_directories == options.fast_directories);
  REQUIRE(survey.options.devices.size() == 7);
  for (const SurveyedDevice& device : survey.devices) {
    CAPTURE(device.path);
    REQUIRE_FALSE(device.problem.has_value());
    REQUIRE_FALSE(device.damaged_copy.has_value());
    CHECK(device.label->store == survey.store);
    CHECK(device.label->checksum == ChecksumType::kXxh3);
    CHECK(device.label->checksum_granularity == 4096);
    CHECK(device.label->layout.log_size == 512_KiB);
    // No root of the older store, whose epoch is higher, is left beside them.
    REQUIRE(device.roots.size() == 2);
    const alloc::Root& root = device.roots[0];
    CHECK(root.sequence == alloc::kMade);
    CHECK(device.roots[1].sequence == alloc::kMaking);
    CHECK(device.roots[1].store == survey.store);
    CHECK(root.epoch == 1);
    CHECK(root.devices.size() == 7);
    CHECK(root.log_devices == std::vector<DeviceId>{6, 0, 1, 2});
    CHECK(root.find(device.label->device)->uuid == device.label->device_uuid);
    // The log is empty: nothing of the older store is left in it.
    const std::shared_ptr<io::MemoryMedia> media = fixture.memory.media(device.path);
    Bytes log(device.label->layout.log_size);
    media->read(device.label->layout.log_offset, log);
    CHECK(is_zero(log));
  }
}

// --- the log of an older store ---

TEST_CASE("format: the log file of an older store grows with the log, and is never cut") {
  StoreFixture fixture;
  const std::string log = fast_log_path(fixture.pool.fast_directories[0]);
  FormatOptions options = options_of(fixture);
  options.force = true;
  std::uint64_t largest = fixture.memory.media(log)->size();
  for (const std::uint64_t log_size : {2_MiB, 1_MiB, 3_MiB}) {
    CAPTURE(log_size);
    options.log_size = log_size;
    const Result<PoolDescription> made = Store::format(options, &fixture.memory);
    REQUIRE(hexad::testing::message_of(made.status()) == "");
    largest = std::max(largest, alloc::kEndsSize + log_size);
    REQUIRE(fixture.memory.media(log)->size() == largest);
    Store store = fixture.open();
    REQUIRE(store.status().log_size == log_size);
    const auto written = hexad::testing::put(store, "a", std::string(300'000, 'a'));
    REQUIRE(hexad::testing::message_of(written.status()) == "");
    REQUIRE(store.close().ok());
  }
}

TEST_CASE("format: a log that finds no room to grow is refused, and the older store is whole") {
  const io::testing::TemporaryDirectory directory;
  io::SimSystem system;
  FormatOptions options = hexad::testing::small_format();
  options.fast_directories = {directory.path("fast")};
  for (int i = 0; i < 6; ++i) options.devices.push_back("dev" + std::to_string(i));
  for (const std::string& device : options.devices)
    system.add_disk(device, 8_MiB + alloc::kEndsSize);
  io::SimDiskOptions disk;
  disk.capacity = alloc::kEndsSize + 2_MiB - 64_KiB;
  system.add_disk(fast_log_path(options.fast_directories[0]),
                  std::make_shared<io::CowImage>(alloc::kEndsSize + 1_MiB), disk);
  std::optional<ErrorCode> refused;
  std::string problem;
  system.run([&] {
    const Result<PoolDescription> pool = Store::format(options, &system);
    problem = hexad::testing::message_of(pool.status());
    if (!pool.ok()) return;
    options.force = true;
    options.log_size = 2_MiB;  // and the header
    refused = code_of(Store::format(options, &system));
    const Result<Store> store = Store::open(*pool, {}, &system);
    problem = hexad::testing::message_of(store.status());
  });
  REQUIRE(problem == "");
  REQUIRE(refused == ErrorCode::kNoSpace);
}

// --- real files ---

// What stands below a directory: for files the mode, the size and the bytes, for directories the
// mode.
std::map<std::string, std::string> tree_of(const std::string& directory) {
  std::map<std::string, std::string> tree;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    std::string& what = tree[entry.path().string()];
    struct stat status {};
    REQUIRE(lstat(entry.path().c_str(), &status) == 0);
    what = std::to_string(status.st_mode);
    if (!entry.is_regular_file()) continue;
    const std::string bytes = io::testing::file_bytes(entry.path());
    what += " " + std::to_string(bytes.size()) + " " +
            std::to_string(checksum(ChecksumType::kXxh3, as_bytes(bytes)));
  }
  return tree;
}

void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// Options of a pool of files, with two fast directories of which one has parents to be made; and an
// older pool beside it where a test wants one.
struct Files {
  Files() {
    options = hexad::testing::small_format();
    for (int i = 0; i < 6; ++i) options.devices.push_back(path("new" + std::to_string(i)));
    options.fast_directories = {path("fast"), path("far/away/fast")};
  }
  std::string path(const std::string& name) const { return directory.path(name); }
  void make_old() {
    old = hexad::testing::small_format();
    for (int i = 0; i < 6; ++i) old.devices.push_back(path("old" + std::to_string(i)));
    old.fast_directories = {path("oldfast")};
    REQUIRE(hexad::testing::message_of(Store::format(old).status()) == "");
  }

  io::testing::TemporaryDirectory directory;
  FormatOptions options;
  FormatOptions old;
};

struct Refusal {
  const char* what;
  ErrorCode code;
  std::function<void(Files&)> arrange;
};

const std::vector<Refusal>& refusals() {
  using Code = ErrorCode;
  static const std::vector<Refusal> all = {
      {"too few devices", Code::kInvalidArgument, [](Files& f) { f.options.devices.pop_back(); }},
      {"a device twice", Code::kInvalidArgument,
       [](Files& f) { f.options.devices[5] = f.options.devices[0]; }},
      {"a device twice, by two names", Code::kBusy,
       [](Files& f) {
         std::filesystem::create_directory_symlink(f.directory.path(""), f.path("link"));
         f.options.devices[5] = f.path("link/new0");
       }},
      {"a fast directory twice", Code::kInvalidArgument,
       [](Files& f) { f.options.fast_directories[1] = f.options.fast_directories[0]; }},
      {"an illegal unit", Code::kInvalidArgument, [](Files& f) { f.options.min_alloc = 1000; }},
      {"a code of groups that a block has no whole number of", Code::kInvalidArgument,
       [](Files& f) {
         f.options.profile = *ec::parse_profile("4+2", "jerasure:cauchy_good,packetsize=1024");
       }},
      {"devices too small for the log", Code::kNoSpace,
       [](Files& f) { f.options.log_size = 8_MiB; }},
      {"one existing device too small", Code::kNoSpace,
       [](Files& f) { write_file(f.options.devices[3], std::string(256_KiB, '\0')); }},
      {"a device of another pool", Code::kAlreadyExists,
       [](Files& f) {
         f.make_old();
         f.options.devices[2] = f.old.devices[1];
       }},
      {"the fast directory of another pool", Code::kAlreadyExists,
       [](Files& f) {
         f.make_old();
         f.options.fast_directories[1] = f.old.fast_directories[0];
       }},
      {"an index that has lost its log", Code::kAlreadyExists,
       [](Files& f) {
         f.make_old();
         std::filesystem::remove(fast_log_path(f.old.fast_directories[0]));
         f.options.fast_directories[0] = f.old.fast_directories[0];
       }},
      {"another file system", Code::kAlreadyExists,
       [](Files& f) {
         std::string ext4(8_MiB, '\0');
         ext4.replace(1024 + 56, 2, "\x53\xef");
         write_file(f.options.devices[5], ext4);
       }},
      {"a directory for a device", Code::kInvalidArgument,
       [](Files& f) { std::filesystem::create_directory(f.options.devices[4]); }},
      {"a device in a directory that is not there", Code::kNotFound,
       [](Files& f) { f.options.devices[5] = f.path("nowhere/new5"); }},
      {"a file in the way of a fast directory", Code::kInvalidArgument,
       [](Files& f) { write_file(f.path("far"), "a file"); }},
      {"a log that is a directory", Code::kInvalidArgument,
       [](Files& f) { std::filesystem::create_directories(f.path("far/away/fast/log")); }},
      {"more fast directories than a label describes", Code::kTooBig,
       [](Files& f) {
         for (int i = 0; i < 60; ++i) {
           f.options.fast_directories.push_back(f.path("fast" + std::string(200, 'x')) +
                                                std::to_string(i));
         }
       }},
      {"no room on the file system", Code::kNoSpace,
       [](Files& f) { f.options.device_size = 64_TiB; }},
  };
  return all;
}

TEST_CASE("format: whatever is refused, nothing on disk has changed") {
  for (const Refusal& refusal : refusals()) {
    CAPTURE(refusal.what);
    Files files;
    refusal.arrange(files);
    const auto before = tree_of(files.directory.path(""));
    const Result<PoolDescription> made = Store::format(files.options);
    CAPTURE(hexad::testing::message_of(made.status()));
    REQUIRE(code_of(made) == refusal.code);
    REQUIRE(tree_of(files.directory.path("")) == before);
  }
}

TEST_CASE("format: whoever ends it while all is new has nothing of it") {
  Files files;
  const auto before = tree_of(files.directory.path(""));
  bool late = false;  // ended when zeros had been written
  for (int most = 0;; ++most) {
    REQUIRE(most < 100);
    CAPTURE(most);
    int calls = 0;
    std::uint64_t last = 0;
    files.options.progress = [&](std::uint64_t done, std::uint64_t) {
      last = done;
      return calls++ < most;
    };
    const Result<PoolDescription> made = Store::format(files.options);
    if (made.ok()) break;
    REQUIRE(code_of(made) == ErrorCode::kClosed);
    CHECK(calls == most + 1);
    late = late || last > 0;
    REQUIRE(tree_of(files.directory.path("")) == before);
  }
  CHECK(late);
}

TEST_CASE("format: a fast directory that cannot be written to is refused, nothing has changed") {
  for (const char* name : {"fast", "far"}) {
    CAPTURE(name);
    Files files;
    std::filesystem::create_directory(files.path(name));
    REQUIRE(chmod(files.path(name).c_str(), 0500) == 0);
    const auto before = tree_of(files.directory.path(""));
    const io::testing::BoundByModes bound;
    REQUIRE(code_of(Store::format(files.options)) == ErrorCode::kInvalidArgument);
    REQUIRE(tree_of(files.directory.path("")) == before);
  }
}

TEST_CASE("format: devices in use are refused, forced or not, and nothing has changed") {
  for (const bool force : {false, true}) {
    Files files;
    files.make_old();
    RuntimeOptions reading;
    reading.access = Access::kReadOnly;
    const Result<Store> store =
        Store::open({files.old.devices, files.old.fast_directories}, reading);
    REQUIRE(store.ok());
    files.options.devices[0] = files.old.devices[0];
    files.options.force = force;
    const auto before = tree_of(files.directory.path(""));
    REQUIRE(code_of(Store::format(files.options)) == ErrorCode::kBusy);
    REQUIRE(tree_of(files.directory.path("")) == before);
  }
}

TEST_CASE("format: without a fast directory nothing is made beside the devices") {
  Files files;
  files.options.fast_directories.clear();
  const auto before = tree_of(files.directory.path(""));
  REQUIRE(hexad::testing::message_of(Store::format(files.options).status()) == "");
  std::set<std::string> made;
  for (const auto& [path, what] : tree_of(files.directory.path(""))) {
    if (!before.contains(path)) made.insert(std::filesystem::path(path).filename());
  }
  std::set<std::string> devices;
  for (const std::string& path : files.options.devices) {
    if (!before.contains(path)) devices.insert(std::filesystem::path(path).filename());
  }
  REQUIRE(made == devices);
}

TEST_CASE("format: files that force overwrites have room for a larger log") {
  Files files;
  files.make_old();
  files.old.force = true;
  files.old.log_size = 2_MiB;
  REQUIRE(hexad::testing::message_of(Store::format(files.old).status()) == "");
  const std::string log = fast_log_path(files.old.fast_directories[0]);
  REQUIRE(std::filesystem::file_size(log) == alloc::kEndsSize + 2_MiB);
  struct stat status {};
  REQUIRE(stat(log.c_str(), &status) == 0);
  REQUIRE(static_cast<std::uint64_t>(status.st_blocks) * 512 >= alloc::kEndsSize + 2_MiB);
  Store store = Store::open({files.old.devices, files.old.fast_directories}).value();
  REQUIRE(store.status().log_size == 2_MiB);
  REQUIRE(store.status().health == Health::kOk);
}

}  // namespace
}  // namespace hexad::core
