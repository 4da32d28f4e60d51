#include "core/blob/placement_plan.h"

#include <algorithm>
#include <optional>

#include "base/units.h"
#include "core/record/record.h"

namespace hexad::core {

namespace {

// What one more write is worth in bytes.
constexpr std::uint64_t kWriteCost = 4096;
// A byte in the log is written once per copy, and once more when it is packed.
constexpr std::uint64_t kLogCost = 2;
// Padding of a pack stripe that no other choice is looked for, as a part of its bytes.
constexpr std::uint64_t kGoodEnough = 64;

using Items = std::span<const PlacementItem>;
using Indexes = std::vector<std::size_t>;

struct Choice {
  PlacementPlan plan;
  std::uint64_t cost = 0;  // bytes
};

class PlacementPlanner {
 public:
  PlacementPlanner(Items items, const PlacementRules& rules)
      : items_(items),
        rules_(rules),
        max_units_(std::min(rules.max_pack_units, kMaxCellBytes / rules.unit)),
        log_left_(rules.log_bytes) {}

  PlacementPlan run() {
    PlacementPlan plan;
    Indexes open;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      (items_[i].has_place ? plan.own_stripe : open).push_back(i);
    }
    if (fit_log(bytes(open), rules_)) {
      plan.in_log = std::move(open);
    } else {
      for (const Indexes& chunk : split(open)) {
        PlacementPlan part = best(chunk).plan;
        for (const std::size_t item : part.in_log) log_left_ -= items_[item].stored;
        append(plan, std::move(part));
      }
    }
    pack_lone_ones(plan);
    return plan;
  }

 private:
  std::uint64_t stripe(std::uint64_t units) const { return units * rules_.unit * rules_.k; }
  std::uint64_t writes(std::uint64_t stripes) const { return stripes * rules_.cells * kWriteCost; }
  std::uint32_t own_units(std::size_t item) const {
    return static_cast<std::uint32_t>(
        divide_up(divide_up(items_[item].stored, rules_.k), rules_.unit));
  }
  static std::uint32_t aligned(std::uint32_t bytes) {
    return static_cast<std::uint32_t>(round_up(bytes, kPackAlignment));
  }
  std::uint64_t bytes(const Indexes& items) const {
    std::uint64_t total = 0;
    for (const std::size_t item : items) total += items_[item].stored;
    return total;
  }
  std::uint32_t footer(const Indexes& items) const {
    std::uint32_t total = rules_.footer;
    for (const std::size_t item : items) total += items_[item].footer;
    return aligned(total);
  }
  bool fits_log(const Indexes& items) const {
    return bytes(items) <= std::min<std::uint64_t>(stripe(1), log_left_);
  }

  // PP4
  void pack_lone_ones(PlacementPlan& plan) const {
    const auto is_packed = [&](std::size_t item) {
      if (2 * std::uint64_t{items_[item].stored} > stripe(own_units(item))) return false;
      PackPlan pack = lay_out({item});
      if (pack.units != own_units(item) || pack.units > max_units_) return false;
      plan.packs.push_back(std::move(pack));
      return true;
    };
    Indexes& own = plan.own_stripe;
    own.erase(std::remove_if(own.begin(), own.end(), is_packed), own.end());
  }

  // Chunks of about one size, none longer than a pack stripe may be, nor its footer than a cell;
  // the largest items of each first.
  std::vector<Indexes> split(const Indexes& items) const {
    const auto size = [&](std::size_t item) {
      return aligned(items_[item].stored) + std::uint64_t{items_[item].footer};
    };
    std::uint64_t total = 0;
    for (const std::size_t item : items) total += size(item);
    const std::uint64_t cell = std::uint64_t{std::max(1U, max_units_)} * rules_.unit;
    const std::uint64_t most =
        cell * rules_.k - std::min(cell, round_up(rules_.footer, kPackAlignment));
    const std::uint64_t wanted =
        divide_up(total, std::max<std::uint64_t>(1, divide_up(total, most)));
    std::vector<Indexes> chunks;
    std::uint64_t filled = 0;
    std::uint64_t entries = 0;
    for (const std::size_t item : items) {
      const bool over = filled + size(item) > most || entries + items_[item].footer > cell / 2;
      // The last chunk takes what rounding has left over: alone it would make a poor stripe.
      if (chunks.empty() || over || filled >= wanted) {
        chunks.emplace_back();
        filled = entries = 0;
      }
      chunks.back().push_back(item);
      filled += size(item);
      entries += items_[item].footer;
    }
    for (Indexes& chunk : chunks) {
      std::stable_sort(chunk.begin(), chunk.end(), [&](std::size_t a, std::size_t b) {
        return items_[a].stored > items_[b].stored;
      });
    }
    return chunks;
  }

  // A few large items can make all cells of a pack stripe long. So the largest ones get stripes of
  // their own, as many as is cheapest, and the rest shares one or goes into the log.
  Choice best(const Indexes& chunk) const {
    Choice best = own_stripes(chunk);
    Choice own;  // of the largest items
    for (std::size_t large = 0; large < chunk.size(); large += 1 + large / 4) {
      for (std::size_t i = own.plan.own_stripe.size(); i < large; ++i) {
        own.cost += own_cost(chunk[i]);
        own.plan.own_stripe.push_back(chunk[i]);
      }
      if (own.cost >= best.cost) break;
      const Indexes rest(chunk.begin() + static_cast<std::ptrdiff_t>(large), chunk.end());
      std::optional<Choice> shared = one_pack(rest);
      const bool good = shared.has_value() && shared->cost <= bytes(rest) / kGoodEnough + writes(1);
      if (!good) {
        for (auto other : {all_in_log(rest), full_pack(rest)}) {
          if (is_cheaper(other, shared)) shared = std::move(other);
        }
      }
      if (shared.has_value() && own.cost + shared->cost < best.cost) {
        best = own;
        best.cost += shared->cost;
        append(best.plan, std::move(shared->plan));
      }
      if (good) break;
    }
    return best;
  }

