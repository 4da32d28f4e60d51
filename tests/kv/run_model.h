// Runs in memory, and what they should hold.
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/bytes.h"
#include "io/executor.h"
#include "io/rng.h"
#include "kv/run/run_cache.h"
#include "kv/run/run_file.h"
#include "kv/run/run_reader.h"
#include "kv/run/run_writer.h"
#include "tests/kv/adversarial_keys.h"

namespace hexad::kv::testing {

// Nothing: a tombstone.
using RunModel = std::map<std::string, std::optional<std::string>>;

class MemoryRunFile final : public RunFile, public RunSink {
 public:
  std::uint64_t size() const override { return bytes.size(); }
  Status read(std::uint64_t offset, MutByteView out) const override {
    HEXAD_ASSERT(offset <= bytes.size() && out.size() <= bytes.size() - offset);
    ++reads;
    ++alone;
    read_bytes += out.size();
    if (fails) return Error{ErrorCode::kIo, "a read that fails", ""};
    copy_bytes(out, as_bytes(bytes).subspan(offset, out.size()));
    return {};
  }
  Status read_together(std::span<const RunRead> together) const override {
    ++rounds;
    for (const RunRead& one : together) {
      HEXAD_TRY(one.file->read(one.offset, one.out));
      --static_cast<const MemoryRunFile*>(one.file)->alone;
    }
    return {};
  }
  Status append(ByteView more) override {
    if (fails) return Error{ErrorCode::kIo, "a write that fails", ""};
    bytes.append(as_text(more));
    return {};
  }

  std::string bytes;
  mutable std::atomic<std::uint64_t> reads = 0;
  mutable std::atomic<std::uint64_t> alone = 0;   // of these, with no others
  mutable std::atomic<std::uint64_t> rounds = 0;  // of others, with reads of any file in each
  mutable std::atomic<std::uint64_t> read_bytes = 0;
  bool fails = false;
};

// Keeps the newest pieces, as many as it may.
class MapRunCache : public RunCache {
 public:
  explicit MapRunCache(std::size_t limit) : limit_(limit) {}

  std::uint64_t new_run() override {
    const std::lock_guard lock(mutex_);
    return ++runs_;
  }
  std::shared_ptr<const RunPiece> find(const RunPieceKey& key, Asking asking) override {
    const std::lock_guard lock(mutex_);
    const auto found = pieces_.find(key);
    if (found == pieces_.end()) return nullptr;
    if (asking == Asking::kCounted) ++hits;
    return found->second;
  }
  std::shared_ptr<const RunPiece> keep(const RunPieceKey& key, RunPiece piece,
                                       RunAdmit admit) override {
    auto kept = std::make_shared<const RunPiece>(std::move(piece));
    const std::lock_guard lock(mutex_);
    ++misses;
    if (admit == RunAdmit::kReadBefore && order_.size() >= limit_) return kept;
    if (pieces_.insert_or_assign(key, kept).second) order_.push_back(key);
    shrink();
    return kept;
  }
  // From now on.
  void set_limit(std::size_t limit) {
    const std::lock_guard lock(mutex_);
    limit_ = limit;
    shrink();
  }

  std::atomic<std::uint64_t> hits = 0;
  std::atomic<std::uint64_t> misses = 0;

 private:
  void shrink() {
    for (; order_.size() > limit_; order_.pop_front()) pieces_.erase(order_.front());
  }

  std::mutex mutex_;
  std::size_t limit_;
  std::uint64_t runs_ = 0;
  std::map<RunPieceKey, std::shared_ptr<const RunPiece>> pieces_;
  std::deque<RunPieceKey> order_;
};

inline Uuid run_store() {
  Uuid uuid;
  for (std::uint8_t i = 0; i < 16; ++i) uuid.bytes[i] = static_cast<std::uint8_t>(i + 1);
  return uuid;
}

inline io::Executor& run_executor() {
  static const std::unique_ptr<io::Executor> executor = io::make_thread_executor(1);
  return *executor;
}

inline MapRunCache& run_cache() {
  static MapRunCache cache(1000);
  return cache;
}

struct WrittenRun {
  std::shared_ptr<MemoryRunFile> file = std::make_shared<MemoryRunFile>();
  RunInfo info;

