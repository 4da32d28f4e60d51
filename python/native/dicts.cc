#include "python/native/dicts.h"

#include <nanobind/stl/optional.h>

#include <map>
#include <string>
#include <utility>

#include "python/native/arguments.h"

namespace hexad::python {

namespace nb = nanobind;

namespace {

const char* to_word(Health health) {
  switch (health) {
    case Health::kOk:
      return "ok";
    case Health::kDegraded:
      return "degraded";
    case Health::kUnavailable:
      return "unavailable";
    case Health::kDamaged:
      return "damaged";
  }
  return "unavailable";
}

nb::dict by_cause(const std::map<std::string, std::uint64_t>& counts) {
  nb::dict result;
  for (const auto& [cause, count] : counts) result[to_text(cause)] = count;
  return result;
}

nb::dict to_dict(const DeviceErrors& errors) {
  nb::dict result;
  result["since"] = errors.since;
  result["read_errors"] = errors.read_errors;
  result["write_errors"] = errors.write_errors;
  result["flush_errors"] = errors.flush_errors;
  result["checksum_errors"] = errors.checksum_errors;
  result["timeouts"] = errors.timeouts;
  return result;
}

// None where there is none.
nb::object to_object(const DeviceCompletion& completion) {
  if (completion.kind.empty()) return nb::none();
  nb::dict result;
  result["kind"] = to_text(completion.kind);
  result["epoch"] = completion.epoch;
  result["lsn"] = completion.lsn;
  result["cells"] = completion.cells;
  result["bytes"] = completion.bytes;
  result["bytes_copied"] = completion.bytes_copied;
  result["began"] = completion.began;
  result["ended"] = completion.ended;
  return result;
}

nb::dict to_dict(const DeviceStatus& device) {
  nb::dict result;
  result["id"] = device.id;
  result["path"] = to_text(device.path);
  result["role"] = to_text(device.role);
  result["state"] = to_text(device.state);
  result["draining"] = device.draining;
  result["failure_domain"] = to_text(device.failure_domain);
  result["detail"] = to_text(device.detail);
  result["missing_bytes"] = device.missing_bytes;
  result["bad_header_slots"] = device.bad_header_slots;
  result["size"] = device.size;
  result["slabs"] = device.slabs;
  result["slabs_used"] = device.slabs_used;
  result["physical_block"] = device.physical_block;
  result["direct"] = device.direct;
  result["holds_log"] = device.holds_log;
  result["durability"] = to_text(device.durability);
  result["flush_domain"] = device.flush_domain;
  result["bytes_read"] = device.bytes_read;
  result["bytes_written"] = device.bytes_written;
  result["written_for"] = by_cause(device.written_for);
  result["reads"] = device.reads;
  result["writes"] = device.writes;
  result["writes_for"] = by_cause(device.writes_for);
  result["flushes"] = device.flushes;
  result["read_errors"] = device.read_errors;
  result["write_errors"] = device.write_errors;
  result["flush_errors"] = device.flush_errors;
  result["checksum_errors"] = device.checksum_errors;
  result["timeouts"] = device.timeouts;
  result["errors_total"] = to_dict(device.errors_total);
  result["last_completion"] = to_object(device.last_completion);
  return result;
}

nb::list to_list(const std::vector<Finding>& findings) {
  nb::list list;
  for (const Finding& finding : findings) {
    nb::dict one;
    one["subject"] = to_text(finding.subject);
    one["problem"] = to_text(finding.problem);
    one["repaired"] = finding.repaired;
    list.append(one);
  }
  return list;
}

nb::dict to_dict(const JobStatus& job) {
  nb::dict result;
  result["name"] = to_text(job.name);
  result["purpose"] = to_text(job.purpose);
  result["running"] = job.running;
  result["seconds"] = job.seconds;
  result["steps"] = job.steps;
  result["done"] = job.done;
  result["total"] = job.total;
  result["unit"] = to_text(job.unit);
  result["problem"] = to_text(job.problem);
  return result;
}

nb::dict to_dict(const LayerStatus& layer) {
  nb::dict result;
  result["name"] = to_text(layer.name);
  result["in_use"] = layer.in_use;
  result["bytes"] = layer.bytes;
  result["room"] = layer.room;
  result["hits"] = layer.hits;
  result["misses"] = layer.misses;
  result["timed"] = layer.timed;
  result["timed_ns"] = layer.timed_ns;
  return result;
}

nb::dict to_dict(const FillForecast& fill) {
  nb::dict result;
  result["available"] = fill.available;
  result["observed_seconds"] = fill.observed_seconds;
  result["bytes_per_hour"] = fill.bytes_per_hour;
  result["hours_to_full"] = fill.hours_to_full;
  result["note"] = to_text(fill.note);
  return result;
}

}  // namespace

// A named tuple, filled in as tuple.__new__ does it, but without a tuple to begin with.
nb::object to_stat(const ObjectStat& stat) {
  // Kept for good. Whoever is first asks for it; a guard of the compiler's would be waited for with
  // the GIL.
  static PyObject* type = nullptr;
  if (type == nullptr) {
    type = nb::object(nb::module_::import_("hexad._types").attr("Stat")).release().ptr();
  }
  auto* const stat_type = reinterpret_cast<PyTypeObject*>(type);
  nb::object placement = to_text(stat.placement);
  nb::object result = nb::steal(stat_type->tp_alloc(stat_type, 7));
  if (!result.is_valid()) throw nb::python_error();
  Py_ssize_t at = 0;
  const auto add = [&](nb::object field) {
    PyTuple_SET_ITEM(result.ptr(), at++, field.release().ptr());
  };
  add(nb::int_(stat.size));
  add(nb::int_(stat.version.value()));
  add(nb::int_(stat.mtime));
  add(nb::int_(stat.stored));
  add(nb::int_(stat.extents));
  add(nb::int_(static_cast<unsigned>(stat.hint)));
  add(std::move(placement));
  return result;
}

nb::dict to_dict(const Attributes& attributes) {
  nb::dict result;
  for (const auto& [name, value] : attributes) {
    result[to_text(name)] = to_bytes(std::string_view(value));
  }
  return result;
}

nb::dict to_dict(const StoreStatus& status) {
  nb::dict result;
  result["uuid"] = to_text(to_string(status.uuid));
  result["health"] = to_word(status.health);
  result["faults_tolerated"] = status.faults_tolerated;
  result["parity_cells"] = status.parity_cells;
  result["domain_cells"] = status.domain_cells;
  result["redundant_devices"] = status.redundant_devices;
  result["damaged_blobs"] = status.damaged_blobs;
  result["epoch"] = status.epoch;
  result["last_lsn"] = status.last_lsn;
  result["checkpoint_lsn"] = status.checkpoint_lsn;
  result["log_used"] = status.log_used;
  result["log_size"] = status.log_size;
  result["io_queue"] = to_text(status.io_queue);
  result["memory_only"] = status.memory_only;
  result["read_only"] = status.read_only;
  result["read_only_reason"] = to_text(status.read_only_reason);
  nb::list devices;
  for (const DeviceStatus& device : status.devices) devices.append(to_dict(device));
  result["devices"] = devices;
  nb::list notes;
  for (const std::string& note : status.notes) notes.append(to_text(note));
  result["notes"] = notes;
  nb::list warnings;
  for (const std::string& warning : status.warnings) warnings.append(to_text(warning));
  result["warnings"] = warnings;
  nb::list jobs;
  for (const JobStatus& job : status.jobs) jobs.append(to_dict(job));
  result["jobs"] = jobs;
  result["metadata_on"] = to_text(status.metadata_on);
  nb::list layers;
  for (const LayerStatus& layer : status.layers) layers.append(to_dict(layer));
  result["layers"] = layers;
  result["fill"] = to_dict(status.fill);
  return result;
}

nb::dict to_dict(const DeviceAnswer& answer) {
  nb::dict result;
  result["allowed"] = answer.allowed;
  result["reason"] = to_text(answer.reason);
  result["hint"] = to_text(answer.hint);
  result["readable"] = answer.readable;
  result["writable"] = answer.writable;
  result["faults_tolerated"] = answer.faults_tolerated;
  nb::list together;
  for (const DeviceId id : answer.together) together.append(id);
  result["together"] = together;
  return result;
}

nb::list to_list(const std::vector<Damage>& damage) {
  nb::list list;
  for (const Damage& one : damage) {
    nb::dict result;
    result["collection"] = to_text(one.collection);
    result["name"] = to_text(one.name);
    result["omap_key"] = nb::none();
    if (one.omap_key.has_value()) result["omap_key"] = to_text(*one.omap_key);
    result["offset"] = one.offset;
    result["length"] = one.length;
    result["first_seen"] = one.first_seen;
    result["problem"] = to_text(one.problem);
    result["acknowledged"] = one.acknowledged;
    list.append(result);
  }
  return list;
}

nb::dict to_dict(const ObjectRoom& room) {
  nb::dict result;
  result["object_size"] = room.object_size;
  result["usable"] = room.usable;
  result["available"] = room.available;
  return result;
}

// What nobody has counted is None, and not 0.
nb::dict to_dict(const SpaceUsage& space) {
  const auto counted = [&space](std::uint64_t bytes) {
    return space.broken_down ? std::optional(bytes) : std::nullopt;
  };
  nb::dict result;
  result["broken_down"] = space.broken_down;
  result["capacity"] = space.capacity;
  result["available"] = space.available;
  result["internally_reserved"] = space.internally_reserved;
  result["used"] = space.used;
  result["user_bytes"] = space.user_bytes;
  result["omap_bytes"] = counted(space.omap_bytes);
  result["allocated"] = space.allocated;
  result["compressed_original"] = counted(space.compressed_original);
  result["compressed"] = counted(space.compressed);
  result["compressed_allocated"] = counted(space.compressed_allocated);
  result["metadata"] = space.metadata;
  result["internal_metadata"] = space.internal_metadata;
  result["objects"] = space.objects;
  result["dead"] = space.dead;
  result["reclaimable"] = space.reclaimable;
  result["usable_for_mix"] = space.usable_for_mix;
  result["available_for_mix"] = space.available_for_mix;
  result["least"] = to_dict(space.least);
  result["promised"] = space.promised;
  result["waiting"] = space.waiting;
  result["held_by_readers"] = space.held_by_readers;
  nb::list readers;
  for (const HeldByReader& reader : space.readers) {
    nb::dict one;
    one["collection"] = to_text(reader.collection);
    one["name"] = to_text(reader.name);
    one["opened"] = reader.opened;
    one["held"] = reader.held;
    readers.append(one);
  }
  result["readers"] = readers;
  result["fragmentation"] = space.fragmentation;
  result["granted_of_wanted"] = space.granted_of_wanted;
  nb::list runs;
  for (const FreeRuns& kind : space.free_runs) {
    nb::dict one;
    one["from"] = kind.from;
    one["runs"] = kind.runs;
    one["bytes"] = kind.bytes;
    runs.append(one);
  }
  result["free_runs"] = runs;
  nb::list devices;
  for (const DeviceSpace& device : space.per_device) {
    nb::dict one;
    one["id"] = device.id;
    one["path"] = to_text(device.path);
    one["capacity"] = device.capacity;
    one["used"] = device.used;
    devices.append(one);
  }
  result["per_device"] = devices;
  return result;
}

nb::dict to_dict(const CollectionInfo& info) {
  nb::dict result;
  result["name"] = to_text(info.name);
  result["id"] = info.id;
  result["compression"] = to_text(compression::to_string(info.compression));
  result["quota_objects"] = info.quota.objects;
  result["quota_bytes"] = info.quota.bytes;
  result["objects"] = info.objects;
  result["bytes"] = info.bytes;
  return result;
}

nb::dict to_dict(const CollectionUsage& usage) {
  nb::dict result;
  result["objects"] = usage.objects;
  result["bytes"] = usage.bytes;
  result["stored"] = usage.stored;
  result["extents"] = usage.extents;
  result["omap_entries"] = usage.omap_entries;
  result["compressed_original"] = usage.compressed_original;
  result["compressed"] = usage.compressed;
  return result;
}

nb::dict to_dict(const FsckReport& report) {
  nb::dict result;
  result["errors"] = report.errors();
  result["objects_checked"] = report.objects_checked;
  result["stripes_checked"] = report.stripes_checked;
  result["bytes_checked"] = report.bytes_checked;
  result["bad_header_slots"] = report.bad_header_slots;
  result["torn_cells"] = report.torn_cells;
  result["findings"] = to_list(report.findings);
  return result;
}

nb::dict to_dict(const ScrubReport& report) {
  nb::dict result;
  result["errors"] = report.errors();
  result["stripes_checked"] = report.stripes_checked;
  result["bytes_checked"] = report.bytes_checked;
  result["bad_header_slots"] = report.bad_header_slots;
  result["findings"] = to_list(report.findings);
  result["next"] = to_text(report.next);
  return result;
}

nb::dict to_dict(const CatchUpReport& report) {
  nb::dict result;
  result["bytes_missing"] = report.bytes_missing;
  result["bytes_total"] = report.bytes_total;
  result["findings"] = to_list(report.findings);
  return result;
}

nb::dict to_dict(const MoveReport& report) {
  nb::dict result;
  result["slabs_moved"] = report.slabs_moved;
  result["slabs_left"] = report.slabs_left;
  result["bytes_moved"] = report.bytes_moved;
  result["problem"] = to_text(report.problem);
  return result;
}

nb::dict to_dict(const std::vector<Counter>& counters) {
  nb::dict result;
  for (const Counter& counter : counters) {
    result[to_text(counter.name)] = nb::make_tuple(counter.total, counter.since_open);
  }
  return result;
}

nb::dict to_dict(const std::vector<EffectiveOption>& options) {
  nb::dict result;
  for (const EffectiveOption& option : options) {
    result[to_text(option.name)] = nb::make_tuple(to_text(option.value), to_text(option.origin));
  }
  return result;
}

nb::tuple to_tuple(const ListPage& page) {
  nb::list entries;
  nb::list prefixes;
  for (const ListEntry& entry : page.entries) {
    if (entry.common_prefix) {
      prefixes.append(to_text(entry.name));
    } else {
      entries.append(nb::make_tuple(to_text(entry.name), entry.size, entry.version));
    }
  }
  const nb::object next = page.next.has_value() ? to_text(*page.next) : nb::none();
  return nb::make_tuple(entries, prefixes, next);
}

nb::tuple to_tuple(const OmapPage& page, bool values) {
  nb::list entries;
  for (const OmapEntry& entry : page.entries) {
    if (values) {
      entries.append(nb::make_tuple(to_text(entry.key), to_bytes(ByteView(entry.value))));
    } else {
      entries.append(nb::make_tuple(to_text(entry.key), entry.size));
    }
  }
  return nb::make_tuple(entries, to_text(page.next));
}

}  // namespace hexad::python
