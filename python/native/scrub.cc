#include "python/native/scrub.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "python/native/arguments.h"
#include "python/native/dicts.h"
#include "python/native/errors.h"

namespace hexad::python {

namespace nb = nanobind;

namespace {

// fsck asks for every key whether it shall go on: the GIL is worth asking for now and then alone.
constexpr std::chrono::milliseconds kBetweenSignals{20};

}  // namespace

nb::dict scrub(StoreHandle& handle, std::uint64_t rate, const std::string& from,
               const nb::object& progress) {
  const StoreHandle::Hold hold(handle);
  Interruption interruption;
  ScrubOptions options;
  options.rate = rate;
  options.from = from;
  options.progress = [&](const ScrubReport& report) {
    // Whoever closes the store, or opens it in another way, waits for this call.
    if (handle.is_wanted_back()) return false;
    return interruption.go_on([&] {
      if (progress.is_none()) return true;
      const std::uint64_t total = std::max(report.bytes_expected, report.bytes_checked);
      return !progress(report.bytes_checked, total).is(nb::handle(Py_False));
    });
  };
  const ScrubReport report = take(handle.run([&](Store& store) { return store.scrub(options); }));
  interruption.rethrow();
  if (handle.is_wanted_back() && !report.next.empty()) {
    fail({ErrorCode::kClosed, "the store was closed, or opened for writing, while it was scrubbed",
          "Go on at \"" + report.next + "\" when it is open again."});
  }
  return to_dict(report);
}

nb::dict fsck(StoreHandle& handle, bool deep, bool repair) {
  const StoreHandle::Hold hold(handle);
  Interruption interruption;
  FsckOptions options{deep, repair};
  auto looked = std::chrono::steady_clock::now();
  options.progress = [&](const FsckReport&) {
    if (handle.is_wanted_back()) return false;
    const auto now = std::chrono::steady_clock::now();
    if (now - looked < kBetweenSignals) return true;
    looked = now;
    return interruption.go_on();
  };
  const FsckReport report = take(handle.run([&](Store& store) { return store.fsck(options); }));
  interruption.rethrow();
  if (!report.complete) {
    fail({ErrorCode::kClosed,
          "the store was closed, or opened for writing, while fsck looked at it",
          "Start over when it is open again; what was put right stays so."});
  }
  return to_dict(report);
}

nb::list damage(StoreHandle& handle) {
  const StoreHandle::Hold hold(handle);
  return to_list(take(handle.run([](Store& store) { return store.damage(); })));
}

nb::list acknowledge_damage(StoreHandle& handle, const nb::object& collection,
                            const nb::object& names) {
  const StoreHandle::Hold hold(handle);
  if (names.is_none()) {
    return to_list(take(handle.run([](Store& store) { return store.acknowledge_all_damage(); })));
  }
  std::vector<ObjectName> objects;
  const Text bucket(collection, "collection");
  for (const nb::handle name : names) {
    objects.push_back({std::string(bucket.view()), std::string(Text(name, "name").view())});
  }
  return to_list(take(handle.run([&](Store& store) { return store.acknowledge_damage(objects); })));
}

nb::dict catch_up(StoreHandle& handle, std::uint64_t rate, const nb::object& progress) {
  const StoreHandle::Hold hold(handle);
  Interruption interruption;
  CatchUpOptions options;
  options.rate = rate;
  options.progress = [&](const CatchUpReport& report) {
    if (handle.is_wanted_back()) return false;
    return interruption.go_on([&] {
      if (progress.is_none()) return true;
      const std::uint64_t total = std::max(report.bytes_total, report.bytes_missing);
      return !progress(total - report.bytes_missing, total).is(nb::handle(Py_False));
    });
  };
  const CatchUpReport report =
      take(handle.run([&](Store& store) { return store.catch_up(options); }));
  interruption.rethrow();
  return to_dict(report);
}

namespace {

using MadeReady = std::function<bool(std::uint64_t done, std::uint64_t total)>;

template <typename Add>
DeviceId add_one(StoreHandle& handle, const Add& add) {
  const StoreHandle::Hold hold(handle);
  Interruption interruption;
  const MadeReady go_on = [&](std::uint64_t, std::uint64_t) {
    return !handle.is_wanted_back() && interruption.go_on();
  };
  const Result<DeviceId> added = handle.run([&](Store& store) { return add(store, go_on); });
  interruption.rethrow();
  return take(added);
}

}  // namespace

DeviceId add_device(StoreHandle& handle, const std::string& path,
                    const std::string& failure_domain) {
  return add_one(handle, [&](Store& store, const MadeReady& go_on) {
    return store.add_device(path, go_on, failure_domain);
  });
}

DeviceId add_fast_device(StoreHandle& handle, const std::string& directory) {
  return add_one(handle, [&](Store& store, const MadeReady& go_on) {
    return store.add_fast_device(directory, go_on);
  });
}

DeviceId replace_device(StoreHandle& handle, DeviceId device, const std::string& path,
                        std::uint64_t rate, const nb::object& progress) {
  const StoreHandle::Hold hold(handle);
  Interruption interruption;
  Replacement replacement{device, path, rate};
  replacement.progress = [&](std::uint64_t done, std::uint64_t total) {
    if (handle.is_wanted_back()) return false;
    return interruption.go_on(
        [&] { return progress.is_none() || !progress(done, total).is(nb::handle(Py_False)); });
  };
  const Result<DeviceId> by =
      handle.run([&](Store& store) { return store.replace_device(replacement); });
  interruption.rethrow();
  return take(by);
}

nb::dict move_slabs(StoreHandle& handle, std::uint64_t rate, const nb::object& progress) {
  const StoreHandle::Hold hold(handle);
  Interruption interruption;
  MoveOptions options;
  options.rate = rate;
  options.progress = [&](const MoveReport& report) {
    if (handle.is_wanted_back()) return false;
    return interruption.go_on([&] {
      if (progress.is_none()) return true;
      const std::uint64_t total = report.slabs_moved + report.slabs_left;
      return !progress(report.slabs_moved, total).is(nb::handle(Py_False));
    });
  };
  const MoveReport report =
      take(handle.run([&](Store& store) { return store.move_slabs(options); }));
  interruption.rethrow();
  return to_dict(report);
}

}  // namespace hexad::python
