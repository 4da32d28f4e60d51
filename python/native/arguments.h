// What comes from Python, looked at before the engine sees it: texts, numbers, buffers; and texts
// on their way back.
#pragma once

#include <hexad/hexad.h>
#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "python/native/ids.h"  // IWYU pragma: keep

// None is an argument like any other: what is wanted in its place is said here, in words.
template <>
struct nanobind::detail::has_arg_defaults<nanobind::handle> : std::true_type {};

namespace hexad::python {

// A name, key or text. str stands for its UTF-8 bytes, lone surrogates for the bytes that they came
// from (as os.fsencode() does it); bytes stand for themselves. Valid as long as this lives, with or
// without the GIL; made and destroyed with it.
class Text {
 public:
  // `what` is for the TypeError that anything else gets.
  Text(nanobind::handle argument, const char* what);
  std::string_view view() const { return view_; }
  operator std::string_view() const { return view_; }  // NOLINT: the engine takes nothing else

 private:
  nanobind::object owner_;
  std::string_view view_;
};

// The other way.
nanobind::object to_text(std::string_view bytes);
nanobind::bytes to_bytes(ByteView bytes);
nanobind::bytes to_bytes(std::string_view bytes);

// Anything with __index__. TypeError when it has none; kInvalidArgument below 0 and above `limit`,
// which names `what`, the number and the limit.
std::uint64_t to_number(nanobind::handle argument, const char* what,
                        std::uint64_t limit = ~std::uint64_t{0});

// Both items of a sequence of two, which is no text. TypeError: anything else; `what` says what is
// wanted.
std::pair<nanobind::object, nanobind::object> to_pair(nanobind::handle argument, const char* what);

// The memory of an object with the buffer protocol, contiguous, of any item type, held until this
// ends. Made and destroyed with the GIL. While it is held a bytearray cannot change its size, but
// whoever has it can change its content.
class Buffer {
 public:
  enum class Access { kRead, kWrite };

  // TypeError: no buffer (text among them), not contiguous, read-only where it is to be written, or
  // items that are addresses, as those of numpy's object arrays are: stored they would mean
  // nothing, and read into they would be followed.
  explicit Buffer(nanobind::handle argument, Access access = Access::kRead);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  ByteView bytes() const { return {static_cast<const std::byte*>(view_.buf), size()}; }
  MutByteView writable() const { return {static_cast<std::byte*>(view_.buf), size()}; }

 private:
  std::size_t size() const { return static_cast<std::size_t>(view_.len); }

  Py_buffer view_ = {};
};

// Bytes of users that this module has copied, over the life of the process: between Python's memory
// and the engine's, or to take them at the call. What the engine copies for itself does not count.
void count_copied(std::uint64_t bytes);
std::uint64_t copied_bytes();

// Whether nobody can change the object's bytes as long as a reference to it is held.
inline bool is_immutable(nanobind::handle argument) { return PyBytes_CheckExact(argument.ptr()); }
// Of such an object.
inline ByteView bytes_of(nanobind::handle immutable) {
  return {reinterpret_cast<const std::byte*>(PyBytes_AS_STRING(immutable.ptr())),
          static_cast<std::size_t>(PyBytes_GET_SIZE(immutable.ptr()))};
}

// `what`: one of them, for errors.
std::vector<std::string> to_strings(const nanobind::sequence& texts, const char* what);

DeviceId to_device_id(nanobind::handle number);

}  // namespace hexad::python
