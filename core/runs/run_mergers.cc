#include "core/runs/run_mergers.h"

#include <utility>
#include <vector>

namespace hexad::core {

RunMergers::RunMergers(io::Executor& executor, const RunCatalogue& runs,
                       const BlobPreparer& preparer, const std::function<void(const Status&)>& tell)
    : runs_(runs),
      any_(executor, runs, preparer, {"merge", "merging runs"}, tell),
      young_(executor, runs, preparer, {"merge-young", "merging the newest runs"}, tell) {}

bool RunMergers::busy() { return any_.busy() || young_.busy(); }

bool RunMergers::finished() { return any_.finished() || young_.finished(); }

std::uint64_t RunMergers::units_to_come() { return any_.units_to_come() + young_.units_to_come(); }

std::optional<RunMergers::Next> RunMergers::plan(const RunDraft& draft) {
  if (young_.busy()) return {};
  const std::vector<std::uint64_t> held = any_.inputs();
  std::optional<RunMerge> plan =
      held.empty() ? runs_.plan_merge(draft) : runs_.plan_merge_newer(draft, held.front());
  if (!plan.has_value()) return {};
  return Next{held.empty() ? &any_ : &young_, *std::move(plan)};
}

void RunMergers::finish() {
  young_.finish();
  any_.finish();
}

bool RunMergers::install(RunDraft& draft) {
  const bool young = young_.install(draft);
  return any_.install(draft) || young;
}

bool RunMergers::install_until(RunDraft& draft, std::size_t most_runs) {
  bool any = false;
  for (RunMerger* const merger : {&young_, &any_}) {
    if (draft.manifest.runs.size() <= most_runs) break;
    merger->finish();
    any |= merger->install(draft);
  }
  return any;
}

bool RunMergers::give_up() {
  const bool young = young_.give_up();
  return any_.give_up() || young;
}

void RunMergers::forget() {
  give_up();
  young_.forget_failed();
  any_.forget_failed();
}

void RunMergers::stop() {
  young_.stop();
  any_.stop();
}

}  // namespace hexad::core
