// Objects of one size or of several, or the blocks of one object, that are overwritten at random,
// lap after lap, in a store that holds so much of what it can hold.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "io/executor.h"
#include "io/rng.h"
#include "tests/base/campaign.h"
#include "tests/core/sim_pool.h"
#include "tests/core/store_fixture.h"
#include "tools/bench/zipf.h"

namespace hexad::testing {

// Of ./run prove: as many as the store is to bear.
inline std::size_t churn_laps() { return campaign_is_thorough() ? 20 : 4; }

// Six devices of 24 MiB.
inline SimPoolOptions churn_pool() {
  SimPoolOptions options;
  options.device_size = 24_MiB;
  options.log_size = 4_MiB;
  options.fast_size = 8_MiB;
  return options;
}

inline constexpr std::size_t kChurnBlock = 4096;
inline constexpr std::size_t kChurnAtOnce = 50;

inline std::string churned_name(std::size_t i) { return "o" + std::to_string(i); }

using ChurnSizes = std::vector<std::size_t>;  // of objects, in turn

// Which of `count` blocks is overwritten next.
using ChurnDraw = std::function<std::uint64_t(io::Rng&)>;
using ChurnLaw = std::function<ChurnDraw(std::uint64_t count)>;

inline ChurnDraw churn_uniform(std::uint64_t count) {
  return [count](io::Rng& rng) { return rng.below(count); };
}
// Nine tenths of the writes go to one tenth of the blocks, which lies all over.
inline ChurnDraw churn_ninety_to_ten(std::uint64_t count) {
  const std::uint64_t often = std::max<std::uint64_t>(1, count / 10);
  return [count, often, scatter = tools::Scatter(count)](io::Rng& rng) {
    const bool is_often = often == count || rng.below(10) < 9;
    return scatter(is_often ? rng.below(often) : often + rng.below(count - often));
  };
}
// Zipf's law with the exponent of YCSB.
inline ChurnDraw churn_zipf(std::uint64_t count) {
  return [law = tools::Zipf(count, 0.99), scatter = tools::Scatter(count)](io::Rng& rng) {
    return scatter(law.next(rng));
  };
}

// Objects of one block, or of other sizes, or the blocks of one object.
class ChurnBlocks {
 public:
  ChurnBlocks(Store& store, bool one_object, ChurnSizes sizes = {kChurnBlock})
      : store_(store), one_object_(one_object), sizes_(std::move(sizes)) {}

