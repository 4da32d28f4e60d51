// Reading into Python's own bytes objects.
#pragma once

#include <hexad/hexad.h>
#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "python/native/store_handle.h"

namespace hexad::python {

// A bytes object that nobody else has seen, to be filled and then shrunk to what there was. Python
// has but one empty bytes object, so a new one is not for writing when it is empty.
nanobind::object new_bytes(std::uint64_t size);
MutByteView memory_of(const nanobind::object& bytes);
void shrink(nanobind::object& bytes, std::uint64_t size);

// `length` bytes from `offset` on, or what there is.
ByteView part_of(ByteView bytes, std::uint64_t offset, std::uint64_t length);

// What the read cache has of an object in one piece, without waiting; nothing: not all of it.
std::optional<nanobind::object> cached_part(StoreHandle& handle, std::string_view collection,
                                            std::string_view name, std::uint64_t offset,
                                            std::uint64_t length);

// The object's bytes from `offset` on, `length` of them or what there is, of one state of it, as
// bytes. Read straight to where they stay, but for small ones. Errors: those of Store::get().
nanobind::object read_bytes(StoreHandle& handle, std::string_view collection, std::string_view name,
                            std::uint64_t offset, std::uint64_t length);

// Into memory of the caller's; how many bytes there were.
std::uint64_t read_into(StoreHandle& handle, std::string_view collection, std::string_view name,
                        std::uint64_t offset, MutByteView into);

// As read_bytes() when the read cache has all of it, at once; None: it has not, or that would take
// long.
nanobind::object read_if_cached(StoreHandle& handle, std::string_view collection,
                                std::string_view name, std::uint64_t offset, std::uint64_t length);

// What read_ranges() would return when the read cache has all of it, and it is not much; None: it
// has not. Never waits. `unchanging`: nobody commits meanwhile.
nanobind::object read_ranges_if_cached(StoreHandle& handle, std::string_view collection,
                                       std::string_view name, std::span<const ByteRange> ranges,
                                       bool unchanging);

// All of an object that takes long to read, as bytes, step by step; invalid when it does not take
// long.
nanobind::object read_if_long(StoreHandle& handle, std::string_view collection,
                              std::string_view name);

// One bytes object for each range, of one state of the object; shorter ones at its end. Ctrl-C ends
// it between some MiB and the next.
nanobind::list read_ranges(StoreHandle& handle, std::string_view collection, std::string_view name,
                           std::span<const ByteRange> ranges);

}  // namespace hexad::python
