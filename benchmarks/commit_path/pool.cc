#include "benchmarks/commit_path/pool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <semaphore>
#include <thread>

#include "base/aligned_buffer.h"
#include "base/units.h"
#include "benchmarks/commit_path/must.h"

namespace hexad::bench {

namespace {

// Submits transactions without measuring them, some in flight.
class Filler {
 public:
  explicit Filler(Store& store) : store_(store) {}
  ~Filler() { finish(); }
  Filler(const Filler&) = delete;
  Filler& operator=(const Filler&) = delete;

  void submit(Transaction&& transaction) {
    free_.acquire();
    store_.submit(std::move(transaction), [this](const Result<Lsn>& lsn) {
      must(lsn.status());
      free_.release();
    });
  }
  void finish() {
    for (int i = 0; i < kInFlight; ++i) free_.acquire();
    free_.release(kInFlight);
  }

 private:
  static constexpr int kInFlight = 16;
  Store& store_;
  std::counting_semaphore<kInFlight> free_{kInFlight};
};

constexpr std::uint64_t kAttributeBytes = 60000;
constexpr std::uint64_t kLogMargin = 8_MiB;

}  // namespace

void write_file(const std::filesystem::path& path, std::uint64_t size) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_DIRECT | O_CLOEXEC, 0600);
  if (fd < 0) die("cannot create " + path.string() + " for direct I/O");
  AlignedBuffer piece(4_MiB);
  const Bytes bytes = noise(piece.size(), 2);
  std::memcpy(piece.bytes().data(), bytes.data(), bytes.size());
  for (std::uint64_t at = 0; at < size; at += piece.size()) {
    const std::size_t length = std::min<std::uint64_t>(piece.size(), size - at);
    const ssize_t written = pwrite(fd, piece.bytes().data(), length, static_cast<off_t>(at));
    if (written != static_cast<ssize_t>(length)) die("cannot fill " + path.string());
  }
  if (fsync(fd) != 0) die("cannot sync " + path.string());
  close(fd);
}

BenchPool::BenchPool(const std::filesystem::path& directory, std::uint64_t device_size, Age age)
    : directory_(directory) {
  std::filesystem::create_directories(directory);
  FormatOptions options;
  for (int i = 0; i < 6; ++i) {
    const std::filesystem::path device = directory / fmt::format("device{}", i);
    if (age == Age::kWarm) write_file(device, device_size);
    options.devices.push_back(device.string());
  }
  options.fast_directories = {(directory / "fast").string()};
  options.device_size = device_size;
  options.force = true;  // the noise may look like anything
  pool_ = must(Store::format(options));
  store_.emplace(must(Store::open(pool_)));
  live_limit_ = must(store_->space()).capacity / 4;
  if (live_limit_ == 0) live_limit_ = device_size;  // no zone yet: 4 of 6 files, a quarter of that
  if (age == Age::kFresh) return;
  use_slabs();
  write_log_lap();
}

BenchPool::~BenchPool() {
  if (store_.has_value()) must(store_->close());
  store_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

void BenchPool::reopen(const RuntimeOptions& options) {
  must(store_->close());
  store_.reset();
  store_.emplace(must(Store::open(pool_, options)));
}

// Attributes travel in the log whatever their size, so a few of them overwritten again and again
// are a lap and nothing else.
void BenchPool::write_log_lap() {
  const std::string value(kAttributeBytes, 'a');
  const std::uint64_t lap = store_->status().log_size + kLogMargin;
  Filler filler(*store_);
  for (std::uint64_t at = 0; at < lap; at += value.size()) {
    Transaction t;
    const std::string name = object_name("lap", at / value.size() % 16);
    t.touch(kDefaultCollection, name);
    t.set_attr(kDefaultCollection, name, "a", value);
    filler.submit(std::move(t));
  }
  filler.finish();
  remove_all(*store_, "lap", 16);
}

void BenchPool::use_slabs() {
  const std::uint64_t count = 2 * live_limit_ / 4_MiB;
  put_all(*store_, "slabs", count, 4_MiB);
  remove_all(*store_, "slabs", count);
}

std::string object_name(const std::string& family, std::uint64_t index) {
  return fmt::format("{}-{:010}", family, index);
}

void put_all(Store& store, const std::string& family, std::uint64_t count, std::uint64_t size) {
  const Bytes data = noise(size);
  const std::uint64_t together = std::clamp<std::uint64_t>(1_MiB / size, 1, 64);
  {
    Filler filler(store);
    for (std::uint64_t i = 0; i < count;) {
      Transaction t;
      for (const std::uint64_t end = std::min(count, i + together); i < end; ++i) {
        t.put_borrowed(kDefaultCollection, object_name(family, i), data, Hint::kIncompressible);
      }
      filler.submit(std::move(t));
    }
  }
  must(store.checkpoint());
}

void remove_all(Store& store, const std::string& family, std::uint64_t count) {
  {
    Filler filler(store);
    for (std::uint64_t i = 0; i < count;) {
      Transaction t;
      for (const std::uint64_t end = std::min(count, i + 64); i < end; ++i) {
        t.remove(kDefaultCollection, object_name(family, i));
      }
      filler.submit(std::move(t));
    }
  }
  must(store.checkpoint());
}

std::uint64_t Counts::of(const std::string& name) const {
  const auto found = counters.find(name);
  if (found == counters.end()) die("the store has no counter " + name);
  return found->second;
}

Counts counts(Store& store) {
  Counts result;
  for (const Counter& counter : store.counters()) {
    result.counters[counter.name] = counter.since_open;
  }
  for (const DeviceStatus& device : store.status().devices) {
    result.bytes_read += device.bytes_read;
    result.bytes_written += device.bytes_written;
  }
  return result;
}

Counts operator-(const Counts& after, const Counts& before) {
  Counts result = after;
  for (auto& [name, value] : result.counters) value -= before.of(name);
  result.bytes_read -= before.bytes_read;
  result.bytes_written -= before.bytes_written;
  return result;
}

}  // namespace hexad::bench
