// Random transactions against a model of plain maps.
#include "tests/core/store_model.h"

#include <catch2/catch.hpp>
#include <iterator>

#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

const std::string kCollections[] = {"default", "second", "\x01\xff"};

std::string name_of(io::Rng& rng) {
  static const std::string kNames[] = {
      "a",    "a/",     "a/b",
      "a/b/", "a/b/c",  "a//b",
      "b",    "\xff",   std::string("\0", 1),
      "c/d",  "c/d/e",  std::string(1024, 'c'),
      "cc",   "c/d/e/", std::string(1024, 'c').replace(1023, 1, "d")};
  return kNames[rng.below(std::size(kNames))];
}

// Sizes around what the engine treats differently: inline, one block, several cells, pages.
std::uint64_t size_of(io::Rng& rng) {
  static const std::uint64_t kSizes[] = {0,      1,       255,     256,    257,   4095,
                                         4096,   4097,    8192,    16384,  16385, 100000,
                                         262144, 1048575, 1048576, 1048577};
  if (rng.chance(1, 4)) return rng.below(5000);
  return kSizes[rng.below(rng.chance(1, 5) ? std::size(kSizes) : 11)];
}

std::string payload_of(io::Rng& rng) {
  const std::uint64_t size = size_of(rng);
  if (rng.chance(1, 3)) return std::string(size, static_cast<char>('a' + rng.below(26)));
  return noise(size, rng.next());
}

void add_random_op(Transaction& t, io::Rng& rng, const Model& model) {
  const std::string& collection = kCollections[rng.chance(3, 4) ? 0 : rng.below(3)];
  const std::string name = name_of(rng);
  static const std::string kAttributes[] = {"one", "two", "three"};
  const std::string& attribute = kAttributes[rng.below(3)];
  const std::uint64_t offset = rng.chance(1, 2) ? rng.below(6000) : size_of(rng);
  const auto in = model.collections.find(collection);
  const ModelObject* object = nullptr;
  if (in != model.collections.end() && in->second.count(name) > 0) object = &in->second.at(name);
  switch (rng.below(40)) {
    case 0:
      return t.create_collection(collection);
    case 1:
      return t.remove_collection(collection);
    case 2:
      return t.touch(collection, name);
    case 3:
      return t.create(collection, name);
    case 4:
    case 5:
    case 6:
      return t.put(collection, name, payload_of(rng), static_cast<Hint>(rng.below(3)));
    case 7:
    case 8:
    case 9:
      return t.write(collection, name, offset, as_bytes(payload_of(rng)));
    case 10:
      // Many small ones, so that a page fills with inline extents.
      return t.write(collection, name, rng.below(9000),
                     as_bytes(noise(1 + rng.below(256), rng.next())));
    case 11:
    case 12:
      return t.append(collection, name, as_bytes(payload_of(rng)));
    case 13:
    case 14:
      return t.zero(collection, name, offset, size_of(rng));
    case 15:
    case 16:
      return t.truncate(collection, name, size_of(rng));
    case 17:
    case 18:
    case 19:
      return t.remove(collection, name);
    case 20:
      return t.set_attr(collection, name, attribute, noise(rng.below(300), rng.next()));
    case 21:
      return t.remove_attr(collection, name, attribute);
    case 22:
    case 23:
    case 24:
      return t.rename(collection, name, kCollections[rng.below(3)], name_of(rng));
    case 25:
      return t.expect_absent(collection, name);
    case 26:
      return t.expect_exists(collection, name);
    case 27: {
      std::string value = noise(rng.below(3), rng.next());
      if (object != nullptr && object->attributes.count(attribute) > 0 && rng.chance(3, 4)) {
        value = object->attributes.at(attribute);
      }
      return t.expect_attr(collection, name, attribute, value);
    }
    case 28:
      return t.expect_attr_absent(collection, name, attribute);
    case 29:
    case 30: {
      if (object == nullptr) return t.expect_bytes(collection, name, offset, as_bytes("x"));
      // Some of what is there, sometimes with one byte changed or one byte too many.
      const std::uint64_t from = rng.below(object->data->size() + 1);
      std::string bytes = object->data->substr(from, size_of(rng));
      if (!bytes.empty() && rng.chance(1, 4)) bytes[rng.below(bytes.size())] ^= 1;
      if (rng.chance(1, 8)) bytes += 'x';
      return t.expect_bytes(collection, name, from, as_bytes(bytes));
    }
    case 31: {
      Attributes attributes;
      for (const std::string& one : kAttributes) {
        if (rng.chance(1, 2)) attributes[one] = noise(rng.below(300), rng.next());
      }
      return t.set_attrs(collection, name, attributes);
    }
    case 32:
      return t.remove_attrs(collection, name);
    case 33:
    case 34: {
      // Mostly short ranges.
      const std::string to = rng.chance(1, 2) ? name + "/" : rng.chance(1, 4) ? "" : name_of(rng);
      return t.remove_range(collection, rng.chance(1, 8) ? "" : name, to.substr(0, kMaxNameSize));
    }
    case 35:
    case 36:
      return t.set_hint(collection, name, static_cast<Hint>(rng.below(1 << 10)));
    case 37: {
      compression::Policy policy;
      policy.mode = static_cast<compression::Mode>(rng.below(4));
      policy.algorithm = static_cast<compression::Algorithm>(1 + rng.below(4));
      return t.set_policy(collection, policy);
    }
    case 38:
      // Mostly none, so that not everything fails from then on.
      if (rng.chance(2, 3)) return t.set_quota(collection, {});
      return t.set_quota(collection, {rng.below(12), rng.chance(1, 2) ? 0 : rng.below(2'000'000)});
    default: {
      Lsn version = 7;
      if (object != nullptr) version = object->version + (rng.chance(1, 4) ? 1 : 0);
      return t.expect_version(collection, name, version);
    }
  }
}

