#include "tools/cli/wrong_reads.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/units.h"
#include "tools/cli/interrupt.h"

namespace hexad::tools {

namespace {

// Between two looks.
constexpr std::uint64_t kBytes = 64_MiB;
constexpr std::size_t kPlaces = 1000;

std::uint64_t counter(Store& store, std::string_view name) {
  for (const Counter& one : store.counters()) {
    if (one.name == name) return one.since_open;
  }
  return 0;
}

Status read(Store& store, const WrongReads::Place& place) {
  constexpr std::uint64_t kPieceBytes = 4_MiB;
  HEXAD_TRY_ASSIGN(const std::unique_ptr<ObjectReader> reader,
                   store.open_reader(place.collection, place.name));
  const std::uint64_t size = reader->stat().size;
  const std::uint64_t start = std::min(place.offset, size);
  reader->seek(start);
  std::uint64_t left = std::min(place.length, size - start);
  Bytes buffer(std::min(left, kPieceBytes));
  while (left > 0 && !interrupted()) {
    const MutByteView piece = MutByteView(buffer).first(std::min(left, kPieceBytes));
    HEXAD_TRY_ASSIGN(const std::uint64_t count, reader->read(piece));
    if (count == 0) break;  // not before the end, of one version
    left -= count;
  }
  return {};
}

std::string found(const WrongReads::Places& places) {
  std::set<std::string> objects;
  for (const WrongReads::Place& place : places) {
    objects.insert(printable(place.collection) + "/" + printable(place.name));
  }
  const std::string which = objects.size() == 1 ? *objects.begin() + " was"
                                                : fmt::format("{} objects were", objects.size());
  return "while " + which + " read, bytes did not match their checksums";
}

}  // namespace

void WrongReads::note(Store& store, Place place) {
  const std::lock_guard<std::mutex> lock(mutex_);
  since_bytes_ += place.length;
  since_.push_back(std::move(place));
  if (since_bytes_ >= kBytes || since_.size() >= kPlaces) look(store);
}

WrongReads::Places WrongReads::take(Store& store) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (since_.empty() && found_.empty()) return {};
  look(store);
  wrong_ = 0;  // the next store begins anew
  again_ = false;
  return std::exchange(found_, {});
}

void WrongReads::look(Store& store) {
  const std::uint64_t wrong = counter(store, "checksum_errors");
  const bool more = wrong > std::exchange(wrong_, wrong);
  if (std::exchange(again_, more) || more) {
    for (Place& place : since_) found_.insert(std::move(place));
  }
  since_.clear();
  since_bytes_ = 0;
}

Mended mend(Store& store, const WrongReads::Places& places) {
  Mended mended;
  const std::uint64_t healed = counter(store, "cells_healed");
  const std::uint64_t failed = counter(store, "heal_failures");
  for (const WrongReads::Place& place : places) {
    if (interrupted()) break;
    const std::uint64_t lost = store.status().damaged_blobs;
    const Status status = read(store, place);
    if (status.ok() || status.error().code == ErrorCode::kNotFound) continue;
    if (store.status().damaged_blobs > lost) {
      ++mended.lost;
    } else if (mended.unread.ok()) {
      mended.unread = status;
    }
  }
  mended.cells = counter(store, "cells_healed") - healed;
  mended.failures = counter(store, "heal_failures") - failed;
  mended.cut = interrupted();
  return mended;
}

std::string describe(const WrongReads::Places& places, const Mended& mended) {
  std::string text = found(places) + fmt::format("; {} cell{} written again", mended.cells,
                                                 mended.cells == 1 ? " was" : "s were");
  if (mended.failures > 0) {
    text += fmt::format(", {} their devices did not take: hexad status POOL", mended.failures);
  }
  if (mended.lost > 0) text += ", and what is lost is noted: hexad damage ls POOL";
  if (!mended.unread.ok()) {
    text += ", and some could not be read again (" + mended.unread.error().message +
            "): hexad scrub POOL";
  }
  return text;
}

std::string describe(const WrongReads::Places& places, const Error& why) {
  // What cannot be written is for its own remedy first.
  const bool written = why.code != ErrorCode::kReadOnly || why.hint.empty();
  return found(places) + ", and nothing was repaired: " + why.message + ". " +
         (written ? "hexad scrub POOL repairs what can be, and notes what is lost" : why.hint);
}

}  // namespace hexad::tools