  Result<std::shared_ptr<RunReader>> try_open(RunCache& cache = run_cache()) const {
    return RunReader::open(file, run_store(), info, cache);
  }
  std::shared_ptr<RunReader> open(RunCache& cache = run_cache()) const {
    Result<std::shared_ptr<RunReader>> reader = try_open(cache);
    HEXAD_ASSERT(reader.ok());
    return std::move(reader).value();
  }
};

inline WrittenRun write_run(const RunModel& model, Lsn first_lsn = 0, Lsn last_lsn = 1) {
  WrittenRun run;
  RunWriter writer(*run.file, run_store(), first_lsn, last_lsn);
  for (const auto& [key, value] : model) {
    const Status status =
        writer.add(key, value.has_value() ? std::optional<std::string_view>(*value) : std::nullopt);
    HEXAD_ASSERT(status.ok());
  }
  Result<RunInfo> info = writer.finish();
  HEXAD_ASSERT(info.ok());
  run.info = *info;
  return run;
}

inline std::string random_bytes(io::Rng& rng, std::size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(rng.next());
  return bytes;
}

// Keys that share much or little, short and long ones; values empty, like records, now and then
// larger than a block; tombstones.
inline RunModel random_run(io::Rng& rng, std::size_t count) {
  RunModel model;
  while (model.size() < count) {
    std::string key;
    if (rng.chance(1, 4)) {
      key = adversarial_key(rng);
    } else if (rng.chance(1, 3)) {
      key = std::string(600, 'p') + std::to_string(rng.below(4 * count));
    } else {
      key = "key" + std::to_string(rng.below(4 * count));
    }
    std::optional<std::string> value;
    if (rng.chance(1, 400)) {
      value = random_bytes(rng, rng.below(40000));
    } else if (!rng.chance(1, 6)) {
      value = random_bytes(rng, rng.below(4) * rng.below(60));
    }
    model[key] = std::move(value);
  }
  return model;
}

// A large index of several levels over little data: every other block ends between two keys that
// differ in their last byte only, and shares nothing with those further away.
inline RunModel deep_run() {
  io::Rng rng(10);
  RunModel model;
  for (int i = 0; i < 1500; ++i) {
    const std::string key = random_bytes(rng, 3900);
    model[key + 'a'] = std::string(9000, static_cast<char>('a' + i % 7));
    model[key + 'b'] = std::string(9000, static_cast<char>('a' + i % 7));
  }
  return model;
}

// Keys of deep_run(), in order: with such, a leaf is full with about eight entries.
inline std::string deep_key(std::uint64_t number) {
  io::Rng rng(number / 2 + 1);
  std::string key(8, '\0');
  for (int i = 0; i < 8; ++i) key[i] = static_cast<char>(number / 2 >> 8 * (7 - i));
  return 'k' + key + random_bytes(rng, 3900) + (number % 2 == 0 ? 'a' : 'b');
}
inline std::string deep_value(std::uint64_t what) {
  return std::string(9000, static_cast<char>('a' + what % 23));
}

inline std::string random_probe(io::Rng& rng, const RunModel& model) {
  if (model.empty() || rng.chance(1, 3)) return adversarial_key(rng);
  std::string key = std::next(model.begin(), rng.below(model.size()))->first;
  if (rng.chance(1, 3)) key.push_back('\0');
  if (rng.chance(1, 3)) key.back() = static_cast<char>(rng.next());
  if (key.size() > 1 && rng.chance(1, 4)) key.pop_back();
  return key;
}

// "" or what is wrong: a walk either way, and key by key.
inline std::string run_difference(const RunReader& run, const RunModel& model) {
  const std::unique_ptr<RunReader::Cursor> cursor = run.cursor();
  if (Status status = cursor->seek_to_first(); !status.ok()) return status.error().to_string();
  for (const auto& [key, value] : model) {
    if (!cursor->valid() || cursor->key() != key || cursor->value() != value) return "walk differs";
    const Result<RunReader::Found> found = run.get(key);
    if (!found.ok()) return found.error().to_string();
    if (!found->there || found->value != value) return "get differs";
    if (Status status = cursor->next(); !status.ok()) return status.error().to_string();
  }
  if (cursor->valid()) return "more entries than there should be";
  if (Status status = cursor->seek_to_last(); !status.ok()) return status.error().to_string();
  for (auto it = model.rbegin(); it != model.rend(); ++it) {
    if (!cursor->valid() || cursor->key() != it->first || cursor->value() != it->second) {
      return "walk backwards differs";
    }
    if (Status status = cursor->prev(); !status.ok()) return status.error().to_string();
  }
  return cursor->valid() ? "more entries backwards than there should be" : "";
}

}  // namespace hexad::kv::testing
