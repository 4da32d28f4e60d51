#include "python/native/changes.h"

#include <utility>

#include "python/native/flat.h"
#include "python/native/options.h"
#include "python/native/stream.h"

namespace hexad::python {

namespace nb = nanobind;

namespace {

constexpr std::uint64_t kMaxHint = 0xffff;

Hint to_hint(nb::handle flags) { return static_cast<Hint>(to_number(flags, "hint", kMaxHint)); }

Changes::Payload to_payload(bool borrow) {
  return borrow ? Changes::Payload::kBorrowed : Changes::Payload::kCopied;
}

Attributes to_attributes(const nb::dict& attributes) {
  Attributes result;
  for (const auto& [name, value] : attributes) {
    const Text text(name, "attribute");
    const Buffer bytes(value);
    result.insert_or_assign(std::string(text.view()), std::string(as_text(bytes.bytes())));
  }
  return result;
}

// The forms that several operations share: (collection, name) and (collection, name, text).
template <void (Transaction::*kCall)(std::string_view, std::string_view)>
void on_object(Changes& changes, nb::handle collection, nb::handle name) {
  (changes.transaction().*kCall)(Text(collection, "collection"), Text(name, "name"));
}

template <void (Transaction::*kCall)(std::string_view, std::string_view, std::string_view)>
void on_part(Changes& changes, nb::handle collection, nb::handle name, nb::handle part) {
  (changes.transaction().*kCall)(Text(collection, "collection"), Text(name, "name"),
                                 Text(part, "key"));
}

template <void (Transaction::*kCall)(std::string_view, std::string_view, std::string_view,
                                     std::string_view)>
void on_pair(Changes& changes, nb::handle collection, nb::handle from, nb::handle to_collection,
             nb::handle to) {
  (changes.transaction().*kCall)(Text(collection, "collection"), Text(from, "name"),
                                 Text(to_collection, "collection"), Text(to, "name"));
}

void bind_data(nb::class_<Changes>& changes) {
  changes
      .def("put",
           [](Changes& self, nb::handle collection, nb::handle name, nb::handle data,
              nb::handle hint, bool borrow) {
             self.put(Text(collection, "collection"), Text(name, "name"), data, to_hint(hint),
                      to_payload(borrow));
           })
      // Puts pairs[from:] as long as the payload stays within `most` bytes; where it stopped.
      .def("put_some",
           [](Changes& self, nb::handle collection, const nb::list& pairs, std::size_t from,
              nb::handle hint, bool borrow, std::uint64_t most) {
             return self.put_some(collection, pairs, from, to_hint(hint), to_payload(borrow), most);
           })
      .def("write",
           [](Changes& self, nb::handle collection, nb::handle name, nb::handle offset,
              nb::handle data, nb::handle hint) {
             const Buffer buffer(data);
             self.transaction().write(Text(collection, "collection"), Text(name, "name"),
                                      to_number(offset, "offset"), buffer.bytes(), to_hint(hint));
             count_copied(buffer.bytes().size());
           })
      .def("append",
           [](Changes& self, nb::handle collection, nb::handle name, nb::handle data,
              nb::handle hint) {
             const Buffer buffer(data);
             self.transaction().append(Text(collection, "collection"), Text(name, "name"),
                                       buffer.bytes(), to_hint(hint));
             count_copied(buffer.bytes().size());
           })
      .def("zero",
           [](Changes& self, nb::handle collection, nb::handle name, nb::handle offset,
              nb::handle length) {
             self.transaction().zero(Text(collection, "collection"), Text(name, "name"),
                                     to_number(offset, "offset"), to_number(length, "length"));
           })
      .def("truncate",
           [](Changes& self, nb::handle collection, nb::handle name, nb::handle size) {
             self.transaction().truncate(Text(collection, "collection"), Text(name, "name"),
                                         to_number(size, "size"));
           })
      .def("set_hint", [](Changes& self, nb::handle collection, nb::handle name, nb::handle hint) {
        self.transaction().set_hint(Text(collection, "collection"), Text(name, "name"),
                                    to_hint(hint));
      });
}

void bind_objects(nb::class_<Changes>& changes) {
  changes.def("touch", &on_object<&Transaction::touch>)
      .def("create", &on_object<&Transaction::create>)
      .def("remove", &on_object<&Transaction::remove>)
      .def("remove_range", &on_part<&Transaction::remove_range>)
      .def("rename", &on_pair<&Transaction::rename>)
      .def("clone", &on_pair<&Transaction::clone>)
      .def("clone_range",
           [](Changes& self, nb::handle collection, nb::handle from, nb::handle offset,
              nb::handle length, nb::handle to_collection, nb::handle to, nb::handle to_offset) {
             self.transaction().clone_range(
                 Text(collection, "collection"), Text(from, "name"), to_number(offset, "offset"),
                 to_number(length, "length"), Text(to_collection, "collection"), Text(to, "name"),
                 to_number(to_offset, "to_offset"));
           })
      .def("publish", [](Changes& self, WriterStream& writer) { writer.publish(self); })
      .def("set_attrs",
           [](Changes& self, nb::handle collection, nb::handle name, const nb::dict& attributes) {
             self.transaction().set_attrs(Text(collection, "collection"), Text(name, "name"),
                                          to_attributes(attributes));
           })
      .def("remove_attr", &on_part<&Transaction::remove_attr>)
      .def("remove_attrs", &on_object<&Transaction::remove_attrs>);
}

void bind_omap(nb::class_<Changes>& changes) {
  changes
      .def("omap_set",
           [](Changes& self, nb::handle collection, nb::handle name, nb::handle key,
              nb::handle value, nb::handle hint) {
             self.transaction().omap_set(Text(collection, "collection"), Text(name, "name"),
                                         Text(key, "key"), Buffer(value).bytes(), to_hint(hint));
           })
      .def("omap_remove", &on_part<&Transaction::omap_remove>)
      .def("omap_remove_range",
           [](Changes& self, nb::handle collection, nb::handle name, nb::handle first,
              nb::handle end) {
             self.transaction().omap_remove_range(Text(collection, "collection"),
                                                  Text(name, "name"), Text(first, "key"),
                                                  Text(end, "key"));
           })
      .def("omap_clear", &on_object<&Transaction::omap_clear>)
      .def("omap_set_header",
           [](Changes& self, nb::handle collection, nb::handle name, nb::handle header) {
             self.transaction().omap_set_header(Text(collection, "collection"), Text(name, "name"),
                                                Buffer(header).bytes());
           });
}

void bind_collections(nb::class_<Changes>& changes) {
  changes
      .def("create_collection",
           [](Changes& self, nb::handle collection) {
             self.transaction().create_collection(Text(collection, "collection"));
           })
      .def("remove_collection",
           [](Changes& self, nb::handle collection, bool recursive) {
             self.transaction().remove_collection(
                 Text(collection, "collection"),
                 recursive ? Contents::kRemoved : Contents::kMustBeEmpty);
           })
      .def("set_policy",
           [](Changes& self, nb::handle collection, nb::handle policy) {
             self.transaction().set_policy(Text(collection, "collection"), to_policy(policy));
           })
      .def("set_quota",
           [](Changes& self, nb::handle collection, nb::handle objects, nb::handle bytes) {
             Quota quota;
             quota.objects = to_number(objects, "objects");
             quota.bytes = to_number(bytes, "bytes");
             self.transaction().set_quota(Text(collection, "collection"), quota);
           });
}

void bind_guards(nb::class_<Changes>& changes) {
  changes.def("expect_absent", &on_object<&Transaction::expect_absent>)
      .def("expect_exists", &on_object<&Transaction::expect_exists>)
      .def("expect_version",
           [](Changes& self, nb::handle collection, nb::handle name, nb::handle version) {
             self.transaction().expect_version(Text(collection, "collection"), Text(name, "name"),
                                               to_number(version, "version"));
           })
      .def("expect_attr",
           [](Changes& self, nb::handle collection, nb::handle name, nb::handle attribute,
              nb::handle value) {
             self.transaction().expect_attr(Text(collection, "collection"), Text(name, "name"),
                                            Text(attribute, "attribute"),
                                            as_text(Buffer(value).bytes()));
           })
      .def("expect_attr_absent", &on_part<&Transaction::expect_attr_absent>)
      .def("expect_bytes",
           [](Changes& self, nb::handle collection, nb::handle name, nb::handle offset,
              nb::handle data) {
             self.transaction().expect_bytes(Text(collection, "collection"), Text(name, "name"),
                                             to_number(offset, "offset"), Buffer(data).bytes());
           })
      .def("expect_omap",
           [](Changes& self, nb::handle collection, nb::handle name, nb::handle key,
              nb::handle value) {
             self.transaction().expect_omap(Text(collection, "collection"), Text(name, "name"),
                                            Text(key, "key"), Buffer(value).bytes());
           })
      .def("expect_omap_absent", &on_part<&Transaction::expect_omap_absent>);
}

}  // namespace

void Changes::put(std::string_view collection, std::string_view name, nb::handle data, Hint hint,
                  Payload payload) {
  if (is_immutable(data)) {
    transaction().put_borrowed(collection, name, bytes_of(data), hint);
    kept_->push_back(nb::borrow(data));
    return;
  }
  const Buffer buffer(data);
  if (payload == Payload::kBorrowed) {
    nb::object view = to_flat(data);
    transaction().put_borrowed(collection, name, buffer.bytes(), hint);
    kept_->push_back(std::move(view));
  } else {
    transaction().put(collection, name, buffer.bytes(), hint);
    count_copied(buffer.bytes().size());
  }
}

std::size_t Changes::put_some(nb::handle collection, const nb::list& pairs, std::size_t from,
                              Hint hint, Payload payload, std::uint64_t most) {
  const Text in(collection, "collection");
  std::size_t at = from;
  for (; at < pairs.size(); ++at) {
    const auto [name, data] = to_pair(pairs[at], "items: a pair of name and data");
    const std::uint64_t size =
        is_immutable(data) ? bytes_of(data).size() : Buffer(data).bytes().size();
    if (transaction().payload_bytes() + size > most) break;
    put(in, Text(name, "name"), data, hint, payload);
  }
  return at;
}

Changes::Taken Changes::take() {
  Taken taken{std::move(transaction()), kept_};
  drop();
  return taken;
}

void Changes::drop() {
  spent_ = true;
  transaction_ = Transaction();
  kept_ = std::make_shared<Kept>();
}

void bind_changes(nb::module_& module) {
  nb::class_<Changes> changes(module, "Changes");
  changes.def(nb::init<>())
      .def("drop", &Changes::drop)
      .def_prop_ro("spent", &Changes::spent)
      .def_prop_ro("size", [](Changes& self) { return self.transaction().size(); })
      .def_prop_ro("payload_bytes",
                   [](Changes& self) { return self.transaction().payload_bytes(); });
  bind_data(changes);
  bind_objects(changes);
  bind_omap(changes);
  bind_collections(changes);
  bind_guards(changes);
}

}  // namespace hexad::python
