#include "core/transact/commit_path.h"

#include <utility>

namespace hexad::core {

namespace {

PlanBasis basis_of(const StoreParts& store) {
  return {store.system->clock(), store.shape->record, store.compression, *store.log_blobs,
          store.ranges_at_once};
}

}  // namespace

CommitPath::CommitPath(StoreParts& store, const Ordered& ordered, const Background& background,
                       const Sources& sources, Hooks hooks)
    : copier_({ordered.order, ordered.pipeline, *store.metadata, *store.log_blobs,
               store.shape->record, ordered.ids, ordered.commits, background.deletions,
               background.errands}),
      layers_({ordered.pipeline, sources.reads, *store.log_blobs, store.shape->record, ordered.ids,
               ordered.commits, background.deletions}),
      packer_({store.system->executor(), *store.shape, *store.members, *store.space,
               *store.log_blobs, *store.counters, ordered.order, ordered.pipeline, sources.placer,
               ordered.membership, ordered.commits}),
      log_(background.checkpointer, *store.index, ordered.pipeline),
      waits_({store.system->executor(), ordered.gate, ordered.pipeline, *store.space,
              ordered.reclaimer, std::move(hooks.release_left)}),
      space_({*store.shape, ordered.pipeline, *store.space, *store.log_blobs, sources.pins,
              ordered.membership, background.checkpointer, background.deletions, background.mergers,
              background.cleaner, background.slab_mover, ordered.reclaimer, ordered.zones, log_,
              waits_},
             std::move(hooks.space)),
      room_({background.errands, background.checkpointer, background.deletions, layers_, log_,
             space_}),
      preparer_({ordered.order, ordered.gate, ordered.pipeline, *store.metadata, sources.reads,
                 sources.blobs, store.compression, copier_}),
      rehearsal_(
          {ordered.order, ordered.pipeline, *store.metadata, sources.reads, basis_of(store)}),
      placer_({ordered.gate, ordered.ids, sources.reads, ordered.pipeline, *store.shape,
               *store.space, *store.log_blobs, sources.placer, background.cleaner.fragmented(),
               background.deletions, *store.counters, basis_of(store)}),
      committer_({ordered.order, ordered.gate, ordered.pipeline, *store.shape, *store.metadata,
                  *store.space, *store.counters, sources.reads, background.errands, preparer_,
                  rehearsal_, placer_, room_}),
      submitter_({store.system->executor(), store.options, ordered.gate, ordered.pipeline,
                  *store.counters, background.sealing, background.jobs, sources.home, preparer_,
                  committer_}),
      stream_room_(ordered.order, ordered.gate, ordered.pipeline, *store.space, room_) {}

}  // namespace hexad::core