// Most transactions of 20 random ops fail; ops that are known to fail are therefore left out
// mostly, by trying them on the model first.
Transaction random_transaction(io::Rng& rng, const Model& model) {
  const std::uint64_t ops = 1 + rng.below(rng.chance(1, 3) ? 20 : 4);
  const bool careful = rng.chance(2, 3);
  const std::uint64_t seed = rng.next();
  std::vector<std::uint64_t> chosen;
  const auto build = [&](std::uint64_t extra, bool with_extra) {
    Transaction t;
    for (const std::uint64_t one : chosen) {
      io::Rng op_rng(one);
      add_random_op(t, op_rng, model);
    }
    if (with_extra) {
      io::Rng op_rng(extra);
      add_random_op(t, op_rng, model);
    }
    return t;
  };
  io::Rng seeds(seed);
  for (std::uint64_t tries = 0; chosen.size() < ops && tries < 60; ++tries) {
    const std::uint64_t candidate = seeds.next();
    if (careful) {
      Model copy = model;
      if (copy.apply(build(candidate, true)).has_value()) continue;
    }
    chosen.push_back(candidate);
  }
  return build(0, false);
}

void run(std::uint64_t seed, int transactions) {
  io::Rng rng(seed);
  FormatOptions format = small_format();
  format.device_size = 24_MiB;
  if (seed % 2 == 1) format.compression.mode = compression::Mode::kForce;
  if (seed % 3 == 1) {
    format.checksum = ChecksumType::kXxh3;
    format.checksum_block = 4_KiB;
  }
  StoreFixture fixture(format);
  RuntimeOptions runtime = seed % 2 == 0 ? RuntimeOptions() : busy_runtime();
  std::optional<Store> store = fixture.open(Access::kReadWrite, runtime);
  Model model;
  model.collections["default"];
  int failures = 0;
  for (int i = 0; i < transactions; ++i) {
    CAPTURE(seed, i);
    Transaction t = random_transaction(rng, model);
    std::string ops;
    for (const TransactionOp& op : t.ops()) {
      ops += std::to_string(static_cast<int>(op.kind)) + " " + printable(op.collection) + "/" +
             printable(op.name, 16) + " " + std::to_string(op.offset) + "+" +
             std::to_string(op.payload.size() + op.length) + "\n";
    }
    CAPTURE(ops);
    Model next = model;
    const std::optional<ErrorCode> expected = next.apply(t);
    const Result<Lsn> result = store->commit(std::move(t));
    if (!result.ok()) UNSCOPED_INFO(result.error().to_string());
    REQUIRE(code_of(result) == expected);
    if (result.ok()) {
      next.stamp(*result);
      model = std::move(next);
    } else {
      ++failures;
    }
    const std::uint64_t what = rng.below(40);
    if (what == 0) REQUIRE(store->checkpoint().ok());
    if (what == 1) require_equal(*store, model, rng);
    if (what == 2 || what == 3) {
      if (what == 2) REQUIRE(message_of(store->close()) == "");
      store.reset();
      store = fixture.open(Access::kReadWrite, runtime);
      require_equal(*store, model, rng);
      REQUIRE(deep_findings(*store) == "");
    }
    if (what == 4) {
      store.reset();
      Store reader = fixture.open(Access::kReadOnly);
      require_equal(reader, model, rng);
      REQUIRE(deep_findings(reader) == "");
      store.reset();
    }
    if (!store.has_value()) store = fixture.open(Access::kReadWrite, runtime);
  }
  CHECK(failures > 0);
  require_equal(*store, model, rng);
  REQUIRE(deep_findings(*store) == "");

  // All gone: all space is back.
  for (const auto& [collection, objects] : model.collections) {
    Transaction t;
    for (const auto& [name, object] : objects) t.remove(collection, name);
    REQUIRE(store->commit(std::move(t)).ok());
  }
  REQUIRE(store->checkpoint().ok());
  const Result<SpaceUsage> space = store->space();
  REQUIRE(space.ok());
  REQUIRE(space->allocated == 0);
  REQUIRE(space->available == space->capacity);
  REQUIRE(deep_findings(*store) == "");
}

TEST_CASE("store: random transactions leave what plain maps say, after every kind of reopening") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) run(seed, 200);
}

}  // namespace
}  // namespace hexad::testing
