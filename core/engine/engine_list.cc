// Listing: the names of a collection page by page.
#include "core/engine/engine.h"

namespace hexad::core {

namespace {

// A page that passes over more deleted names than this asks for a checkpoint: a consumer that lists
// and deletes from the front would else walk over all that it has deleted, again and again. A
// checkpoint is asked for at most once per so many deletions, which cost far more than it does.
constexpr std::uint64_t kManyDeleted = 10'000;

}  // namespace

Result<ListPage> Engine::list(std::string_view collection, const ListOptions& options) {
  std::uint64_t deleted = 0;
  Result<ListPage> page = reading_.reads->list(collection, options, deleted);
  if (deleted > kManyDeleted) want_checkpoint();
  return page;
}

void Engine::want_checkpoint() {
  if (writable().ok() && writing_.jobs.checkpoint->want())
    writing_.scheduler->wake(*writing_.jobs.checkpoint);
}

}  // namespace hexad::core
