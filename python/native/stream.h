// Writers and readers of objects that do not fit into memory, as Python holds them. Calls from
// several threads wait for each other; after the store has been closed they fail with kClosed.
#pragma once

#include <hexad/hexad.h>
#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "python/native/store_handle.h"

namespace hexad::python {

class Changes;

// The engine's part of a stream, and the lock around it.
template <typename Engine>
class StreamPart final : public Stream {
 public:
  explicit StreamPart(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}

  void end() override {
    const std::lock_guard lock(mutex_);
    engine_.reset();
  }
  bool ended() override {
    const std::lock_guard lock(mutex_);
    return engine_ == nullptr;
  }
  // In a forked child: leaves it lying.
  void abandon() { (void)engine_.release(); }

  // Without the GIL. `body` returns a Status or a Result.
  template <typename Body>
  auto with(Body&& body) -> decltype(body(std::declval<Engine&>())) {
    const std::lock_guard lock(mutex_);
    if (engine_ == nullptr) {
      return Error{ErrorCode::kClosed, "the stream has been closed", "Open another one."};
    }
    return body(*engine_);
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<Engine> engine_;
};

// Common to both: the part, its store, and the name for errors.
template <typename Engine>
class StreamHandle {
 public:
  // The store knows the part already (StoreHandle::add_stream).
  StreamHandle(std::shared_ptr<StoreHandle> store, std::shared_ptr<StreamPart<Engine>> part,
               std::string_view name)
      : store_(std::move(store)), part_(std::move(part)), name_(name) {}
  // What a writer has not published is gone. With the GIL, which it gives away meanwhile.
  ~StreamHandle() {
    if (part_ != nullptr) end();
  }
  StreamHandle(StreamHandle&&) noexcept = default;
  StreamHandle& operator=(StreamHandle&&) noexcept = delete;

  void end() {
    if (store_->forked()) {
      part_->abandon();
      return;
    }
    const nanobind::gil_scoped_release unlocked;
    part_->end();
  }

  template <typename Body>
  auto run(Body&& body) {
    return store_->run([&](Store&) { return part_->with(body); });
  }
  const std::string& name() const { return name_; }

 private:
  std::shared_ptr<StoreHandle> store_;
  std::shared_ptr<StreamPart<Engine>> part_;
  std::string name_;
};

// Opens the engine's part by open(store) and makes it known to the store, all in one call, so that
// close() does not pass between.
template <typename Engine, typename Open>
std::shared_ptr<StreamPart<Engine>> open_part(StoreHandle& handle, std::string_view name,
                                              Open&& open) {
  using Part = std::shared_ptr<StreamPart<Engine>>;
  return take(handle.run([&](Store& store) -> Result<Part> {
    HEXAD_TRY_ASSIGN(std::unique_ptr<Engine> engine, open(store));
    auto part = std::make_shared<StreamPart<Engine>>(std::move(engine));
    handle.add_stream(part);
    return part;
  }),
              name);
}

class WriterStream : public StreamHandle<ObjectWriter> {
 public:
  using StreamHandle::StreamHandle;
  // Into the transaction; the writer is spent.
  void publish(Changes& changes);
};

class ReaderStream : public StreamHandle<ObjectReader> {
 public:
  using StreamHandle::StreamHandle;
};

void bind_streams(nanobind::module_& module);

}  // namespace hexad::python
