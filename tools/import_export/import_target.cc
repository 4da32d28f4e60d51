#include "tools/import_export/import_target.h"

#include <algorithm>
#include <utility>

namespace hexad::tools {

namespace {

// What an object's attributes may take, less what it has for other purposes, and some reserve.
constexpr std::size_t kReservedBytes = 2048;
// Of the record of a place of data, about.
constexpr std::uint64_t kBytesPerRange = 96;
constexpr std::uint64_t kMebibyte = 1 << 20;
// Objects that one transaction takes away.
constexpr std::uint64_t kDisplacedTogether = 1000;
// A clone names every MiB of its source: beyond this the log may not take it.
constexpr std::uint64_t kCloneTogether = 64 * kMebibyte;

std::size_t bytes_of(const Attributes& attributes) {
  std::size_t total = 0;
  for (const auto& [name, value] : attributes) total += name.size() + value.size();
  return total;
}

// Those that other applications have set.
Attributes others_of(const Attributes& attributes) {
  Attributes others;
  for (const auto& [name, value] : attributes) {
    if (!is_posix_attribute(name)) others[name] = value;
  }
  return others;
}

std::size_t room_beside(const Attributes& attributes) {
  const std::size_t taken = bytes_of(others_of(attributes)) + kReservedBytes;
  return taken >= kMaxAttributeBytes ? 0 : std::min(kRoomForXattrs, kMaxAttributeBytes - taken);
}

EncodedAttributes encode_beside(const PosixAttributes& posix,
                                const std::optional<ImportTarget::Present>& present) {
  return present.has_value() ? encode(posix, room_beside(present->attributes)) : encode(posix);
}

std::string below(const std::string& name) { return name + "/"; }
// The first name behind all that begin with below(name).
std::string behind(const std::string& name) { return name + "0"; }
static_assert('/' + 1 == '0');

}  // namespace

bool remembers(const ImportTarget::Present& present, const PosixAttributes& posix) {
  PosixAttributes unmarked = posix;
  unmarked.mark = decode(present.attributes).mark;
  const EncodedAttributes encoded = encode(unmarked, room_beside(present.attributes));
  // Extended attributes in the omap are not compared: they are stored anew.
  if (!encoded.omap.empty()) return false;
  Attributes wanted = others_of(present.attributes);
  wanted.insert(encoded.attributes.begin(), encoded.attributes.end());
  return wanted == present.attributes;
}

ImportTarget::ImportTarget(Store& store, io::Executor& executor, std::string collection)
    : store_(store), collection_(std::move(collection)), committer_(store, executor) {}

Status ImportTarget::look(const std::string& prefix) {
  HEXAD_TRY_ASSIGN(const ListPage page, store_.list(collection_, ListOptions{prefix, "", "", 1}));
  fresh_ = page.entries.empty();
  return {};
}

Result<std::optional<ImportTarget::Present>> ImportTarget::find(const std::string& name) {
  std::optional<Present> present;
  if (fresh_) return present;
  Result<ObjectStat> stat = store_.stat(collection_, name);
  if (!stat.ok() && stat.error().code == ErrorCode::kNotFound) return present;
  if (!stat.ok()) return stat.error();
  HEXAD_TRY_ASSIGN(Attributes attributes, store_.attributes(collection_, name));
  present = Present{stat->size, std::move(attributes)};
  return present;
}

Result<std::uint64_t> ImportTarget::count_in_the_way(const std::string& name) {
  std::uint64_t count = 0;
  if (fresh_) return count;
  if (name.ends_with('/')) {
    const std::string file = name.substr(0, name.size() - 1);
    HEXAD_TRY_ASSIGN(const bool there, store_.exists(collection_, file));
    return there ? std::uint64_t{1} : count;
  }
  ListOptions options{below(name), "", "", kMaxListPage};
  for (bool more = true; more;) {
    HEXAD_TRY_ASSIGN(const ListPage page, store_.list(collection_, options));
    count += page.entries.size();
    more = page.next.has_value();
    if (more) options.start_after = *page.next;
  }
  return count;
}

Result<bool> ImportTarget::must_clear(const std::string& name) {
  if (fresh_) return false;
  for (;;) {
    const ListOptions options{below(name), "", "", kDisplacedTogether};
    HEXAD_TRY_ASSIGN(const ListPage page, store_.list(collection_, options));
    if (page.entries.empty()) return false;
    displaced_ += page.entries.size();
    HEXAD_TRY(committer_.submit());
    if (!page.next.has_value()) return true;
    Transaction transaction;
    for (const ListEntry& entry : page.entries) transaction.remove(collection_, entry.name);
    HEXAD_TRY(committer_.commit_alone(std::move(transaction), {}));
  }
}

void ImportTarget::clear(Transaction& transaction, const std::string& name) const {
  transaction.remove_range(collection_, below(name), behind(name));
}

Status ImportTarget::remember(const File& file, BatchCommitter::Counts counts) {
  const EncodedAttributes encoded = encode_beside(file.posix, file.present);
  set_posix_attributes(committer_.transaction(), collection_, file.name, encoded);
  counts.objects += 1;
  counts.metadata += bytes_of(encoded.attributes);
  for (const auto& [key, value] : encoded.omap) counts.bytes += key.size() + value.size();
  return committer_.added(counts);
}

Status ImportTarget::put(const File& file, std::uint64_t size, const std::vector<ByteRange>& ranges,
                         Bytes data) {
  HEXAD_TRY_ASSIGN(const bool clearing, must_clear(file.name));
  Transaction& transaction = committer_.transaction();
  if (clearing) clear(transaction, file.name);
  const BatchCommitter::Counts counts{0, data.size(), ranges.size() * kBytesPerRange};
  if (data.size() == size) {
    transaction.put_borrowed(collection_, file.name, committer_.keep(std::move(data)));
  } else {
    transaction.put(collection_, file.name, ByteView());
    ByteView left = data;
    for (const ByteRange& range : ranges) {
      transaction.write(collection_, file.name, range.offset, left.first(range.length));
      left = left.subspan(range.length);
    }
    transaction.truncate(collection_, file.name, size);
  }
  if (file.present.has_value()) {
    remove_posix_attributes(transaction, collection_, file.name, file.present->attributes);
  }
  return remember(file, counts);
}

Status ImportTarget::publish(const File& file, ObjectWriter& writer) {
  HEXAD_TRY_ASSIGN(const bool clearing, must_clear(file.name));
  Transaction& transaction = committer_.transaction();
  if (clearing) clear(transaction, file.name);
  const std::uint64_t size = writer.size();
  transaction.publish(writer);
  if (file.present.has_value()) {
    remove_posix_attributes(transaction, collection_, file.name, file.present->attributes);
  }
  HEXAD_TRY(remember(file, {0, size, 0}));
  return committer_.submit();
}

Result<bool> ImportTarget::clone(const File& file, const std::string& first, std::uint64_t size) {
  HEXAD_TRY_ASSIGN(const bool clearing, must_clear(file.name));
  Attributes others;
  if (file.present.has_value()) others = others_of(file.present->attributes);
  const EncodedAttributes encoded = encode_beside(file.posix, file.present);
  const auto make = [&](Transaction& transaction) {
    if (clearing) clear(transaction, file.name);
    transaction.clone(collection_, first, collection_, file.name);
    // What the first name has of its own is not the file's (I3).
    transaction.remove_attrs(collection_, file.name);
    transaction.set_attrs(collection_, file.name, others);
    set_posix_attributes(transaction, collection_, file.name, encoded);
  };
  BatchCommitter::Counts counts{
      1, 0,
      bytes_of(encoded.attributes) + bytes_of(others) + (size / kMebibyte + 1) * kBytesPerRange};
  if (size <= kCloneTogether) {
    make(committer_.transaction());
    HEXAD_TRY(committer_.added(counts));
    return true;
  }
  Transaction alone;
  make(alone);
  const Status status = committer_.commit_alone(std::move(alone), counts);
  if (status.ok()) return true;
  if (status.error().code == ErrorCode::kTooBig) return false;
  return status.error();
}

Status ImportTarget::put_directory(const File& file) {
  Transaction& transaction = committer_.transaction();
  HEXAD_TRY_ASSIGN(const std::uint64_t in_the_way, count_in_the_way(file.name));
  if (in_the_way > 0) {
    transaction.remove(collection_, file.name.substr(0, file.name.size() - 1));
    displaced_ += in_the_way;
  }
  transaction.put(collection_, file.name, ByteView());
  if (file.present.has_value()) {
    remove_posix_attributes(transaction, collection_, file.name, file.present->attributes);
  }
  return remember(file, {});
}

Status ImportTarget::set_attributes(const File& file) {
  remove_posix_attributes(committer_.transaction(), collection_, file.name,
                          file.present->attributes);
  return remember(file, {});
}

Status ImportTarget::remove(const std::string& name) {
  committer_.transaction().remove(collection_, name);
  return committer_.added({1, 0, name.size()});
}

}  // namespace hexad::tools
