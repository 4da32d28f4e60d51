// Metadata in a map, and the sequencer's way with transactions over it, without space, log or
// devices: for the parts of the planner.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "compression/compressor.h"
#include "core/blob/blob_prepare.h"
#include "core/cache/page_memory.h"
#include "core/plan/owners.h"
#include "core/plan/planner.h"
#include "core/record/keys.h"
#include "core/record/object_extents.h"
#include "ec/codec.h"
#include "io/memory_system.h"

namespace hexad::core::testing {

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
  std::unique_ptr<KnownPage> take_page(BodyId body, std::uint32_t page) override {
    return fails ? nullptr : pages.take(body, page);
  }
  void give_page_back(BodyId body, std::uint32_t page, std::unique_ptr<KnownPage> known) override {
    pages.put(body, page, std::move(known));
  }

  std::map<std::string, std::string> map;
  PageMemory pages{100'000};
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
struct PlannerWorld {
  PlannerWorld() {
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
      ops.back() = cut(op, base, Inlining::kOfSmall);
    }
    return ops;
  }
  PreparedOp cut(const TransactionOp& op, std::uint64_t base, Inlining inlining) {
    return prepare_payload(preparer, op.payload, op.hint, {}, base, inlining).value();
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
          if (piece.prepared.is_unplaced()) blob.log = {context.lsn, index};
          if (!piece.prepared.is_unplaced()) {
            blob.where = {1, next_unit, piece.prepared.units};
            next_unit += piece.prepared.units;
          }
          ++index;
        }
      }
      Result<Plan> result = plan_transaction(transaction, prepared, context, source);
      if (!result.ok() || result->redo.empty()) return result;
      for (const Redo& redo : result->redo) {
        if (redo.copy != 0) {
          prepared[redo.op].copied = copy(redo.copy, cloned_range(transaction.ops()[redo.op]));
          continue;
        }
        if (!redo.count.empty()) {
          prepared[redo.op].counted = count(redo.count);
          continue;
        }
        prepared[redo.op] = cut(transaction.ops()[redo.op], redo.base, redo.inlining);
      }
    }
  }

  // Carries the plan out: images into the metadata, new blobs into `alive`, releases out of it.
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
        if (!plan.refers_to(id)) continue;
        alive.blobs.insert(id);
        bytes[id] = as_text(raw);
      }
    }
    apply(plan.record);
    for (const std::optional<BlobOwner>& owner : plan.owners) {
      if (owner.has_value()) REQUIRE(source.map.count(owner->key) == 1);
    }
    for (const DecodedPage& page : plan.pages) {
      source.pages.put(page.body, page.page, std::make_unique<KnownPage>(*page.known));
    }
    check_pages();
    for (const PostImage& image : plan.totals) {
      source.map.erase(image.key);
      if (image.value.has_value()) source.map[image.key] = *image.value;
    }
    for (const auto& copied : plan.copies) copied->taken = true;
    for (const PreparedOp& op : prepared) {
      if (op.copied != nullptr && !op.copied->taken) drop(op.copied->to);
    }
    for (const BodyId body : plan.deletions.bodies) drop(body);
    cut_bodies.insert(plan.deletions.cuts.begin(), plan.deletions.cuts.end());
  }
  void apply(const LogRecord& record) {
    for (const alloc::Extent& extent : record.freed) {
      alive.die({extent.zone, extent.unit, 0, 0, {}});
    }
    for (const LogPlace& place : record.unplaced_releases) alive.die({0, 0, 0, 0, place});
    REQUIRE(record.packed_releases.empty());
    std::set<std::string> keys;
    for (const PostImage& image : record.images) {
      REQUIRE(keys.insert(image.key).second);  // one image for each key
      if (const Result<PageKey> page = parse_page_key(image.key); page.ok()) {
        source.pages.forget(page->body, page->page);
      }
      if (image.value.has_value()) {
        source.map[image.key] = *image.value;
      } else {
        source.map.erase(image.key);
      }
    }
  }
  // C9 of core/cache/page_memory.h.
  void check_pages() {
    for (const auto& [key, value] : source.map) {
      const Result<PageKey> page = parse_page_key(key);
      if (!page.ok()) continue;
      const KnownPage* const known = source.pages.find(page->body, page->page);
      if (known != nullptr) {
        REQUIRE(known->extents == decode_page(value, page->page, shape.record).value());
        REQUIRE(known->code.value == value);
      }
    }
  }
  // What the background does with the pages of a removed object.
  void drop(BodyId body) {
    REQUIRE(source.map.erase(writer_key(body)) == 1);
    LogRecord record;
    BlobOwners owners;
    each_page(body, [&](std::string_view key, const ExtentList& page) {
      owners.give_up({key}, page, record);
      record.images.push_back({std::string(key), std::nullopt});
    });
    REQUIRE(owners.finish(source, record).ok());
    apply(record);
  }
  // What the engine does with the names of a collection that is to be split.
  std::shared_ptr<CountedNames> count(const std::vector<NameRange>& ranges) {
    auto counted = std::make_shared<CountedNames>();
    counted->ranges = ranges;
    for (const NameRange& range : ranges) {
      const auto end = source.map.lower_bound(range.end_key());
      for (auto at = source.map.lower_bound(range.first_key()); at != end; ++at) {
        add_to(counted->there, decode_summary(at->second)->size);
      }
    }
    return counted;
  }
  // What the engine does with the pages of an object that is to be cloned, or a range of it.
  std::shared_ptr<CopiedPages> copy(BodyId from, const ShiftedRange& range = {}) {
    auto copied = std::make_shared<CopiedPages>();
    copied->from = from;
    copied->range = range;
    copied->to = ++last_body;
    copied->until = kEndOfPages;
    PageCuts cut;
    const auto marks = source.map.find(cut_key(from));
    if (marks != source.map.end()) cut = decode_cuts(marks->second).value();
    LogRecord record;
    BlobOwners owners;
    record.images.push_back({writer_key(copied->to), std::string()});
    std::map<std::uint32_t, ExtentList> copies;
    each_page(from, [&](std::string_view key, const ExtentList& page) {
      const std::uint32_t index = parse_page_key(key)->page;
      if (is_cut(cut, index)) return;
      ExtentList now = page;
      if (give_share_ids(now, [&] { return ShareId{context.new_body().value()}; })) {
        record.images.push_back({std::string(key), encode_page(now, shape.record)});
      }
      owners.note(now);
      const PageRange shown = range.shown_by(index);
      for (std::uint32_t to = shown.from; to < shown.end; ++to) {
        add_shifted(copies[to], now, range, to);
      }
    });
    for (auto& [to, extents] : copies) {
      owners.change({}, {}, {{}, copied->to, to}, extents, record);
      if (extents.empty()) continue;
      record.images.push_back({page_key(copied->to, to), encode_page(extents, shape.record)});
    }
    REQUIRE(owners.finish(source, record).ok());
    apply(record);
    return copied;
  }
  // What it does with pages that are cut off: so many of them at most.
  void take_cuts(BodyId body, std::size_t most) {
    const auto value = source.map.find(cut_key(body));
    if (value == source.map.end()) {
      cut_bodies.erase(body);
      return;
    }
    PageCuts marks = decode_cuts(value->second).value();
    LogRecord record;
    BlobOwners owners;
    std::size_t taken = 0;
    std::optional<std::uint32_t> next;
    each_page(body, [&](std::string_view key, const ExtentList& extents) {
      const std::uint32_t page = parse_page_key(key)->page;
      if (!is_cut(marks, page) || next.has_value()) return;
      if (taken++ == most) {
        next = page;
        return;
      }
      owners.give_up({key}, extents, record);
      record.images.push_back({std::string(key), std::nullopt});
    });
    PageCuts left;
    for (const PageRange& mark : marks) {
      if (next.has_value()) add_cut(left, {std::max(mark.from, *next), mark.end});
    }
    std::optional<std::string> image;
    if (!left.empty()) image = encode_cuts(left);
    record.images.push_back({cut_key(body), image});
    REQUIRE(owners.finish(source, record).ok());
    apply(record);
  }
  // O1 to O3 of core/record/page_cuts.h.
  void check_cuts() {
    for (const auto& [key, value] : source.map) {
      if (!parse_object_key(key).ok()) continue;
      const ObjectRecord record = decode_object(value, shape.record).value();
      PageCuts marks;
      const auto stored = source.map.find(cut_key(record.body));
      if (stored != source.map.end()) marks = decode_cuts(stored->second).value();
      PageCuts all = record.cuts;
      for (const PageRange& mark : marks) add_cut(all, mark);
      REQUIRE(all == record.cuts);
      if (record.body == 0) continue;
      each_page(record.body, [&](std::string_view page_of, const ExtentList&) {
        const std::uint32_t page = parse_page_key(page_of)->page;
        REQUIRE(is_cut(record.cuts, page) == is_cut(marks, page));
      });
    }
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
    while (result.ok() && !result->cut.empty()) {
      for (const PreparedOp& op : prepared) {
        if (op.copied != nullptr) drop(op.copied->to);
      }
      for (const BodyId body : result->cut) take_cuts(body, ~std::size_t{0});
      result = plan(transaction);
    }
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
    each_page(record.body, [&](std::string_view key, const ExtentList& page) {
      if (is_cut(record.cuts, parse_page_key(key)->page)) return;
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
  // As the metadata counts them.
  std::uint64_t owners_of(ShareId share) {
    const auto at = source.map.find(share_key(share));
    return at == source.map.end() ? 1 : decode_owners(at->second).value();
  }
  void check_alive() {
    std::set<BlobId> named;
    std::map<ShareId, std::uint64_t> owners;
    for (const auto& [key, value] : source.map) {
      ExtentList list;
      if (const auto page = parse_page_key(key); page.ok()) {
        list = decode_page(value, page->page, shape.record).value();
      } else if (parse_object_key(key).ok()) {
        list = decode_object(value, shape.record)->extents;
      }
      for (const Blob& blob : blobs_of(list)) {
        const bool fresh = named.insert(blob.id()).second;
        REQUIRE((fresh || owners.count(blob.share) > 0));
        if (blob.share != 0) ++owners[blob.share];
      }
    }
    for (const auto& [share, count] : owners) REQUIRE(owners_of(share) == count);
    for (const auto& [key, value] : source.map) {
      if (const auto share = parse_share_key(key); share.ok()) REQUIRE(owners.count(*share) == 1);
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
  std::set<BodyId> cut_bodies;          // maybe with pages that are cut off
  BodyId last_body = 0;
  Lsn last_lsn = 0;
  std::uint32_t next_unit = 1;
};

inline std::string text(std::size_t size, char with = 'x') { return std::string(size, with); }

}  // namespace hexad::core::testing
