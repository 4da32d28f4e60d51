// Which local files an export has made or kept, to notice a file system that takes two names for
// one.
//
//   I9  a file that shows an object of this export is not replaced by another object of it
//
// Some file systems do not tell upper case from lower case, one way to write a letter from another,
// or a name from the same with dots or spaces behind it. There the second of two such objects would
// take the place of the first, without an error.
#pragma once

#include <sys/stat.h>

#include <bitset>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/error.h"

namespace hexad::tools {

// Memory: a bit for each inode number in the ranges of 32,768 of which some are in use, which is
// about 64 bytes a file at worst.
class WrittenFiles {
 public:
  void add(const struct stat& info);
  bool contains(const struct stat& info) const;

  // Whether what `leaf` leads to in the directory is a file of this export under another name.
  bool has_other(int directory, const std::string& leaf) const;

 private:
  static constexpr std::size_t kTogether = 32768;
  std::map<std::pair<dev_t, ino_t>, std::unique_ptr<std::bitset<kTogether>>> ranges_;
};

// Whether a file system may take the one path for the other. Whatever is not ASCII may be another
// way to write the same.
bool may_be_one_name(const std::string& a, const std::string& b);
// Whether the file system takes `leaf` for one of the directory's names without its being there as
// it stands: for another spelling. Reads the whole directory.
bool is_other_spelling(int directory, const std::string& leaf);
// kInvalidArgument, for the report.
Error other_spelling_error();

}  // namespace hexad::tools
