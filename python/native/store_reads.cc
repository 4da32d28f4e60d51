// hexad._native.Store: what changes nothing. Reads of objects, names and their records, omaps.
#include <hexad/hexad.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "python/native/arguments.h"
#include "python/native/dicts.h"
#include "python/native/long_read.h"
#include "python/native/read.h"
#include "python/native/store.h"
#include "python/native/store_handle.h"

namespace hexad::python {

namespace nb = nanobind;

namespace {

constexpr std::uint64_t kAll = ~std::uint64_t{0};

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
      .def("get", apart_if_slow(
                      "get", CallKind::kLooks,
                      [](StoreObject& self, nb::handle collection, nb::handle name) {
                        return read_bytes(*self.handle, Text(collection, "collection"),
                                          Text(name, "name"), 0, kAll);
                      },
                      [](StoreObject& self, nb::handle collection, nb::handle name) {
                        return cached_part(*self.handle, Text(collection, "collection"),
                                           Text(name, "name"), 0, kAll);
                      }))
      .def("get_range", apart_if_slow(
                            "get_range", CallKind::kLooks,
                            [](StoreObject& self, nb::handle collection, nb::handle name,
                               nb::handle offset, nb::handle length) {
                              return read_bytes(*self.handle, Text(collection, "collection"),
                                                Text(name, "name"), to_number(offset, "offset"),
                                                to_number(length, "length"));
                            },
                            [](StoreObject& self, nb::handle collection, nb::handle name,
                               nb::handle offset, nb::handle length) {
                              return cached_part(*self.handle, Text(collection, "collection"),
                                                 Text(name, "name"), to_number(offset, "offset"),
                                                 to_number(length, "length"));
                            }))
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
      .def("get_ranges", apart_if_slow("get_ranges", CallKind::kLooks,
                                       [](StoreObject& self, nb::handle collection, nb::handle name,
                                          const nb::sequence& ranges) {
                                         return read_ranges(*self.handle,
                                                            Text(collection, "collection"),
                                                            Text(name, "name"), to_ranges(ranges));
                                       }))
      .def("get_ranges_if_cached",
           [](StoreObject& self, nb::handle collection, nb::handle name, const nb::sequence& ranges,
              bool unchanging) {
             return read_ranges_if_cached(*self.handle, Text(collection, "collection"),
                                          Text(name, "name"), to_ranges(ranges), unchanging);
           })
      .def("get_into",
           apart_if_slow(
               "get_into", CallKind::kLooks,
               [](StoreObject& self, nb::handle collection, nb::handle name, nb::handle offset,
                  nb::handle into) {
                 const Buffer buffer(into, Buffer::Access::kWrite);
                 return read_into(*self.handle, Text(collection, "collection"), Text(name, "name"),
                                  to_number(offset, "offset"), buffer.writable());
               },
               [](StoreObject& self, nb::handle collection, nb::handle name, nb::handle offset,
                  nb::handle into) -> std::optional<std::uint64_t> {
                 const Text in(collection, "collection");
                 const Text of(name, "name");
                 const std::uint64_t from = to_number(offset, "offset");
                 const Buffer buffer(into, Buffer::Access::kWrite);
                 const auto cached =
                     self.handle->run_at_once([&](Store& store) { return store.cached(in, of); });
                 if (!cached.has_value()) return std::nullopt;
                 const ByteView part = part_of(cached->bytes(), from, buffer.writable().size());
                 copy_bytes(buffer.writable(), part);
                 return part.size();
               }))
      .def("get_view",
           apart_if_slow(
               "get_view", CallKind::kLooks,
               [](StoreObject& self, nb::handle collection, nb::handle name) {
                 const Text in(collection, "collection");
                 const Text of(name, "name");
                 if (nb::object long_one = read_if_long(*self.handle, in, of);
                     long_one.is_valid()) {
                   return to_memoryview(long_one);
                 }
                 return to_memoryview(View(
                     take(self.handle->run([&](Store& store) { return store.get(in, of); }), of)));
               },
               [](StoreObject& self, nb::handle collection,
                  nb::handle name) -> std::optional<nb::object> {
                 const Text in(collection, "collection");
                 const Text of(name, "name");
                 auto cached =
                     self.handle->run_at_once([&](Store& store) { return store.cached(in, of); });
                 if (!cached.has_value()) return std::nullopt;
                 return to_memoryview(View(*std::move(cached)));
               }))
      .def("get_many",
           apart_if_slow("get_many", CallKind::kLooks,
                         [](StoreObject& self, nb::handle collection, const nb::sequence& names) {
                           return get_many(self, collection, names);
                         }))
      .def("extents",
           apart("extents", CallKind::kLooks,
                 [](StoreObject& self, nb::handle collection, nb::handle name, nb::handle offset,
                    nb::handle length) {
                   const Text in(collection, "collection");
                   const Text of(name, "name");
                   const ByteRange range{to_number(offset, "offset"), to_number(length, "length")};
                   nb::list result;
                   for (const ByteRange& one : take(self.handle->run([&](Store& store) {
                          return store.extents(in, of, range);
                        }),
                                                    of)) {
                     result.append(nb::make_tuple(one.offset, one.length));
                   }
                   return result;
                 }))
      .def("checksum",
           apart_if_slow(
               "checksum", CallKind::kLooks,
               [](StoreObject& self, nb::handle collection, nb::handle name, nb::handle offset,
                  nb::handle length, nb::handle type) {
                 const Text in(collection, "collection");
                 const Text of(name, "name");
                 const ByteRange range{to_number(offset, "offset"), to_number(length, "length")};
                 const ChecksumType kind = take(parse_checksum_type(Text(type, "type").view()));
                 const RangeChecksum sum = checksum(*self.handle, in, of, range, kind);
                 return nb::make_tuple(sum.value, sum.length);
               }));
}

std::optional<ObjectStat> stat_at_once(StoreObject& self, nb::handle collection, nb::handle name) {
  const Text in(collection, "collection");
  const Text of(name, "name");
  return self.handle->run_at_once([&](Store& store) { return store.cached_stat(in, of); });
}

void bind_names(nb::class_<StoreObject>& bound) {
  bound
      .def(
          "exists",
          apart_if_slow(
              "exists", CallKind::kLooks,
              [](StoreObject& self, nb::handle collection, nb::handle name) {
                const Text in(collection, "collection");
                const Text of(name, "name");
                return take(self.handle->run([&](Store& store) { return store.exists(in, of); }),
                            of);
              },
              [](StoreObject& self, nb::handle collection, nb::handle name) -> std::optional<bool> {
                if (stat_at_once(self, collection, name).has_value()) return true;
                return std::nullopt;
              }))
      .def("stat",
           apart_if_slow(
               "stat", CallKind::kLooks,
               [](StoreObject& self, nb::handle collection, nb::handle name) {
                 const Text in(collection, "collection");
                 const Text of(name, "name");
                 return to_stat(
                     take(self.handle->run([&](Store& store) { return store.stat(in, of); }), of));
               },
               [](StoreObject& self, nb::handle collection, nb::handle name) {
                 const auto cached = stat_at_once(self, collection, name);
                 return cached.has_value() ? std::optional(to_stat(*cached)) : std::nullopt;
               }))
      .def("attributes",
           apart_if_slow(
               "attributes", CallKind::kLooks,
               [](StoreObject& self, nb::handle collection, nb::handle name) {
                 const Text in(collection, "collection");
                 const Text of(name, "name");
                 return to_dict(take(
                     self.handle->run([&](Store& store) { return store.attributes(in, of); }), of));
               }))
      .def("attribute", apart_if_slow("attribute", CallKind::kLooks,
                                      [](StoreObject& self, nb::handle collection, nb::handle name,
                                         nb::handle attribute) -> nb::object {
                                        const Text in(collection, "collection");
                                        const Text of(name, "name");
                                        const Text wanted(attribute, "attribute");
                                        const std::optional<std::string> value =
                                            take(self.handle->run([&](Store& store) {
                                              return store.attribute(in, of, wanted);
                                            }),
                                                 of);
                                        if (!value.has_value()) return nb::none();
                                        return to_bytes(std::string_view(*value));
                                      }))
      .def("list",
           apart_if_slow(
               "list", CallKind::kLooks,
               [](StoreObject& self, nb::handle collection, nb::handle prefix, nb::handle after,
                  nb::handle delimiter, nb::handle limit, bool reverse) {
                 const Text in(collection, "collection");
                 ListOptions options;
                 options.prefix = Text(prefix, "prefix").view();
                 options.start_after = Text(after, "after").view();
                 options.delimiter = Text(delimiter, "delimiter").view();
                 options.limit = to_number(limit, "limit");
                 options.reverse = reverse;
                 return to_tuple(take(
                     self.handle->run([&](Store& store) { return store.list(in, options); }), in));
               }))
      .def("collections",
           apart_if_slow("collections", CallKind::kLooks,
                         [](StoreObject& self) {
                           nb::list result;
                           for (const CollectionInfo& info : take(self.handle->run(
                                    [](Store& store) { return store.collections(); }))) {
                             result.append(to_dict(info));
                           }
                           return result;
                         }))
      .def("collection", apart_if_slow("collection", CallKind::kLooks,
                                       [](StoreObject& self, nb::handle name) {
                                         const Text of(name, "collection");
                                         return to_dict(take(self.handle->run([&](Store& store) {
                                           return store.collection(of);
                                         }),
                                                             of));
                                       }))
      .def("collection_usage",
           apart("collection_usage", CallKind::kLooks, [](StoreObject& self, nb::handle name) {
             const Text of(name, "collection");
             return to_dict(take(
                 self.handle->run([&](Store& store) { return store.collection_usage(of); }), of));
           }));
}

void bind_omap(nb::class_<StoreObject>& bound) {
  bound
      .def("omap_get", apart_if_slow("omap_get", CallKind::kLooks,
                                     [](StoreObject& self, nb::handle collection, nb::handle name,
                                        nb::handle key) -> nb::object {
                                       const Text in(collection, "collection");
                                       const Text of(name, "name");
                                       const Text wanted(key, "key");
                                       const std::optional<Bytes> value =
                                           take(self.handle->run([&](Store& store) {
                                             return store.omap_get(in, of, wanted.view());
                                           }),
                                                of);
                                       if (!value.has_value()) return nb::none();
                                       return to_bytes(ByteView(*value));
                                     }))
      .def("omap_get_many",
           apart_if_slow("omap_get_many", CallKind::kLooks,
                         [](StoreObject& self, nb::handle collection, nb::handle name,
                            const nb::sequence& keys) {
                           const Text in(collection, "collection");
                           const Text of(name, "name");
                           const std::vector<std::string> wanted = to_strings(keys, "key");
                           nb::dict result;
                           for (const auto& [key, value] : take(self.handle->run([&](Store& store) {
                                  return store.omap_get(in, of,
                                                        std::span<const std::string>(wanted));
                                }),
                                                                of)) {
                             result[to_text(key)] = to_bytes(ByteView(value));
                           }
                           return result;
                         }))
      .def("omap_header",
           apart_if_slow("omap_header", CallKind::kLooks,
                         [](StoreObject& self, nb::handle collection, nb::handle name) {
                           const Text in(collection, "collection");
                           const Text of(name, "name");
                           return to_bytes(ByteView(take(self.handle->run([&](Store& store) {
                             return store.omap_header(in, of);
                           }),
                                                         of)));
                         }))
      .def("omap_list",
           apart_if_slow("omap_list", CallKind::kLooks,
                         [](StoreObject& self, nb::handle collection, nb::handle name,
                            nb::handle after, nb::handle end, nb::handle limit, bool values) {
                           const Text in(collection, "collection");
                           const Text of(name, "name");
                           OmapOptions options;
                           options.start_after = Text(after, "after").view();
                           options.end = Text(end, "end").view();
                           options.limit = to_number(limit, "limit");
                           options.values = values;
                           return to_tuple(take(self.handle->run([&](Store& store) {
                                             return store.omap_list(in, of, options);
                                           }),
                                                of),
                                           values);
                         }));
}

}  // namespace

void bind_store_reads(nb::module_& module, nb::class_<StoreObject>& store) {
  nb::class_<View>(module, "View", nb::type_slots(kViewSlots)).def("__len__", [](const View& self) {
    return self.bytes().size();
  });
  bind_reads(store);
  bind_names(store);
  bind_omap(store);
}

}  // namespace hexad::python
