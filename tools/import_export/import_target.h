// The objects that an import fills: what is there under a name already, and how one takes its
// place.
//
//   I1  an object is replaced by one transaction: its data, what it remembers of the file, and what
//       stands in its way, are all of before or all of now
//   I2  a file and a directory of one name never stand beside each other: a file takes away the
//       objects below its name and "/", a directory the object without the "/"
//   I3  attributes that have nothing to do with files (hexad attr set) stay as they are
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/hexad.h"
#include "io/executor.h"
#include "tools/import_export/batch_committer.h"
#include "tools/import_export/posix_attributes.h"

namespace hexad::tools {

// One thread at a time.
class ImportTarget {
 public:
  // Both outlive the target.
  ImportTarget(Store& store, io::Executor& executor, std::string collection);

  // To be called first: where no name begins with `prefix`, nothing needs to be looked up. Errors:
  // kNotFound (no such collection), those of listing.
  Status look(const std::string& prefix);
  // Whether look() has found none.
  bool is_fresh() const { return fresh_; }

  struct Present {
    std::uint64_t size = 0;  // bytes
    Attributes attributes;
  };
  // Nothing: there is no such object. Errors: those of reading.
  Result<std::optional<Present>> find(const std::string& name);

  struct File {
    std::string name;
    const PosixAttributes& posix;
    const std::optional<Present>& present;  // what find() has found
  };
  // All of these: errors of the store, also of earlier ones; what is stored is durable behind
  // finish().
  // `data` holds the bytes of the ranges one behind the other; the rest of `size` is holes.
  Status put(const File& file, std::uint64_t size, const std::vector<ByteRange>& ranges,
             Bytes data);
  Status publish(const File& file, ObjectWriter& writer);
  // A name more of the file that is stored as `first`. False: it is too large to be cloned at once,
  // and nothing has happened.
  Result<bool> clone(const File& file, const std::string& first, std::uint64_t size);
  Status put_directory(const File& file);
  // The data stays.
  Status set_attributes(const File& file);
  Status remove(const std::string& name);

  // Objects that had to go because of I2 so far.
  std::uint64_t displaced() const { return displaced_; }
  // What put() would displace.
  Result<std::uint64_t> count_in_the_way(const std::string& name);

  Result<std::unique_ptr<ObjectWriter>> open_writer(const std::string& name) {
    return store_.open_writer(collection_, name);
  }
  Status finish() { return committer_.finish(); }
  std::uint64_t acknowledged_objects() { return committer_.acknowledged().objects; }

 private:
  // Whether the transaction that brings a file or link of this name has to take away what is below
  // its name and "/" (then it holds nothing else). Removes what is more than one transaction
  // should.
  Result<bool> must_clear(const std::string& name);
  void clear(Transaction& transaction, const std::string& name) const;
  // Behind the op that makes the object.
  Status remember(const File& file, BatchCommitter::Counts counts);

  Store& store_;
  std::string collection_;
  BatchCommitter committer_;
  bool fresh_ = false;
  std::uint64_t displaced_ = 0;
};

// Whether the object remembers the same of its file, extended attributes and link group included.
// The mark is not compared: the file may lie elsewhere by now.
bool remembers(const ImportTarget::Present& present, const PosixAttributes& posix);

}  // namespace hexad::tools