  std::uint64_t own_cost(std::size_t item) const {
    return stripe(own_units(item)) - items_[item].stored + writes(1);
  }

  Choice own_stripes(const Indexes& items) const {
    Choice choice;
    for (const std::size_t item : items) choice.cost += own_cost(item);
    choice.plan.own_stripe = items;
    return choice;
  }

  std::optional<Choice> all_in_log(const Indexes& items) const {
    if (!fits_log(items)) return std::nullopt;
    Choice choice;
    choice.cost = kLogCost * bytes(items);
    choice.plan.in_log = items;
    return choice;
  }

  // Each item into the emptiest cell: the cells end up about even.
  PackPlan lay_out(const Indexes& items) const {
    std::vector<std::uint64_t> filled(rules_.k, 0);
    filled.back() = footer(items);
    PackPlan pack;
    std::vector<std::uint32_t> next(rules_.k, 0);
    for (const std::size_t item : items) {
      const auto least = std::min_element(filled.begin(), filled.end());
      const auto cell = static_cast<std::uint32_t>(least - filled.begin());
      pack.slots.push_back({item, cell, next[cell]});
      next[cell] += aligned(items_[item].stored);
      *least += aligned(items_[item].stored);
    }
    const std::uint64_t units =
        divide_up(*std::max_element(filled.begin(), filled.end()), rules_.unit);
    pack.units = static_cast<std::uint32_t>(units);
    finish(pack);
    return pack;
  }

  // Nothing when the cells get too long, and for a single item: pack_lone_ones().
  std::optional<Choice> one_pack(const Indexes& items) const {
    PackPlan pack = lay_out(items);
    if (items.size() < 2 || pack.units > max_units_) return std::nullopt;
    Choice choice;
    choice.cost = stripe(pack.units) - bytes(items) + writes(1);
    choice.plan.packs.push_back(std::move(pack));
    return choice;
  }

  // As many items as fill whole units of all cells; the rest into the log or stripes of their own.
  std::optional<Choice> full_pack(const Indexes& items) const {
    const std::uint32_t tail = footer(items);  // of all: never less than what is needed
    const auto units = static_cast<std::uint32_t>(
        std::min<std::uint64_t>((bytes(items) + tail) / stripe(1), max_units_));
    const std::uint32_t length = units * rules_.unit;
    if (tail > length) return std::nullopt;
    std::vector<std::uint32_t> room(rules_.k, length);
    room.back() = length - tail;
    std::vector<std::uint32_t> next(rules_.k, 0);
    Choice choice;
    PackPlan pack;
    pack.units = units;
    std::uint64_t log_left = std::min(log_left_, stripe(1));
    std::uint64_t packed = 0;
    for (const std::size_t item : items) {
      const std::uint32_t size = aligned(items_[item].stored);
      const auto most = std::max_element(room.begin(), room.end());
      const auto cell = static_cast<std::uint32_t>(most - room.begin());
      if (*most >= size) {
        pack.slots.push_back({item, cell, next[cell]});
        next[cell] += size;
        *most -= size;
        packed += items_[item].stored;
      } else if (items_[item].stored <= log_left) {
        log_left -= items_[item].stored;
        choice.cost += kLogCost * items_[item].stored;
        choice.plan.in_log.push_back(item);
      } else {
        choice.cost += own_cost(item);
        choice.plan.own_stripe.push_back(item);
      }
    }
    if (pack.slots.size() < 2) return std::nullopt;
    choice.cost += stripe(units) - packed + writes(1);
    finish(pack);
    choice.plan.packs.push_back(std::move(pack));
    return choice;
  }

  static bool is_cheaper(const std::optional<Choice>& choice, const std::optional<Choice>& than) {
    return choice.has_value() && (!than.has_value() || choice->cost < than->cost);
  }

  static void finish(PackPlan& pack) {
    std::sort(pack.slots.begin(), pack.slots.end(),
              [](const PackPlan::Slot& a, const PackPlan::Slot& b) {
                return a.cell != b.cell ? a.cell < b.cell : a.offset < b.offset;
              });
  }

  static void append(PlacementPlan& plan, PlacementPlan more) {
    for (PackPlan& pack : more.packs) plan.packs.push_back(std::move(pack));
    plan.own_stripe.insert(plan.own_stripe.end(), more.own_stripe.begin(), more.own_stripe.end());
    plan.in_log.insert(plan.in_log.end(), more.in_log.begin(), more.in_log.end());
  }

  Items items_;
  const PlacementRules& rules_;
  std::uint32_t max_units_;  // of one cell; 0: no pack stripes
  std::uint64_t log_left_;
};

}  // namespace

bool fit_log(std::uint64_t bytes, const PlacementRules& rules) {
  return bytes <= std::min(std::uint64_t{rules.unit} * rules.k, rules.log_bytes);
}

PlacementPlan plan_placement(std::span<const PlacementItem> items, const PlacementRules& rules) {
  return PlacementPlanner(items, rules).run();
}

}  // namespace hexad::core
