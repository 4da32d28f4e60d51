#include "kv/run/run_source.h"

#include <algorithm>
#include <utility>

#include "base/units.h"

namespace hexad::kv {

Result<RunBlock> RunSource::read_block(const RunBlockAddress& address) const {
  Bytes stored(address.stored);  // bounded by the address (RB3)
  HEXAD_TRY(file_->read(address.offset, stored));
  return parse_block(address, stored);
}

Result<RunBlock> RunSource::parse_block(const RunBlockAddress& address, ByteView stored) const {
  HEXAD_TRY_ASSIGN(std::string raw, unpack(address, stored));
  Result<RunBlock> block = RunBlock::parse(std::move(raw));
  if (!block.ok()) return corrupt(address.offset, block.error().message);
  return block;
}

Result<RunFilter> RunSource::read_filter(const RunBlockAddress& address) const {
  HEXAD_TRY_ASSIGN(std::string raw, read_raw(address));
  Result<RunFilter> filter = RunFilter::parse(std::move(raw));
  if (!filter.ok()) return corrupt(address.offset, filter.error().message);
  return filter;
}

Status RunSource::read_bytes(std::uint64_t offset, MutByteView out) const {
  return file_->read(offset, out);
}

Result<std::shared_ptr<const RunBlock>> RunSource::index_block(
    const RunBlockAddress& address) const {
  if (Kept kept = find_kept(address.offset); kept.block != nullptr) return kept.block;
  HEXAD_TRY_ASSIGN(RunBlock block, read_block(address));
  Kept kept;
  kept.offset = address.offset;
  kept.block = std::make_shared<const RunBlock>(std::move(block));
  kept.memory = kept.block->memory();
  keep(kept);
  return kept.block;
}

Result<std::shared_ptr<const RunFilter>> RunSource::filter(const RunBlockAddress& address) const {
  if (Kept kept = find_kept(address.offset); kept.filter != nullptr) return kept.filter;
  HEXAD_TRY_ASSIGN(RunFilter filter, read_filter(address));
  Kept kept;
  kept.offset = address.offset;
  kept.filter = std::make_shared<const RunFilter>(std::move(filter));
  kept.memory = kept.filter->memory();
  keep(kept);
  return kept.filter;
}

Result<RunChild> RunSource::child(const RunBlockAddress& index_address, const RunBlock& index,
                                  std::size_t at, RunBlockKind kind) const {
  const std::optional<std::string_view> value = index.value(at);
  if (!value.has_value()) return corrupt(index_address.offset, "a tombstone in the index");
  Result<RunChild> child = decode_run_child(*value, kind, index_address.offset);
  if (!child.ok()) return corrupt(index_address.offset, child.error().message);
  return child;
}

Error RunSource::corrupt(std::uint64_t offset, const std::string& what) const {
  return Error{ErrorCode::kCorruption,
               "run of LSNs (" + std::to_string(footer_.info.first_lsn) + ", " +
                   std::to_string(footer_.info.last_lsn) + "]: block at offset " +
                   std::to_string(offset) + " of " + std::to_string(footer_.info.bytes) +
                   " B: " + what,
               "Run fsck to see which stripes of the run are damaged."};
}

std::uint64_t RunSource::cached_bytes() const {
  const io::Lock lock(mutex_);
  return kept_bytes_;
}

Result<std::string> RunSource::read_raw(const RunBlockAddress& address) const {
  Bytes stored(address.stored);  // RB3
  HEXAD_TRY(file_->read(address.offset, stored));
  return unpack(address, stored);
}

Result<std::string> RunSource::unpack(const RunBlockAddress& address, ByteView stored) const {
  Result<std::string> raw = load_run_block(address, stored);
  if (!raw.ok() && raw.error().code == ErrorCode::kCorruption) {
    return corrupt(address.offset, raw.error().message);
  }
  return raw;
}

RunSource::Kept RunSource::find_kept(std::uint64_t offset) const {
  const io::Lock lock(mutex_);
  const auto found = by_offset_.find(offset);
  if (found == by_offset_.end()) return {};
  kept_.splice(kept_.begin(), kept_, found->second);
  return *found->second;
}

void RunSource::keep(Kept kept) const {
  std::list<Kept> dropped;  // freed without the lock
  const io::Lock lock(mutex_);
  if (by_offset_.contains(kept.offset)) return;  // another thread was first
  kept_bytes_ += kept.memory;
  kept_.push_front(std::move(kept));
  by_offset_[kept_.front().offset] = kept_.begin();
  while (kept_bytes_ > kRunCacheBytes && kept_.size() > 1) {
    kept_bytes_ -= kept_.back().memory;
    by_offset_.erase(kept_.back().offset);
    dropped.splice(dropped.begin(), kept_, std::prev(kept_.end()));
  }
}

Result<RunBlock> RunWindow::block(const RunSource& source, const RunBlockAddress& address,
                                  std::uint64_t end) {
  if (address.stored > kRunReadAhead) return source.read_block(address);
  if (address.offset < offset_ || address.end() > offset_ + bytes_.size()) {
    const std::uint64_t last =
        std::max(address.end(), std::min(end, address.offset + kRunReadAhead));
    offset_ = address.offset;
    bytes_.resize(last - offset_);
    if (Status status = source.read_bytes(offset_, bytes_); !status.ok()) {
      bytes_.clear();
      return status.error();
    }
  }
  return source.parse_block(address,
                            ByteView(bytes_).subspan(address.offset - offset_, address.stored));
}

}  // namespace hexad::kv
