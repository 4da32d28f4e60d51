#include "python/native/pools.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "python/native/arguments.h"
#include "python/native/dicts.h"
#include "python/native/errors.h"
#include "python/native/long_read.h"
#include "python/native/options.h"
#include "python/native/read.h"
#include "python/native/scrub.h"
#include "python/native/store.h"
#include "python/native/store_handle.h"

namespace hexad::python {

namespace nb = nanobind;

namespace {

nb::list to_list(const std::vector<std::string>& paths) {
  nb::list result;
  for (const std::string& path : paths) result.append(to_text(path));
  return result;
}

nb::tuple from_pool(const PoolDescription& pool) {
  return nb::make_tuple(to_list(pool.devices), to_list(pool.fast_directories));
}

StoreObject to_object(Result<Store> store) {
  return {std::make_shared<StoreHandle>(take(std::move(store)))};
}

nb::list to_list(const std::vector<DeviceHolder>& holders) {
  nb::list list;
  for (const DeviceHolder& holder : holders) {
    nb::dict entry;
    entry["path"] = to_text(holder.path);
    entry["who"] = to_text(holder.who);
    entry["can_be_shut_out"] = holder.can_be_shut_out;
    list.append(entry);
  }
  return list;
}

}  // namespace

PoolDescription to_pool(const nb::sequence& devices, const nb::sequence& fast) {
  return {to_strings(devices, "device"), to_strings(fast, "fast")};
}

void bind_pools(nb::module_& module) {
  module.def("format",
             apart("format", CallKind::kChanges, [](const nb::dict& given, nb::handle directory) {
               const std::string where(Text(directory, "path").view());
               FormatOptions options = to_format_options(given);
               Interruption interruption;
               options.progress = [&](std::uint64_t, std::uint64_t) {
                 return interruption.go_on();
               };
               Result<PoolDescription> pool = [&] {
                 const WithoutGil unlocked;
                 return Store::format(options);
               }();
               if (!pool.ok()) interruption.rethrow();
               check(write_pool(where, take(std::move(pool))));
               interruption.rethrow();
             }));
  module.def("read_pool", [](nb::handle directory) {
    return from_pool(take(read_pool(std::string(Text(directory, "path").view()))));
  });
  module.def("write_pool", [](nb::handle directory, const nb::sequence& devices,
                              const nb::sequence& fast) {
    check(write_pool(std::string(Text(directory, "path").view()), to_pool(devices, fast)));
  });
  module.def("expand_group", [](const nb::sequence& devices, const nb::sequence& fast) {
    return from_pool(
        take(call_apart("expand_group", CallKind::kLooks,
                        [pool = to_pool(devices, fast)] { return expand_group(pool); })));
  });
  module.def("inspect", [](const nb::sequence& devices, const nb::sequence& fast) {
    return to_dict(take(call_apart("inspect", CallKind::kLooks,
                                   [pool = to_pool(devices, fast)] { return inspect(pool); })));
  });
  module.def("holders", [](const nb::sequence& devices, const nb::sequence& fast) {
    return to_list(take(call_apart("holders", CallKind::kLooks, [pool = to_pool(devices, fast)] {
      return Store::holders(pool);
    })));
  });
  module.def("take_over", [](const nb::sequence& devices, const nb::sequence& fast) {
    return to_list(
        take(call_apart("take_over", CallKind::kChanges,
                        [pool = to_pool(devices, fast)] { return Store::take_over(pool); })));
  });
  module.def("check_options", [](const nb::dict& options) { to_runtime_options(options); });
  module.def("open",
             [](const nb::sequence& devices, const nb::sequence& fast, const nb::dict& given) {
               const PoolDescription pool = to_pool(devices, fast);
               const RuntimeOptions options = to_runtime_options(given);
               return to_object(call_apart("open", CallKind::kLooks,
                                           [pool, options] { return Store::open(pool, options); }));
             });
  module.def("open_replacing", [](const nb::sequence& devices, const nb::sequence& fast,
                                  const nb::dict& given, nb::handle device, nb::handle path) {
    const PoolDescription pool = to_pool(devices, fast);
    const RuntimeOptions options = to_runtime_options(given);
    Replacement replacement;
    replacement.device = to_device_id(device);
    replacement.path = Text(path, "path").view();
    const auto open = [pool, options, replacement]() mutable {
      Interruption interruption;
      replacement.progress = [&](std::uint64_t, std::uint64_t) { return interruption.go_on(); };
      Result<Store> store = Store::open_replacing(pool, replacement, options);
      interruption.rethrow();
      return store;
    };
    return to_object(call_apart("open", CallKind::kChanges, open));
  });
  module.def("in_memory", [](const nb::dict& given, const nb::dict& runtime) {
    return to_object(call_apart(
        "open", CallKind::kLooks,
        [options = to_memory_options(given), runtime_options = to_runtime_options(runtime)] {
          return Store::in_memory(options, runtime_options);
        }));
  });
  module.def("copied_bytes", &copied_bytes);
  module.def("parse_size",
             [](nb::handle text) { return take(parse_size(Text(text, "size").view())); });
}

}  // namespace hexad::python
