#include "kv/run/run_reader.h"

#include <array>
#include <utility>

#include "base/units.h"
#include "kv/index_changes.h"
#include "kv/run/run_check.h"

namespace hexad::kv {
namespace {

Error not_this_run(const RunInfo& info, std::string what) {
  return Error{ErrorCode::kCorruption,
               "run of LSNs (" + std::to_string(info.first_lsn) + ", " +
                   std::to_string(info.last_lsn) + "]: " + std::move(what),
               "Run fsck to see which stripes of the run are damaged."};
}

}  // namespace

Result<std::shared_ptr<RunReader>> RunReader::open(std::shared_ptr<const RunFile> file,
                                                   const Uuid& store, const RunInfo& info,
                                                   RunCache& cache, std::uint64_t serial) {
  if (info.bytes < kRunFooterSize || file->size() != info.bytes) {
    return not_this_run(info, "a file of " + std::to_string(file->size()) + " B instead of " +
                                  std::to_string(info.bytes));
  }
  std::array<std::byte, kRunFooterSize> bytes;
  HEXAD_TRY(file->read(info.bytes - kRunFooterSize, bytes));
  Result<RunFooter> footer = decode_run_footer(bytes);
  if (!footer.ok()) {
    if (footer.error().code != ErrorCode::kCorruption) return footer.error();
    return not_this_run(info, footer.error().message);
  }
  if (footer->store != store) {
    return not_this_run(info, "it belongs to store " + to_string(footer->store));
  }
  if (footer->info != info) return not_this_run(info, "the footer is of another run");
  return std::shared_ptr<RunReader>(
      new RunReader(std::make_shared<const RunSource>(std::move(file), *footer, cache, serial)));
}

Result<RunReader::Found> RunReader::get(std::string_view key, Reads reads) const {
  HEXAD_TRY(check_index_key(key));
  const RunFooter& footer = source_->footer();
  const auto not_known = [] {
    Found found;
    found.known = false;
    return found;
  };
  RunChild child = footer.root;
  for (std::size_t above = footer.levels; above-- > 0;) {
    if (above == 0) {
      HEXAD_TRY_ASSIGN(const std::shared_ptr<const RunFilter> filter,
                       source_->filter(*child.filter, reads));
      if (filter == nullptr) return not_known();
      if (!filter->may_contain(key)) return Found{};
    }
    const RunBlockAddress address = child.block;
    HEXAD_TRY_ASSIGN(const std::shared_ptr<const RunBlock> index,
                     source_->index_block(address, reads));
    if (index == nullptr) return not_known();
    const std::size_t at = index->lower_bound(key);
    if (at == index->count()) {
      if (above + 1 == footer.levels) return Found{};  // behind the last key
      return source_->corrupt(address.offset, "ends before the block that names it says");
    }
    HEXAD_TRY_ASSIGN(child, source_->child(address, *index, at, run_child_kind(above)));
  }
  if (footer.levels == 0) return Found{};
  Found found;
  HEXAD_TRY_ASSIGN(found.holder, source_->data_block(child.block, reads));
  if (found.holder == nullptr) return not_known();
  const std::size_t at = found.holder->lower_bound(key);
  if (at == found.holder->count() || !found.holder->key_equals(at, key)) return Found{};
  found.there = true;
  found.value = found.holder->value(at);
  return found;
}

Status RunReader::verify() const { return check_run(*source_); }

}  // namespace hexad::kv
