#include "tests/core/omap_model.h"

#include <optional>
#include <utility>
#include <vector>

namespace hexad::testing {

namespace {

// Empty `end`: to the last.
auto range_of(const ModelOmap& omap, const std::string& first, const std::string& end) {
  const auto from = omap.keys.lower_bound(first);
  const auto to = end.empty() ? omap.keys.end() : omap.keys.lower_bound(end);
  return std::pair{from, !end.empty() && end < first ? from : to};
}

std::string pages_difference(Store& store, const std::string& collection, const std::string& name,
                             const ModelOmap& omap, OmapOptions options) {
  auto [expected, last] =
      range_of(omap, options.start_after.empty() ? "" : options.start_after + '\0', options.end);
  for (;;) {
    const Result<OmapPage> page = store.omap_list(collection, name, options);
    if (!page.ok()) return "omap_list: " + page.error().to_string();
    for (const OmapEntry& entry : page->entries) {
      if (expected == last) return "omap_list: more keys than there are";
      const std::string& value = *expected->second;
      if (entry.key != expected->first) return "omap_list: another key";
      if (entry.size != value.size()) return "omap_list: another size";
      if (as_text(entry.value) != (options.values ? value : "")) return "omap_list: another value";
      ++expected;
    }
    if (page->next.empty()) break;
    if (page->entries.empty()) return "omap_list: an empty page, and it goes on";
    options.start_after = page->next;
  }
  return expected == last ? "" : "omap_list: keys are missing";
}

}  // namespace

bool is_omap_op(OpKind kind) {
  return kind == OpKind::kOmapSet || kind == OpKind::kOmapRemove ||
         kind == OpKind::kOmapRemoveRange || kind == OpKind::kOmapClear ||
         kind == OpKind::kOmapSetHeader;
}

bool apply_omap_op(const TransactionOp& op, ModelOmapRef& omap) {
  ModelOmap next = omap == nullptr ? ModelOmap{} : *omap;
  switch (op.kind) {
    case OpKind::kOmapSet:
      next.keys[op.other] = std::make_shared<const std::string>(as_text(op.payload));
      break;
    case OpKind::kOmapSetHeader:
      if (op.payload.empty() && next.header.empty()) return false;
      next.header = as_text(op.payload);
      break;
    case OpKind::kOmapRemove:
      if (next.keys.erase(op.other) == 0) return false;
      break;
    case OpKind::kOmapRemoveRange: {
      const auto [from, to] = range_of(next, op.other, op.other_collection);
      if (from == to) return false;
      next.keys.erase(from, to);
      break;
    }
    default:  // kOmapClear
      if (omap == nullptr) return false;
      omap = nullptr;
      return true;
  }
  omap = std::make_shared<const ModelOmap>(std::move(next));
  return true;
}

bool omap_guard_holds(const TransactionOp& op, const ModelOmapRef& omap) {
  const bool there = omap != nullptr && omap->keys.count(op.other) > 0;
  if (op.kind == OpKind::kExpectOmapAbsent) return !there;
  return there && *omap->keys.at(op.other) == as_text(op.payload);
}

std::string omap_difference(Store& store, const std::string& collection, const std::string& name,
                            const ModelOmapRef& model, io::Rng& rng) {
  static const ModelOmap kNone;
  const ModelOmap& omap = model == nullptr ? kNone : *model;
  const Result<Bytes> header = store.omap_header(collection, name);
  if (!header.ok()) return "omap_header: " + header.error().to_string();
  if (as_text(*header) != omap.header) return "omap_header: another one";
  std::vector<std::string> keys = {"absent"};
  for (const auto& [key, value] : omap.keys) keys.push_back(key);
  const auto found = store.omap_get(collection, name, keys);
  if (!found.ok()) return "omap_get: " + found.error().to_string();
  if (found->size() != omap.keys.size()) return "omap_get: another number of keys";
  for (const auto& [key, value] : *found) {
    if (as_text(value) != *omap.keys.at(key)) return "omap_get: another value";
  }
  OmapOptions options;
  if (std::string why = pages_difference(store, collection, name, omap, options); !why.empty()) {
    return why;
  }
  options.start_after = rng.chance(1, 2) ? "" : keys[rng.below(keys.size())];
  options.end = rng.chance(1, 2) ? "" : keys[rng.below(keys.size())];
  options.limit = 1 + rng.below(4);
  options.values = rng.chance(1, 2);
  return pages_difference(store, collection, name, omap, options);
}

}  // namespace hexad::testing
