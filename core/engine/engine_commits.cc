// The parts that carry commits (core/transact), put together, and how commits get to them.
#include <utility>

#include "base/refused_memory.h"
#include "core/engine/engine.h"
#include "core/report/space_report.h"

namespace hexad::core {

// What every change of the metadata needs, those of the store's own included.
void Engine::make_order() {
  gate_ = std::make_unique<WriteGate>(pipeline_.get(), closing_, *parts_.members);
  silent_ = std::make_unique<SilentDevices>(SilentDevices::Parts{
      executor(), *parts_.shape, *parts_.members, *parts_.space, pipeline_.get(), membership_.get(),
      static_cast<io::Nanos>(parts_.options.device_patience) * 1'000'000'000,
      [this] { lose_suspects_soon(); }});
  if (pipeline_ == nullptr) return;
  reclaimer_ = std::make_unique<Reclaimer>(*pipeline_, pins_, *parts_.space, *parts_.log_blobs);
  own_commits_ = std::make_unique<OwnCommits>(OwnCommits::Parts{
      order_, *gate_, *reads_, *pipeline_, *parts_.space, *parts_.log_blobs, parts_.shape->record,
      parts_.system->clock(),
      [this](const Attempt& attempt) { return commit_path_->room().make_way(attempt); }});
  zones_ = std::make_unique<ZoneMaker>(
      ZoneMaker::Parts{executor(), *gate_, *pipeline_, *parts_.space, *membership_, *own_commits_});
}

void Engine::make_commit_path() {
  commit_path_ = std::make_unique<CommitPath>(
      parts_,
      CommitPath::Ordered{order_, ids_, *gate_, *pipeline_, *own_commits_, *zones_, *reclaimer_,
                          *membership_},
      CommitPath::Background{*checkpointer_, *mergers_, *cleaner_, devices_->moves().mover(),
                             *deletion_job_, *seal_job_, *jobs_, errands_},
      CommitPath::Sources{*reads_, pins_, *preparer_, *placer_, *home_},
      CommitPath::Hooks{{[this](const Status& failed) { jobs_->note(*clean_job_, failed); },
                         [this] { return reports_.space->describe_held(); }},
                        [this] { return devices_->moves().release_left(); }});
}

Result<Lsn> Engine::commit(Transaction&& transaction, const CommitOptions& options) {
  if (commit_path_ == nullptr) return writable().error();
  return commit_path_->submitter().commit(std::move(transaction), options);
}

void Engine::submit(Transaction&& transaction, const CommitCallback& done,
                    const CommitOptions& options) {
  // There is no other thread that could tell of these.
  Status submitted = here();
  if (submitted.ok()) {
    submitted = without_bad_alloc([&]() -> Status {
      if (commit_path_ == nullptr) {
        executor().post([done, error = writable().error()] { done(error); });
      } else {
        commit_path_->submitter().submit(std::move(transaction), done, options);
      }
      return {};
    });
  }
  if (!submitted.ok()) done(submitted.error());
}

Status Engine::sync() {
  return commit_path_ == nullptr ? Status() : commit_path_->submitter().sync();
}

}  // namespace hexad::core
