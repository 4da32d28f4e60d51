#include "tools/import_export/written_files.h"

#include <fcntl.h>

#include <algorithm>

#include "tools/cli/file.h"
#include "tools/import_export/tree_walk.h"

namespace hexad::tools {

void WrittenFiles::add(const struct stat& info) {
  auto& range = ranges_[{info.st_dev, info.st_ino / kTogether}];
  if (range == nullptr) range = std::make_unique<std::bitset<kTogether>>();
  range->set(info.st_ino % kTogether);
}

bool WrittenFiles::contains(const struct stat& info) const {
  const auto range = ranges_.find({info.st_dev, info.st_ino / kTogether});
  return range != ranges_.end() && range->second->test(info.st_ino % kTogether);
}

// Each name is written once, so a file of this export that is there already has another name. One
// with several names may have this one, too: they were links of one file before.
bool WrittenFiles::has_other(int directory, const std::string& leaf) const {
  struct stat there = {};
  if (fstatat(directory, leaf.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0) return false;
  if (!contains(there)) return false;
  return there.st_nlink == 1 || is_other_spelling(directory, leaf);
}

bool may_be_one_name(const std::string& a, const std::string& b) {
  const auto is_ascii = [](char c) { return c >= 0; };
  if (!std::all_of(a.begin(), a.end(), is_ascii) || !std::all_of(b.begin(), b.end(), is_ascii)) {
    return true;
  }
  const auto folded = [](std::string text) {
    std::erase_if(text, [](char c) { return c == ' ' || c == '.'; });
    for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return text;
  };
  return folded(a) == folded(b);
}

Error other_spelling_error() {
  return Error{ErrorCode::kInvalidArgument,
               "the file system takes its name for that of another object, which is there already; "
               "export it into a directory of its own, with --prefix",
               ""};
}

bool is_other_spelling(int directory, const std::string& leaf) {
  struct stat there = {};
  if (fstatat(directory, leaf.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0) return false;
  const Fd own(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!own.valid()) return false;
  const Result<std::vector<std::string>> names = names_in_directory(own.get(), leaf);
  return names.ok() && !std::binary_search(names->begin(), names->end(), leaf);
}

}  // namespace hexad::tools