  // Until there is no space. Returns how many there are room for.
  Result<std::size_t> try_out() {
    std::size_t count = 0;
    for (;; count += kChurnAtOnce) {
      Transaction t;
      for (std::size_t i = 0; i < kChurnAtOnce; ++i)
        t.put(kBucket, churned_name(count + i), block(0, count + i));
      const Status put = store_.commit(std::move(t)).status();
      if (put.ok()) continue;
      if (put.error().code != ErrorCode::kNoSpace) return put.error();
      break;
    }
    for (std::size_t i = 0; i < count; i += kChurnAtOnce) {
      Transaction t;
      for (std::size_t j = i; j < i + kChurnAtOnce; ++j) t.remove(kBucket, churned_name(j));
      HEXAD_TRY(store_.commit(std::move(t)).status());
    }
    HEXAD_TRY(store_.checkpoint());
    return count;
  }
  Status fill(std::size_t count) {
    const std::size_t at_once = one_object_ ? 1_MiB / kChurnBlock : kChurnAtOnce;
    versions_.assign(count / at_once * at_once, 0);
    for (std::size_t i = 0; i < versions_.size(); i += at_once) {
      Transaction t;
      std::string page;
      for (std::size_t j = i; j < i + at_once; ++j) {
        versions_[j] = ++made_;
        if (one_object_) {
          page += block(versions_[j], j);
        } else {
          t.put(kBucket, churned_name(j), block(versions_[j], j));
        }
      }
      if (one_object_) t.write(kBucket, "disk", i * kChurnBlock, as_bytes(page));
      HEXAD_TRY(store_.commit(std::move(t)).status());
    }
    return {};
  }
  Status overwrite(std::size_t laps) {
    for (std::size_t done = 0; done < laps * versions_.size(); done += kChurnAtOnce) {
      Transaction t;
      for (std::size_t i = 0; i < kChurnAtOnce; ++i) {
        const std::size_t at = rng_.below(versions_.size());
        versions_[at] = ++made_;
        if (one_object_) {
          t.write(kBucket, "disk", at * kChurnBlock, as_bytes(block(made_, at)));
        } else {
          t.put(kBucket, churned_name(at), block(made_, at));
        }
      }
      const Status written = store_.commit(std::move(t)).status();
      if (!written.ok()) {
        return written.error().with_context(std::to_string(done) + " of " +
                                            std::to_string(versions_.size()) + " a lap");
      }
    }
    return {};
  }
  // The same by several callers at once, each one block at a time: groups are small, and what is on
  // its way has space promised to it. A version counts once its commit has returned. Without a law
  // each caller has blocks of its own, all alike; with one, whoever draws a block that is on its
  // way waits.
  Status overwrite_beside(SimPool& pool, std::size_t callers, std::size_t laps,
                          const ChurnLaw& law = {}) {
    Status failed;
    const ChurnDraw draw = law ? law(versions_.size()) : ChurnDraw();
    io::Mutex mutex(pool.system().executor());
    io::CondVar written_one(pool.system().executor());
    std::vector<bool> busy(versions_.size(), false);
    const auto take = [&](std::size_t at) {
      io::Lock lock(mutex);
      written_one.wait(lock, [&] { return !busy[at]; });
      busy[at] = true;
    };
    const auto give_back = [&](std::size_t at) {
      const io::Lock lock(mutex);
      busy[at] = false;
      written_one.notify_all();
    };
    std::vector<std::unique_ptr<io::Thread>> threads;
    for (std::size_t caller = 0; caller < callers; ++caller) {
      threads.push_back(pool.system().executor().start("caller", [&, caller] {
        io::Rng rng(100 + caller);
        for (std::size_t i = 0; failed.ok() && i < laps * versions_.size() / callers; ++i) {
          const std::size_t at =
              draw ? draw(rng) : rng.below(versions_.size() / callers) * callers + caller;
          if (draw) take(at);
          const std::uint64_t made = ++made_;
          Transaction t;
          if (one_object_) {
            t.write(kBucket, "disk", at * kChurnBlock, as_bytes(block(made, at)));
          } else {
            t.put(kBucket, churned_name(at), block(made, at));
          }
          const Status written = store_.commit(std::move(t)).status();
          if (written.ok()) versions_[at] = made;
          if (!written.ok() && failed.ok()) {
            failed = written.error().with_context("put " + std::to_string(i) + " of a caller");
          }
          if (draw) give_back(at);
        }
      }));
    }
    for (const auto& thread : threads) thread->join();
    return failed;
  }
  std::size_t count() const { return versions_.size(); }
  std::string check() const {
    const std::string disk = one_object_ ? get(store_, "disk") : "";
    for (std::size_t i = 0; i < versions_.size(); ++i) {
      const std::string is =
          one_object_ ? disk.substr(i * kChurnBlock, kChurnBlock) : get(store_, churned_name(i));
      if (is != block(versions_[i], i)) return "block " + std::to_string(i);
    }
    return deep_findings(store_);
  }

 private:
  // Cheap to make: bytes that no codec is asked about, with a number in front.
  std::string block(std::uint64_t number, std::size_t at) const {
    std::string bytes = std::to_string(number);
    bytes.resize(sizes_[at % sizes_.size()], static_cast<char>('a' + number % 26));
    return bytes;
  }

  Store& store_;
  const bool one_object_;
  const ChurnSizes sizes_;
  std::vector<std::uint64_t> versions_;
  std::uint64_t made_ = 0;
  io::Rng rng_{11};
};

}  // namespace hexad::testing
