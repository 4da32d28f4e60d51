#include "kv/run/run_cursor.h"

#include <utility>

namespace hexad::kv {

namespace {

Error not_there() {
  return Error{ErrorCode::kUnavailable, "a block of a run is not in memory, and may not be read",
               ""};
}

}  // namespace

RunSource::Reads RunCursor::reads() const {
  return caching_ == RunCaching::kWithin ? RunSource::Reads::kNone : RunSource::Reads::kAll;
}

Status RunCursor::seek(std::string_view key) {
  valid_ = false;
  HEXAD_TRY_ASSIGN(const bool found, descend(key));
  if (!found) return {};
  const std::size_t at = block_->lower_bound(key);
  // Between the last key of the block and the separator: the next one begins the next block.
  if (at == block_->count()) return step_block(Direction::kForward);
  stand(at);
  return {};
}

Status RunCursor::seek_before(std::string_view key) {
  valid_ = false;
  HEXAD_TRY_ASSIGN(const bool found, descend(key));
  if (!found) return seek_to_last();
  const std::size_t at = block_->lower_bound(key);
  if (at == 0) return step_block(Direction::kBackward);
  stand(at - 1);
  return {};
}

Status RunCursor::seek_to_first() {
  valid_ = false;
  path_.clear();
  if (levels() == 0) return {};
  HEXAD_TRY(descend(Edge::kFirst));
  HEXAD_TRY(open_data(RunAdmit::kAll));
  opened_ = {};
  skipped_ = false;
  count_block();
  stand(0);
  return {};
}

Status RunCursor::seek_to_last() {
  valid_ = false;
  path_.clear();
  if (levels() == 0) return {};
  HEXAD_TRY(descend(Edge::kLast));
  HEXAD_TRY(open_data(RunAdmit::kAll));
  stand(block_->count() - 1);
  return {};
}

Status RunCursor::next() {
  HEXAD_ASSERT(valid_);
  if (at_ + 1 == block_->count()) return step_block(Direction::kForward);
  block_->step_key(++at_, key_);
  return {};
}

Status RunCursor::prev() {
  HEXAD_ASSERT(valid_);
  if (at_ == 0) return step_block(Direction::kBackward);
  stand(at_ - 1);
  return {};
}

// Opens the one block that may hold `key`; false: all keys are below it.
Result<bool> RunCursor::descend(std::string_view key) {
  path_.clear();
  while (path_.size() < levels()) {
    if (path_.empty()) {
      HEXAD_TRY(open_level(source_->footer().root.block));
    } else {
      HEXAD_TRY_ASSIGN(const RunChild child, current_child());
      HEXAD_TRY(open_level(child.block));
    }
    Level& level = path_.back();
    level.at = level.block->lower_bound(key);
    if (level.at < level.block->count()) continue;
    if (path_.size() == 1) return false;
    return source_->corrupt(level.address.offset, "ends before the block that names it says");
  }
  if (levels() == 0) return false;
  HEXAD_TRY(open_data(RunAdmit::kAll));
  return true;
}

// From where the path ends to the leaf at that edge.
Status RunCursor::descend(Edge edge) {
  while (path_.size() < levels()) {
    if (path_.empty()) {
      HEXAD_TRY(open_level(source_->footer().root.block));
    } else {
      HEXAD_TRY_ASSIGN(const RunChild child, current_child());
      HEXAD_TRY(open_level(child.block));
    }
    Level& level = path_.back();
    level.at = edge == Edge::kFirst ? 0 : level.block->count() - 1;
  }
  return {};
}

Status RunCursor::open_level(const RunBlockAddress& address) {
  Level level;
  level.address = address;
  if (caching_ == RunCaching::kPast) {
    HEXAD_TRY_ASSIGN(RunBlock block, source_->read_block(address));
    level.block = std::make_shared<const RunBlock>(std::move(block));
  } else {
    HEXAD_TRY_ASSIGN(level.block, source_->index_block(address, reads()));
    if (level.block == nullptr) return not_there();
  }
  path_.push_back(std::move(level));
  return {};
}

Result<RunChild> RunCursor::current_child() const {
  const Level& level = path_.back();
  return source_->child(level.address, *level.block, level.at,
                        run_child_kind(levels() - path_.size()));
}

bool RunCursor::has_copy() const {
  const Result<RunChild> child = current_child();
  return child.ok() && source_->has_copy(RunPieceKind::kData, child->block);
}

Status RunCursor::open_data(RunAdmit admit) {
  HEXAD_TRY_ASSIGN(const RunChild child, current_child());
  if (caching_ == RunCaching::kPast) {
    HEXAD_TRY_ASSIGN(RunBlock block, source_->read_block(child.block));
    block_ = std::make_shared<const RunBlock>(std::move(block));
    return {};
  }
  HEXAD_TRY_ASSIGN(block_, source_->data_block(child.block, reads(), admit));
  return block_ == nullptr ? Status(not_there()) : Status();
}

Status RunCursor::open_data_ahead() {
  HEXAD_TRY_ASSIGN(const RunChild child, current_child());
  if (caching_ != RunCaching::kPast) {
    HEXAD_TRY_ASSIGN(block_, source_->data_block(child.block, RunSource::Reads::kNone));
    if (block_ != nullptr) return {};
    if (caching_ == RunCaching::kWithin) return not_there();
  }
  const Level& leaf = path_.back();
  HEXAD_TRY_ASSIGN(
      const RunChild last,
      source_->child(leaf.address, *leaf.block, leaf.block->count() - 1, RunBlockKind::kData));
  HEXAD_TRY_ASSIGN(RunBlock block, ahead_.block(*source_, child.block, last.block.end()));
  block_ = caching_ == RunCaching::kThrough
               ? source_->keep_data(child.block, std::move(block), RunAdmit::kReadBefore)
               : std::make_shared<const RunBlock>(std::move(block));
  return {};
}

// To the edge of the next leaf or block of it; false: there is none.
Result<bool> RunCursor::step_path(Direction direction) {
  while (!path_.empty()) {
    const Level& level = path_.back();
    if (direction == Direction::kForward ? level.at + 1 < level.block->count() : level.at > 0)
      break;
    path_.pop_back();
  }
  if (path_.empty()) return false;
  if (direction == Direction::kForward) {
    ++path_.back().at;
    HEXAD_TRY(descend(Edge::kFirst));
  } else {
    --path_.back().at;
    HEXAD_TRY(descend(Edge::kLast));
  }
  return true;
}

// To the first entry of the next block or the last one of the block before; not valid when there is
// none.
Status RunCursor::step_block(Direction direction) {
  valid_ = false;
  HEXAD_TRY_ASSIGN(const bool there, step_path(direction));
  if (!there) return {};
  if (direction == Direction::kForward) {
    HEXAD_TRY(open_data_ahead());
    count_block();
    stand(0);
  } else {
    HEXAD_TRY(open_data(RunAdmit::kReadBefore));
    stand(block_->count() - 1);
  }
  return {};
}

void RunCursor::count_block() {
  opened_.entries += block_->count();
  opened_.tombstones += block_->tombstones();
}

void RunCursor::read_leaf_end(std::string& key) const {
  const RunBlock& leaf = *path_.back().block;
  leaf.read_key(leaf.count() - 1, key);
}

Result<RunLeafAddress> RunCursor::leaf() const {
  RunLeafAddress leaf{path_.back().block, path_.back().address, {}};
  if (path_.size() == 1) {
    leaf.filter = *source_->footer().root.filter;
    return leaf;
  }
  const Level& above = path_[path_.size() - 2];
  HEXAD_TRY_ASSIGN(const RunChild child,
                   source_->child(above.address, *above.block, above.at, RunBlockKind::kLeaf));
  leaf.filter = *child.filter;
  return leaf;
}

// Of the next leaf only its first block is read: it may be skipped, too.
Status RunCursor::skip_leaf() {
  HEXAD_ASSERT(valid_ && at_leaf());
  valid_ = false;
  skipped_ = true;
  opened_.entries -= block_->count();
  opened_.tombstones -= block_->tombstones();
  path_.back().at = path_.back().block->count() - 1;
  HEXAD_TRY_ASSIGN(const bool there, step_path(Direction::kForward));
  if (!there) return {};
  HEXAD_TRY(open_data(RunAdmit::kReadBefore));
  count_block();
  stand(0);
  return {};
}

Result<RunCursor::Counts> RunCursor::skipped() const {
  if (!skipped_) return Counts{};
  const RunInfo& info = source_->info();
  if (opened_.entries > info.entries || opened_.tombstones > info.tombstones) {
    return source_->corrupt(info.bytes,
                            "fewer entries or tombstones than it has are in its footer");
  }
  return Counts{info.entries - opened_.entries, info.tombstones - opened_.tombstones};
}

bool RunCursor::tombstones_ahead() const {
  return source_->info().tombstones + block_->tombstones() != opened_.tombstones;
}

void RunCursor::stand(std::size_t at) {
  at_ = at;
  block_->read_key(at_, key_);
  valid_ = true;
}

}  // namespace hexad::kv
