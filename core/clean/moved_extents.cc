#include "core/clean/moved_extents.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "base/units.h"
#include "core/record/object_extents.h"

namespace hexad::core {

namespace {

// In cells of `units`; false: they do not fit.
bool lay_out(std::span<const PlacementItem> items, std::span<const std::size_t> order,
             const PlacementRules& rules, std::uint64_t footer, PackPlan& plan) {
  std::vector<std::uint64_t> left(rules.k, std::uint64_t{plan.units} * rules.unit);
  std::vector<std::uint64_t> filled(rules.k, 0);
  if (left.back() < footer) return false;
  left.back() -= footer;
  plan.slots.clear();
  for (const std::size_t item : order) {
    const auto roomiest = std::max_element(left.begin(), left.end());
    const auto cell = static_cast<std::size_t>(roomiest - left.begin());
    if (*roomiest < items[item].stored) return false;
    plan.slots.push_back(
        {item, static_cast<std::uint32_t>(cell), static_cast<std::uint32_t>(filled[cell])});
    const std::uint64_t taken = round_up(items[item].stored, kPackAlignment);
    filled[cell] += taken;
    *roomiest -= std::min(*roomiest, taken);
  }
  std::sort(plan.slots.begin(), plan.slots.end(), [](const auto& a, const auto& b) {
    return a.cell != b.cell ? a.cell < b.cell : a.offset < b.offset;
  });
  return true;
}

bool is_this(const Extent& extent, const Blob& blob) {
  if (extent.is_inline() || extent.blob.id() != blob.id()) return false;
  Blob alike = blob;
  alike.forward = extent.blob.forward;
  return extent.blob == alike;
}

}  // namespace

PackPlan lay_out_pack(std::span<const PlacementItem> items, const PlacementRules& rules) {
  std::uint64_t footer = rules.footer;
  std::uint64_t bytes = 0;
  for (const PlacementItem& item : items) {
    footer += item.footer;
    bytes += round_up(item.stored, kPackAlignment);
  }
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return items[a].stored > items[b].stored; });
  const std::uint64_t most =
      std::min<std::uint64_t>(rules.max_pack_units, kMaxCellBytes / rules.unit);
  const std::uint64_t stripe = std::uint64_t{rules.unit} * rules.k;
  PackPlan plan;
  for (std::uint64_t units = std::max<std::uint64_t>(1, divide_up(bytes + footer, stripe));
       units <= most; ++units) {
    plan.units = static_cast<std::uint32_t>(units);
    if (lay_out(items, order, rules, footer, plan)) return plan;
  }
  return {};
}

const Extent* find_packed(const ExtentList& extents, const PackedPlace& at) {
  const auto found = std::find_if(extents.begin(), extents.end(), [&](const Extent& extent) {
    const Blob& blob = extent.blob;
    return !extent.is_inline() && blob.placement == Placement::kPacked &&
           blob.where.zone == at.zone && blob.where.unit == at.unit && blob.cell == at.cell &&
           blob.cell_offset == at.cell_offset;
  });
  return found == extents.end() ? nullptr : &*found;
}

bool shows(const ExtentList& extents, const Blob& blob) {
  return std::any_of(extents.begin(), extents.end(),
                     [&](const Extent& extent) { return is_this(extent, blob); });
}

std::size_t move_blob(ExtentList& extents, const Blob& blob, const PackedPlace& to,
                      Forward forward) {
  std::size_t moved = 0;
  for (Extent& extent : extents) {
    if (!is_this(extent, blob)) continue;
    extent.blob.forward = forward;
    extent.blob.where = {to.zone, to.unit, 0};
    extent.blob.cell = to.cell;
    extent.blob.cell_offset = to.cell_offset;
    ++moved;
  }
  return moved;
}

std::uint64_t show_instead(ExtentList& extents, const ExtentList& from, const Blob& blob) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> same;  // [begin, end), in order
  for (const Extent& was : from) {
    auto now = std::partition_point(extents.begin(), extents.end(), [&](const Extent& extent) {
      return extent.end() <= was.offset;
    });
    for (; now != extents.end() && now->offset < was.end(); ++now) {
      if (now->is_inline() || now->blob != was.blob) continue;
      if (now->offset + was.blob_offset != was.offset + now->blob_offset) continue;
      const std::uint64_t begin = std::max(now->offset, was.offset);
      const std::uint64_t end = std::min(now->end(), was.end());
      if (!same.empty() && same.back().second == begin) {
        same.back().second = end;
      } else {
        same.emplace_back(begin, end);
      }
    }
  }
  std::uint64_t shown = 0;
  for (const auto& [begin, end] : same) {
    punch(extents, begin, end - begin);
    Extent extent;
    extent.offset = begin;
    extent.length = end - begin;
    extent.blob_offset = static_cast<std::uint32_t>(begin - from.front().offset);
    extent.blob = blob;
    insert(extents, std::move(extent));
    shown += end - begin;
  }
  return shown;
}

}  // namespace hexad::core
