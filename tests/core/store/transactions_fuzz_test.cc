// Transactions that the input describes, on a store in a simulation and on a model of plain maps.
// Each succeeds or fails as the model says, and in the end both hold the same, also after the store
// was opened again, closed before or not; and fsck finds nothing.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/codec.h"
#include "base/units.h"
#include "core/hexad.h"
#include "io/rng.h"
#include "io/sim/sim_system.h"
#include "tests/core/noise.h"
#include "tests/core/store_model.h"
#include "tests/io/file_bytes.h"
#include "tests/io/temporary.h"
#include "tools/build/fuzz_seeds.h"

using namespace hexad;
using namespace hexad::testing;

namespace {

constexpr std::size_t kMostOps = 200;         // of one input
constexpr std::uint64_t kMostSize = 3 << 20;  // of an object that ops make

const std::string kCollections[] = {kDefaultCollection, "second", "\x01\xff"};
const std::string kNames[] = {
    "a", "a/", "a/b", "a//b", "b", "\xff", std::string("\0", 1), std::string(1024, 'c')};
const std::string kAttributes[] = {"one", "two", kContentType};
const std::string kKeys[] = {"k", std::string("k\0", 2), "l", std::string(1024, 'k')};

template <std::size_t N>
const std::string& pick(const std::string (&from)[N], Decoder& in) {
  return from[in.u8() % N];
}

// Mostly the first one, so that things meet.
const std::string& collection(Decoder& in) {
  const std::uint8_t byte = in.u8();
  return kCollections[byte < 0x80 ? 0 : byte % 3];
}

// Any number, or one around what the engine treats differently: inline, a block, cells, pages.
std::uint64_t number(Decoder& in) {
  static const std::uint64_t kNumbers[] = {0,    1,     255,   256,    257,     4095,    4096,
                                           4097, 16384, 16385, 262144, 1048575, 1048576, 1048577};
  const std::uint8_t byte = in.u8();
  if (byte < std::size(kNumbers)) return kNumbers[byte];
  return byte < 0x80 ? byte : (std::uint64_t{byte} - 0x80) << 8 | in.u8();
}

// Of that many bytes, which do not compress or are all the same.
std::string payload(Decoder& in) {
  const std::uint64_t size = number(in);
  const std::uint8_t seed = in.u8();
  if (seed < 0x40) return std::string(size, static_cast<char>('a' + seed % 26));
  return noise(size, seed);
}

std::string short_text(Decoder& in) {
  const std::size_t wanted = in.u8() % 8;
  return std::string(in.raw(std::min(wanted, in.remaining())));
}

// A new pool, made once: every input begins with its disks and its index.
class Pool {
 public:
  Pool() {
    FormatOptions format;
    format.log_size = kLogSize;
    format.device_size = kDiskSize;
    format.fast_directories = {directory_.path("fast")};
    for (int i = 0; i < 6; ++i) format.devices.push_back("disk" + std::to_string(i));
    io::SimSystem system(options());
    system.run([&] { description = Store::format(format, &system).value(); });
    std::vector<std::string> names = format.devices;
    names.push_back(format.fast_directories[0] + "/log");
    for (const std::string& name : names) {
      disks_.emplace_back(name, system.disk(name).snapshot());
    }
    index_ = io::testing::file_bytes(index_file());
    index_.resize(index_.find_last_not_of('\0') + 1);
    index_size_ = std::filesystem::file_size(index_file());
  }

  std::unique_ptr<io::SimSystem> fresh() const {
    auto system = std::make_unique<io::SimSystem>(options());
    for (const auto& [name, content] : disks_) {
      system->add_disk(name, content, options().disk);
    }
    // The rest of the file reads as zeros.
    std::ofstream(index_file(), std::ios::binary | std::ios::trunc)
        .write(index_.data(), static_cast<std::streamsize>(index_.size()));
    std::filesystem::resize_file(index_file(), index_size_);
    return system;
  }

  PoolDescription description;

 private:
  static constexpr std::uint64_t kDiskSize = 24_MiB;
  static constexpr std::uint64_t kLogSize = 1_MiB;

  io::SimOptions options() const {
    io::SimOptions options;
    options.disk.volatile_cache = false;
    options.latency.immediate = true;
    options.stacks = stacks_;
    return options;
  }
  std::string index_file() const { return directory_.path("fast/index/data.mdb"); }

  io::testing::TemporaryDirectory directory_{io::testing::TemporaryDirectory::On::kMemory};
  std::shared_ptr<io::FiberStacks> stacks_ = std::make_shared<io::FiberStacks>();
  std::vector<std::pair<std::string, std::shared_ptr<const io::CowImage>>> disks_;
  std::string index_;
  std::uint64_t index_size_ = 0;
};

class Sequence {
 public:
  explicit Sequence(const Pool& pool) : pool_(pool), system_(pool.fresh()) {
    model_.collections[kDefaultCollection];
  }

