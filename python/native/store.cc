#include "python/native/store.h"

#include <hexad/hexad.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "python/native/arguments.h"
#include "python/native/changes.h"
#include "python/native/completions.h"
#include "python/native/dicts.h"
#include "python/native/options.h"
#include "python/native/pools.h"
#include "python/native/scrub.h"
#include "python/native/store_handle.h"
#include "python/native/stream.h"

namespace hexad::python {

namespace nb = nanobind;

namespace {

std::vector<DeviceId> to_device_ids(const nb::list& numbers) {
  std::vector<DeviceId> ids;
  for (const nb::handle number : numbers) ids.push_back(to_device_id(number));
  return ids;
}

CommitOptions to_commit_options(bool durable) {
  return {durable ? Durability::kDurable : Durability::kBuffered};
}

void bind_commits(nb::class_<StoreObject>& bound) {
  bound
      .def("commit", apart_if_slow("commit", CallKind::kChanges,
                                   [](StoreObject& self, Changes& changes, bool durable) {
                                     Changes::Taken taken = changes.take();
                                     return take(self.handle->run(
                                         [&](Store& store) {
                                           return store.commit(std::move(taken.transaction),
                                                               to_commit_options(durable));
                                         },
                                         "commit"));
                                   }))
      // Answered through `completions`, under the token; when this raises, perhaps not: a call that
      // is interrupted is.
      .def("submit",
           [](StoreObject& self, Changes& changes, bool durable,
              const std::shared_ptr<Completions>& completions, std::uint64_t token) {
             Changes::Taken taken = changes.take();
             self.handle->run([&](Store& store) {
               store.submit(
                   std::move(taken.transaction),
                   [completions, token, kept = taken.kept](Result<Lsn> result) {
                     // What was borrowed leaves with the answer, so that nothing is left here whose
                     // end would need the GIL.
                     completions->push({token, std::move(result),
                                        std::make_shared<Kept>(std::exchange(*kept, {}))});
                   },
                   to_commit_options(durable));
             });
           })
      .def("open_writer",
           apart_if_slow(
               "open_writer", CallKind::kLooks,
               [](StoreObject& self, nb::handle collection, nb::handle name, nb::handle hint) {
                 const Text in(collection, "collection");
                 const Text of(name, "name");
                 const auto flags = static_cast<Hint>(to_number(hint, "hint", 0xffff));
                 auto part = open_part<ObjectWriter>(*self.handle, of, [&](Store& store) {
                   return store.open_writer(in, of, flags);
                 });
                 return WriterStream(self.handle, std::move(part), of);
               }))
      .def("open_reader",
           apart_if_slow("open_reader", CallKind::kLooks,
                         [](StoreObject& self, nb::handle collection, nb::handle name) {
                           const Text in(collection, "collection");
                           const Text of(name, "name");
                           auto part = open_part<ObjectReader>(*self.handle, of, [&](Store& store) {
                             return store.open_reader(in, of);
                           });
                           return ReaderStream(self.handle, std::move(part), of);
                         }));
}

void bind_care(nb::class_<StoreObject>& bound) {
  bound
      .def("sync",
           apart_if_slow("sync", CallKind::kSettles,
                         [](StoreObject& self) {
                           check(self.handle->run([](Store& store) { return store.sync(); }));
                         }))
      .def("checkpoint",
           apart("checkpoint", CallKind::kSettles,
                 [](StoreObject& self) {
                   check(self.handle->run([](Store& store) { return store.checkpoint(); }));
                 }))
      .def("fsck", apart("fsck", CallKind::kLooks,
                         [](StoreObject& self, bool deep, bool repair) {
                           return fsck(*self.handle, deep, repair);
                         }))
      .def("scrub",
           apart("scrub", CallKind::kLooks,
                 [](StoreObject& self, nb::handle rate, const std::string& from,
                    const nb::object& progress) {
                   return scrub(*self.handle, to_number(rate, "rate"), from, progress);
                 }),
           nb::arg("rate"), nb::arg("start"), nb::arg("progress").none())
      .def("catch_up",
           apart("catch_up", CallKind::kLooks,
                 [](StoreObject& self, nb::handle rate, const nb::object& progress) {
                   return catch_up(*self.handle, to_number(rate, "rate"), progress);
                 }),
           nb::arg("rate"), nb::arg("progress").none())
      .def("bring_back_device",
           apart("bring_back_device", CallKind::kChanges,
                 [](StoreObject& self, nb::handle device, const std::string& path) {
                   const DeviceId id = to_device_id(device);
                   check(self.handle->run(
                       [&](Store& store) { return store.bring_back_device(id, path); }));
                 }))
      .def("add_device", apart("add_device", CallKind::kChanges,
                               [](StoreObject& self, nb::handle path, nb::handle domain) {
                                 return add_device(
                                     *self.handle, std::string(Text(path, "path").view()),
                                     std::string(Text(domain, "failure_domain").view()));
                               }))
      .def("add_fast_device", apart("add_fast_device", CallKind::kChanges,
                                    [](StoreObject& self, nb::handle directory) {
                                      return add_fast_device(
                                          *self.handle,
                                          std::string(Text(directory, "directory").view()));
                                    }))
      .def("replace_device",
           apart("replace_device", CallKind::kChanges,
                 [](StoreObject& self, nb::handle device, nb::handle path, nb::handle rate,
                    const nb::object& progress) {
                   const DeviceId id = to_device_id(device);
                   const std::string where(Text(path, "path").view());
                   return replace_device(*self.handle, id, where, to_number(rate, "rate"),
                                         progress);
                 }),
           nb::arg("device"), nb::arg("path"), nb::arg("rate"), nb::arg("progress").none())
      .def("drain_device",
           apart("drain_device", CallKind::kChanges,
                 [](StoreObject& self, nb::handle device) {
                   const DeviceId id = to_device_id(device);
                   check(self.handle->run([&](Store& store) { return store.drain_device(id); }));
                 }))
      .def("undrain_device",
           apart("undrain_device", CallKind::kChanges,
                 [](StoreObject& self, nb::handle device) {
                   const DeviceId id = to_device_id(device);
                   check(self.handle->run([&](Store& store) { return store.undrain_device(id); }));
                 }))
      .def("remove_device",
           apart("remove_device", CallKind::kChanges,
                 [](StoreObject& self, nb::handle device) {
                   const DeviceId id = to_device_id(device);
                   check(self.handle->run([&](Store& store) { return store.remove_device(id); }));
                 }))
      .def("move_slabs",
           apart("move_slabs", CallKind::kLooks,
                 [](StoreObject& self, nb::handle rate, const nb::object& progress) {
                   return move_slabs(*self.handle, to_number(rate, "rate"), progress);
                 }),
           nb::arg("rate"), nb::arg("progress").none())
      .def("clear_device_errors", apart("clear_device_errors", CallKind::kChanges,
                                        [](StoreObject& self, const nb::list& devices) {
                                          const std::vector<DeviceId> ids = to_device_ids(devices);
                                          check(self.handle->run([&](Store& store) {
                                            return store.clear_device_errors(ids);
                                          }));
                                        }))
      .def("damage", apart("damage", CallKind::kLooks,
                           [](StoreObject& self) { return damage(*self.handle); }))
      .def("acknowledge_damage",
           apart("acknowledge_damage", CallKind::kChanges,
                 [](StoreObject& self, const nb::object& collection, const nb::object& names) {
                   return acknowledge_damage(*self.handle, collection, names);
                 }),
           nb::arg("collection"), nb::arg("names").none())
      .def("serve_control",
           [](StoreObject& self) {
             return self.handle->run([](Store& store) { return store.serve_control().ok(); });
           })
      .def("status", apart_if_slow("status", CallKind::kLooks,
                                   [](StoreObject& self) {
                                     return to_dict(self.handle->run(
                                         [](Store& store) { return store.status(); }));
                                   }))
      .def("can_offline", apart_if_slow("can_offline", CallKind::kLooks,
                                        [](StoreObject& self, const nb::list& devices) {
                                          const std::vector<DeviceId> ids = to_device_ids(devices);
                                          const StoreStatus status = self.handle->run(
                                              [](Store& store) { return store.status(); });
                                          const StoreUse use = status.read_only ? StoreUse::kNobody
                                                                                : StoreUse::kWriter;
                                          return to_dict(take(can_offline(status, ids, use)));
                                        }))
      .def("space", apart("space", CallKind::kLooks,
                          [](StoreObject& self, bool breakdown) {
                            const SpaceDetail detail =
                                breakdown ? SpaceDetail::kBreakdown : SpaceDetail::kTotals;
                            return to_dict(take(self.handle->run(
                                [detail](Store& store) { return store.space(detail); })));
                          }))
      .def("set_cache_size", apart("set_cache_size", CallKind::kLooks,
                                   [](StoreObject& self, nb::handle size) {
                                     const std::uint64_t bytes = to_number(size, "size");
                                     check(self.handle->run([bytes](Store& store) {
                                       return store.set_cache_size(bytes);
                                     }));
                                   }))
      .def("room_for", apart("room_for", CallKind::kLooks,
                             [](StoreObject& self, nb::handle object_size) {
                               const std::uint64_t size = to_number(object_size, "object_size");
                               return to_dict(take(self.handle->run(
                                   [size](Store& store) { return store.room_for(size); })));
                             }))
      .def("counters",
           [](StoreObject& self) {
             return to_dict(self.handle->run([](Store& store) { return store.counters(); }));
           })
      .def("effective_options",
           [](StoreObject& self) {
             return to_dict(
                 self.handle->run([](Store& store) { return store.effective_options(); }));
           })
      // Of a store that is open for reading only. The dicts are the options to open it for writing,
      // and for reading again should that fail.
      .def("become_writable",
           [](StoreObject& self, const nb::sequence& devices, const nb::sequence& fast,
              const nb::dict& writable, const nb::dict& read_only) {
             const PoolDescription pool = to_pool(devices, fast);
             const RuntimeOptions write = to_runtime_options(writable);
             const RuntimeOptions read = to_runtime_options(read_only);
             call_apart_with_gil("open", CallKind::kLooks,
                                 [handle = self.handle, pool, write, read] {
                                   handle->exchange(
                                       pool.devices.empty() ? "" : pool.devices.front(),
                                       [&] { return Store::open(pool, write); },
                                       [&] { return Store::open(pool, read); });
                                 });
           })
      .def("close",
           [](StoreObject& self) {
             check(call_apart("close", CallKind::kSettles,
                              [handle = self.handle] { return handle->close(); }));
           })
      .def_prop_ro("closed", [](StoreObject& self) { return self.handle->closed(); })
      .def_prop_ro("forked", [](StoreObject& self) { return self.handle->forked(); });
}

}  // namespace

void bind_store(nb::module_& module) {
  nb::class_<StoreObject> store(module, "Store");
  bind_store_reads(module, store);
  bind_commits(store);
  bind_care(store);
}

}  // namespace hexad::python
