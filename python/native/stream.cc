#include "python/native/stream.h"

#include <algorithm>

#include "python/native/arguments.h"
#include "python/native/changes.h"
#include "python/native/dicts.h"
#include "python/native/long_read.h"
#include "python/native/read.h"

namespace hexad::python {

namespace nb = nanobind;

namespace {

// Bytes from which an append takes as long as handing it to another thread, or longer: the engine
// codes them, and waits for devices that are behind.
constexpr std::uint64_t kLargeAppend = 64 << 10;
// The bytes of each are written when it is full.
constexpr std::uint64_t kPage = 1 << 20;

// A signal's handler has thrown in the middle of what was to be written as a whole.
void check_signals_or_end(WriterStream& writer) {
  try {
    check_signals();
  } catch (...) {
    writer.end();
    throw;
  }
}

// What there is, step by step.
std::uint64_t read_all(ReaderStream& stream, MutByteView into) {
  std::uint64_t done = 0;
  do {
    if (done > 0) check_signals();
    const MutByteView some =
        into.subspan(done, std::min<std::uint64_t>(into.size() - done, kReadStep));
    const std::uint64_t count =
        take(stream.run([&](ObjectReader& reader) { return reader.read(some); }), stream.name());
    if (count == 0) break;
    done += count;
  } while (done < into.size());
  return done;
}

}  // namespace

void WriterStream::publish(Changes& changes) {
  // A writer that fails here says why when it is published.
  finish_apart();
  Transaction& transaction = changes.transaction();
  check(run([&](ObjectWriter& writer) -> Status {
          transaction.publish(writer);
          return {};
        }),
        name());
}

bool WriterStream::fills_page(std::uint64_t more) const {
  return appended_.load(std::memory_order_relaxed) % kPage + more >= kPage;
}

void bind_streams(nb::module_& module) {
  nb::class_<WriterStream>(module, "Writer")
      .def("append",
           apart_if(
               [](WriterStream& self, nb::handle data) {
                 const std::uint64_t size = Buffer(data).bytes().size();
                 return size >= kLargeAppend || self.fills_page(size) || self.is_slow();
               },
               "append", CallKind::kLooks,
               [](WriterStream& self, nb::handle data) {
                 const Buffer bytes(data);
                 ByteView left = bytes.bytes();
                 do {
                   const ByteView piece =
                       left.first(std::min<std::uint64_t>(left.size(), kReadStep));
                   check(self.run([&](ObjectWriter& writer) { return writer.append(piece); }),
                         self.name());
                   self.note_appended(piece.size());
                   left = left.subspan(piece.size());
                   if (!left.empty()) check_signals_or_end(self);
                 } while (!left.empty());
                 return bytes.bytes().size();
               }))
      .def("set_attr",
           apart_if_slow("set_attr", CallKind::kLooks,
                         [](WriterStream& self, nb::handle attribute, nb::handle value) {
                           const Text name(attribute, "attribute");
                           const Buffer bytes(value);
                           check(self.run([&](ObjectWriter& writer) {
                             return writer.set_attr(name.view(), as_text(bytes.bytes()));
                           }),
                                 self.name());
                         }))
      .def("size",
           [](WriterStream& self) {
             const auto size = [](ObjectWriter& writer) -> Result<std::uint64_t> {
               return writer.size();
             };
             return take(self.run_soon("size", size), self.name());
           })
      .def("commit", apart("commit", CallKind::kChanges,
                           [](WriterStream& self) {
                             return take(
                                 self.run([](ObjectWriter& writer) { return writer.commit(); }),
                                 self.name());
                           }))
      .def("end", [](WriterStream& self) { self.end_apart(); });

  nb::class_<ReaderStream>(module, "Reader")
      .def("readinto", apart_if_slow("readinto", CallKind::kLooks,
                                     [](ReaderStream& self, nb::handle into) {
                                       const Buffer bytes(into, Buffer::Access::kWrite);
                                       return read_all(self, bytes.writable());
                                     }))
      .def("read", apart_if_slow("read", CallKind::kLooks,
                                 [](ReaderStream& self, std::uint64_t size) {
                                   nb::object bytes = new_bytes(size);
                                   shrink(bytes, read_all(self, memory_of(bytes)));
                                   return bytes;
                                 }))
      .def("seek",
           [](ReaderStream& self, nb::handle offset) {
             const std::uint64_t to = to_number(offset, "offset");
             const auto seek = [to](ObjectReader& reader) -> Status {
               reader.seek(to);
               return {};
             };
             check(self.run_soon("seek", seek), self.name());
           })
      .def("stat",
           [](ReaderStream& self) {
             const auto stat = [](ObjectReader& reader) -> Result<ObjectStat> {
               return reader.stat();
             };
             return to_stat(take(self.run_soon("stat", stat), self.name()));
           })
      .def("attributes",
           apart_if_slow("attributes", CallKind::kLooks,
                         [](ReaderStream& self) {
                           return to_dict(
                               take(self.run([](ObjectReader& reader) -> Result<Attributes> {
                                 return reader.attributes();
                               }),
                                    self.name()));
                         }))
      .def("end", [](ReaderStream& self) { self.end_apart(); });
}

}  // namespace hexad::python