  void run(Decoder in) {
    const bool closes = (in.u8() & 1) != 0;
    system_->run([&] {
      {
        Store store = open();
        while (in.remaining() > 0 && ops_ < kMostOps) step(store, in);
        compare(store);
        must(store.sync());
        if (closes) must(store.close());
      }
      Store store = open();
      compare(store);
      must(store.checkpoint());
      compare(store);
      const Result<FsckReport> report = store.fsck({true, false});
      must(report.status());
      if (!report->findings.empty()) {
        fail(report->findings.front().subject + ": " + report->findings.front().problem);
      }
    });
  }

 private:
  [[noreturn]] static void fail(const std::string& why) {
    std::fprintf(stderr, "%s\n", why.c_str());
    assertion_failed(__FILE__, __LINE__, "store and model agree");
  }
  static void must(const Status& status) {
    if (!status.ok()) fail(status.error().to_string());
  }
  Store open() const {
    RuntimeOptions runtime;
    runtime.memtable_size = 256_KiB;
    runtime.cache_size = 1_MiB;
    Result<Store> store = Store::open(pool_.description, runtime, system_.get());
    must(store.status());
    return std::move(store).value();
  }
  void step(Store& store, Decoder& in) {
    const std::uint8_t what = in.u8();
    if (what == 0xff) return must(store.checkpoint());
    // The other bits say how many ops the transaction has, and whether it is buffered.
    Transaction transaction;
    for (std::size_t left = 1 + what % 4; left > 0 && in.remaining() > 0; --left) {
      add(transaction, in);
    }
    commit(store, std::move(transaction),
           (what & 0x80) != 0 ? Durability::kBuffered : Durability::kDurable);
  }
  void commit(Store& store, Transaction transaction, Durability durability) {
    ops_ += transaction.size();
    Model next = model_;
    const std::optional<ErrorCode> expected = next.apply(transaction);
    CommitOptions options;
    options.durability = durability;
    const Result<Lsn> lsn = store.commit(std::move(transaction), options);
    const std::optional<ErrorCode> code =
        lsn.ok() ? std::nullopt : std::optional<ErrorCode>(lsn.error().code);
    if (code != expected) {
      fail("commit: " + (lsn.ok() ? std::string("ok") : lsn.error().to_string()) +
           "; the model: " + (expected.has_value() ? std::string(to_string(*expected)) : "ok"));
    }
    if (!lsn.ok()) return;
    next.stamp(*lsn);
    model_ = std::move(next);
  }
  void compare(Store& store) {
    io::Rng rng(ops_);
    const std::string why = difference(store, model_, rng);
    if (!why.empty()) fail(why);
  }
  void add(Transaction& t, Decoder& in) const;

