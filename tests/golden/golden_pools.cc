#include "tests/golden/golden_pools.h"

#include <zstd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <sstream>
#include <utility>

#include "base/codec.h"
#include "base/units.h"
#include "tests/core/store_fixture.h"
#include "tests/io/file_bytes.h"

namespace hexad::testing {

namespace {

constexpr std::size_t kBlock = 4096;
constexpr const char* kAlbum = "album";

using Script = std::vector<std::function<void(Transaction&)>>;

// Of its own, and the same for ever.
std::string random_bytes(std::size_t size, std::uint64_t seed) {
  std::string bytes;
  std::uint64_t state = seed * 0x9E3779B97F4A7C15 + 1;
  while (bytes.size() < size) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    bytes.push_back(static_cast<char>(state >> 32));
  }
  return bytes;
}

// The same 1 KiB again and again, so that the parity of it is no more than that, too.
std::string words(std::size_t size, std::uint64_t seed) {
  const std::string once = random_bytes(1024, seed + 100);
  std::string text;
  while (text.size() < size) text += once;
  text.resize(size);
  return text;
}

// Behind the sixth there is a checkpoint, so that runs hold the first ones and the log the others.
constexpr std::size_t kCheckpointBehind = 6;

Script script() {
  return {
      [](Transaction& t) {
        t.create_collection(kAlbum);
        t.put(kBucket, "empty", "");
        t.put(kBucket, "small", "a few bytes");
        t.put(kBucket, "noise", random_bytes(9'000, 1));
        t.put(kAlbum, "words", words(200'000, 2));
      },
      [](Transaction& t) {
        t.put(kBucket, "two MiB", words(2 << 20, 3));
        t.set_attr(kBucket, "small", "mime", "text/plain");
        t.set_attr(kBucket, "small", "bytes", std::string_view("\0\1\2", 3));
        t.put(kBucket, "index", "beside its omap");
        for (int i = 0; i < 40; ++i) {
          t.omap_set(kBucket, "index", "key " + std::to_string(i), words(50, 4));
        }
        t.omap_set_header(kBucket, "index", as_bytes("header"));
      },
      [](Transaction& t) {
        t.write(kBucket, "two MiB", 1'000'000, as_bytes(random_bytes(5'000, 5)));
        t.clone(kBucket, "two MiB", kAlbum, "clone");
        t.clone_range(kBucket, "noise", 100, 3'000, kAlbum, "range", 70'000);
        t.clone(kBucket, "index", kAlbum, "index too");
      },
      [](Transaction& t) {
        // So large that its list of extents is in pages.
        for (std::uint64_t i = 0; i < 8; ++i) {
          t.write(kBucket, "sparse", i * 4'000'000 + i, as_bytes(words(3'000, i)));
        }
        t.put(kBucket, "gone", random_bytes(3'000, 6));
      },
      [](Transaction& t) {
        t.remove(kBucket, "gone");
        t.rename(kBucket, "noise", kAlbum, "renamed");
        t.truncate(kAlbum, "words", 150'001);
        t.zero(kBucket, "two MiB", 4'000, 70'000);
        t.omap_remove(kBucket, "index", "key 7");
      },
      [](Transaction& t) { t.append(kBucket, "small", as_bytes(", and some more")); },
      // From here on in the log.
      [](Transaction& t) {
        t.put(kBucket, "late", words(60'000, 8));
        t.write(kBucket, "sparse", 8'000'100, as_bytes("changed"));
        t.remove(kAlbum, "clone");
      },
      [](Transaction& t) {
        for (int i = 0; i < 12; ++i)
          t.put(kAlbum, "tiny " + std::to_string(i), random_bytes(300, 9));
        t.omap_set(kAlbum, "index too", "key 3", "another value");
        t.rename(kAlbum, "range", kBucket, "range");
      },
  };
}

Transaction transaction(const std::function<void(Transaction&)>& build) {
  Transaction t;
  build(t);
  return t;
}

FormatOptions options_of(const std::string& name) {
  FormatOptions options = small_format();
  options.device_size = 24_MiB;
  const auto profile = [&](std::uint32_t k, std::uint32_t m, const std::string& codec) {
    options.profile = ec::parse_profile(std::to_string(k) + "+" + std::to_string(m), codec).value();
  };
  const std::map<std::string, std::function<void()>> known = {
      {"4+2", [] {}},
      {"4+2-xxh3-20k",
       [&] {
         options.checksum = ChecksumType::kXxh3;
         options.min_alloc = 20_KiB;
       }},
      {"4+2-zstd-64k",
       [&] {
         options.compression = compression::parse_policy("force,zstd").value();
         options.min_alloc = 64_KiB;
       }},
      {"1+1", [&] { profile(1, 1, "isa:reed_sol_van"); }},
      {"2+2-cauchy", [&] { profile(2, 2, "isa:cauchy"); }},
      {"3+0",
       [&] {
         profile(3, 0, "none");
         options.redundant_devices = true;
       }},
      {"8+3-jerasure", [&] { profile(8, 3, "jerasure:cauchy_good"); }},
  };
  known.at(name)();
  return options;
}

std::string compress(const std::string& bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 19);
  REQUIRE(!ZSTD_isError(size));
  out.resize(size);
  return out;
}

std::string expand(const std::string& bytes) {
  std::string out(ZSTD_getFrameContentSize(bytes.data(), bytes.size()), '\0');
  REQUIRE(ZSTD_decompress(out.data(), out.size(), bytes.data(), bytes.size()) == out.size());
  return out;
}

void add_device(std::string& image, const io::MemoryMedia& media) {
  const Bytes bytes = read_media(media);
  std::string blocks;
  std::size_t count = 0;
  for (std::size_t at = 0; at < bytes.size(); at += kBlock) {
    const ByteView block = ByteView(bytes).subspan(at, kBlock);
    if (is_zero(block)) continue;
    Encoder(blocks).le64(at / kBlock);
    blocks += as_text(block);
    ++count;
  }
  image += std::to_string(bytes.size()) + " " + std::to_string(count) + "\n" + blocks;
}

}  // namespace

std::vector<std::string> golden_names() {
  return {"4+2", "4+2-xxh3-20k", "4+2-zstd-64k", "1+1", "2+2-cauchy", "3+0", "8+3-jerasure"};
}

std::string make_golden(const std::string& name) {
  StoreFixture fixture(options_of(name));
  Store store = fixture.open();
  std::string image = "hexad pool 1\n";
  const Script all = script();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i == kCheckpointBehind) REQUIRE(store.checkpoint().ok());
    const Result<Lsn> lsn = store.commit(transaction(all[i]));
    CAPTURE(name, i);
    REQUIRE((lsn.ok() ? "" : lsn.error().to_string()) == "");
    image += std::to_string(*lsn) + " ";
  }
  image += "\n";
  for (std::size_t i = 0; i < fixture.pool.devices.size(); ++i)
    add_device(image, *fixture.media(i));
  add_device(image, *fixture.memory.media(fixture.pool.fast_directories[0] + "/log"));
  return compress(image);
}

GoldenPool::GoldenPool(const std::string& name) {
  const FormatOptions options = options_of(name);
  m = options.profile.m;
  for (std::uint32_t i = 0; i < options.profile.k + options.profile.m; ++i) {
    pool.devices.push_back("dev" + std::to_string(i));
  }
  pool.fast_directories = {directory_.path("fast")};
  const std::string image = expand(io::testing::file_bytes("tests/golden/" + name + ".pool.zst"));
  std::istringstream in(image);
  std::string line;
  REQUIRE((std::getline(in, line) && line == "hexad pool 1"));
  REQUIRE(std::getline(in, line));
  std::istringstream lsns(line);
  model.collections[kBucket];  // every pool has it
  for (const auto& build : script()) {
    std::uint64_t lsn = 0;
    REQUIRE(lsns >> lsn);
    REQUIRE(!model.apply(transaction(build)).has_value());
    model.stamp(lsn);
  }
  std::vector<std::string> devices = pool.devices;
  devices.push_back(pool.fast_directories[0] + "/log");
  for (const std::string& device : devices) {
    std::uint64_t size = 0;
    std::size_t count = 0;
    REQUIRE(std::getline(in, line));
    std::istringstream(line) >> size >> count;
    REQUIRE(memory.create_device(device, size).ok());
    for (; count > 0; --count) {
      std::string block(8 + kBlock, '\0');
      REQUIRE(in.read(block.data(), static_cast<std::streamsize>(block.size())));
      Decoder decoder(block);
      const std::uint64_t index = decoder.le64();
      memory.media(device)->write(index * kBlock, as_bytes(block).subspan(8));
    }
  }
}

}  // namespace hexad::testing
