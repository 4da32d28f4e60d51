#include "tests/core/store_model.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/checksum.h"
#include "tests/core/list_model.h"

namespace hexad::testing {

namespace {

bool guard_holds(const TransactionOp& op, const ModelObject* object) {
  if (op.kind == OpKind::kExpectAbsent) return object == nullptr;
  if (object == nullptr) return false;
  const std::string_view payload = as_text(op.payload);
  const auto attribute = object->attributes.find(op.other);
  const bool has_attribute = attribute != object->attributes.end();
  switch (op.kind) {
    case OpKind::kExpectVersion:
      return object->version == op.offset;
    case OpKind::kExpectAttr:
      return has_attribute && attribute->second == payload;
    case OpKind::kExpectAttrAbsent:
      return !has_attribute;
    case OpKind::kExpectBytes:
      return object->data->size() >= op.offset + payload.size() &&
             object->data->compare(op.offset, payload.size(), payload) == 0;
    case OpKind::kExpectOmap:
    case OpKind::kExpectOmapAbsent:
      return omap_guard_holds(op, object->omap);
    default:
      return true;
  }
}

void overwrite(ModelObject& object, std::uint64_t offset, std::string_view bytes) {
  std::string data = *object.data;
  if (data.size() < offset + bytes.size()) data.resize(offset + bytes.size());
  data.replace(offset, bytes.size(), bytes);
  object.data = std::make_shared<const std::string>(std::move(data));
}

}  // namespace

std::optional<ErrorCode> Model::apply(const Transaction& transaction) {
  if (!transaction.problem().ok()) return transaction.problem().error().code;
  for (const TransactionOp& op : transaction.ops()) {
    if (!is_guard(op.kind)) continue;
    if (!holds(op)) return ErrorCode::kConflict;
  }
  Model next = *this;
  std::set<std::string> made;
  for (const TransactionOp& op : transaction.ops()) {
    if (is_guard(op.kind)) continue;
    if (const auto error = next.apply_op(op)) return error;
    if (op.kind == OpKind::kCreateCollection) made.insert(op.collection);
  }
  if (!next.within_quotas(*this, made)) return ErrorCode::kNoSpace;
  *this = std::move(next);
  return std::nullopt;
}

bool Model::holds(const TransactionOp& op) const {
  return guard_holds(op, find(op.collection, op.name));
}

const ModelObject* Model::find(const std::string& collection, const std::string& name) const {
  const auto in = collections.find(collection);
  if (in == collections.end()) return nullptr;
  const auto found = in->second.find(name);
  return found == in->second.end() ? nullptr : &found->second;
}

std::uint64_t Model::bytes_of(const std::string& collection) const {
  std::uint64_t bytes = 0;
  for (const auto& [name, object] : collections.at(collection)) bytes += object.data->size();
  return bytes;
}

bool Model::within_quotas(const Model& before, const std::set<std::string>& made) const {
  for (const auto& [collection, quota] : quotas) {
    const bool old = before.collections.count(collection) > 0 && made.count(collection) == 0;
    const std::uint64_t objects = collections.at(collection).size();
    const std::uint64_t objects_before = old ? before.collections.at(collection).size() : 0;
    if (quota.objects > 0 && objects > quota.objects && objects > objects_before) return false;
    const std::uint64_t bytes = bytes_of(collection);
    const std::uint64_t bytes_before = old ? before.bytes_of(collection) : 0;
    if (quota.bytes > 0 && bytes > quota.bytes && bytes > bytes_before) return false;
  }
  return true;
}

void Model::stamp(Lsn lsn) {
  for (auto& [collection, objects] : collections) {
    for (auto& [name, object] : objects) {
      if (object.changed) object.version = lsn;
      object.changed = false;
    }
  }
}

std::optional<ErrorCode> Model::split(const TransactionOp& op, Objects& from, Objects& to) {
  for (const auto& [name, object] : to) {
    if (name.starts_with(op.name)) return ErrorCode::kNotEmpty;
  }
  for (auto it = from.begin(); it != from.end();) {
    const auto at = it++;
    if (at->first.starts_with(op.name)) to.insert(from.extract(at));
  }
  return std::nullopt;
}

std::optional<ErrorCode> Model::merge(const TransactionOp& op, Objects& from, Objects& into) {
  for (const auto& [name, object] : from) {
    if (into.count(name) > 0) return ErrorCode::kAlreadyExists;
  }
  into.merge(from);
  collections.erase(op.collection);
  quotas.erase(op.collection);
  policies.erase(op.collection);
  return std::nullopt;
}

std::optional<ErrorCode> Model::apply_op(const TransactionOp& op) {
  const std::string_view payload = as_text(op.payload);
  if (op.kind == OpKind::kCreateCollection) {
    return collections.try_emplace(op.collection).second
               ? std::nullopt
               : std::optional<ErrorCode>(ErrorCode::kAlreadyExists);
  }
  const auto in = collections.find(op.collection);
  if (in == collections.end()) return ErrorCode::kNotFound;
  Objects& objects = in->second;
  if (op.kind == OpKind::kRemoveCollection) {
    if (!objects.empty() && op.contents == Contents::kMustBeEmpty) return ErrorCode::kNotEmpty;
    collections.erase(in);
    quotas.erase(op.collection);
    policies.erase(op.collection);
    return std::nullopt;
  }
  if (op.kind == OpKind::kSplitCollection || op.kind == OpKind::kMergeCollection) {
    const auto to = collections.find(op.other_collection);
    if (to == collections.end()) return ErrorCode::kNotFound;
    return op.kind == OpKind::kSplitCollection ? split(op, objects, to->second)
                                               : merge(op, objects, to->second);
  }
  if (op.kind == OpKind::kSetQuota) {
    quotas[op.collection] = op.quota;
    return std::nullopt;
  }
  if (op.kind == OpKind::kSetPolicy) {
    policies[op.collection] = op.policy;
    return std::nullopt;
  }
  const auto found = objects.find(op.name);
  const bool exists = found != objects.end();
  const auto writable = [&]() -> ModelObject& {
    ModelObject& object = objects[op.name];
    object.changed = true;
    return object;
  };
  if (is_omap_op(op.kind)) {
    if (!exists && op.kind == OpKind::kOmapClear) return std::nullopt;
    if (!exists) return ErrorCode::kNotFound;
    if (apply_omap_op(op, found->second.omap)) found->second.changed = true;
    return std::nullopt;
  }
  switch (op.kind) {
    case OpKind::kTouch:
      if (!exists) writable();
      break;
    case OpKind::kCreate:
      if (exists) return ErrorCode::kAlreadyExists;
      writable();
      break;
    case OpKind::kPut: {
      ModelObject& object = writable();
      object.data = std::make_shared<const std::string>(payload);
      if (op.hint != Hint::kNone) object.hint = op.hint;
      break;
    }
    case OpKind::kWrite:
      if (ModelObject& object = writable(); !payload.empty()) overwrite(object, op.offset, payload);
      break;
    case OpKind::kAppend:
      if (ModelObject& object = writable(); !payload.empty()) {
        overwrite(object, object.data->size(), payload);
      }
      break;
    case OpKind::kZero:
      if (ModelObject& object = writable(); op.length > 0) {
        overwrite(object, op.offset, std::string(op.length, '\0'));
      }
      break;
    case OpKind::kTruncate:
      if (exists && found->second.data->size() != op.offset) {
        std::string data = *found->second.data;
        data.resize(op.offset);
        writable().data = std::make_shared<const std::string>(std::move(data));
      }
      break;
    case OpKind::kRemove:
      objects.erase(op.name);
      break;
    case OpKind::kSetAttr:
      if (!exists) return ErrorCode::kNotFound;
      writable().attributes[op.other] = payload;
      break;
    case OpKind::kRemoveAttr:
      if (!exists) return ErrorCode::kNotFound;
      if (found->second.attributes.erase(op.other) > 0) found->second.changed = true;
      break;
    case OpKind::kSetAttrs:
      if (!exists) return ErrorCode::kNotFound;
      for (const auto& [attribute, value] : op.attributes) writable().attributes[attribute] = value;
      break;
    case OpKind::kRemoveAttrs:
      if (exists && !found->second.attributes.empty()) writable().attributes.clear();
      break;
    case OpKind::kRemoveRange:
      for (auto it = objects.lower_bound(op.name);
           it != objects.end() && (op.other.empty() || it->first < op.other);) {
        it = objects.erase(it);
      }
      break;
    case OpKind::kSetHint:
      if (exists && found->second.hint != op.hint) writable().hint = op.hint;
      break;
    case OpKind::kRename: {
      if (!exists) return ErrorCode::kNotFound;
      const auto to = collections.find(op.other_collection);
      if (to == collections.end()) return ErrorCode::kNotFound;
      if (to->second.count(op.other) > 0) return ErrorCode::kAlreadyExists;
      ModelObject moved = std::move(found->second);
      moved.changed = true;
      objects.erase(found);
      to->second[op.other] = std::move(moved);
      break;
    }
    case OpKind::kClone: {
      if (!exists) return ErrorCode::kNotFound;
      const auto to = collections.find(op.other_collection);
      if (to == collections.end()) return ErrorCode::kNotFound;
      ModelObject copy = found->second;
      copy.changed = true;
      to->second[op.other] = std::move(copy);
      break;
    }
    case OpKind::kCloneRange: {
      if (!exists) return ErrorCode::kNotFound;
      const std::string& data = *found->second.data;
      if (op.offset > data.size() || op.length > data.size() - op.offset) {
        return ErrorCode::kInvalidArgument;
      }
      const auto to = collections.find(op.other_collection);
      if (to == collections.end()) return ErrorCode::kNotFound;
      const std::string shown = data.substr(op.offset, op.length);
      ModelObject& target = to->second[op.other];
      target.changed = true;
      if (!shown.empty()) overwrite(target, op.to_offset, shown);
      break;
    }
    case OpKind::kPublish: {
      const ModelStream& stream = streams.at(op.staged.get());
      ModelObject& object = writable();
      object.data = stream.data;
      if (stream.hint.has_value()) object.hint = *stream.hint;
      for (const auto& [attribute, value] : stream.attributes) object.attributes[attribute] = value;
      break;
    }
    default:
      HEXAD_ASSERT(false);  // the model does not know this op
  }
  return std::nullopt;
}

ListPage list_of(const Model::Objects& objects, const ListOptions& options) {
  ListedNames names;
  for (const auto& [name, object] : objects) {
    names[name] = {object.data->size(), object.version};
  }
  return naive_page(names, options);
}

namespace {

// "" when the result is ok, else what it says instead of what it should.
template <typename T>
std::string failed(const char* call, const T& result) {
  return result.ok() ? "" : std::string(call) + ": " + result.error().to_string();
}

std::string quoted(std::string_view text) { return "\"" + printable(text, 40) + "\""; }

template <typename T>
std::string unequal(const char* what, const T& found, const T& expected) {
  if (found == expected) return "";
  return std::string(what) + " is " + std::to_string(found) + " instead of " +
         std::to_string(expected);
}

std::string unequal_bytes(const char* call, std::string_view found, std::string_view expected) {
  if (found == expected) return "";
  std::size_t at = 0;
  while (at < std::min(found.size(), expected.size()) && found[at] == expected[at]) ++at;
  return std::string(call) + ": " + std::to_string(found.size()) + " bytes instead of " +
         std::to_string(expected.size()) + ", different from byte " + std::to_string(at);
}

std::string page_difference(Store& store, const std::string& collection,
                            const Model::Objects& objects, const ListOptions& options) {
  const Result<ListPage> page = store.list(collection, options);
  std::string why = failed("list", page);
  if (why.empty()) why = difference(*page, list_of(objects, options));
  if (why.empty()) return "";
  return "list of " + quoted(collection) + ", prefix " + quoted(options.prefix) + ", after " +
         quoted(options.start_after) + ", delimiter " + quoted(options.delimiter) + ", limit " +
         std::to_string(options.limit) + (options.reverse ? ", reverse" : "") + ": " + why;
}

std::string ranges_difference(Store& store, const std::string& collection, const std::string& name,
                              const std::string& data, io::Rng& rng) {
  std::vector<ByteRange> ranges(rng.below(12));
  std::string expected;
  for (ByteRange& range : ranges) {
    range = {rng.below(data.size() + 10), rng.below(rng.chance(1, 3) ? data.size() + 10 : 100)};
    if (range.offset < data.size()) expected += data.substr(range.offset, range.length);
  }
  const Result<Bytes> read = store.read_ranges(collection, name, ranges);
  if (std::string why = failed("read_ranges", read); !why.empty()) return why;
  if (std::string why = unequal_bytes("read_ranges", as_text(*read), expected); !why.empty()) {
    return why;
  }
  return "";
}

std::string checksum_difference(Store& store, const std::string& collection,
                                const std::string& name, const std::string& data,
                                const ByteRange& range, ChecksumType type) {
  const std::string_view part = std::string_view(data).substr(range.offset, range.length);
  const Result<RangeChecksum> sum = store.checksum(collection, name, range, type);
  if (std::string why = failed("checksum", sum); !why.empty()) return why;
  if (std::string why = unequal("checksum's length", sum->length, std::uint64_t{part.size()});
      !why.empty()) {
    return why;
  }
  const Result<ObjectStat> stat = store.stat(collection, name);
  if (!stat.ok() || stat->version != sum->version) return "checksum: not of this version";
  return unequal("checksum", sum->value, checksum(type, as_bytes(part)));
}

// What is in no extent is zeros.
std::string extents_difference(Store& store, const std::string& collection, const std::string& name,
                               const std::string& data, const ByteRange& range) {
  const Result<std::vector<ByteRange>> extents = store.extents(collection, name, range);
  if (std::string why = failed("extents", extents); !why.empty()) return why;
  std::uint64_t from = range.offset;
  const std::uint64_t end =
      range.offset + std::min<std::uint64_t>(range.length, data.size() - range.offset);
  const auto is_zero = [&](std::uint64_t begin, std::uint64_t behind) {
    const std::string_view hole = std::string_view(data).substr(begin, behind - begin);
    return hole.find_first_not_of('\0') == std::string_view::npos;
  };
  for (const ByteRange& extent : *extents) {
    const bool apart = extent.offset > from || from == range.offset;
    if (extent.offset < from || extent.length == 0 || !apart) return "extents: not in order";
    if (!is_zero(from, extent.offset)) return "extents: data in a hole";
    from = extent.offset + extent.length;
    if (from > end) return "extents: behind the end";
  }
  return is_zero(from, end) ? "" : "extents: data in the last hole";
}

std::string reader_difference(Store& store, const std::string& collection, const std::string& name,
                              const ModelObject& object, io::Rng& rng) {
  const Result<std::unique_ptr<ObjectReader>> reader = store.open_reader(collection, name);
  if (std::string why = failed("open_reader", reader); !why.empty()) return why;
  if ((*reader)->attributes() != object.attributes) return "open_reader: attributes differ";
  std::string found;
  Bytes piece(1 + rng.below(200000));
  for (;;) {
    const Result<std::uint64_t> read = (*reader)->read(piece);
    if (std::string why = failed("reader", read); !why.empty()) return why;
    if (*read == 0) break;
    found += as_text(ByteView(piece).first(*read));
  }
  return unequal_bytes("reader", found, *object.data);
}

std::string attributes_difference(Store& store, const std::string& collection,
                                  const std::string& name, const ModelObject& object) {
  const Result<Attributes> attributes = store.attributes(collection, name);
  if (std::string why = failed("attributes", attributes); !why.empty()) return why;
  if (*attributes != object.attributes) return "attributes differ";
  for (const auto& [attribute, value] : object.attributes) {
    const auto one = store.attribute(collection, name, attribute);
    if (std::string why = failed("attribute", one); !why.empty()) return why;
    if (*one != value) return "attribute " + quoted(attribute) + " differs";
  }
  const auto none = store.attribute(collection, name, "nothing");
  if (std::string why = failed("attribute", none); !why.empty()) return why;
  return none->has_value() ? "an attribute that is not there has a value" : "";
}

std::string stat_difference(Store& store, const std::string& collection, const std::string& name,
                            const ModelObject& object) {
  const Result<ObjectStat> stat = store.stat(collection, name);
  if (std::string why = failed("stat", stat); !why.empty()) return why;
  const std::string differences[] = {
      unequal("size", stat->size, std::uint64_t{object.data->size()}),
      unequal("version", stat->version, object.version),
      unequal("hint", static_cast<unsigned>(stat->hint), static_cast<unsigned>(object.hint))};
  for (const std::string& why : differences) {
    if (!why.empty()) return "stat: " + why;
  }
  if (object.omap != nullptr && !stat->has_omap) return "stat: does not know of the omap";
  const auto type = object.attributes.find(kContentType);
  if (stat->content_type != (type == object.attributes.end() ? "" : type->second)) {
    return "stat: content type differs";
  }
  return "";
}

// Of an object that is there.
std::string present_difference(Store& store, const std::string& collection, const std::string& name,
                               const ModelObject& object, io::Rng& rng) {
  const std::string& data = *object.data;
  const Result<Bytes> bytes = store.get(collection, name);
  if (std::string why = failed("get", bytes); !why.empty()) return why;
  if (std::string why = unequal_bytes("get", as_text(*bytes), data); !why.empty()) return why;
  const Result<bool> exists = store.exists(collection, name);
  if (!exists.ok() || !*exists) return "exists: says no";

  if (std::string why = stat_difference(store, collection, name, object); !why.empty()) return why;
  if (std::string why = attributes_difference(store, collection, name, object); !why.empty()) {
    return why;
  }
  if (std::string why = ranges_difference(store, collection, name, data, rng); !why.empty()) {
    return why;
  }
  const ByteRange range{rng.below(data.size() + 1), rng.below(data.size() + 10)};
  for (const ChecksumType type : {ChecksumType::kCrc32c, ChecksumType::kXxh3}) {
    if (std::string why = checksum_difference(store, collection, name, data, range, type);
        !why.empty()) {
      return why;
    }
  }
  if (std::string why = extents_difference(store, collection, name, data, range); !why.empty()) {
    return why;
  }
  if (std::string why = omap_difference(store, collection, name, object.omap, rng); !why.empty()) {
    return why;
  }
  if (rng.chance(1, 4)) {
    if (std::string why = reader_difference(store, collection, name, object, rng); !why.empty()) {
      return why;
    }
  }

  Bytes into(rng.below(9000));
  const std::uint64_t offset = rng.below(data.size() + 10);
  const Result<std::uint64_t> read = store.read(collection, name, offset, into);
  if (std::string why = failed("read", read); !why.empty()) return why;
  const std::string expected = offset > data.size() ? "" : data.substr(offset, into.size());
  return unequal_bytes("read", as_text(ByteView(into).first(*read)), expected);
}

std::string absent_difference(Store& store, const std::string& collection,
                              const std::string& name) {
  const Result<Bytes> bytes = store.get(collection, name);
  if (bytes.ok() || bytes.error().code != ErrorCode::kNotFound) return "get: not kNotFound";
  const Result<ObjectStat> stat = store.stat(collection, name);
  if (stat.ok() || stat.error().code != ErrorCode::kNotFound) return "stat: not kNotFound";
  const Result<bool> exists = store.exists(collection, name);
  return exists.ok() && !*exists ? "" : "exists: does not say no";
}

std::string info_difference(Store& store, const Model& model, const CollectionInfo& info,
                            const std::string& collection, const Model::Objects& objects) {
  if (info.name != collection) return "collections: " + quoted(info.name) + " is there";
  if (info.objects != objects.size() || info.bytes != model.bytes_of(collection)) {
    return "collections: objects or bytes differ";
  }
  const auto quota = model.quotas.find(collection);
  if (info.quota != (quota == model.quotas.end() ? Quota{} : quota->second)) {
    return "collections: quota differs";
  }
  const auto policy = model.policies.find(collection);
  if (policy != model.policies.end() && info.compression != policy->second) {
    return "collections: policy differs";
  }
  const Result<CollectionInfo> one = store.collection(collection);
  if (std::string why = failed("collection", one); !why.empty()) return why;
  if (one->id != info.id || one->objects != info.objects || one->bytes != info.bytes) {
    return "collection: differs from collections";
  }
  const Result<CollectionUsage> usage = store.collection_usage(collection);
  if (std::string why = failed("collection_usage", usage); !why.empty()) return why;
  if (usage->objects != info.objects || usage->bytes != info.bytes) return "usage differs";
  return "";
}

// Pages of one kind, all of them and from somewhere.
std::string pages_difference(Store& store, const std::string& collection,
                             const Model::Objects& objects, bool reverse, io::Rng& rng) {
  static const char* const kPrefixes[] = {"", "a", "a/", "a/b", "c", "\xff"};
  static const char* const kDelimiters[] = {"", "/", "//", "b"};
  ListOptions options;
  options.prefix = kPrefixes[rng.below(std::size(kPrefixes))];
  options.delimiter = kDelimiters[rng.below(std::size(kDelimiters))];
  options.limit = rng.below(5);
  options.reverse = reverse;
  for (int pages = 0; pages < 50; ++pages) {
    std::string why = page_difference(store, collection, objects, options);
    if (!why.empty()) return why;
    const ListPage page = list_of(objects, options);
    if (!page.next.has_value()) break;
    options.start_after = *page.next;
  }
  if (objects.empty()) return "";
  options.start_after =
      std::next(objects.begin(), static_cast<std::ptrdiff_t>(rng.below(objects.size())))->first;
  if (rng.chance(1, 2)) options.start_after.pop_back();
  return page_difference(store, collection, objects, options);
}

}  // namespace

std::string object_difference(Store& store, const Model& model, const std::string& collection,
                              const std::string& name, io::Rng& rng) {
  const ModelObject* object = model.find(collection, name);
  const std::string why = object == nullptr
                              ? absent_difference(store, collection, name)
                              : present_difference(store, collection, name, *object, rng);
  if (why.empty()) return "";
  const std::string size =
      object == nullptr ? "no such object" : std::to_string(object->data->size()) + " bytes";
  return quoted(collection) + "/" + quoted(name) + " (" + size + "): " + why;
}

std::string difference(Store& store, const Model& model, io::Rng& rng) {
  const Result<std::vector<CollectionInfo>> found = store.collections();
  if (std::string why = failed("collections", found); !why.empty()) return why;
  if (std::string why =
          unequal("the number of collections", found->size(), model.collections.size());
      !why.empty()) {
    return why;
  }
  std::size_t index = 0;
  for (const auto& [collection, objects] : model.collections) {
    std::string why = info_difference(store, model, (*found)[index++], collection, objects);
    if (!why.empty()) return quoted(collection) + ": " + why;
    why = page_difference(store, collection, objects, {});
    if (!why.empty()) return why;
    for (const auto& [name, object] : objects) {
      why = object_difference(store, model, collection, name, rng);
      if (!why.empty()) return why;
    }
    for (int i = 0; i < 6; ++i) {
      why = pages_difference(store, collection, objects, i % 2 == 1, rng);
      if (!why.empty()) return why;
    }
  }
  for (const std::string absent : {"absent", "a/b/c/d"}) {
    std::string why = object_difference(store, model, kDefaultCollection, absent, rng);
    if (!why.empty()) return why;
  }
  return "";
}

}  // namespace hexad::testing
