#include "python/native/flat.h"

#include <memory>

#include "python/native/arguments.h"

namespace hexad::python {

namespace nb = nanobind;

namespace {

class Flat {
 public:
  explicit Flat(nb::handle data) : buffer_(std::make_unique<Buffer>(data)) {}
  ByteView bytes() const { return buffer_->bytes(); }

 private:
  std::unique_ptr<Buffer> buffer_;
};

int get_flat_buffer(PyObject* self, Py_buffer* view, int flags) {
  const ByteView bytes = nb::inst_ptr<Flat>(self)->bytes();
  // Read-only, so nobody writes through the pointer.
  return PyBuffer_FillInfo(view, self, const_cast<std::byte*>(bytes.data()),
                           static_cast<Py_ssize_t>(bytes.size()), 1, flags);
}

PyType_Slot kFlatSlots[] = {
    {Py_bf_getbuffer, reinterpret_cast<void*>(&get_flat_buffer)},
    {0, nullptr},
};

}  // namespace

nb::object to_flat(nb::handle data) {
  const nb::object owner = nb::cast(Flat(data));
  nb::object view = nb::steal(PyMemoryView_FromObject(owner.ptr()));
  if (!view.is_valid()) throw nb::python_error();
  return view;
}

void bind_flat(nb::module_& module) {
  nb::class_<Flat>(module, "Flat", nb::type_slots(kFlatSlots));
  module.def("flat", &to_flat);
}

}  // namespace hexad::python
