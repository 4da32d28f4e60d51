// What the parts that look at the store, and put it right, are given of it.
#include "core/check/fsck.h"
#include "core/check/known_damage.h"
#include "core/check/pool_headers.h"
#include "core/check/scrubber.h"
#include "core/engine/engine.h"
#include "core/report/counter_report.h"
#include "core/report/effective_options.h"
#include "core/report/fill_rate.h"
#include "core/report/layer_report.h"
#include "core/report/space_report.h"
#include "core/report/status_report.h"

namespace hexad::core {

Reports::Reports() = default;
Reports::~Reports() = default;

void Engine::make_reports() {
  const auto closed = [this] { return closing_.is_closed(); };
  const auto can_write = [this] { return writable(); };
  reports_.damage = std::make_unique<KnownDamage>(KnownDamage::Parts{
      executor(),
      {parts_.shape->record, *parts_.log_blobs, *coding_.reader, *reading_.reads},
      writing_.own_commits.get(),
      closed,
      can_write,
      [this] { wake_damage_job(); }});
  reports_.headers = std::make_unique<PoolHeaders>(*parts_.members, writing_.membership.get(),
                                                   *watch_.silent, parts_.mended);
  const CheckParts look{executor(),
                        parts_.system->queue(),
                        *parts_.shape,
                        *parts_.codec,
                        *parts_.space,
                        *parts_.log_blobs,
                        *parts_.counters,
                        *coding_.reader,
                        *reading_.reads,
                        *parts_.runs,
                        checkpointer_->mutex(),
                        *watch_.silent,
                        *reports_.headers,
                        closed};
  reports_.fsck = std::make_unique<Fsck>(
      look, Fsck::Parts{*parts_.metadata, *parts_.index, parts_.torn, order_.sequencer,
                        writing_.pipeline.get(), writing_.own_commits.get(), can_write});
  reports_.scrubber = std::make_unique<Scrubber>(look, coding_.in_flight, *reports_.damage);
  reports_.status = std::make_unique<StatusReport>(StatusReport::Parts{
      parts_, writing_.pipeline.get(), writing_.membership.get(), writing_.scheduler.get(),
      *checkpointer_, *watch_.history, *reports_.scrubber, *reports_.damage,
      [this](StoreStatus& status) { show_openings(status); },
      [this](StoreStatus& status) { control_.show(status); },
      [this](StoreStatus& status) { reports_.layers->show(status); },
      [this](const Member& member, DeviceStatus& device, StoreStatus& status) {
        if (writing_.devices != nullptr) writing_.devices->show_unused(member, device, status);
      }});
  reports_.space = std::make_unique<SpaceReport>(SpaceReport::Parts{
      executor(), *parts_.shape, *parts_.members, *parts_.space, *parts_.log_blobs,
      *parts_.counters, *reading_.reads, reading_.readers, *parts_.index, *checkpointer_,
      writing_.cleaner.get(), !parts_.memory_only});
  reports_.counters = std::make_unique<CounterReport>(CounterReport::Parts{
      *parts_.counters, *parts_.compression_counters, *parts_.members, *parts_.space, *parts_.cache,
      *parts_.resident, *parts_.metadata, *parts_.index});
  reports_.fill = std::make_unique<FillSamples>(executor());
  reports_.layers = std::make_unique<LayerReport>(LayerReport::Parts{
      *parts_.counters, *reports_.counters, *parts_.cache, *parts_.metadata, *parts_.index,
      *parts_.resident, *parts_.space, *reports_.space, *reports_.fill,
      parts_.options.memtable_size, parts_.shape->unit * parts_.shape->k()});
}

Status Engine::set_cache_size(std::uint64_t bytes) {
  RuntimeOptions changed = parts_.options;
  changed.cache_size = bytes;
  HEXAD_TRY(changed.validate());
  if (closing_.is_closed()) return Error{ErrorCode::kClosed, "the store has been closed", ""};
  // The table first where both become less: the cache would give up room for one that is going.
  const bool less = bytes < parts_.cache->capacity();
  if (less) parts_.resident->set_most_memory(resident_table_memory(bytes));
  parts_.cache->set_capacity(bytes);
  if (!less) parts_.resident->set_most_memory(resident_table_memory(bytes));
  // The file follows, which may wait for its device.
  if (writing_.pipeline != nullptr && parts_.resident->room() > 0) want_index();
  return {};
}

void Engine::sample_room() {
  if (reports_.fill->due()) reports_.fill->add(reports_.space->available());
}

std::vector<EffectiveOption> Engine::effective_options() const {
  return core::effective_options(parts_);
}

void Engine::wake_damage_job() {
  if (writing_.scheduler == nullptr) return;
  writing_.jobs.damage->want();
  writing_.scheduler->wake(*writing_.jobs.damage);
}

void Engine::show_openings(StoreStatus& status) {
  if (const std::string text = watch_.silent->describe_silent_new(); !text.empty()) {
    status.warnings.push_back(text + ": whoever adds, drains or removes devices waits for it");
  }
  if (writing_.devices != nullptr) writing_.devices->show_calls(status);
}

}  // namespace hexad::core
