#include "core/record/image_patch.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/checksum.h"

namespace hexad::core {
namespace {

constexpr std::size_t kStep = 64;       // bytes compared at once
constexpr std::size_t kMost = 1 << 30;  // of a value that is patched; far above any that is made
// What differs ends where so many bytes are equal again,
constexpr std::size_t kAlike = 12;
// not further away than this; else the rest counts as changed. Entries of extents take 10 to 50.
constexpr std::size_t kFar = 96;
constexpr std::size_t kNumbers = 6;  // bytes that a piece takes besides `insert`, about

std::size_t common_front(std::string_view a, std::string_view b) {
  const std::size_t limit = std::min(a.size(), b.size());
  std::size_t at = 0;
  while (at + kStep <= limit && std::memcmp(a.data() + at, b.data() + at, kStep) == 0) at += kStep;
  while (at < limit && a[at] == b[at]) ++at;
  return at;
}

std::size_t common_back(std::string_view a, std::string_view b) {
  const std::size_t limit = std::min(a.size(), b.size());
  const char* a_end = a.data() + a.size();
  const char* b_end = b.data() + b.size();
  std::size_t n = 0;
  while (n + kStep <= limit && std::memcmp(a_end - n - kStep, b_end - n - kStep, kStep) == 0) {
    n += kStep;
  }
  while (n < limit &&
         a_end[-1 - static_cast<std::ptrdiff_t>(n)] == b_end[-1 - static_cast<std::ptrdiff_t>(n)]) {
    ++n;
  }
  return n;
}

struct Difference {
  std::size_t drop = 0;
  std::size_t insert = 0;
};

// Of the bytes that alike() begins with, for a table of places.
std::size_t slot_of(std::string_view text) {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, text.data(), sizeof(bytes));
  return (bytes * 0x9e3779b97f4a7c15) >> 54;
}

bool alike(std::string_view a, std::string_view b) {
  return a.size() >= kAlike && b.size() >= kAlike && std::memcmp(a.data(), b.data(), kAlike) == 0;
}

// What goes and what comes at the beginning of both; all of both where nothing near is alike. Looks
// at each place once: places of the base are found by what they begin with.
Difference first_difference(std::string_view base, std::string_view value) {
  std::array<std::uint8_t, 1024> places{};  // 1 + the first place with that slot
  static_assert(kFar + 1 <= 255 && kAlike >= sizeof(std::uint64_t));
  for (std::size_t drop = 0; drop <= kFar && drop + kAlike <= base.size(); ++drop) {
    std::uint8_t& place = places[slot_of(base.substr(drop))];
    if (place == 0) place = static_cast<std::uint8_t>(drop + 1);
  }
  for (std::size_t insert = 0; insert <= kFar && insert + kAlike <= value.size(); ++insert) {
    std::size_t drop = places[slot_of(value.substr(insert))];
    if (drop == 0 || !alike(base.substr(--drop), value.substr(insert))) continue;
    // Its own place may have had a slot that was taken.
    Difference found{drop, insert};
    while (found.drop > 0 && found.insert > 0 && base[found.drop - 1] == value[found.insert - 1]) {
      --found.drop;
      --found.insert;
    }
    return found;
  }
  return {base.size(), value.size()};
}

}  // namespace

std::optional<ImagePatch> make_patch(std::string_view base, std::string_view value) {
  if (value.size() < kSmallestPatched || std::max(base.size(), value.size()) > kMost) return {};
  const std::uint32_t base_crc = crc32c(as_bytes(base));
  std::size_t left = value.size() / 2;  // bytes that the patch may still take
  // The same end needs no piece. The same beginning is taken first: they may overlap.
  const std::size_t front = common_front(base, value);
  const std::size_t back = common_back(base.substr(front), value.substr(front));
  base.remove_suffix(back);
  value.remove_suffix(back);
  ImagePatch patch{base_crc, {}};
  for (std::size_t keep = front;; keep = common_front(base, value)) {
    base.remove_prefix(keep);
    value.remove_prefix(keep);
    if (base.empty() && value.empty()) return patch;
    const Difference next = first_difference(base, value);
    if (next.insert + kNumbers > left) return {};
    left -= next.insert + kNumbers;
    patch.pieces.push_back({static_cast<std::uint32_t>(keep), static_cast<std::uint32_t>(next.drop),
                            std::string(value.substr(0, next.insert))});
    base.remove_prefix(next.drop);
    value.remove_prefix(next.insert);
  }
}

std::optional<ImagePatch> make_patch(ImageChange&& change, std::size_t value_size) {
  if (value_size < kSmallestPatched || std::max(change.base.size(), value_size) > kMost) return {};
  std::size_t taken = 0;
  for (const PatchPiece& piece : change.pieces) taken += piece.insert.size() + kNumbers;
  if (taken > value_size / 2) return {};
  return ImagePatch{crc32c(as_bytes(change.base)), std::move(change.pieces)};
}

Result<std::string> apply_patch(std::string_view base, const ImagePatch& patch) {
  const auto wrong = [size = base.size()] {
    return Error{
        ErrorCode::kCorruption,
        "a change of a value of " + std::to_string(size) + " bytes was made for another value",
        "The log is damaged or lacks what was before; open with other devices of the pool."};
  };
  if (crc32c(as_bytes(base)) != patch.base_crc) return wrong();
  std::string value;
  value.reserve(base.size() + 256);
  for (const PatchPiece& piece : patch.pieces) {
    if (std::uint64_t{piece.keep} + piece.drop > base.size()) return wrong();
    value.append(base.substr(0, piece.keep));
    value.append(piece.insert);
    base.remove_prefix(std::size_t{piece.keep} + piece.drop);
  }
  value.append(base);
  return value;
}

}  // namespace hexad::core
