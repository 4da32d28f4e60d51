// What can be wrong with the files a store is given. Real files: each case says what to do, and
// leaves every byte as it was.
#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "alloc/device_layout.h"
#include "base/checksum.h"
#include "tests/core/store_fixture.h"
#include "tests/io/file_bytes.h"
#include "tests/io/temporary.h"

namespace hexad::testing {
namespace {

void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}
void overwrite(const std::string& path, std::uint64_t offset, std::string_view bytes) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(offset));
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}
void flip_bit(const std::string& path, std::uint64_t offset) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  overwrite(path, offset, std::string(1, static_cast<char>(file.get() ^ 4)));
}

// A pool of files with one large and some small objects, closed.
class Files {
 public:
  explicit Files(FormatOptions options = small_format()) {
    for (int i = 0; i < 6; ++i) options.devices.push_back(path("dev" + std::to_string(i)));
    options.fast_directories = {path("fast")};
    format = options;
    const Result<PoolDescription> made = Store::format(options);
    if (!made.ok()) FAIL(made.error().to_string());
    pool = *made;
    Store store = open();
    REQUIRE(put(store, "large", large).ok());
    REQUIRE(put(store, "small", "small").ok());
    REQUIRE(store.close().ok());
  }
  std::string path(const std::string& name) const { return directory_.path(name); }
  Result<Store> try_open(const PoolDescription& description, Access access = Access::kReadWrite) {
    RuntimeOptions options;
    options.access = access;
    return Store::open(description, options);
  }
  Store open(Access access = Access::kReadWrite) {
    Result<Store> store = try_open(pool, access);
    if (!store.ok()) FAIL(store.error().to_string());
    return std::move(store).value();
  }
  std::map<std::string, std::uint64_t> fingerprint() {
    std::map<std::string, std::uint64_t> sums;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_.path(""))) {
      if (!entry.is_regular_file()) continue;
      sums[entry.path().string()] =
          checksum(ChecksumType::kXxh3, as_bytes(io::testing::file_bytes(entry.path().string())));
    }
    return sums;
  }
  void require_readable(Store& store) {
    REQUIRE((testing::get(store, "large") == large));
    REQUIRE(testing::get(store, "small") == "small");
  }
  // Opening fails with this code, whatever the access, says all of `texts`, changes nothing.
  void require_refused(const PoolDescription& description, ErrorCode code,
                       const std::vector<std::string>& texts) {
    const auto before = fingerprint();
    for (const Access access : {Access::kReadOnly, Access::kReadWrite}) {
      const Result<Store> store = try_open(description, access);
      REQUIRE(code_of(store) == code);
      for (const std::string& text : texts) {
        REQUIRE_THAT(store.error().to_string(), Catch::Contains(text));
      }
    }
    REQUIRE((fingerprint() == before));
  }
  // Opens read-only with that device in that state, reads everything, changes nothing.
  void require_degraded(const std::string& device, const std::string& state) {
    const auto before = fingerprint();
    {
      Store store = open(Access::kReadOnly);
      REQUIRE(state_of(store, device) == state);
      REQUIRE(store.status().health == Health::kDegraded);
      require_readable(store);
    }
    REQUIRE((fingerprint() == before));
  }

  const std::string large = noise(700'000, 1);
  FormatOptions format;
  PoolDescription pool;

 private:
  io::testing::TemporaryDirectory directory_;
};

TEST_CASE("files: the order of the devices does not matter") {
  Files files;
  std::reverse(files.pool.devices.begin(), files.pool.devices.end());
  std::swap(files.pool.devices[1], files.pool.devices[4]);
  Store store = files.open();
  REQUIRE(store.status().health == Health::kOk);
  files.require_readable(store);
  REQUIRE(deep_findings(store) == "");
}

TEST_CASE("files: two missing devices are degraded, a third is refused and all are listed") {
  Files files;
  std::filesystem::rename(files.path("dev1"), files.path("away1"));
  std::filesystem::rename(files.path("dev4"), files.path("away4"));
  files.require_degraded(files.path("dev1"), "missing");
  std::filesystem::rename(files.path("dev2"), files.path("away2"));
  files.require_refused(files.pool, ErrorCode::kUnavailable, {"dev1", "dev2", "dev4"});
  for (const char* i : {"1", "2", "4"}) {
    std::filesystem::rename(files.path(std::string("away") + i),
                            files.path(std::string("dev") + i));
  }
  Store store = files.open();
  REQUIRE(store.status().health == Health::kOk);
}

