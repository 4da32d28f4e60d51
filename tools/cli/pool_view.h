// What verbs that only look ask a pool: the same questions, whether the verb has opened it or asks
// the process that has.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "core/control/control_client.h"
#include "core/hexad.h"

namespace hexad::tools {

class PoolView {
 public:
  virtual ~PoolView() = default;
  // Errors: those of Store, and of core::ControlClient.
  virtual Result<StoreStatus> status() = 0;
  virtual Result<SpaceUsage> space(SpaceDetail detail = SpaceDetail::kTotals) = 0;
  virtual Result<ObjectRoom> room_for(std::uint64_t object_size) = 0;
  virtual Result<std::vector<Counter>> counters() = 0;
  // A page may be shorter than asked for.
  virtual Result<ListPage> list(const std::string& collection, const ListOptions& options) = 0;
  virtual Result<core::ObjectLook> look(const std::string& collection, const std::string& name,
                                        core::LookFor what) = 0;
  virtual Result<std::vector<CollectionInfo>> collections() = 0;
  virtual Result<std::vector<Damage>> damage() = 0;
};

// `store` and `client` outlive the view.
std::unique_ptr<PoolView> view_of(Store& store);
std::unique_ptr<PoolView> view_of(const core::ControlClient& client);

// "process 4711 (python3 serve.py), which has had the pool open since 2026-11-26 20:01:12 UTC"
std::string describe(const core::ControlHolder& holder);

}  // namespace hexad::tools