  const Pool& pool_;
  std::unique_ptr<io::SimSystem> system_;
  Model model_;
  std::size_t ops_ = 0;
};

void Sequence::add(Transaction& t, Decoder& in) const {
  const std::uint8_t kind = in.u8();
  const std::string& c = collection(in);
  const std::string& name = pick(kNames, in);
  const ModelObject* object = model_.find(c, name);
  const std::uint64_t size = object == nullptr ? 0 : object->data->size();
  switch (kind % 40) {
    case 0:
      return t.create_collection(c);
    case 1:
      return t.remove_collection(c,
                                 (kind & 0x80) != 0 ? Contents::kRemoved : Contents::kMustBeEmpty);
    case 2:
      return t.touch(c, name);
    case 3:
      return t.create(c, name);
    case 4:
    case 5: {
      const std::string data = payload(in);
      return t.put(c, name, data, static_cast<Hint>(in.u8() % 3));
    }
    case 6:
    case 7:
    case 8: {
      const std::uint64_t offset = number(in);
      return t.write(c, name, offset, as_bytes(payload(in)));
    }
    case 9:
      if (size > kMostSize) return t.remove(c, name);
      return t.append(c, name, as_bytes(payload(in)));
    case 10: {
      const std::uint64_t offset = number(in);
      return t.zero(c, name, offset, number(in));
    }
    case 11:
      return t.truncate(c, name, number(in));
    case 12:
      return t.remove(c, name);
    case 13: {
      const std::string& attribute = pick(kAttributes, in);
      return t.set_attr(c, name, attribute, short_text(in));
    }
    case 14:
      return t.remove_attr(c, name, pick(kAttributes, in));
    case 15:
      return t.remove_attrs(c, name);
    case 16: {
      const std::string& to = collection(in);
      return t.rename(c, name, to, pick(kNames, in));
    }
    case 17:
      return t.expect_absent(c, name);
    case 18:
      return t.expect_exists(c, name);
    case 19: {
      const std::string& attribute = pick(kAttributes, in);
      return t.expect_attr(c, name, attribute, short_text(in));
    }
    case 20:
      return t.expect_attr_absent(c, name, pick(kAttributes, in));
    case 21: {
      // Some of what is there, or a byte otherwise.
      const std::uint64_t from = object == nullptr ? 0 : number(in) % (size + 1);
      std::string bytes = object == nullptr ? "x" : object->data->substr(from, number(in));
      if ((kind & 0x80) != 0 && !bytes.empty()) bytes.back() ^= 1;
      return t.expect_bytes(c, name, from, as_bytes(bytes));
    }
    case 22: {
      const Lsn version = object == nullptr ? Lsn{7} : object->version;
      return t.expect_version(c, name, version + ((kind & 0x80) != 0 ? 1 : 0));
    }
    case 23:
      return t.remove_range(c, (kind & 0x80) != 0 ? "" : name, pick(kNames, in));
    case 24:
      return t.set_hint(c, name, static_cast<Hint>(in.le16() % (1 << 10)));
    case 25: {
      compression::Policy policy;
      policy.mode = static_cast<compression::Mode>(in.u8() % 4);
      policy.algorithm = static_cast<compression::Algorithm>(1 + in.u8() % 4);
      return t.set_policy(c, policy);
    }
    case 26: {
      // Mostly none, so that not everything fails from then on.
      if ((kind & 0x80) == 0) return t.set_quota(c, {});
      const std::uint64_t objects = in.u8() % 12;
      return t.set_quota(c, {objects, number(in)});
    }
    case 27:
    case 28: {
      const std::string& key = pick(kKeys, in);
      return t.omap_set(c, name, key, payload(in));
    }
    case 29:
      return t.omap_remove(c, name, pick(kKeys, in));
    case 30: {
      const std::string& first = pick(kKeys, in);
      return t.omap_remove_range(c, name, (kind & 0x80) != 0 ? "" : first, pick(kKeys, in));
    }
    case 31:
      return t.omap_clear(c, name);
    case 32:
      return t.omap_set_header(c, name, as_bytes(payload(in)));
    case 33:
      return t.expect_omap_absent(c, name, pick(kKeys, in));
    case 34: {
      const std::string& key = pick(kKeys, in);
      const bool there =
          object != nullptr && object->omap != nullptr && object->omap->keys.count(key) > 0;
      std::string value = there ? *object->omap->keys.at(key) : "x";
      if ((kind & 0x80) != 0 && !value.empty()) value.back() ^= 1;
      return t.expect_omap(c, name, key, as_bytes(value));
    }
    case 35: {
      const std::string& to = collection(in);
      return t.clone(c, name, to, pick(kNames, in));
    }
    case 36: {
      const std::uint64_t from = number(in);
      const std::uint64_t length = number(in);
      const std::string& to = collection(in);
      const std::string& other = pick(kNames, in);
      return t.clone_range(c, name, from, length, to, other, number(in));
    }
    case 37:
      return t.split_collection(c, name.substr(0, kind >> 6), collection(in));
    case 38:
      return t.merge_collection(collection(in), c);
    default: {
      Attributes attributes;
      for (const std::string& one : kAttributes) attributes[one] = short_text(in);
      return t.set_attrs(c, name, attributes);
    }
  }
}

std::string text(std::initializer_list<int> bytes) {
  std::string result;
  for (const int byte : bytes) result.push_back(static_cast<char>(byte));
  return result;
}

}  // namespace

std::vector<std::string> hexad::testing::fuzz_seeds() {
  return {
      // An object that is overwritten, cloned, cut; with a checkpoint between.
      text({1,  0, 4, 0, 0, 10, 0x50, 0, 0, 6, 0, 0,    3,  5, 0x60, 0xff, 0,
            35, 0, 0, 0, 1, 1,  6,    0, 0, 9, 4, 0x41, 11, 0, 1,    4}),
      // Omaps that clones share.
      text({0, 3,  2, 0, 0, 27, 0, 0,  0, 8, 0x55, 27, 0, 0, 1, 3, 0, 32,   0, 0,  6, 1,
            0, 35, 0, 0, 0, 1,  1, 29, 0, 0, 0,    27, 0, 1, 1, 2, 3, 0xff, 0, 31, 0, 0}),
      // Names that go from one collection to another.
      text({1,    1,  0, 0x81, 0, 4,    0, 0,  3, 0x50, 1,    4, 0,    2,    4,
            0x51, 37, 0, 0,    1, 0x81, 0, 38, 0, 0,    0x81, 0, 0xa9, 0x81, 0}),
      // Small writes, buffered, into one page, and one over the boundary of two.
      text({0, 0x80, 6,  0, 0,    20, 30, 1, 0x80, 6,  0,  0, 90, 30, 2, 0x80, 6,
            0, 0,    11, 6, 0x71, 0,  10, 0, 0,    30, 40, 0, 9,  0,  0, 12,   0x44}),
  };
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Pool pool;
  Sequence(pool).run(Decoder(ByteView(reinterpret_cast<const std::byte*>(data), size)));
  return 0;
}
