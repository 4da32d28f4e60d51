#include "core/format.h"

#include <functional>

#include "core/device_survey.h"
#include "core/pool_options.h"
#include "tests/core/store_fixture.h"

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
    // No root of the older store, whose epoch is higher, is left beside it.
    REQUIRE(device.roots.size() == 1);
    const alloc::Root& root = device.roots[0];
    CHECK(root.epoch == 1);
    CHECK(root.devices.size() == 7);
    CHECK(root.log_devices == std::vector<DeviceId>{6, 0, 1});
    CHECK(root.find(device.label->device)->uuid == device.label->device_uuid);
    // The log is empty: nothing of the older store is left in it.
    const std::shared_ptr<io::MemoryMedia> media = fixture.memory.media(device.path);
    Bytes log(device.label->layout.log_size);
    media->read(device.label->layout.log_offset, log);
    CHECK(is_zero(log));
  }
}

}  // namespace
}  // namespace hexad::core
