#include "kv/run/run_check.h"

#include <string>

namespace hexad::kv {
namespace {

class RunCheck {
 public:
  explicit RunCheck(const RunSource& source) : source_(source) {}

  Status run() {
    const RunFooter& footer = source_.footer();
    if (footer.levels > 0) HEXAD_TRY(check_index(footer.root, footer.levels - 1, nullptr));
    if (entries_ != footer.info.entries || tombstones_ != footer.info.tombstones) {
      return source_.corrupt(end_, std::to_string(entries_) + " entries, " +
                                       std::to_string(tombstones_) + " of them tombstones, but " +
                                       std::to_string(footer.info.entries) + " and " +
                                       std::to_string(footer.info.tombstones) + " in the footer");
    }
    if (end_ + kRunFooterSize != footer.info.bytes) {
      return source_.corrupt(end_, "the footer is not behind the last block");
    }
    return {};
  }

 private:
  // Blocks are written when they are complete, so in the order in which this looks at them: a block
  // behind all that it names. `last`: the key under which it is named, null for the root.
  Status check_index(const RunChild& named, std::size_t above_leaf, const std::string* last) {
    const RunBlockAddress& address = named.block;
    HEXAD_TRY_ASSIGN(const RunBlock block, source_.read_block(address));
    RunFilter filter;
    std::uint64_t data_end = 0;
    if (above_leaf == 0) {
      HEXAD_TRY_ASSIGN(filter, source_.read_filter(*named.filter));
      data_end = named.filter->offset;
    }
    std::string separator;
    for (std::size_t i = 0; i < block.count(); ++i) {
      block.step_key(i, separator);
      HEXAD_TRY_ASSIGN(const RunChild child,
                       source_.child(address, block, i, run_child_kind(above_leaf)));
      if (above_leaf > 0) {
        HEXAD_TRY(check_index(child, above_leaf - 1, &separator));
      } else {
        HEXAD_TRY(check_data(child.block, data_end, separator, filter));
      }
    }
    if (last != nullptr && separator != *last) {
      return source_.corrupt(address.offset, "ends with another key than it is named by");
    }
    if (named.filter.has_value()) HEXAD_TRY(check_place(*named.filter));
    return check_place(address);
  }

  Status check_data(const RunBlockAddress& address, std::uint64_t data_end,
                    const std::string& separator, const RunFilter& filter) {
    HEXAD_TRY_ASSIGN(const RunBlock block, ahead_.block(source_, address, data_end));
    std::string key;
    for (std::size_t i = 0; i < block.count(); ++i) {
      block.step_key(i, key);
      if (i == 0 && key <= floor_) {
        return source_.corrupt(address.offset, "begins before the block before it ends");
      }
      if (!filter.may_contain(key)) {
        return source_.corrupt(address.offset, "a key that the filter does not know");
      }
      if (!block.value(i).has_value()) ++tombstones_;
    }
    if (key > separator) {
      return source_.corrupt(address.offset, "ends behind the key that it is named by");
    }
    floor_ = separator;
    entries_ += block.count();
    return check_place(address);
  }

  Status check_place(const RunBlockAddress& address) {
    if (address.offset != end_) {
      return source_.corrupt(address.offset, "the block before it ends at " + std::to_string(end_));
    }
    end_ = address.end();
    return {};
  }

  const RunSource& source_;
  RunWindow ahead_;
  std::string floor_;  // the separator before: every later key is above it
  std::uint64_t entries_ = 0;
  std::uint64_t tombstones_ = 0;
  std::uint64_t end_ = 0;  // of the blocks so far
};

}  // namespace

Status check_run(const RunSource& source) { return RunCheck(source).run(); }

}  // namespace hexad::kv
