#include "core/planner.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "base/units.h"
#include "core/keys.h"
#include "core/object_extents.h"
#include "core/plan_result.h"
#include "core/staged_object.h"
#include "io/memory_system.h"
#include "io/rng.h"
#include "tests/core/sample_records.h"

namespace hexad::core {
namespace {

class MapSource : public PlanSource {
 public:
  Result<std::optional<std::string>> get(std::string_view key) override {
    if (fails) return Error{ErrorCode::kIo, "told to fail", ""};
    const auto at = map.find(std::string(key));
    return at == map.end() ? std::nullopt : std::optional(at->second);
  }
  Status scan(std::string_view prefix, const Visit& visit) override {
    if (fails) return Error{ErrorCode::kIo, "told to fail", ""};
    for (auto at = map.lower_bound(std::string(prefix));
         at != map.end() && at->first.compare(0, prefix.size(), prefix) == 0; ++at) {
      HEXAD_TRY_ASSIGN(const bool more, visit(at->first, at->second));
      if (!more) break;
    }
    return {};
  }

  std::map<std::string, std::string> map;
  bool fails = false;
};

// What is alive in stripes and log, by the records of committed transactions; nothing may die that
// does not live, and nothing may live that no record names.
struct Alive {
  std::set<BlobId> blobs;

  void die(const BlobId& id) {
    CAPTURE(id.zone, id.unit, id.log.lsn, id.log.index);
    REQUIRE(blobs.erase(id) == 1);
  }
};

// The world of a sequencer, with bytes kept by the identity of their blobs.
struct World {
  World() {
    shape.private_threshold = 20'000;
    context.shape = shape.record;
    context.new_body = [this] { return ++last_body; };
    context.default_compression.required_ratio = 800;
    must([](Transaction& t) { t.create_collection("c"); });
  }

  PreparedOps prepare(const Transaction& transaction) {
    PreparedOps ops;
    for (const TransactionOp& op : transaction.ops()) {
      ops.emplace_back();
      if (op.payload.empty() || op.kind == OpKind::kSetAttr) continue;
      const std::uint64_t base = op.kind == OpKind::kWrite ? op.offset : 0;
      ops.back() = cut(op, base, false);
    }
    return ops;
  }
  PreparedOp cut(const TransactionOp& op, std::uint64_t base, bool never_inline) {
    return prepare_payload(preparer, op.payload, op.hint, {}, base, never_inline).value();
  }

  // As the sequencer does: names and places for all blobs, until nothing is to be done again.
  Result<Plan> plan(const Transaction& transaction) {
    context.lsn = last_lsn + 1;
    context.time = static_cast<std::int64_t>(context.lsn * 1000);
    prepared = prepare(transaction);
    for (;;) {
      std::uint32_t index = 0;
      for (PreparedOp& op : prepared) {
        for (PayloadPiece& piece : op.pieces) {
          if (!piece.bytes.empty()) continue;
          Blob& blob = piece.prepared.blob;
          if (piece.prepared.is_young()) blob.log = {context.lsn, index};
          if (!piece.prepared.is_young()) {
            blob.where = {1, next_unit, piece.prepared.units};
            next_unit += piece.prepared.units;
          }
          ++index;
        }
      }
      Result<Plan> result = plan_transaction(transaction, prepared, context, source);
      if (!result.ok() || result->redo.empty()) return result;
      for (const Redo& redo : result->redo) {
        prepared[redo.op] = cut(transaction.ops()[redo.op], redo.base, redo.never_inline);
      }
    }
  }

