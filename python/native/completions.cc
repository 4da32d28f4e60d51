#include "python/native/completions.h"

#include <nanobind/stl/shared_ptr.h>

#include <utility>

#include "python/native/apart.h"

namespace hexad::python {

namespace nb = nanobind;

void Completions::push(Completion completion) {
  const std::lock_guard lock(mutex_);
  done_.push_back(std::move(completion));
  if (done_.size() == 1) changed_.notify_all();
}

std::vector<Completion> Completions::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stopping_ || !done_.empty(); });
  return std::exchange(done_, {});
}

void Completions::stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
}

void bind_completions(nb::module_& module) {
  nb::class_<Completions>(module, "Completions")
      .def(nb::init<>())
      // [(token, LSN or None, exception or None), ...]; an empty list is the end.
      .def("wait",
           [](Completions& completions) {
             std::vector<Completion> done;
             {
               const WithoutGil unlocked;
               done = completions.wait();
             }
             nb::list told;
             for (const Completion& one : done) {
               const bool ok = one.result.ok();
               told.append(nb::make_tuple(one.token, ok ? nb::cast(*one.result) : nb::none(),
                                          ok ? nb::none() : make_exception(one.result.error())));
             }
             return told;
           })
      .def("stop", &Completions::stop);
}

}  // namespace hexad::python
