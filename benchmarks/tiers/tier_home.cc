#include "benchmarks/tiers/tier_home.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/units.h"
#include "kv/lmdb/lmdb_index.h"

namespace hexad::bench {

namespace {

// Of an index with nothing in it; what is measured takes more.
constexpr std::uint64_t kLeast = 512_KiB;

class TierHome final : public kv::IndexHome {
 public:
  TierHome(std::unique_ptr<kv::IndexHome> inner, std::uint64_t blocks)
      : inner_(std::move(inner)), blocks_(blocks) {}

  Result<std::unique_ptr<kv::Index>> open(const std::string& directory, const Uuid& store,
                                          io::OpenMode mode) override {
    return inner_->open(directory, store, mode);
  }
  Status remove(const std::string& directory) override { return inner_->remove(directory); }
  std::optional<std::uint64_t> room(const std::string&) override { return blocks_; }

 private:
  const std::unique_ptr<kv::IndexHome> inner_;
  const std::uint64_t blocks_;
};

}  // namespace

std::unique_ptr<kv::IndexHome> make_tier_home(io::Executor& executor, const TierRoom& room) {
  kv::LmdbOptions like;
  like.max_size = std::max(room.index, kLeast);
  like.initial_size = std::min(like.initial_size, kLeast);
  return std::make_unique<TierHome>(kv::make_lmdb_home(executor, like), room.blocks);
}

}  // namespace hexad::bench
