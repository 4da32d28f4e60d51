// What exports have written: which state of its object each local file shows. Kept outside of the
// tree, in the user's cache directory, for the next export with --update; where it is missing, or
// does not know a file, bytes have to be compared.
//
// Size and modification time are not enough: a program that writes an object may leave the time of
// the file that it was, and a local change of mode or time makes an old file look younger than the
// object. What is noted here is the object's version and time, and the inode, change time,
// modification time and size of the file: if all of them are as they were, neither has changed.
//
// One file per pool, collection, prefix and directory: DIRECTORY/KEY, a line for each name, in
// bytewise order, in plain text (names last, with \\ and \n for a backslash and a line end). What
// an export has noted that did not end is in KEY.new; that counts as long as the system runs, since
// the files that it speaks of need not be on the disk.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/api/types.h"

namespace hexad::tools {

// $XDG_CACHE_HOME/hexad/exports, or ~/.cache/hexad/exports. Empty: there is neither.
std::string export_record_directory();

// Nothing of this fails: what cannot be read is not known, and what cannot be written is not known
// next time. Not thread-safe. Memory: two lines and the buffers of three files.
class ExportRecord {
 public:
  enum class Use : std::uint8_t { kLook, kNote };  // kLook: nothing is written

  // Knows nothing, and keeps nothing.
  ExportRecord() = default;
  // `key`: any text that says what is exported whereto. `directory` is made where missing. Another
  // process that notes under the same key leaves this one without.
  ExportRecord(const std::string& directory, const std::string& key, Use use);
  ExportRecord(ExportRecord&&) = default;
  ExportRecord& operator=(ExportRecord&&) = default;
  ~ExportRecord();

  // Whether an export has left the object, as it is now, in the file, as it is now. Names come in
  // bytewise order, each once at most.
  bool knows(const std::string& name, const ObjectStat& object, const struct stat& file);
  // The file shows the object. Names in the same order.
  void note(const std::string& name, const ObjectStat& object, const struct stat& file);
  // Everything that was noted is durable: it takes the place of what was known before.
  void finish();

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  using File = std::unique_ptr<std::FILE, CloseFile>;
  // One file of before, read along with the names.
  struct Lines {
    File file;
    std::string line;  // the present one
    std::string name;  // that it speaks of
    bool more = false;
  };

  bool begin_notes(const std::string& path);
  void add_lines(const std::string& path, const std::string& header);
  static void advance(Lines& lines);

  std::string path_;
  std::string new_path_;
  std::vector<Lines> before_;
  File notes_;  // null: nothing is noted
};

}  // namespace hexad::tools