TEST_CASE("files: a device that was cut short is told by its label, and lost") {
  Files files;
  for (const std::uint64_t size : {std::uint64_t{4_MiB}, alloc::kHeadEnd + 4096}) {
    CAPTURE(size);
    const std::string whole = io::testing::file_bytes(files.path("dev3"));
    std::filesystem::resize_file(files.path("dev3"), size);
    files.require_degraded(files.path("dev3"), "unreadable");
    {
      const Result<StoreStatus> status = inspect(files.pool);
      REQUIRE(status.ok());
      bool said = false;
      for (const DeviceStatus& device : status->devices) {
        said = said || (device.path == files.path("dev3") &&
                        device.detail.find("label says") != std::string::npos);
      }
      REQUIRE(said);
    }
    write_file(files.path("dev3"), whole);
  }
  for (const char* name : {"dev0", "dev3", "dev5"}) {
    std::filesystem::resize_file(files.path(name), 4_MiB);
  }
  files.require_refused(files.pool, ErrorCode::kUnavailable,
                        {"dev0", "dev3", "dev5", "label says"});
}

TEST_CASE("files: empty, zeroed, random and foreign files are never written to") {
  Files files;
  const std::uint64_t size = std::filesystem::file_size(files.path("dev0"));
  std::string ext4(size, '\0');
  ext4.replace(1024 + 56, 2, "\x53\xef");
  const std::vector<std::string> contents = {"", std::string(100, 'x'), std::string(size, '\0'),
                                             noise(size, 1), ext4};
  const std::string whole = io::testing::file_bytes(files.path("dev0"));
  for (std::size_t i = 0; i < contents.size(); ++i) {
    CAPTURE(i);
    write_file(files.path("dev0"), contents[i]);
    {
      const auto before = files.fingerprint();
      Store store = files.open(Access::kReadOnly);
      REQUIRE(state_of(store, files.path("dev0")) != "ok");
      REQUIRE(state_of(store, files.path("dev0")) != "not listed");
      REQUIRE(store.status().health == Health::kDegraded);
      files.require_readable(store);
      REQUIRE((files.fingerprint() == before));
    }
    write_file(files.path("dev0"), whole);
  }
  write_file(files.path("dev0"), ext4);
  {
    Store store = files.open();
    files.require_readable(store);
    REQUIRE(put(store, "more", noise(50'000, 9)).ok());
    REQUIRE(store.close().ok());
  }
  REQUIRE((io::testing::file_bytes(files.path("dev0")) == ext4));
  // Too many of them.
  Files others;
  for (const char* name : {"dev0", "dev1", "dev2"}) write_file(others.path(name), ext4);
  others.require_refused(others.pool, ErrorCode::kUnavailable, {"dev0", "dev1", "dev2", "ext"});
  for (int i = 0; i < 6; ++i) write_file(others.path("dev" + std::to_string(i)), ext4);
  write_file(others.path("fast/log"), ext4);
  others.require_refused(others.pool, ErrorCode::kNotFound, {"dev0", "dev5", "ext"});
}

TEST_CASE("files: a device of another store is left alone") {
  Files files;
  Files others;
  PoolDescription mixed = files.pool;
  mixed.devices[2] = others.pool.devices[2];
  const auto before = others.fingerprint();
  for (const Access access : {Access::kReadOnly, Access::kReadWrite}) {
    Result<Store> store = files.try_open(mixed, access);
    REQUIRE(message_of(store.status()) == "");
    REQUIRE(state_of(*store, mixed.devices[2]) == "foreign");
    files.require_readable(*store);
    if (access == Access::kReadWrite) REQUIRE(put(*store, "more", noise(50'000, 9)).ok());
  }
  REQUIRE((others.fingerprint() == before));
  Store store = others.open();
  REQUIRE(store.status().health == Health::kOk);
}

TEST_CASE("files: a device given twice, or copied, is refused with both names") {
  Files files;
  PoolDescription twice = files.pool;
  twice.devices.push_back(twice.devices[3]);
  files.require_refused(twice, ErrorCode::kInvalidArgument, {"dev3", "twice"});

  std::filesystem::copy_file(files.path("dev3"), files.path("copy"));
  PoolDescription copied = files.pool;
  copied.devices.push_back(files.path("copy"));
  files.require_refused(copied, ErrorCode::kInvalidArgument, {"dev3", "copy"});

  // In the place of another: the same.
  PoolDescription replaced = files.pool;
  replaced.devices[5] = files.path("copy");
  files.require_refused(replaced, ErrorCode::kInvalidArgument, {"dev3", "copy"});
  Store store = files.open();
  REQUIRE(store.status().health == Health::kOk);
}

TEST_CASE("files: a pool is open for writing once, or for reading many times") {
  Files files;
  {
    Store first = files.open();
    for (const Access access : {Access::kReadOnly, Access::kReadWrite}) {
      const Result<Store> second = files.try_open(files.pool, access);
      REQUIRE(code_of(second) == ErrorCode::kBusy);
      REQUIRE_THAT(second.error().to_string(), Catch::Contains("open already"));
    }
    REQUIRE(put(first, "still", "works").ok());
    REQUIRE(first.close().ok());
  }
  {
    Store first = files.open(Access::kReadOnly);
    REQUIRE(code_of(files.try_open(files.pool, Access::kReadWrite)) == ErrorCode::kBusy);
    Store second = files.open(Access::kReadOnly);
    files.require_readable(first);
    files.require_readable(second);
    REQUIRE(testing::get(second, "still") == "works");
  }
  Store store = files.open();
  REQUIRE(store.status().health == Health::kOk);
  files.require_readable(store);
}

TEST_CASE("files: a flipped bit in one label copy is noted, in both the device is lost") {
  Files files;
  const std::uint64_t size = std::filesystem::file_size(files.path("dev2"));
  for (const alloc::DeviceEnd end : alloc::kDeviceEnds) {
    const std::uint64_t copy = alloc::label_offset(end, size);
    CAPTURE(copy);
    flip_bit(files.path("dev2"), copy + 60);
    {
      Store store = files.open(Access::kReadOnly);
      REQUIRE(store.status().health == Health::kOk);
      REQUIRE(state_of(store, files.path("dev2")) == "ok");
      bool noted = false;
      for (const DeviceStatus& device : store.status().devices) {
        noted = noted || device.detail.find("label copy") != std::string::npos;
      }
      REQUIRE(noted);
      files.require_readable(store);
    }
    flip_bit(files.path("dev2"), copy + 60);
  }
  for (const alloc::DeviceEnd end : alloc::kDeviceEnds) {
    flip_bit(files.path("dev2"), alloc::label_offset(end, size) + 60);
  }
  const auto before = files.fingerprint();
  Store store = files.open(Access::kReadOnly);
  REQUIRE(store.status().health == Health::kDegraded);
  REQUIRE(state_of(store, files.path("dev2")) != "ok");
  files.require_readable(store);
  REQUIRE((files.fingerprint() == before));
}

TEST_CASE("files: one root slot damaged at both ends of a device loses nothing") {
  for (const unsigned slot : {0u, 1u}) {
    CAPTURE(slot);
    Files files;
    // The other slot is older by one root: what it names is still there.
    const std::string& device = files.pool.devices[0];
    for (const alloc::DeviceEnd end : alloc::kDeviceEnds) {
      const std::uint64_t size = std::filesystem::file_size(device);
      overwrite(device, alloc::root_offset(end, slot, size), std::string(4096, '\x5a'));
    }
    Store store = files.open();
    files.require_readable(store);
    REQUIRE(deep_findings(store) == "");
  }
}

TEST_CASE("files: an index that is gone, or of another store, is made again") {
  Files files;
  Files others;
  std::filesystem::remove_all(files.path("fast/index"));
  {
    Store store = files.open(Access::kReadOnly);
    files.require_readable(store);
  }
  {
    Store store = files.open();
    files.require_readable(store);
    REQUIRE(store.close().ok());
  }
  std::filesystem::copy(
      others.path("fast/index"), files.path("fast/index"),
      std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
  Store store = files.open();
  files.require_readable(store);
  REQUIRE(deep_findings(store) == "");
}

TEST_CASE("files: devices that are in use, or not there, are named when a pool is made") {
  Files files;
  FormatOptions again = files.format;
  const auto before = files.fingerprint();
  {
    const Result<PoolDescription> made = Store::format(again);
    REQUIRE(code_of(made) == ErrorCode::kAlreadyExists);
    REQUIRE_THAT(made.error().to_string(),
                 Catch::Contains("hexad store") && Catch::Contains("force"));
  }
  REQUIRE((files.fingerprint() == before));
  // Something else on one of them, which was not there before.
  std::string ext4(8_MiB, '\0');
  ext4.replace(1024 + 56, 2, "\x53\xef");
  FormatOptions other = small_format();
  for (int i = 0; i < 6; ++i) other.devices.push_back(files.path("new" + std::to_string(i)));
  other.fast_directories = {files.path("newfast")};
  write_file(other.devices[4], ext4);
  REQUIRE(code_of(Store::format(other)) == ErrorCode::kAlreadyExists);
  REQUIRE((io::testing::file_bytes(other.devices[4]) == ext4));
  REQUIRE_FALSE(std::filesystem::exists(other.devices[0]));
  {
    Store open_store = files.open();
    FormatOptions forced = files.format;
    forced.force = true;
    REQUIRE(code_of(Store::format(forced)) == ErrorCode::kBusy);
    files.require_readable(open_store);
  }
  other.force = true;
  REQUIRE(message_of(Store::format(other).status()) == "");
}

TEST_CASE("files: a min_alloc that does not fit the devices is refused with the nearest that do") {
  Files files;
  const auto attempt = [&](std::uint64_t min_alloc) {
    FormatOptions options = small_format();
    options.min_alloc = min_alloc;
    for (int i = 0; i < 6; ++i) options.devices.push_back(files.path("new" + std::to_string(i)));
    options.fast_directories = {files.path("newfast")};
    const Result<PoolDescription> made = Store::format(options);
    for (const std::string& device : options.devices)
      REQUIRE_FALSE(std::filesystem::exists(device));
    REQUIRE(code_of(made) == ErrorCode::kInvalidArgument);
    return made.error().to_string();
  };
  REQUIRE_THAT(attempt(1000), Catch::Contains("512") && Catch::Contains("1024"));

  // Devices that rewrite 4 KiB at a time.
  io::MemorySystem memory;
  for (const std::uint64_t min_alloc : {512u, 2048u, 6144u, 18432u}) {
    CAPTURE(min_alloc);
    FormatOptions options = small_format();
    options.min_alloc = min_alloc;
    for (int i = 0; i < 6; ++i) {
      options.devices.push_back("dev" + std::to_string(i));
      REQUIRE(memory.create_device(options.devices.back(), 8_MiB).ok());
    }
    options.fast_directories = {files.path("newfast")};
    const Result<PoolDescription> made = Store::format(options, &memory);
    REQUIRE(code_of(made) == ErrorCode::kInvalidArgument);
    const std::uint64_t below = min_alloc / 4096 * 4096;
    if (below > 0) {
      REQUIRE_THAT(made.error().to_string(), Catch::Contains(format_size(below)));
    }
    REQUIRE_THAT(made.error().to_string(), Catch::Contains(format_size(below + 4096)));
    for (const std::string& device : options.devices) {
      REQUIRE(is_zero(read_media(*memory.media(device))));
    }
  }
}

TEST_CASE("files: 18 KiB units work where the devices have 512-byte blocks") {
  io::MemoryOptions blocks;
  blocks.blocks.physical = 512;
  io::MemorySystem memory(blocks);
  FormatOptions options = small_format();
  options.min_alloc = 18_KiB;
  StoreFixture fixture(options, &memory);
  const std::string value = noise(500'000, 1);
  {
    Store store = fixture.open();
    REQUIRE(put(store, "a", value).ok());
    REQUIRE(put(store, "b", noise(700, 2)).ok());
    REQUIRE(store.close().ok());
  }
  Store store = fixture.open();
  REQUIRE((testing::get(store, "a") == value));
  REQUIRE((testing::get(store, "b") == noise(700, 2)));
  REQUIRE(deep_findings(store) == "");
}

}  // namespace
}  // namespace hexad::testing
