// The parts that carry commits (core/transact), put together, and how commits get to them.
#include <utility>

#include "base/refused_memory.h"
#include "core/engine/engine.h"
#include "core/report/space_report.h"

namespace hexad::core {

// What every change of the metadata needs, those of the store's own included.
void Engine::make_order() {
  gate_ = std::make_unique<WriteGate>(writing_.pipeline.get(), closing_, *parts_.members);
  watch_.silent = std::make_unique<SilentDevices>(
      SilentDevices::Parts{executor(), *parts_.shape, *parts_.members, *parts_.space,
                           writing_.pipeline.get(), writing_.membership.get(),
                           static_cast<io::Nanos>(parts_.options.device_patience) * 1'000'000'000,
                           [this] { lose_suspects_soon(); }});
  if (writing_.pipeline == nullptr) return;
  writing_.reclaimer = std::make_unique<Reclaimer>(*writing_.pipeline, reading_.pins, *parts_.space,
                                                   *parts_.log_blobs);
  writing_.own_commits = std::make_unique<OwnCommits>(OwnCommits::Parts{
      order_, *gate_, *reading_.reads, *writing_.pipeline, *parts_.space, *parts_.log_blobs,
      parts_.shape->record, parts_.system->clock(),
      [this](const Attempt& attempt) { return writing_.commit_path->room().make_way(attempt); }});
  writing_.zones = std::make_unique<ZoneMaker>(
      ZoneMaker::Parts{executor(), *gate_, *writing_.pipeline, *parts_.space, *writing_.membership,
                       *writing_.own_commits});
}

void Engine::make_commit_path() {
  writing_.commit_path = std::make_unique<CommitPath>(
      parts_,
      CommitPath::Ordered{order_, ids_, *gate_, *writing_.pipeline, *writing_.own_commits,
                          *writing_.zones, *writing_.reclaimer, *writing_.membership},
      CommitPath::Background{*checkpointer_, *writing_.mergers, *writing_.cleaner,
                             writing_.devices->moves().mover(), *writing_.jobs.deletion,
                             *writing_.jobs.seal, *writing_.scheduler, errands_},
      CommitPath::Sources{*reading_.reads, reading_.pins, *coding_.preparer, *coding_.placer,
                          *home_},
      CommitPath::Hooks{
          {[this](const Status& failed) { writing_.scheduler->note(*writing_.jobs.clean, failed); },
           [this] { return reports_.space->describe_held(); }},
          [this] { return writing_.devices->moves().release_left(); }});
}

Result<Lsn> Engine::commit(Transaction&& transaction, const CommitOptions& options) {
  if (writing_.commit_path == nullptr) return writable().error();
  return writing_.commit_path->submitter().commit(std::move(transaction), options);
}

void Engine::submit(Transaction&& transaction, const CommitCallback& done,
                    const CommitOptions& options) {
  // There is no other thread that could tell of these.
  Status submitted = here();
  if (submitted.ok()) {
    submitted = without_bad_alloc([&]() -> Status {
      if (writing_.commit_path == nullptr) {
        executor().post([done, error = writable().error()] { done(error); });
      } else {
        writing_.commit_path->submitter().submit(std::move(transaction), done, options);
      }
      return {};
    });
  }
  if (!submitted.ok()) done(submitted.error());
}

Status Engine::sync() {
  return writing_.commit_path == nullptr ? Status() : writing_.commit_path->submitter().sync();
}

}  // namespace hexad::core
