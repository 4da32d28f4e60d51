#include "python/native/flat.h"

#include <memory>

#include "python/native/arguments.h"

namespace hexad::python {

namespace nb = nanobind;

namespace {

class Flat {
 public:
  Flat(nb::handle data, Buffer::Access access)
      : buffer_(std::make_unique<Buffer>(data, access)), access_(access) {}
  ByteView bytes() const { return buffer_->bytes(); }
  bool is_read_only() const { return access_ == Buffer::Access::kRead; }

 private:
  std::unique_ptr<Buffer> buffer_;
  Buffer::Access access_;
};

int get_flat_buffer(PyObject* self, Py_buffer* view, int flags) {
  const Flat* flat = nb::inst_ptr<Flat>(self);
  const ByteView bytes = flat->bytes();
  // Read-only unless the memory is writable, so nobody writes through the pointer to what is not.
  return PyBuffer_FillInfo(view, self, const_cast<std::byte*>(bytes.data()),
                           static_cast<Py_ssize_t>(bytes.size()), flat->is_read_only() ? 1 : 0,
                           flags);
}

PyType_Slot kFlatSlots[] = {
    {Py_bf_getbuffer, reinterpret_cast<void*>(&get_flat_buffer)},
    {0, nullptr},
};

}  // namespace

namespace {

nb::object to_view(nb::handle data, Buffer::Access access) {
  const nb::object owner = nb::cast(Flat(data, access));
  nb::object view = nb::steal(PyMemoryView_FromObject(owner.ptr()));
  if (!view.is_valid()) throw nb::python_error();
  return view;
}

}  // namespace

nb::object to_flat(nb::handle data) { return to_view(data, Buffer::Access::kRead); }

void bind_flat(nb::module_& module) {
  nb::class_<Flat>(module, "Flat", nb::type_slots(kFlatSlots));
  module.def("flat", &to_flat);
  module.def("flat_to_fill", [](nb::handle into) { return to_view(into, Buffer::Access::kWrite); });
}

}  // namespace hexad::python
