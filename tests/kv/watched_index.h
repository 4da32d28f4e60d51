// Indexes that notice a thread with two readers at once. Such a thread could wait for itself, where
// giving out a reader waits for others to end, and it does not see one state.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "kv/index.h"
#include "tests/kv/forwarding_index.h"

namespace hexad::testing {

// What all threads have open. Any thread.
class ReaderWatch {
 public:
  void begin() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++readers_;
    if (++open_[std::this_thread::get_id()] > 1) ++nested_;
  }
  void end(std::thread::id who) {
    const std::lock_guard<std::mutex> lock(mutex_);
    --open_[who];
  }
  // How many there have been, and how many of these while the thread had another.
  std::uint64_t readers() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return readers_;
  }
  std::uint64_t nested() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return nested_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::thread::id, int> open_;  // by the thread that began them
  std::uint64_t readers_ = 0;
  std::uint64_t nested_ = 0;
};

class WatchedReader final : public kv::IndexReader {
 public:
  WatchedReader(ReaderWatch& watch, std::unique_ptr<kv::IndexReader> inner)
      : watch_(watch), inner_(std::move(inner)) {
    watch_.begin();
  }
  ~WatchedReader() override { watch_.end(began_on_); }
  Result<std::optional<std::string_view>> get(std::string_view key) override {
    return inner_->get(key);
  }
  Result<std::unique_ptr<kv::IndexCursor>> cursor() override { return inner_->cursor(); }
  Lsn applied_lsn() const override { return inner_->applied_lsn(); }
  Epoch applied_epoch() const override { return inner_->applied_epoch(); }

 private:
  ReaderWatch& watch_;
  const std::thread::id began_on_ = std::this_thread::get_id();
  std::unique_ptr<kv::IndexReader> inner_;
};

class WatchedIndex final : public ForwardingIndex {
 public:
  WatchedIndex(ReaderWatch& watch, std::unique_ptr<kv::Index> inner)
      : ForwardingIndex(std::move(inner)), watch_(watch) {}
  Result<std::unique_ptr<kv::IndexReader>> snapshot() override {
    HEXAD_TRY_ASSIGN(std::unique_ptr<kv::IndexReader> reader, ForwardingIndex::snapshot());
    return std::unique_ptr<kv::IndexReader>(
        std::make_unique<WatchedReader>(watch_, std::move(reader)));
  }

 private:
  ReaderWatch& watch_;
};

// Every index of it is watched.
class WatchedHome final : public kv::IndexHome {
 public:
  WatchedHome(ReaderWatch& watch, std::unique_ptr<kv::IndexHome> inner)
      : watch_(watch), inner_(std::move(inner)) {}
  Result<std::unique_ptr<kv::Index>> open(const std::string& directory, const Uuid& store,
                                          io::OpenMode mode) override {
    HEXAD_TRY_ASSIGN(std::unique_ptr<kv::Index> index, inner_->open(directory, store, mode));
    return std::unique_ptr<kv::Index>(std::make_unique<WatchedIndex>(watch_, std::move(index)));
  }
  Status remove(const std::string& directory) override { return inner_->remove(directory); }

 private:
  ReaderWatch& watch_;
  const std::unique_ptr<kv::IndexHome> inner_;
};

}  // namespace hexad::testing
