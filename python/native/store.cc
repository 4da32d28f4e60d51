#include "python/native/store.h"

#include <hexad/hexad.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "python/native/arguments.h"
#include "python/native/changes.h"
#include "python/native/completions.h"
#include "python/native/dicts.h"
#include "python/native/long_read.h"
#include "python/native/options.h"
#include "python/native/pools.h"
#include "python/native/read.h"
#include "python/native/scrub.h"
#include "python/native/store_handle.h"
#include "python/native/stream.h"

namespace hexad::python {

namespace nb = nanobind;

namespace {

// An object's bytes without another copy: what the read cache has, or what get() of the engine
// returned.
class View {
 public:
  explicit View(PinnedBytes pinned) : pinned_(std::move(pinned)) {}
  explicit View(Bytes bytes) : read_(std::move(bytes)) {}
  ByteView bytes() const { return pinned_.has_value() ? pinned_->bytes() : ByteView(read_); }

 private:
  std::optional<PinnedBytes> pinned_;
  Bytes read_;
};

int get_view_buffer(PyObject* self, Py_buffer* view, int flags) {
  const ByteView bytes = nb::inst_ptr<View>(self)->bytes();
  // Read-only, so nobody writes through the pointer.
  return PyBuffer_FillInfo(view, self, const_cast<std::byte*>(bytes.data()),
                           static_cast<Py_ssize_t>(bytes.size()), 1, flags);
}

nb::object to_memoryview(const nb::object& owner) {
  nb::object result = nb::steal(PyMemoryView_FromObject(owner.ptr()));
  if (!result.is_valid()) throw nb::python_error();
  return result;
}

nb::object to_memoryview(View view) { return to_memoryview(nb::cast(std::move(view))); }

PyType_Slot kViewSlots[] = {
    {Py_bf_getbuffer, reinterpret_cast<void*>(&get_view_buffer)},
    {0, nullptr},
};

std::vector<DeviceId> to_device_ids(const nb::list& numbers) {
  std::vector<DeviceId> ids;
  for (const nb::handle number : numbers) ids.push_back(to_device_id(number));
  return ids;
}

Result<View> view_of(Store& store, std::string_view collection, std::string_view name) {
  if (auto cached = store.cached(collection, name); cached.has_value()) {
    return View(*std::move(cached));
  }
  HEXAD_TRY_ASSIGN(Bytes bytes, store.get(collection, name));
  return View(std::move(bytes));
}

nb::list get_many(StoreObject& self, nb::handle collection, const nb::sequence& names) {
  const Text in(collection, "collection");
  std::vector<Text> wanted;
  wanted.reserve(nb::len(names));
  for (const nb::handle name : names) wanted.emplace_back(name, "name");
  std::vector<Result<View>> found;
  found.reserve(wanted.size());
  while (found.size() < wanted.size()) {
    const bool failed = self.handle->run([&](Store& store) {
      for (std::uint64_t bytes = 0; found.size() < wanted.size() && bytes < kReadStep;) {
        found.push_back(view_of(store, in, wanted[found.size()]));
        if (found.back().ok()) {
          bytes += found.back()->bytes().size();
        } else if (found.back().error().code != ErrorCode::kNotFound) {
          return true;
        }
      }
      return false;
    });
    if (failed) break;
    if (found.size() < wanted.size()) check_signals();
  }
  nb::list result;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].ok()) {
      count_copied(found[i]->bytes().size());
      result.append(to_bytes(found[i]->bytes()));
    } else if (found[i].error().code == ErrorCode::kNotFound) {
      result.append(nb::none());
    } else {
      fail(found[i].error(), wanted[i]);
    }
    found[i] = View(Bytes());  // not all of it in memory twice
  }
  return result;
}

std::vector<ByteRange> to_ranges(const nb::sequence& pairs) {
  std::vector<ByteRange> ranges;
  for (const nb::handle pair : pairs) {
    const auto [offset, length] = to_pair(pair, "ranges: a pair of offset and length");
    ranges.push_back({to_number(offset, "offset"), to_number(length, "length")});
  }
  return ranges;
}

