#include "io/sim/write_cache.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/units.h"
#include "io/rng.h"

namespace hexad::io {

namespace {

constexpr std::uint64_t kSector = 512;

bool is_among(const std::vector<OpId>& ops, OpId op) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

void put_noise(CowImage& image, std::uint64_t offset, std::uint64_t length, std::uint64_t seed) {
  Rng rng(seed);
  const std::uint64_t end = std::min(offset + length, image.size());
  for (std::uint64_t at = offset; at < end; at += 8) {
    const std::uint64_t noise = rng.next();
    std::byte bytes[8];
    std::memcpy(bytes, &noise, sizeof bytes);
    image.write(at, ByteView(bytes).first(std::min<std::uint64_t>(8, end - at)));
  }
}

}  // namespace

void WriteCache::submit_write(OpId op, std::uint64_t offset, std::uint64_t length,
                              std::shared_ptr<const Bytes> data, WriteMode mode) {
  PendingWrite write;
  write.op = op;
  write.offset = offset;
  write.length = length;
  write.data = std::move(data);
  write.mode = mode;
  write.pieces_.push_back({0, length});
  pending_.push_back(std::move(write));
}

void WriteCache::resize(OpId op, std::uint64_t new_size) {
  PendingWrite change;
  change.op = op;
  change.offset = new_size;
  change.resize = true;
  pending_.push_back(std::move(change));
  complete_write(op);
}

void WriteCache::complete_write(OpId op) {
  const auto found = std::find_if(pending_.begin(), pending_.end(),
                                  [&](const PendingWrite& one) { return one.op == op; });
  HEXAD_ASSERT(found != pending_.end() && !found->completed);
  PendingWrite write = std::move(*found);
  pending_.erase(found);
  write.completed = true;
  if (write.mode == WriteMode::kDurable) {
    make_durable(write, pending_);
    return;
  }
  const auto first_in_flight = std::find_if(pending_.begin(), pending_.end(),
                                            [](const PendingWrite& one) { return !one.completed; });
  pending_.insert(first_in_flight, std::move(write));  // W1
}

void WriteCache::drop_write(OpId op) {
  std::erase_if(pending_, [&](const PendingWrite& one) { return one.op == op; });
}

std::vector<OpId> WriteCache::begin_flush() const {
  std::vector<OpId> covered;
  for (const PendingWrite& write : pending_) {
    if (write.completed && !write.orphaned) covered.push_back(write.op);
  }
  return covered;
}

void WriteCache::complete_flush(const std::vector<OpId>& covered) {
  std::vector<PendingWrite> keep;  // older than what is still to come, by W1
  for (PendingWrite& write : std::exchange(pending_, {})) {
    if (is_among(covered, write.op) && !write.orphaned) {
      make_durable(write, keep);
    } else {
      keep.push_back(std::move(write));
    }
  }
  pending_ = std::move(keep);
}

void WriteCache::fail_flush(const std::vector<OpId>& covered) {
  for (PendingWrite& write : pending_) {
    if (is_among(covered, write.op)) write.orphaned = true;  // W3
  }
}

// Crash states and snapshots may still look at the image as it was.
CowImage& WriteCache::own_durable() {
  if (durable_.use_count() > 1) durable_ = std::make_shared<CowImage>(durable_);
  ++version_;
  return *durable_;
}

void WriteCache::damage(std::uint64_t offset, ByteView bytes) {
  own_durable().write(offset, bytes);
}

void WriteCache::make_durable(const PendingWrite& write, std::vector<PendingWrite>& older) {
  apply(own_durable(), write, Survival{Survival::Kind::kWhole, 0, 0});
  if (write.resize) return;
  for (PendingWrite& other : older) {
    if (!other.completed || other.resize) continue;
    std::vector<PendingWrite::Piece> left;
    for (const PendingWrite::Piece& piece : other.pieces_) {
      const std::uint64_t begin = other.offset + piece.at;
      const std::uint64_t end = begin + piece.length;
      const std::uint64_t cut_begin = std::clamp(write.offset, begin, end);
      const std::uint64_t cut_end = std::clamp(write.offset + write.length, begin, end);
      if (cut_begin >= cut_end) {
        left.push_back(piece);
        continue;
      }
      if (cut_begin > begin) left.push_back({piece.at, cut_begin - begin});
      if (end > cut_end) left.push_back({cut_end - other.offset, end - cut_end});
    }
    other.pieces_ = std::move(left);
  }
  std::erase_if(older, [](const PendingWrite& one) { return !one.resize && one.pieces_.empty(); });
}

void WriteCache::apply(CowImage& image, const PendingWrite& write, const Survival& survival) const {
  using Kind = Survival::Kind;
  if (survival.kind == Kind::kLost) return;
  if (write.resize) {
    image.resize(write.offset);
    return;
  }
  // [from, to) of the write, without what W2 has taken away.
  const auto put = [&](std::uint64_t from, std::uint64_t to) {
    for (const PendingWrite::Piece& piece : write.pieces_) {
      const std::uint64_t begin = std::max(piece.at, from);
      const std::uint64_t end = std::min(piece.at + piece.length, to);
      if (begin >= end) continue;
      if (image.size() < write.offset + end) image.resize(write.offset + end);
      if (write.data == nullptr) {
        image.zero(write.offset + begin, end - begin);
      } else {
        image.write(write.offset + begin, ByteView(*write.data).subspan(begin, end - begin));
      }
    }
  };
  switch (survival.kind) {
    case Kind::kLost:
      return;
    case Kind::kWhole:
      return put(0, write.length);
    case Kind::kPrefix:
      return put(0, survival.cut);
    case Kind::kSuffix:
      return put(survival.cut, write.length);
    case Kind::kSectors: {
      Rng rng(survival.seed);
      for (std::uint64_t at = 0; at < write.length; at += kSector) {
        if (rng.chance(1, 2)) put(at, std::min(at + kSector, write.length));
      }
      return;
    }
    case Kind::kGarbled: {
      const std::uint64_t block = round_down(write.offset + survival.cut, physical_block_);
      if (block > write.offset) put(0, block - write.offset);
      put_noise(image, block, physical_block_, survival.seed);
      return;
    }
  }
}

}  // namespace hexad::io
