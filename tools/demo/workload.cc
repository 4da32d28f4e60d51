#include "tools/demo/workload.h"

#include <algorithm>
#include <charconv>

#include "io/rng.h"

namespace hexad::tools::demo {

namespace {

constexpr std::uint64_t kSlots = 24;
constexpr std::uint64_t kSmallest = 64 << 10;  // bytes
constexpr int kDoublings = 6;                  // up to 4 MiB

// The finaliser of splitmix64: neighbouring inputs give unrelated seeds.
std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
  value = (value ^ value >> 27) * 0x94d049bb133111eb;
  return value ^ value >> 31;
}

std::uint64_t mix(std::uint64_t seed, std::uint64_t round, std::uint64_t number,
                  std::uint64_t slot) {
  return mix(mix(mix(mix(seed) + round) + number) + slot);
}

std::string slot_name(std::uint64_t slot) { return "object-" + std::to_string(slot); }

// Uniform in the logarithm, then not a multiple of anything.
std::uint64_t draw_size(io::Rng& rng) {
  const std::uint64_t base = kSmallest << rng.below(kDoublings);
  return base + rng.below(base);
}

// Takes the next number off `text`; fails when there is none.
bool take_number(std::string_view& text, std::uint64_t& value) {
  const std::size_t start = text.find_first_not_of(' ');
  if (start == std::string_view::npos) return false;
  text.remove_prefix(start);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

}  // namespace

Change plan_change(std::uint64_t seed, std::uint64_t round, std::uint64_t number,
                   const Model& model) {
  io::Rng rng(mix(seed, round, number, kSlots));
  Change change;
  const std::uint64_t puts = 2 + rng.below(4);
  for (std::uint64_t i = 0; i < puts; ++i) {
    const std::uint64_t slot = rng.below(kSlots);
    change.puts[slot_name(slot)] = {round, number, slot, draw_size(rng)};
  }
  Model after = model;
  for (const auto& [name, origin] : change.puts) after[name] = origin;
  if (rng.chance(1, 4)) {
    const std::string name = slot_name(rng.below(kSlots));
    if (change.puts.count(name) == 0) {
      change.removes.push_back(name);
      after.erase(name);
    }
  }
  if (rng.chance(1, 4)) {
    const std::string from = slot_name(rng.below(kSlots));
    const std::string to = slot_name(rng.below(kSlots));
    if (after.count(from) > 0 && after.count(to) == 0) change.renames.push_back({from, to});
  }
  return change;
}

void apply_change(const Change& change, Model& model) {
  for (const auto& [name, origin] : change.puts) model[name] = origin;
  for (const std::string& name : change.removes) model.erase(name);
  for (const Rename& rename : change.renames) {
    model[rename.to] = model.at(rename.from);
    model.erase(rename.from);
  }
}

Transaction build(const Change& change, std::uint64_t seed, std::uint64_t round,
                  std::uint64_t number) {
  Transaction transaction;
  for (const auto& [name, origin] : change.puts) {
    transaction.put(kLedgerCollection, name, content(seed, origin));
    transaction.set_attr(kLedgerCollection, name, kNumberAttribute, std::to_string(number));
  }
  for (const std::string& name : change.removes) transaction.remove(kLedgerCollection, name);
  for (const Rename& rename : change.renames) {
    transaction.rename(kLedgerCollection, rename.from, kLedgerCollection, rename.to);
  }
  transaction.put(kLedgerCollection, kHeadName, head_text(round, number));
  return transaction;
}

Bytes content(std::uint64_t seed, const Origin& origin) {
  Bytes bytes(origin.size);
  io::Rng rng(mix(seed, origin.round, origin.number, origin.slot));
  const bool compressible = rng.chance(1, 2);
  std::uint64_t word = 0;
  for (std::uint64_t at = 0; at < bytes.size(); at += sizeof(word)) {
    if (!compressible || at % 64 == 0) word = rng.next();
    std::memcpy(bytes.data() + at, &word, std::min<std::uint64_t>(sizeof(word), bytes.size() - at));
  }
  return bytes;
}

std::string head_text(std::uint64_t round, std::uint64_t number) {
  return std::to_string(round) + " " + std::to_string(number);
}

Result<Head> parse_head(std::string_view text) {
  Head head;
  std::string_view rest = text;
  if (take_number(rest, head.round) && take_number(rest, head.number) && rest.empty()) return head;
  return Error{ErrorCode::kCorruption, "the head object holds \"" + printable(text, 64) + "\"", ""};
}

Result<std::vector<Span>> parse_ledger(std::string_view text) {
  std::vector<Span> spans;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    Span span;
    const bool read = take_number(line, span.round) && take_number(line, span.first) &&
                      take_number(line, span.last) && line.empty();
    const std::uint64_t expected = spans.empty() ? 1 : spans.back().last + 1;
    if (!read || span.first != expected || span.last < span.first) {
      return Error{ErrorCode::kInvalidArgument,
                   "the ledger's line " + std::to_string(spans.size() + 1) + " is wrong", ""};
    }
    spans.push_back(span);
  }
  return spans;
}

Model replay(std::uint64_t seed, const std::vector<Span>& ledger) {
  Model model;
  for (const Span& span : ledger) {
    for (std::uint64_t number = span.first; number <= span.last; ++number) {
      apply_change(plan_change(seed, span.round, number, model), model);
    }
  }
  return model;
}

}  // namespace hexad::tools::demo
