// Writers and readers of objects that do not fit into memory, as Python holds them. Calls from
// several threads wait for each other; after the store has been closed they fail with kClosed.
#pragma once

#include <hexad/hexad.h>
#include <nanobind/nanobind.h>

#include <atomic>
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
  // The same, but when a call is under way: then at its end.
  void end_soon() {
    ends_ = true;
    end_if_free();
  }
  bool ended() override {
    const std::lock_guard lock(mutex_);
    return engine_ == nullptr;
  }
  // No call of it is under way, at this moment.
  bool is_free() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    return lock.owns_lock();
  }
  // In a forked child: leaves it lying.
  void abandon() { (void)engine_.release(); }

  // Without the GIL. `body` returns a Status or a Result.
  template <typename Body>
  auto with(Body&& body) -> decltype(body(std::declval<Engine&>())) {
    auto result = [&]() -> decltype(body(std::declval<Engine&>())) {
      const std::lock_guard lock(mutex_);
      if (engine_ == nullptr || ends_) {
        return Error{ErrorCode::kClosed, "the stream has been closed", "Open another one."};
      }
      return body(*engine_);
    }();
    if (ends_) end_if_free();
    return result;
  }

 private:
  // Whoever has the lock does it behind that.
  void end_if_free() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock.owns_lock()) engine_.reset();
  }

  std::atomic<bool> ends_ = false;
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
    if (part_ == nullptr) return;
    if (store_->forked() || (part_->is_free() && !store_->is_slow())) {
      end();
    } else {
      leave_apart([part = part_] { part->end_soon(); });
    }
  }
  StreamHandle(StreamHandle&&) noexcept = default;
  StreamHandle& operator=(StreamHandle&&) noexcept = delete;

  void end() {
    if (store_->forked()) {
      part_->abandon();
      return;
    }
    const WithoutGil unlocked;
    part_->end();
  }

  // The same for whoever has asked for it, who leaves while a device is silent: by Ctrl-C, or by
  // themselves, since they may have come here by Ctrl-C.
  void end_apart() {
    if (store_->forked()) {
      part_->abandon();
    } else {
      tidy_apart(
          "close", [part = part_] { part->end_soon(); }, [this] { return store_->is_slow(); });
    }
  }

  template <typename Body>
  auto run(Body&& body) {
    return store_->run([&](Store&) { return part_->with(body); });
  }
  // For what never waits but for another call of the stream. `body` owns what it uses.
  template <typename Body>
  auto run_soon(const char* what, Body body) {
    if (part_->is_free()) return run(body);
    return call_apart(what, CallKind::kLooks, [store = store_, part = part_, body] {
      return store->run([&](Store&) { return part->with(body); });
    });
  }
  // Of a writer: all of its data goes to devices. With the GIL.
  void finish_apart() {
    call_apart("publish", CallKind::kLooks, [store = store_, part = part_] {
      store->run([&](Store&) { return part->with([](Engine& writer) { return writer.finish(); }); })
          .ignore();
    });
  }
  const std::string& name() const { return name_; }
  bool is_slow() { return store_->is_slow() || !part_->is_free(); }

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
  WriterStream(WriterStream&& other) noexcept
      : StreamHandle(std::move(other)), appended_(other.appended_.load()) {}
  // Into the transaction; the writer is spent.
  void publish(Changes& changes);
  // Whether an append of so many bytes writes to devices.
  bool fills_page(std::uint64_t more) const;
  void note_appended(std::uint64_t bytes) { appended_.fetch_add(bytes, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> appended_ = 0;
};

class ReaderStream : public StreamHandle<ObjectReader> {
 public:
  using StreamHandle::StreamHandle;
};

void bind_streams(nanobind::module_& module);

}  // namespace hexad::python