void bind_reads(nb::class_<StoreObject>& bound) {
  bound
      .def("get",
           [](StoreObject& self, nb::handle collection, nb::handle name) {
             return read_bytes(*self.handle, Text(collection, "collection"), Text(name, "name"), 0,
                               ~std::uint64_t{0});
           })
      .def("get_range",
           [](StoreObject& self, nb::handle collection, nb::handle name, nb::handle offset,
              nb::handle length) {
             return read_bytes(*self.handle, Text(collection, "collection"), Text(name, "name"),
                               to_number(offset, "offset"), to_number(length, "length"));
           })
      .def("get_if_cached",
           [](StoreObject& self, nb::handle collection, nb::handle name, nb::handle offset,
              nb::handle length) {
             return read_if_cached(*self.handle, Text(collection, "collection"), Text(name, "name"),
                                   to_number(offset, "offset"), to_number(length, "length"));
           })
      .def("size_if_cached",
           [](StoreObject& self, nb::handle collection, nb::handle name) {
             const Text in(collection, "collection");
             const Text of(name, "name");
             return self.handle->run_at_once(
                 [&](Store& store) { return store.cached_size(in, of); });
           })
      .def("get_ranges",
           [](StoreObject& self, nb::handle collection, nb::handle name,
              const nb::sequence& ranges) {
             return read_ranges(*self.handle, Text(collection, "collection"), Text(name, "name"),
                                to_ranges(ranges));
           })
      .def("get_ranges_if_cached",
           [](StoreObject& self, nb::handle collection, nb::handle name, const nb::sequence& ranges,
              bool unchanging) {
             return read_ranges_if_cached(*self.handle, Text(collection, "collection"),
                                          Text(name, "name"), to_ranges(ranges), unchanging);
           })
      .def("get_into",
           [](StoreObject& self, nb::handle collection, nb::handle name, nb::handle offset,
              nb::handle into) {
             const Text in(collection, "collection");
             const Text of(name, "name");
             const std::uint64_t from = to_number(offset, "offset");
             const Buffer buffer(into, Buffer::Access::kWrite);
             if (const auto cached =
                     self.handle->run_at_once([&](Store& store) { return store.cached(in, of); });
                 cached.has_value()) {
               const ByteView part = part_of(cached->bytes(), from, buffer.writable().size());
               copy_bytes(buffer.writable(), part);
               return std::uint64_t{part.size()};
             }
             if (buffer.writable().size() > kReadStep) {
               LongRead read(*self.handle, in, of, from);
               const MutByteView there = buffer.writable().first(
                   std::min<std::uint64_t>(buffer.writable().size(), read.left()));
               read.fill(there);
               return std::uint64_t{there.size()};
             }
             return take(self.handle->run([&](Store& store) {
               return store.read(in, of, from, buffer.writable());
             }),
                         of);
           })
      .def("get_view",
           [](StoreObject& self, nb::handle collection, nb::handle name) {
             const Text in(collection, "collection");
             const Text of(name, "name");
             if (auto cached =
                     self.handle->run_at_once([&](Store& store) { return store.cached(in, of); });
                 cached.has_value()) {
               return to_memoryview(View(*std::move(cached)));
             }
             if (nb::object long_one = read_if_long(*self.handle, in, of); long_one.is_valid()) {
               return to_memoryview(long_one);
             }
             return to_memoryview(
                 View(take(self.handle->run([&](Store& store) { return store.get(in, of); }), of)));
           })
      .def("get_many", &get_many)
      .def("extents",
           [](StoreObject& self, nb::handle collection, nb::handle name, nb::handle offset,
              nb::handle length) {
             const Text in(collection, "collection");
             const Text of(name, "name");
             const ByteRange range{to_number(offset, "offset"), to_number(length, "length")};
             nb::list result;
             for (const ByteRange& one :
                  take(self.handle->run([&](Store& store) { return store.extents(in, of, range); }),
                       of)) {
               result.append(nb::make_tuple(one.offset, one.length));
             }
             return result;
           })
      .def("checksum", [](StoreObject& self, nb::handle collection, nb::handle name,
                          nb::handle offset, nb::handle length, nb::handle type) {
        const Text in(collection, "collection");
        const Text of(name, "name");
        const ByteRange range{to_number(offset, "offset"), to_number(length, "length")};
        const ChecksumType kind = take(parse_checksum_type(Text(type, "type").view()));
        const RangeChecksum sum = checksum(*self.handle, in, of, range, kind);
        return nb::make_tuple(sum.value, sum.length);
      });
}

