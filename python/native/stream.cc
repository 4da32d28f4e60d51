#include "python/native/stream.h"

#include "python/native/arguments.h"
#include "python/native/changes.h"
#include "python/native/dicts.h"
#include "python/native/read.h"

namespace hexad::python {

namespace nb = nanobind;

void WriterStream::publish(Changes& changes) {
  Transaction& transaction = changes.transaction();
  check(run([&](ObjectWriter& writer) -> Status {
          transaction.publish(writer);
          return {};
        }),
        name());
}

void bind_streams(nb::module_& module) {
  nb::class_<WriterStream>(module, "Writer")
      .def("append",
           [](WriterStream& self, nb::handle data) {
             const Buffer bytes(data);
             check(self.run([&](ObjectWriter& writer) { return writer.append(bytes.bytes()); }),
                   self.name());
             return bytes.bytes().size();
           })
      .def("set_attr",
           [](WriterStream& self, nb::handle attribute, nb::handle value) {
             const Text name(attribute, "attribute");
             const Buffer bytes(value);
             check(self.run([&](ObjectWriter& writer) {
               return writer.set_attr(name.view(), as_text(bytes.bytes()));
             }),
                   self.name());
           })
      .def("size",
           [](WriterStream& self) {
             return take(self.run([](ObjectWriter& writer) -> Result<std::uint64_t> {
               return writer.size();
             }),
                         self.name());
           })
      .def("commit",
           [](WriterStream& self) {
             return take(self.run([](ObjectWriter& writer) { return writer.commit(); }),
                         self.name());
           })
      .def("end", &WriterStream::end);

  nb::class_<ReaderStream>(module, "Reader")
      .def("readinto",
           [](ReaderStream& self, nb::handle into) {
             const Buffer bytes(into, Buffer::Access::kWrite);
             return take(
                 self.run([&](ObjectReader& reader) { return reader.read(bytes.writable()); }),
                 self.name());
           })
      .def("read",
           [](ReaderStream& self, std::uint64_t size) {
             nb::object bytes = new_bytes(size);
             const MutByteView into = memory_of(bytes);
             const std::uint64_t count = take(
                 self.run([&](ObjectReader& reader) { return reader.read(into); }), self.name());
             shrink(bytes, count);
             return bytes;
           })
      .def("seek",
           [](ReaderStream& self, nb::handle offset) {
             const std::uint64_t to = to_number(offset, "offset");
             check(self.run([&](ObjectReader& reader) -> Status {
               reader.seek(to);
               return {};
             }),
                   self.name());
           })
      .def("stat",
           [](ReaderStream& self) {
             return to_stat(take(
                 self.run([](ObjectReader& reader) -> Result<ObjectStat> { return reader.stat(); }),
                 self.name()));
           })
      .def("attributes",
           [](ReaderStream& self) {
             return to_dict(take(self.run([](ObjectReader& reader) -> Result<Attributes> {
               return reader.attributes();
             }),
                                 self.name()));
           })
      .def("end", &ReaderStream::end);
}

}  // namespace hexad::python
