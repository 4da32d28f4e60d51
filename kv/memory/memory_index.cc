#include "kv/memory/memory_index.h"

#include <map>
#include <string>
#include <utility>

#include "base/units.h"
#include "kv/index_changes.h"
#include "kv/memory/memory_tree.h"

namespace hexad::kv {

namespace {

struct State {
  MemoryTree tree;
  Lsn lsn = 0;
  Epoch epoch = 0;
};

// What stays when the index is closed.
class Content {
 public:
  Content(io::Executor& executor, const Uuid& store) : store_(store), mutex_(executor) {}

  const Uuid& store() const { return store_; }
  State state() const {
    const io::Lock lock(mutex_);
    return state_;
  }
  void set_state(State state) {
    {
      const io::Lock lock(mutex_);
      std::swap(state_, state);
    }
    // Here the old tree goes, unless somebody reads it.
  }

  // The lock of an open file: one writer or any number of readers. False when refused.
  bool try_open(io::OpenMode mode) {
    const io::Lock lock(mutex_);
    if (writer_ || (mode == io::OpenMode::kReadWrite && readers_ > 0)) return false;
    if (mode == io::OpenMode::kReadWrite) {
      writer_ = true;
    } else {
      ++readers_;
    }
    return true;
  }
  void close(io::OpenMode mode) {
    const io::Lock lock(mutex_);
    if (mode == io::OpenMode::kReadWrite) {
      writer_ = false;
    } else {
      --readers_;
    }
  }

 private:
  const Uuid store_;
  mutable io::Mutex mutex_;
  State state_ HEXAD_GUARDED_BY(mutex_);
  int readers_ HEXAD_GUARDED_BY(mutex_) = 0;
  bool writer_ HEXAD_GUARDED_BY(mutex_) = false;
};

class MemoryIndexCursor final : public IndexCursor {
 public:
  explicit MemoryIndexCursor(const MemoryTree& tree) : cursor_(tree) {}
  Status seek(std::string_view key) override {
    cursor_.seek(key);
    return {};
  }
  Status seek_before(std::string_view key) override {
    cursor_.seek_before(key);
    return {};
  }
  Status seek_to_first() override {
    cursor_.seek_to_first();
    return {};
  }
  Status seek_to_last() override {
    cursor_.seek_to_last();
    return {};
  }
  Status next() override {
    cursor_.next();
    return {};
  }
  Status prev() override {
    cursor_.prev();
    return {};
  }
  bool valid() const override { return cursor_.valid(); }
  std::string_view key() const override { return cursor_.entry().key; }
  std::string_view value() const override { return cursor_.entry().value; }

 private:
  MemoryTree::Cursor cursor_;
};

class MemoryIndexReader final : public IndexReader {
 public:
  explicit MemoryIndexReader(State state) : state_(std::move(state)) {}

  Result<std::optional<std::string_view>> get(std::string_view key) override {
    HEXAD_TRY(check_index_key(key));
    const MemoryEntry* entry = state_.tree.find(key);
    if (entry == nullptr) return std::optional<std::string_view>();
    return std::optional<std::string_view>(entry->value);
  }
  Result<std::unique_ptr<IndexCursor>> cursor() override {
    return std::unique_ptr<IndexCursor>(std::make_unique<MemoryIndexCursor>(state_.tree));
  }
  Lsn applied_lsn() const override { return state_.lsn; }
  Epoch applied_epoch() const override { return state_.epoch; }

 private:
  const State state_;
};

class MemoryIndex final : public Index {
 public:
  MemoryIndex(std::shared_ptr<Content> content, io::OpenMode mode,
              const MemoryIndexOptions& options)
      : content_(std::move(content)), mode_(mode), options_(options) {}
  ~MemoryIndex() override { content_->close(mode_); }

  Result<std::unique_ptr<IndexReader>> snapshot() override {
    return std::unique_ptr<IndexReader>(std::make_unique<MemoryIndexReader>(content_->state()));
  }

  Status apply(Lsn lsn, Epoch epoch, std::span<const IndexChange> changes) override {
    if (mode_ == io::OpenMode::kReadOnly) {
      return Error{ErrorCode::kReadOnly, "index: opened read-only", ""};
    }
    State state = content_->state();  // only this thread changes it
    HEXAD_TRY(check_index_changes(state.lsn, lsn, changes));
    const std::uint64_t before = state.tree.bytes();
    state = {state.tree.with(changes), lsn, epoch};
    // What makes it smaller always passes.
    if (state.tree.bytes() > options_.max_size && state.tree.bytes() > before) {
      return Error{ErrorCode::kNoSpace,
                   "index: " + format_size(state.tree.bytes()) + " are more than its limit of " +
                       format_size(options_.max_size),
                   "remove objects, or make another store with more room"};
    }
    content_->set_state(std::move(state));
    return {};
  }

  Lsn applied_lsn() const override { return content_->state().lsn; }
  Epoch applied_epoch() const override { return content_->state().epoch; }

  Result<IndexStats> stats() override {
    const State state = content_->state();
    IndexStats stats;
    stats.entries = state.tree.entries();
    stats.bytes_used = state.tree.bytes();
    stats.file_bytes = stats.bytes_used;
    return stats;
  }
  Status verify() override {
    content_->state().tree.check_invariants();
    return {};
  }

 private:
  const std::shared_ptr<Content> content_;
  const io::OpenMode mode_;
  const MemoryIndexOptions options_;
};

class MemoryIndexHome final : public IndexHome {
 public:
  MemoryIndexHome(io::Executor& executor, const MemoryIndexOptions& options)
      : executor_(executor), options_(options), mutex_(executor) {}

  Result<std::unique_ptr<Index>> open(const std::string& directory, const Uuid& store,
                                      io::OpenMode mode) override {
    const io::Lock lock(mutex_);
    std::shared_ptr<Content> content;
    if (const auto found = contents_.find(directory); found != contents_.end()) {
      content = found->second;
    } else if (mode == io::OpenMode::kReadOnly) {
      return Error{ErrorCode::kNotFound, "there is no index " + directory + " in memory", ""};
    } else {
      content = std::make_shared<Content>(executor_, store);
    }
    if (content->store() != store) {
      return Error{ErrorCode::kCorruption,
                   "index " + directory + ": belongs to store " + to_string(content->store()) +
                       ", not " + to_string(store),
                   "drop it and build it again"};
    }
    if (!content->try_open(mode)) {
      return Error{ErrorCode::kBusy, "index " + directory + " is open already, in this process",
                   "Close it first."};
    }
    contents_[directory] = content;
    return std::unique_ptr<Index>(
        std::make_unique<MemoryIndex>(std::move(content), mode, options_));
  }

  Status remove(const std::string& directory) override {
    const io::Lock lock(mutex_);
    contents_.erase(directory);
    return {};
  }
  std::optional<std::uint64_t> room(const std::string&) override { return options_.max_size; }

 private:
  io::Executor& executor_;
  const MemoryIndexOptions options_;
  io::Mutex mutex_;
  // By directory.
  std::map<std::string, std::shared_ptr<Content>> contents_ HEXAD_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<IndexHome> make_memory_index_home(io::Executor& executor,
                                                  const MemoryIndexOptions& options) {
  return std::make_unique<MemoryIndexHome>(executor, options);
}

}  // namespace hexad::kv