std::optional<ObjectStat> stat_at_once(StoreObject& self, std::string_view collection,
                                       std::string_view name) {
  return self.handle->run_at_once(
      [&](Store& store) { return store.cached_stat(collection, name); });
}

void bind_names(nb::class_<StoreObject>& bound) {
  bound
      .def("exists",
           [](StoreObject& self, nb::handle collection, nb::handle name) {
             const Text in(collection, "collection");
             const Text of(name, "name");
             if (stat_at_once(self, in, of).has_value()) return true;
             return take(self.handle->run([&](Store& store) { return store.exists(in, of); }), of);
           })
      .def("stat",
           [](StoreObject& self, nb::handle collection, nb::handle name) {
             const Text in(collection, "collection");
             const Text of(name, "name");
             if (const auto cached = stat_at_once(self, in, of); cached.has_value()) {
               return to_stat(*cached);
             }
             return to_stat(
                 take(self.handle->run([&](Store& store) { return store.stat(in, of); }), of));
           })
      .def("attributes",
           [](StoreObject& self, nb::handle collection, nb::handle name) {
             const Text in(collection, "collection");
             const Text of(name, "name");
             return to_dict(take(
                 self.handle->run([&](Store& store) { return store.attributes(in, of); }), of));
           })
      .def("attribute",
           [](StoreObject& self, nb::handle collection, nb::handle name,
              nb::handle attribute) -> nb::object {
             const Text in(collection, "collection");
             const Text of(name, "name");
             const Text wanted(attribute, "attribute");
             const std::optional<std::string> value = take(
                 self.handle->run([&](Store& store) { return store.attribute(in, of, wanted); }),
                 of);
             if (!value.has_value()) return nb::none();
             return to_bytes(std::string_view(*value));
           })
      .def("list",
           [](StoreObject& self, nb::handle collection, nb::handle prefix, nb::handle after,
              nb::handle delimiter, nb::handle limit, bool reverse) {
             const Text in(collection, "collection");
             ListOptions options;
             options.prefix = Text(prefix, "prefix").view();
             options.start_after = Text(after, "after").view();
             options.delimiter = Text(delimiter, "delimiter").view();
             options.limit = to_number(limit, "limit");
             options.reverse = reverse;
             return to_tuple(
                 take(self.handle->run([&](Store& store) { return store.list(in, options); }), in));
           })
      .def("collections",
           [](StoreObject& self) {
             nb::list result;
             for (const CollectionInfo& info :
                  take(self.handle->run([](Store& store) { return store.collections(); }))) {
               result.append(to_dict(info));
             }
             return result;
           })
      .def("collection",
           [](StoreObject& self, nb::handle name) {
             const Text of(name, "collection");
             return to_dict(
                 take(self.handle->run([&](Store& store) { return store.collection(of); }), of));
           })
      .def("collection_usage", [](StoreObject& self, nb::handle name) {
        const Text of(name, "collection");
        return to_dict(
            take(self.handle->run([&](Store& store) { return store.collection_usage(of); }), of));
      });
}

