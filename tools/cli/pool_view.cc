#include "tools/cli/pool_view.h"

#include "base/bytes.h"

namespace hexad::tools {

namespace {

class StoreView final : public PoolView {
 public:
  explicit StoreView(Store& store) : store_(store) {}

  Result<StoreStatus> status() override { return store_.status(); }
  Result<SpaceUsage> space(SpaceDetail detail) override { return store_.space(detail); }
  Result<ObjectRoom> room_for(std::uint64_t object_size) override {
    return store_.room_for(object_size);
  }
  Result<std::vector<Counter>> counters() override { return store_.counters(); }
  Result<ListPage> list(const std::string& collection, const ListOptions& options) override {
    return store_.list(collection, options);
  }
  Result<core::ObjectLook> look(const std::string& collection, const std::string& name,
                                core::LookFor what) override {
    // One reader, so that all of it belongs to one version. A pool that is open read-only does not
    // change either.
    HEXAD_TRY_ASSIGN(const std::unique_ptr<ObjectReader> reader,
                     store_.open_reader(collection, name));
    core::ObjectLook look{reader->stat(), reader->attributes(), {}};
    if (what == core::LookFor::kStatAndRanges) {
      HEXAD_TRY_ASSIGN(look.ranges, store_.extents(collection, name));
    }
    return look;
  }
  Result<std::vector<CollectionInfo>> collections() override { return store_.collections(); }
  Result<std::vector<Damage>> damage() override { return store_.damage(); }

 private:
  Store& store_;
};

class HolderView final : public PoolView {
 public:
  explicit HolderView(const core::ControlClient& client) : client_(client) {}

  Result<StoreStatus> status() override { return client_.status(); }
  Result<SpaceUsage> space(SpaceDetail detail) override { return client_.space(detail); }
  Result<ObjectRoom> room_for(std::uint64_t object_size) override {
    return client_.room_for(object_size);
  }
  Result<std::vector<Counter>> counters() override { return client_.counters(); }
  Result<ListPage> list(const std::string& collection, const ListOptions& options) override {
    return client_.list(collection, options);
  }
  Result<core::ObjectLook> look(const std::string& collection, const std::string& name,
                                core::LookFor what) override {
    return client_.look(collection, name, what);
  }
  Result<std::vector<CollectionInfo>> collections() override { return client_.collections(); }
  Result<std::vector<Damage>> damage() override { return client_.damage(); }

 private:
  const core::ControlClient& client_;
};

}  // namespace

std::unique_ptr<PoolView> view_of(Store& store) { return std::make_unique<StoreView>(store); }

std::unique_ptr<PoolView> view_of(const core::ControlClient& client) {
  return std::make_unique<HolderView>(client);
}

std::string describe(const core::ControlHolder& holder) {
  constexpr std::size_t kMostShown = 80;  // bytes of a command
  std::string text = "process " + std::to_string(holder.process.pid);
  if (!holder.process.command.empty()) {
    text += " (" + printable(holder.process.command, kMostShown) + ")";
  }
  return text + ", which has had the pool open since " + io::format_utc(holder.opened);
}

}  // namespace hexad::tools
