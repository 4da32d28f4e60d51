// What the engine reports, as plain Python values.
#pragma once

#include <hexad/hexad.h>
#include <nanobind/nanobind.h>

#include <vector>

#include "python/native/ids.h"  // IWYU pragma: keep

namespace hexad::python {

// (size, version, mtime in ns, stored, extents, hint flags, placement)
// hexad.Stat.
nanobind::object to_stat(const ObjectStat& stat);
nanobind::dict to_dict(const Attributes& attributes);
nanobind::dict to_dict(const StoreStatus& status);
nanobind::dict to_dict(const DeviceAnswer& answer);
nanobind::dict to_dict(const SpaceUsage& space);
nanobind::dict to_dict(const ObjectRoom& room);
nanobind::dict to_dict(const CollectionInfo& info);
nanobind::dict to_dict(const CollectionUsage& usage);
nanobind::dict to_dict(const FsckReport& report);
nanobind::dict to_dict(const ScrubReport& report);
nanobind::dict to_dict(const CatchUpReport& report);
nanobind::dict to_dict(const MoveReport& report);
nanobind::list to_list(const std::vector<Damage>& damage);
// {name: (total, since opening)}
nanobind::dict to_dict(const std::vector<Counter>& counters);
// {name: (value, origin)}
nanobind::dict to_dict(const std::vector<EffectiveOption>& options);
// ([(name, size, version), ...], [common prefix, ...], next or None)
nanobind::tuple to_tuple(const ListPage& page);
// ([(key, value or size), ...], next)
nanobind::tuple to_tuple(const OmapPage& page, bool values);

}  // namespace hexad::python