void bind_omap(nb::class_<StoreObject>& bound) {
  bound
      .def("omap_get",
           [](StoreObject& self, nb::handle collection, nb::handle name,
              nb::handle key) -> nb::object {
             const Text in(collection, "collection");
             const Text of(name, "name");
             const Text wanted(key, "key");
             const std::optional<Bytes> value = take(self.handle->run([&](Store& store) {
               return store.omap_get(in, of, wanted.view());
             }),
                                                     of);
             if (!value.has_value()) return nb::none();
             return to_bytes(ByteView(*value));
           })
      .def("omap_get_many",
           [](StoreObject& self, nb::handle collection, nb::handle name, const nb::sequence& keys) {
             const Text in(collection, "collection");
             const Text of(name, "name");
             const std::vector<std::string> wanted = to_strings(keys, "key");
             nb::dict result;
             for (const auto& [key, value] : take(self.handle->run([&](Store& store) {
                    return store.omap_get(in, of, std::span<const std::string>(wanted));
                  }),
                                                  of)) {
               result[to_text(key)] = to_bytes(ByteView(value));
             }
             return result;
           })
      .def("omap_header",
           [](StoreObject& self, nb::handle collection, nb::handle name) {
             const Text in(collection, "collection");
             const Text of(name, "name");
             return to_bytes(ByteView(take(
                 self.handle->run([&](Store& store) { return store.omap_header(in, of); }), of)));
           })
      .def("omap_list", [](StoreObject& self, nb::handle collection, nb::handle name,
                           nb::handle after, nb::handle end, nb::handle limit, bool values) {
        const Text in(collection, "collection");
        const Text of(name, "name");
        OmapOptions options;
        options.start_after = Text(after, "after").view();
        options.end = Text(end, "end").view();
        options.limit = to_number(limit, "limit");
        options.values = values;
        return to_tuple(
            take(self.handle->run([&](Store& store) { return store.omap_list(in, of, options); }),
                 of),
            values);
      });
}

CommitOptions to_commit_options(bool durable) {
  return {durable ? Durability::kDurable : Durability::kBuffered};
}

void bind_commits(nb::class_<StoreObject>& bound) {
  bound
      .def("commit",
           [](StoreObject& self, Changes& changes, bool durable) {
             Changes::Taken taken = changes.take();
             return take(self.handle->run([&](Store& store) {
               return store.commit(std::move(taken.transaction), to_commit_options(durable));
             }));
           })
      // Answered through `completions`, under the token; when this raises, it is not.
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
           [](StoreObject& self, nb::handle collection, nb::handle name, nb::handle hint) {
             const Text in(collection, "collection");
             const Text of(name, "name");
             const auto flags = static_cast<Hint>(to_number(hint, "hint", 0xffff));
             auto part = open_part<ObjectWriter>(
                 *self.handle, of, [&](Store& store) { return store.open_writer(in, of, flags); });
             return WriterStream(self.handle, std::move(part), of);
           })
      .def("open_reader", [](StoreObject& self, nb::handle collection, nb::handle name) {
        const Text in(collection, "collection");
        const Text of(name, "name");
        auto part = open_part<ObjectReader>(
            *self.handle, of, [&](Store& store) { return store.open_reader(in, of); });
        return ReaderStream(self.handle, std::move(part), of);
      });
}

