#include "python/native/arguments.h"

#include <atomic>
#include <limits>
#include <string>

#include "python/native/errors.h"

namespace hexad::python {

namespace nb = nanobind;

namespace {

std::atomic<std::uint64_t> copied = 0;

std::string type_of(nb::handle argument) { return Py_TYPE(argument.ptr())->tp_name; }

[[noreturn]] void wrong_type(const std::string& message) {
  PyErr_SetString(PyExc_TypeError, message.c_str());
  throw nb::python_error();
}

// Whether items of this format (PEP 3118, with ctypes' letters) are or contain addresses.
bool names_addresses(std::string_view format) {
  for (std::size_t i = 0; i < format.size(); ++i) {
    switch (format[i]) {
      case ':':  // the name of a field, up to the next one
        i = format.find(':', i + 1);
        if (i == std::string_view::npos) return false;
        break;
      case 'Z':  // before a letter of a float: a complex number; else a text of ctypes
        if (i + 1 == format.size() ||
            std::string_view("efdg").find(format[i + 1]) == std::string_view::npos) {
          return true;
        }
        break;
      case 'O':
      case 'P':
      case 'X':
      case 'z':
      case '&':
        return true;
      default:
        break;
    }
  }
  return false;
}

// TypeError when the buffer's items are addresses.
void refuse_addresses(nb::handle argument) {
  if (PyBytes_Check(argument.ptr()) || PyByteArray_Check(argument.ptr())) return;
  bool addresses = false;
  Py_buffer view = {};
  if (PyObject_GetBuffer(argument.ptr(), &view, PyBUF_FULL_RO) == 0) {
    addresses = view.format != nullptr && names_addresses(view.format);
    PyBuffer_Release(&view);
  } else {
    PyErr_Clear();
    // numpy knows no format for some of its types: times, which are numbers, and texts of any
    // length, which are addresses.
    const nb::object type = nb::getattr(argument, "dtype", nb::none());
    addresses = nb::getattr(type, "hasobject", nb::none()).ptr() == Py_True;
  }
  if (addresses) {
    wrong_type("data: the items of this " + type_of(argument) +
               " are addresses in memory, not values (an array of objects, or pointers); turn them "
               "into a type of fixed size, such as by array.astype(), or into bytes by pickle");
  }
}

// A number may have more digits than anybody wants to read, or than Python writes.
std::string shown(const nb::object& number) {
  std::string text;
  try {
    text = nb::repr(number).c_str();
  } catch (nb::python_error&) {
    return "of thousands of digits";
  }
  return text.size() > 40 ? text.substr(0, 20) + "..." : text;
}

}  // namespace

Text::Text(nb::handle argument, const char* what) {
  PyObject* const object = argument.ptr();
  if (PyUnicode_Check(object)) {
    Py_ssize_t size = 0;
    if (const char* utf8 = PyUnicode_AsUTF8AndSize(object, &size); utf8 != nullptr) {
      owner_ = nb::borrow(argument);
      view_ = {utf8, static_cast<std::size_t>(size)};
      return;
    }
    PyErr_Clear();
    owner_ = nb::steal(PyUnicode_AsEncodedString(object, "utf-8", "surrogateescape"));
    if (!owner_.is_valid()) throw nb::python_error();
  } else if (PyBytes_Check(object)) {
    owner_ = nb::borrow(argument);
  } else {
    wrong_type(std::string(what) + ": str or bytes are wanted, not " + type_of(argument));
  }
  view_ = {PyBytes_AS_STRING(owner_.ptr()),
           static_cast<std::size_t>(PyBytes_GET_SIZE(owner_.ptr()))};
}

nb::object to_text(std::string_view bytes) {
  nb::object text = nb::steal(
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "surrogateescape"));
  if (!text.is_valid()) throw nb::python_error();
  return text;
}

nb::bytes to_bytes(ByteView bytes) { return nb::bytes(bytes.data(), bytes.size()); }
nb::bytes to_bytes(std::string_view bytes) { return nb::bytes(bytes.data(), bytes.size()); }

std::uint64_t to_number(nb::handle argument, const char* what, std::uint64_t limit) {
  if (!PyIndex_Check(argument.ptr())) {
    wrong_type(std::string(what) + ": an integer is wanted, not " + type_of(argument));
  }
  const nb::object index = nb::steal(PyNumber_Index(argument.ptr()));
  if (!index.is_valid()) throw nb::python_error();
  const unsigned long long number = PyLong_AsUnsignedLongLong(index.ptr());
  const bool overflow = PyErr_Occurred() != nullptr;
  if (!overflow && number <= limit) return number;
  PyErr_Clear();
  fail({ErrorCode::kInvalidArgument,
        std::string(what) + " " + shown(index) + " is out of range: 0 to " + std::to_string(limit),
        ""});
}

void count_copied(std::uint64_t bytes) { copied.fetch_add(bytes, std::memory_order_relaxed); }
std::uint64_t copied_bytes() { return copied.load(std::memory_order_relaxed); }

std::pair<nb::object, nb::object> to_pair(nb::handle argument, const char* what) {
  PyObject* const it = argument.ptr();
  if (PyTuple_CheckExact(it) && PyTuple_GET_SIZE(it) == 2) {
    return {nb::borrow(PyTuple_GET_ITEM(it, 0)), nb::borrow(PyTuple_GET_ITEM(it, 1))};
  }
  if (PyUnicode_Check(it) || PyBytes_Check(it) || !PySequence_Check(it)) {
    wrong_type(std::string(what) + " is wanted, not " + type_of(argument));
  }
  const Py_ssize_t size = PySequence_Size(it);
  if (size < 0) throw nb::python_error();
  if (size != 2) {
    wrong_type(std::string(what) + " is wanted, not " + type_of(argument) + " of " +
               std::to_string(size));
  }
  return {argument[0], argument[1]};
}

Buffer::Buffer(nb::handle argument, Access access) {
  if (PyUnicode_Check(argument.ptr())) {
    wrong_type("data: bytes or another buffer are wanted, not str; encode it: text.encode()");
  }
  refuse_addresses(argument);
  const int flags = access == Access::kWrite ? PyBUF_WRITABLE : PyBUF_SIMPLE;
  if (PyObject_GetBuffer(argument.ptr(), &view_, flags) == 0) return;
  const bool has_buffer = PyObject_CheckBuffer(argument.ptr()) != 0;
  // What the object itself says of it is of use only when it has a buffer at all.
  const nb::python_error said;
  if (!has_buffer) {
    wrong_type("data: bytes or another buffer are wanted, not " + type_of(argument));
  }
  wrong_type("data: " + type_of(argument) + " gives no " +
             (access == Access::kWrite ? "writable, " : "") + "contiguous buffer (" +
             std::string(nb::str(said.value()).c_str()) + ")");
}

Buffer::~Buffer() { PyBuffer_Release(&view_); }

std::vector<std::string> to_strings(const nb::sequence& texts, const char* what) {
  std::vector<std::string> result;
  for (const nb::handle text : texts) result.emplace_back(Text(text, what).view());
  return result;
}

DeviceId to_device_id(nb::handle number) {
  constexpr DeviceId kMost = std::numeric_limits<DeviceId>::max();
  return static_cast<DeviceId>(to_number(number, "the number of a device", kMost));
}

}  // namespace hexad::python
