// A new index on the fast tier when the one before could not be used, or did not take a checkpoint.
// The background thread copies a bit at a time, so that checkpoints do not wait for it; meanwhile
// reads come from the runs.
#include <utility>

#include "core/engine/engine.h"

namespace hexad::core {

namespace {

constexpr std::uint64_t kBytesAtOnce = 16 << 20;

}  // namespace

void Engine::want_index() {
  const io::Lock lock(state_mutex_);
  if (parts_.index_directory.empty()) return;
  index_wanted_ = true;
  background_wake_.notify_all();
}

// What fails is tried again after the next checkpoint.
void Engine::rebuild_index() {
  const Status status = rebuild_some();
  if (!status.ok()) rebuild_.reset();
  note_background("making a new index on the fast tier", status);
  if (!status.ok() || rebuild_ == nullptr) return;
  const io::Lock lock(state_mutex_);  // there is more to copy
  index_wanted_ = true;
}

// The index that was found at the opening, when it is sound.
Status Engine::attach_verified() {
  std::unique_ptr<kv::Index> index = std::move(parts_.unverified_index);
  HEXAD_TRY(index->verify());
  const io::Lock lock(checkpoint_mutex_);
  HEXAD_TRY_ASSIGN(const bool followed, follow_runs(*index, *parts_.runs->set()));
  if (followed) parts_.index->attach(std::move(index));
  return {};
}

// A bit more of it; rebuild_ is null when it is done.
Status Engine::rebuild_some() {
  if (parts_.unverified_index != nullptr) {
    note_background("verifying the index on the fast tier", attach_verified());
  }
  if (rebuild_ == nullptr) {
    if (parts_.index->has_fast() || !parts_.index->detached_is_gone()) return {};
    HEXAD_TRY(parts_.indexes->remove(parts_.index_directory));
    HEXAD_TRY_ASSIGN(
        std::unique_ptr<kv::Index> fresh,
        parts_.indexes->open(parts_.index_directory, parts_.shape->uuid, io::OpenMode::kReadWrite));
    rebuild_ = std::make_unique<IndexRebuild>(std::move(fresh), parts_.runs->set());
  }
  HEXAD_TRY_ASSIGN(const bool copied, rebuild_->step(kBytesAtOnce));
  if (!copied) return {};
  const io::Lock lock(checkpoint_mutex_);
  HEXAD_TRY_ASSIGN(const bool followed, rebuild_->follow(*parts_.runs->set()));
  const std::unique_ptr<IndexRebuild> done = std::move(rebuild_);
  // Else the next checkpoint begins a new one.
  if (!followed) return {};
  parts_.index->attach(done->take());
  parts_.counters->add(CounterId::kIndexesRebuilt);
  return {};
}

}  // namespace hexad::core