void bind_care(nb::class_<StoreObject>& bound) {
  bound
      .def("sync",
           [](StoreObject& self) {
             check(self.handle->run([](Store& store) { return store.sync(); }));
           })
      .def("checkpoint",
           [](StoreObject& self) {
             check(self.handle->run([](Store& store) { return store.checkpoint(); }));
           })
      .def("fsck", [](StoreObject& self, bool deep,
                      bool repair) { return fsck(*self.handle, deep, repair); })
      .def(
          "scrub",
          [](StoreObject& self, nb::handle rate, const std::string& from,
             const nb::object& progress) {
            return scrub(*self.handle, to_number(rate, "rate"), from, progress);
          },
          nb::arg("rate"), nb::arg("start"), nb::arg("progress").none())
      .def(
          "catch_up",
          [](StoreObject& self, nb::handle rate, const nb::object& progress) {
            return catch_up(*self.handle, to_number(rate, "rate"), progress);
          },
          nb::arg("rate"), nb::arg("progress").none())
      .def("bring_back_device",
           [](StoreObject& self, nb::handle device, const std::string& path) {
             const DeviceId id = to_device_id(device);
             check(
                 self.handle->run([&](Store& store) { return store.bring_back_device(id, path); }));
           })
      .def("add_device",
           [](StoreObject& self, nb::handle path) {
             return add_device(*self.handle, std::string(Text(path, "path").view()));
           })
      .def(
          "replace_device",
          [](StoreObject& self, nb::handle device, nb::handle path, nb::handle rate,
             const nb::object& progress) {
            const DeviceId id = to_device_id(device);
            const std::string where(Text(path, "path").view());
            return replace_device(*self.handle, id, where, to_number(rate, "rate"), progress);
          },
          nb::arg("device"), nb::arg("path"), nb::arg("rate"), nb::arg("progress").none())
      .def("drain_device",
           [](StoreObject& self, nb::handle device) {
             const DeviceId id = to_device_id(device);
             check(self.handle->run([&](Store& store) { return store.drain_device(id); }));
           })
      .def("undrain_device",
           [](StoreObject& self, nb::handle device) {
             const DeviceId id = to_device_id(device);
             check(self.handle->run([&](Store& store) { return store.undrain_device(id); }));
           })
      .def("remove_device",
           [](StoreObject& self, nb::handle device) {
             const DeviceId id = to_device_id(device);
             check(self.handle->run([&](Store& store) { return store.remove_device(id); }));
           })
      .def(
          "move_slabs",
          [](StoreObject& self, nb::handle rate, const nb::object& progress) {
            return move_slabs(*self.handle, to_number(rate, "rate"), progress);
          },
          nb::arg("rate"), nb::arg("progress").none())
      .def("clear_device_errors",
           [](StoreObject& self, const nb::list& devices) {
             const std::vector<DeviceId> ids = to_device_ids(devices);
             check(self.handle->run([&](Store& store) { return store.clear_device_errors(ids); }));
           })
      .def("damage", [](StoreObject& self) { return damage(*self.handle); })
      .def(
          "acknowledge_damage",
          [](StoreObject& self, const nb::object& collection, const nb::object& names) {
            return acknowledge_damage(*self.handle, collection, names);
          },
          nb::arg("collection"), nb::arg("names").none())
      .def("serve_control",
           [](StoreObject& self) {
             return self.handle->run([](Store& store) { return store.serve_control().ok(); });
           })
      .def("status",
           [](StoreObject& self) {
             return to_dict(self.handle->run([](Store& store) { return store.status(); }));
           })
      .def("can_offline",
           [](StoreObject& self, const nb::list& devices) {
             const std::vector<DeviceId> ids = to_device_ids(devices);
             const StoreStatus status =
                 self.handle->run([](Store& store) { return store.status(); });
             const StoreUse use = status.read_only ? StoreUse::kNobody : StoreUse::kWriter;
             return to_dict(take(can_offline(status, ids, use)));
           })
      .def("space",
           [](StoreObject& self) {
             return to_dict(take(self.handle->run([](Store& store) { return store.space(); })));
           })
      .def("room_for",
           [](StoreObject& self, nb::handle object_size) {
             const std::uint64_t size = to_number(object_size, "object_size");
             return to_dict(
                 take(self.handle->run([size](Store& store) { return store.room_for(size); })));
           })
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
             self.handle->exchange(
                 pool.devices.empty() ? "" : pool.devices.front(),
                 [&] { return Store::open(pool, write); }, [&] { return Store::open(pool, read); });
           })
      .def("close",
           [](StoreObject& self) {
             const Status status = [&] {
               const nb::gil_scoped_release unlocked;
               return self.handle->close();
             }();
             check(status);
           })
      .def_prop_ro("closed", [](StoreObject& self) { return self.handle->closed(); })
      .def_prop_ro("forked", [](StoreObject& self) { return self.handle->forked(); });
}

}  // namespace

void bind_store(nb::module_& module) {
  nb::class_<View>(module, "View", nb::type_slots(kViewSlots)).def("__len__", [](const View& self) {
    return self.bytes().size();
  });
  nb::class_<StoreObject> store(module, "Store");
  bind_reads(store);
  bind_names(store);
  bind_omap(store);
  bind_commits(store);
  bind_care(store);
}

}  // namespace hexad::python
