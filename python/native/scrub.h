// Store.scrub(), fsck(), catch_up(), move_slabs() and damage(): the engine's, with Python's
// progress and signals in between.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>

#include "python/native/ids.h"  // IWYU pragma: keep
#include "python/native/store_handle.h"

namespace hexad::python {

// `progress`: None, or called with bytes so far and expected in all; False stops there. Its
// exceptions end the scrub and are the call's. With the GIL, which it gives away meanwhile.
nanobind::dict scrub(StoreHandle& handle, std::uint64_t rate, const std::string& from,
                     const nanobind::object& progress);

// Store.fsck(). What a signal's handler throws ends it, and is the call's; so does whoever closes
// the store or opens it for writing, with kClosed. With the GIL, which it gives away meanwhile.
nanobind::dict fsck(StoreHandle& handle, bool deep, bool repair);

// Store.catch_up(): the same as scrub() with bytes given back so far and missing when it began.
nanobind::dict catch_up(StoreHandle& handle, std::uint64_t rate, const nanobind::object& progress);

// Store.add_device(): the number of the new one. Ctrl-C ends it while the device is made ready.
DeviceId add_device(StoreHandle& handle, const std::string& path,
                    const std::string& failure_domain);
// Store.add_fast_device(): the same.
DeviceId add_fast_device(StoreHandle& handle, const std::string& directory);

// Store.replace_device(): the number of the new device. `progress`: bytes that have been moved off
// one that answers, and in all.
DeviceId replace_device(StoreHandle& handle, DeviceId device, const std::string& path,
                        std::uint64_t rate, const nanobind::object& progress);
// Store.move_slabs(): the same with slabs moved so far and to be moved in all.
nanobind::dict move_slabs(StoreHandle& handle, std::uint64_t rate,
                          const nanobind::object& progress);

// Store.damage() and Store.acknowledge_damage(); `names` None: of everything. With the GIL, which
// they give away meanwhile.
nanobind::list damage(StoreHandle& handle);
nanobind::list acknowledge_damage(StoreHandle& handle, const nanobind::object& collection,
                                  const nanobind::object& names);

}  // namespace hexad::python