  // Carries the plan out: images into the metadata, new blobs into `alive`, deaths out of it.
  void commit(const Transaction& transaction, const Plan& plan) {
    REQUIRE(plan.crowded.empty());
    REQUIRE(plan.record.time == context.time);
    ++last_lsn;
    for (std::size_t i = 0; i < prepared.size(); ++i) {
      std::size_t at = 0;
      for (const PayloadPiece& piece : prepared[i].pieces) {
        const ByteView raw = transaction.ops()[i].payload.subspan(at, piece.length);
        at += piece.length;
        if (!piece.bytes.empty()) continue;
        const BlobId id = piece.prepared.blob.id();
        if (plan.referenced.count(id) == 0) continue;
        alive.blobs.insert(id);
        bytes[id] = as_text(raw);
        if (piece.prepared.is_young()) REQUIRE(plan.owners.count(id.log.index) == 1);
      }
    }
    apply(plan.record);
    for (const PostImage& image : plan.totals) {
      source.map.erase(image.key);
      if (image.value.has_value()) source.map[image.key] = *image.value;
    }
    for (const BodyId body : plan.doomed) drop(body);
  }
  void apply(const LogRecord& record) {
    for (const alloc::Extent& extent : record.freed) {
      alive.die({extent.zone, extent.unit, 0, 0, {}});
    }
    for (const LogPlace& place : record.young_deaths) alive.die({0, 0, 0, 0, place});
    REQUIRE(record.packed_deaths.empty());
    std::set<std::string> keys;
    for (const PostImage& image : record.images) {
      REQUIRE(keys.insert(image.key).second);  // one image for each key
      if (image.value.has_value()) {
        source.map[image.key] = *image.value;
      } else {
        source.map.erase(image.key);
      }
    }
  }
  // What the background does with the pages of a removed object.
  void drop(BodyId body) {
    REQUIRE(source.map.erase(writer_key(body)) == 1);
    LogRecord record;
    each_page(body, [&](std::string_view key, const ExtentList& page) {
      for (const Blob& blob : blobs_of(page)) add_death(record, blob);
      record.images.push_back({std::string(key), std::nullopt});
    });
    apply(record);
  }
  void each_page(BodyId body,
                 const std::function<void(std::string_view, const ExtentList&)>& visit) {
    const auto decode = [&](std::string_view key, std::string_view value) -> Result<bool> {
      const PageKey page = parse_page_key(key).value();
      visit(key, decode_page(value, page.page, shape.record).value());
      return true;
    };
    REQUIRE(source.scan(page_prefix(body), decode).ok());
  }

  Plan must(const std::function<void(Transaction&)>& build) {
    Transaction transaction;
    build(transaction);
    Result<Plan> result = plan(transaction);
    INFO((result.ok() ? "" : result.error().message));
    REQUIRE(result.ok());
    commit(transaction, *result);
    return std::move(result).value();
  }
  ErrorCode refused(const std::function<void(Transaction&)>& build) {
    const auto before = source.map;
    Transaction transaction;
    build(transaction);
    const Result<Plan> result = plan(transaction);
    REQUIRE_FALSE(result.ok());
    REQUIRE(source.map == before);
    return result.error().code;
  }

  std::optional<ObjectRecord> object(std::string_view name) {
    const auto at = source.map.find(object_key(1, name));
    if (at == source.map.end()) return std::nullopt;
    return decode_object(at->second, shape.record).value();
  }
  // The extents of all pages.
  ExtentList extents(const ObjectRecord& record) {
    if (record.body == 0) return record.extents;
    ExtentList all;
    each_page(record.body, [&](std::string_view, const ExtentList& page) {
      all.insert(all.end(), page.begin(), page.end());
    });
    return all;
  }
  std::string read(std::string_view name) {
    const ObjectRecord record = object(name).value();
    std::string data(record.size, '\0');
    for (const Extent& extent : extents(record)) {
      data.replace(extent.offset, extent.length,
                   extent.is_inline()
                       ? extent.bytes
                       : bytes.at(extent.blob.id()).substr(extent.blob_offset, extent.length));
    }
    return data;
  }
  void check_alive() {
    std::set<BlobId> named;
    for (const auto& [key, value] : source.map) {
      ExtentList list;
      if (const auto page = parse_page_key(key); page.ok()) {
        list = decode_page(value, page->page, shape.record).value();
      } else if (parse_object_key(key).ok()) {
        list = decode_object(value, shape.record)->extents;
      }
      for (const Blob& blob : blobs_of(list)) REQUIRE(named.insert(blob.id()).second);
    }
    REQUIRE(named == alive.blobs);
  }

