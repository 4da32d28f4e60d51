#include "python/native/errors.h"

#include "python/native/arguments.h"

namespace hexad::python {

namespace nb = nanobind;

nb::object make_exception(const Error& error, std::string_view object) {
  const nb::object about = object.empty() ? nb::none() : to_text(object);
  return nb::module_::import_("hexad._errors")
      .attr("make")(static_cast<int>(error.code), to_text(error.message), to_text(error.hint),
                    about);
}

void translate_failures() {
  nb::register_exception_translator(
      [](const std::exception_ptr& thrown, void*) {
        try {
          std::rethrow_exception(thrown);
        } catch (const Failure& failure) {
          try {
            const nb::object raised = make_exception(failure.error, failure.object);
            PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(raised.ptr())), raised.ptr());
          } catch (nb::python_error& worse) {
            worse.restore();
          }
        }
      },
      nullptr);
}

}  // namespace hexad::python