  StoreShape shape;
  io::MemorySystem system;
  compression::Counters counters;
  compression::Compressor compressor{system.clock(), counters};
  std::unique_ptr<ec::Codec> codec = ec::make_codec(shape.profile).value();
  BlobPreparer preparer{shape, *codec, compressor};
  PlanContext context;
  MapSource source;
  PreparedOps prepared;
  Alive alive;
  std::map<BlobId, std::string> bytes;  // raw
  BodyId last_body = 0;
  Lsn last_lsn = 0;
  std::uint32_t next_unit = 1;
};

std::string text(std::size_t size, char with = 'x') { return std::string(size, with); }

TEST_CASE("planner: a put leaves one image, its owner, and the death of what was there") {
  World w;
  Plan plan = w.must([](Transaction& t) { t.put("c", "a", text(5000)); });
  const LogPlace first{w.last_lsn, 0};
  REQUIRE(plan.record.images.size() == 1);
  CHECK(plan.record.images[0].key == object_key(1, "a"));
  CHECK(plan.referenced == std::set<BlobId>{{0, 0, 0, 0, first}});
  CHECK(plan.owners.at(0).key == object_key(1, "a"));
  CHECK(plan.owners.at(0).offset == 0);
  CHECK(plan.record.allocated.empty());  // the caller adds the stripes of prepared blobs
  CHECK(w.object("a")->version == w.last_lsn);
  CHECK(w.object("a")->mtime == w.context.time);
  CHECK(has_young_blob(plan.record.images[0].value.value()));

  plan = w.must([](Transaction& t) { t.put("c", "a", text(30'000)); });
  CHECK(plan.record.young_deaths == std::vector<LogPlace>{first});
  CHECK(plan.owners.empty());
  const alloc::Extent stripe = w.object("a")->extents.at(0).blob.where;
  plan = w.must([](Transaction& t) { t.put("c", "a", "tiny"); });
  CHECK(plan.record.freed == std::vector<alloc::Extent>{stripe});
  CHECK(w.object("a")->extents.at(0).is_inline());
  plan = w.must([](Transaction& t) { t.remove("c", "a"); });
  CHECK(plan.record.images == std::vector<PostImage>{{object_key(1, "a"), std::nullopt}});
  CHECK(w.alive.blobs.empty());
}

TEST_CASE("planner: what a later op replaces is neither referenced nor dies") {
  World w;
  const Plan plan = w.must([](Transaction& t) {
    t.put("c", "a", text(5000, 'x'));
    t.put("c", "a", text(6000, 'y'));
    t.put("c", "b", text(300, 'z'));
    t.rename("c", "b", "c", "z");
  });
  CHECK(plan.referenced.size() == 2);
  CHECK(plan.referenced.count({0, 0, 0, 0, {w.last_lsn, 0}}) == 0);
  CHECK(plan.owners.at(2).key == object_key(1, "z"));
  CHECK(plan.record.young_deaths.empty());
  CHECK(w.read("a") == text(6000, 'y'));
  CHECK(w.read("z") == text(300, 'z'));
  CHECK_FALSE(w.object("b").has_value());
  w.check_alive();
}

TEST_CASE("planner: an owner's offset is where the blob begins, whatever of it is still shown") {
  World w;
  const Plan plan = w.must([](Transaction& t) {
    t.write("c", "a", 3 * kPageSpan + 1000, as_bytes(text(5000)));
    t.write("c", "a", 3 * kPageSpan + 500, as_bytes(text(600)));
  });
  CHECK(plan.owners.at(0).offset == 3 * kPageSpan + 1000);
  CHECK(plan.owners.at(1).offset == 3 * kPageSpan + 500);
  w.check_alive();
}

TEST_CASE("planner: errors name the object, and leave nothing behind") {
  World w;
  w.must([](Transaction& t) { t.put("c", "a", text(5000)); });
  const Lsn version = w.object("a")->version;
  using Code = ErrorCode;
  CHECK(w.refused([](Transaction& t) { t.put("none", "a", "x"); }) == Code::kNotFound);
  CHECK(w.refused([](Transaction& t) { t.create("c", "a"); }) == Code::kAlreadyExists);
  CHECK(w.refused([](Transaction& t) { t.create_collection("c"); }) == Code::kAlreadyExists);
  CHECK(w.refused([](Transaction& t) { t.remove_collection("c"); }) == Code::kNotEmpty);
  CHECK(w.refused([](Transaction& t) { t.remove_collection("d"); }) == Code::kNotFound);
  CHECK(w.refused([](Transaction& t) { t.set_attr("c", "b", "k", "v"); }) == Code::kNotFound);
  CHECK(w.refused([](Transaction& t) { t.rename("c", "b", "c", "d"); }) == Code::kNotFound);
  CHECK(w.refused([](Transaction& t) { t.rename("c", "a", "c", "a"); }) == Code::kAlreadyExists);
  CHECK(w.refused([](Transaction& t) { t.expect_absent("c", "a"); }) == Code::kConflict);
  CHECK(w.refused([](Transaction& t) { t.expect_exists("c", "b"); }) == Code::kConflict);
  CHECK(w.refused([](Transaction& t) { t.expect_exists("d", "b"); }) == Code::kConflict);
  CHECK(w.refused([&](Transaction& t) { t.expect_version("c", "a", version + 1); }) ==
        Code::kConflict);
  // Guards look at the state before, wherever they stand.
  CHECK(w.refused([](Transaction& t) {
    t.remove("c", "a");
    t.expect_absent("c", "a");
  }) == Code::kConflict);
  CHECK(w.refused([](Transaction& t) {
    t.set_attr("c", "a", "k", text(40'000));
    t.set_attr("c", "a", "l", text(40'000));
  }) == Code::kTooBig);
  CHECK(w.refused([](Transaction& t) {
    t.truncate("c", "a", kMaxObjectSize - 10);
    t.append("c", "a", as_bytes(text(11)));
  }) == Code::kTooBig);
  w.source.map[object_key(1, "broken")] = "\x01\x01";
  CHECK(w.refused([](Transaction& t) { t.touch("c", "broken"); }) == Code::kCorruption);
  w.source.fails = true;
  CHECK(w.refused([](Transaction& t) { t.put("c", "a", "x"); }) == Code::kIo);
}

TEST_CASE("planner: collections get ids that are never used again") {
  World w;
  Plan plan = w.must([](Transaction& t) {
    t.create_collection("d");
    t.put("d", "o", text(1000));
  });
  CHECK(w.source.map.count(object_key(2, "o")) == 1);
  const std::string value = w.source.map.at(collection_key("d"));
  CHECK(decode_collection(value)->compression == w.context.default_compression);
  w.must([](Transaction& t) {
    t.remove("d", "o");
    t.remove_collection("d");
  });
  w.must([](Transaction& t) { t.create_collection("d"); });
  CHECK(decode_collection(w.source.map.at(collection_key("d")))->id == 3);
  CHECK(w.alive.blobs.empty());
}

TEST_CASE("planner: small writes that no longer fit inline are asked for as blobs") {
  World w;
  for (std::uint64_t i = 0; i < 16; ++i) {
    w.must([&](Transaction& t) { t.write("c", "a", i * 1000, as_bytes(text(256))); });
  }
  CHECK(w.alive.blobs.empty());
  w.must([](Transaction& t) { t.write("c", "a", 20'000, as_bytes(text(100))); });
  CHECK(w.alive.blobs.size() == 1);
  CHECK(w.read("a").size() == 20'100);
}

TEST_CASE("planner: an append is cut for the size that the object has") {
  World w;
  w.must([](Transaction& t) { t.put("c", "a", text(kPageSpan - 100, 'a')); });
  const Plan plan = w.must([](Transaction& t) {
    t.append("c", "a", as_bytes(text(5000, 'b')));
    t.append("c", "a", as_bytes(text(5000, 'c')));
  });
  CHECK(w.read("a") == text(kPageSpan - 100, 'a') + text(5000, 'b') + text(5000, 'c'));
  CHECK(w.object("a")->body != 0);
  w.check_alive();
}

TEST_CASE("planner: a large object is doomed as a whole, a smaller one freed at once") {
  World w;
  const auto make = [&](std::uint64_t size) {
    w.must([&](Transaction& t) {
      t.put("c", "a", text(400));
      for (std::uint64_t at = kPageSpan; at < size; at += 8 * kPageSpan) {
        t.write("c", "a", at, as_bytes(text(400)));
      }
      t.truncate("c", "a", size);
    });
    return w.object("a")->body;
  };
  BodyId body = make(kDoomedSize);
  Plan plan = w.must([](Transaction& t) { t.remove("c", "a"); });
  CHECK(plan.doomed.empty());
  CHECK(plan.record.young_deaths.size() == 9);
  CHECK(w.alive.blobs.empty());

  body = make(kDoomedSize + 1);
  plan = w.must([](Transaction& t) { t.remove("c", "a"); });
  CHECK(plan.doomed == std::vector<BodyId>{body});
  CHECK(plan.record.young_deaths.empty());
  CHECK(plan.record.images == std::vector<PostImage>{{writer_key(body), std::string()},
                                                     {object_key(1, "a"), std::nullopt}});
  w.check_alive();

  body = make(kDoomedSize + 1);
  plan = w.must([](Transaction& t) { t.put("c", "a", text(1000)); });
  CHECK(plan.doomed == std::vector<BodyId>{body});
  CHECK(w.object("a")->body == 0);
  CHECK(w.read("a") == text(1000));
  body = make(kDoomedSize + 1);
  plan = w.must([](Transaction& t) { t.truncate("c", "a", 0); });
  CHECK(plan.doomed == std::vector<BodyId>{body});
  CHECK(w.read("a").empty());
  w.check_alive();
}

TEST_CASE("planner: a blob whose place is known by now dies by that place, and is renamed by it") {
  World w;
  w.must([](Transaction& t) {
    t.put("c", "a", text(5000));
    t.put("c", "b", text(4000));
  });
  LogBlobs log_blobs(w.system.executor(), w.shape.record);
  const YoungPlace place = packed_place({w.last_lsn, 0}, 5000, {4, 70, 0}, {2, 640});
  log_blobs.set_place(place);
  w.context.log_blobs = &log_blobs;
  Transaction change;
  change.set_attr("c", "a", "k", "v");
  Plan plan = w.plan(change).value();
  REQUIRE(plan.record.images.size() == 1);
  const std::string value = plan.record.images[0].value.value();
  CHECK_FALSE(has_young_blob(value));
  CHECK(decode_object(value, w.shape.record)->extents.at(0).blob.where == place.where);
  CHECK(plan.record.packed_deaths.empty());

  Transaction removal;
  removal.remove("c", "a");
  removal.remove("c", "b");
  plan = w.plan(removal).value();
  CHECK(plan.record.packed_deaths == std::vector<PackedDeath>{{4, 70, 5000}});
  CHECK(plan.record.young_deaths == std::vector<LogPlace>{{w.last_lsn, 1}});
}

TEST_CASE("planner: a page in too many pieces is named once writing it anew helps") {
  World w;
  const auto punch_holes = [](Transaction& t, std::uint64_t from, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) t.zero("c", "a", from + 20 * i, 10);
  };
  w.must([](Transaction& t) { t.put("c", "a", text(19'000)); });
  w.must([&](Transaction& t) { punch_holes(t, 5, 200); });
  Transaction more;
  punch_holes(more, 5005, 100);
  const Plan plan = w.plan(more).value();
  REQUIRE(plan.crowded.size() == 1);
  CHECK(plan.crowded[0].collection == "c");
  CHECK(plan.crowded[0].name == "a");
  CHECK(plan.crowded[0].page == 0);
  CHECK(plan.record.images.empty());
  w.context.accept_crowded = true;
  w.must([&](Transaction& t) { punch_holes(t, 5005, 100); });
  CHECK(w.read("a").size() == 19'000);
}

TEST_CASE("planner: publishing takes over the writer's body, stripes and small object") {
  World w;
  w.must([](Transaction& t) { t.put("c", "a", text(5000)); });
  const auto staged = std::make_shared<StagedObject>();
  staged->size = 500;
  staged->attributes["k"] = "v";
  staged->stripes.push_back({{1, 500, 1}, 512, true, {}, 0});
  staged->stripes.push_back({{1, 501, 1}, 512, true, {}, 0});
  Extent extent;
  extent.length = 500;
  extent.blob.where = {1, 500, 1};
  extent.blob.cell_bytes = 512;
  extent.blob.raw = extent.blob.stored = 500;
  extent.blob.cell_sums.assign(6, 1);
  staged->pages[0] = {extent};
  TransactionOp op{OpKind::kPublish, "c", "a", "", "", 0, 0, {}, {}, Hint::kNone, staged};
  Transaction transaction;
  transaction.touch("c", "a");
  // Only Store makes such an op; here it stands behind a harmless one.
  const_cast<std::vector<TransactionOp>&>(transaction.ops()).push_back(op);
  Plan plan = w.plan(transaction).value();
  CHECK(plan.record.young_deaths == std::vector<LogPlace>{{w.last_lsn, 0}});
  CHECK(plan.record.allocated == staged->stripes);
  // A stripe of the writer that its object does not show is given back at once.
  CHECK(plan.record.freed == std::vector<alloc::Extent>{{1, 501, 1}});
  const ObjectRecord record =
      decode_object(plan.record.images.at(0).value.value(), w.shape.record).value();
  CHECK(record.size == 500);
  CHECK(record.attributes.at("k") == "v");
  staged->problem = Error{ErrorCode::kIo, "the writer has failed", ""};
  CHECK(w.plan(transaction).error().code == ErrorCode::kIo);
}

// An object in the simplest words.
struct ModelObject {
  std::string data;
  Attributes attributes;
};

TEST_CASE("planner: random transactions match strings, and every blob dies exactly once") {
  const std::uint64_t seed = GENERATE(range(1, 9));
  CAPTURE(seed);
  io::Rng rng(seed);
  World w;
  w.context.accept_crowded = true;
  std::map<std::string, ModelObject> model;
  for (int step = 0; step < 250; ++step) {
    CAPTURE(step);
    auto changed = model;
    std::vector<std::string> payloads;
    const Plan plan = w.must([&](Transaction& t) {
      for (std::uint64_t i = 1 + rng.below(4); i > 0; --i) {
        const std::string name(1, static_cast<char>('a' + rng.below(5)));
        const std::string payload =
            text(1 + rng.below(1u << (3 + rng.below(14))), static_cast<char>('A' + rng.below(26)));
        const bool there = changed.contains(name);
        ModelObject& object = changed[name];
        const std::uint64_t size = object.data.size();
        const std::uint64_t offset = rng.below(rng.chance(1, 4) ? 3 * kPageSpan : size + 1000);
        switch (rng.below(9)) {
          case 0:
            t.put("c", name, payload);
            object.data = payload;
            break;
          case 1:
          case 2:
            t.write("c", name, offset, as_bytes(payload));
            object.data.resize(std::max<std::uint64_t>(size, offset + payload.size()));
            object.data.replace(offset, payload.size(), payload);
            break;
          case 3:
            t.append("c", name, as_bytes(payload));
            object.data += payload;
            break;
          case 4:
            t.zero("c", name, offset, payload.size());
            object.data.resize(std::max<std::uint64_t>(size, offset + payload.size()));
            object.data.replace(offset, payload.size(), payload.size(), '\0');
            break;
          case 5:
            t.truncate("c", name, offset);
            object.data.resize(offset);
            if (!there) changed.erase(name);
            break;
          case 6:
            t.remove("c", name);
            changed.erase(name);
            break;
          case 7:
            t.touch("c", name);
            t.set_attr("c", name, "k", payload.substr(0, 20));
            object.attributes["k"] = payload.substr(0, 20);
            break;
          default: {
            const std::string to(1, static_cast<char>('a' + rng.below(5)));
            t.touch("c", name);
            if (to == name) break;
            t.remove("c", to);
            t.rename("c", name, "c", to);
            ModelObject moved = std::move(object);
            changed.erase(name);
            changed[to] = std::move(moved);
          }
        }
      }
    });
    model = std::move(changed);
    REQUIRE(plan.doomed.empty());
    w.check_alive();
    for (const std::string name : {"a", "b", "c", "d", "e"}) {
      CAPTURE(name);
      REQUIRE(w.object(name).has_value() == model.contains(name));
      if (!model.contains(name)) continue;
      REQUIRE((w.read(name) == model[name].data));
      REQUIRE(w.object(name)->attributes == model[name].attributes);
    }
  }
}

}  // namespace
}  // namespace hexad::core
