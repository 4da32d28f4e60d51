#include "tests/core/store_model.h"

#include <catch2/catch.hpp>
#include <utility>

#include "tests/core/list_model.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {

namespace {

ModelObject* find(std::map<std::string, Model::Objects>& collections, const std::string& collection,
                  const std::string& name) {
  const auto in = collections.find(collection);
  if (in == collections.end()) return nullptr;
  const auto found = in->second.find(name);
  return found == in->second.end() ? nullptr : &found->second;
}

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
    if (!guard_holds(op, find(collections, op.collection, op.name))) return ErrorCode::kConflict;
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
    default:
      FAIL("the model does not know this op");
  }
  return std::nullopt;
}

ListPage list_of(const Model::Objects& objects, const ListOptions& options) {
  ListedNames names;
  for (const auto& [name, object] : objects) {
    names[name] = {name, object.data->size(), object.version, false};
  }
  return naive_page(names, options);
}

namespace {

void require_same_page(Store& store, const std::string& collection, const Model::Objects& objects,
                       const ListOptions& options) {
  CAPTURE(collection, printable(options.prefix), printable(options.start_after),
          printable(options.delimiter), options.limit, options.reverse);
  const Result<ListPage> page = store.list(collection, options);
  REQUIRE(message_of(page.status()) == "");
  REQUIRE(difference(*page, list_of(objects, options)) == "");
}

void require_same_ranges(Store& store, const std::string& collection, const std::string& name,
                         const std::string& data, io::Rng& rng) {
  std::vector<ByteRange> ranges(rng.below(12));
  std::string expected;
  for (ByteRange& range : ranges) {
    range = {rng.below(data.size() + 10), rng.below(rng.chance(1, 3) ? data.size() + 10 : 100)};
    if (range.offset < data.size()) expected += data.substr(range.offset, range.length);
  }
  const Result<Bytes> read = store.read_ranges(collection, name, ranges);
  REQUIRE(message_of(read.status()) == "");
  REQUIRE((as_text(*read) == expected));

  const ByteRange range{rng.below(data.size() + 1), rng.below(data.size() + 10)};
  const std::string_view part = std::string_view(data).substr(range.offset, range.length);
  for (const ChecksumType type : {ChecksumType::kCrc32c, ChecksumType::kXxh3}) {
    const Result<RangeChecksum> sum = store.checksum(collection, name, range, type);
    REQUIRE(message_of(sum.status()) == "");
    REQUIRE(sum->length == part.size());
    REQUIRE(sum->value == checksum(type, as_bytes(part)));
  }

  // What is in no extent is zeros.
  const Result<std::vector<ByteRange>> extents = store.extents(collection, name, range);
  REQUIRE(message_of(extents.status()) == "");
  std::uint64_t from = range.offset;
  const std::uint64_t end = range.offset + part.size();
  const auto is_zero = [&](std::uint64_t begin, std::uint64_t behind) {
    const std::string_view hole = std::string_view(data).substr(begin, behind - begin);
    return hole.find_first_not_of('\0') == std::string_view::npos;
  };
  for (const ByteRange& extent : *extents) {
    REQUIRE(extent.offset >= from);
    REQUIRE(extent.length > 0);
    REQUIRE((extent.offset > from || from == range.offset));  // a gap apart
    REQUIRE(is_zero(from, extent.offset));
    from = extent.offset + extent.length;
    REQUIRE(from <= end);
  }
  REQUIRE(is_zero(from, end));
}

void require_same_object(Store& store, const std::string& collection, const std::string& name,
                         const ModelObject& object, io::Rng& rng) {
  CAPTURE(printable(collection), printable(name, 32), object.data->size());
  const Result<Bytes> bytes = store.get(collection, name);
  REQUIRE(message_of(bytes.status()) == "");
  REQUIRE(bytes->size() == object.data->size());
  REQUIRE((as_text(*bytes) == *object.data));
  const Result<ObjectStat> stat = store.stat(collection, name);
  REQUIRE(stat.ok());
  REQUIRE(stat->size == object.data->size());
  REQUIRE(stat->version == object.version);
  REQUIRE(stat->hint == object.hint);
  const Result<Attributes> attributes = store.attributes(collection, name);
  REQUIRE(attributes.ok());
  REQUIRE((*attributes == object.attributes));

  REQUIRE(store.exists(collection, name).value());
  for (const auto& [attribute, value] : object.attributes) {
    REQUIRE(store.attribute(collection, name, attribute).value() == value);
  }
  REQUIRE(store.attribute(collection, name, "nothing").value() == std::nullopt);
  require_same_ranges(store, collection, name, *object.data, rng);

  Bytes into(rng.below(9000));
  const std::uint64_t offset = rng.below(object.data->size() + 10);
  const Result<std::uint64_t> read = store.read(collection, name, offset, into);
  REQUIRE(read.ok());
  const std::string expected =
      offset > object.data->size() ? "" : object.data->substr(offset, into.size());
  CAPTURE(offset, into.size());
  REQUIRE(*read == expected.size());
  REQUIRE((as_text(ByteView(into).first(*read)) == expected));
}

}  // namespace

void require_equal(Store& store, const Model& model, io::Rng& rng) {
  const Result<std::vector<CollectionInfo>> found = store.collections();
  REQUIRE(message_of(found.status()) == "");
  REQUIRE(found->size() == model.collections.size());
  std::size_t index = 0;
  for (const auto& [collection, objects] : model.collections) {
    const CollectionInfo& info = (*found)[index++];
    REQUIRE(info.name == collection);
    REQUIRE(info.objects == objects.size());
    REQUIRE(info.bytes == model.bytes_of(collection));
    const auto quota = model.quotas.find(collection);
    REQUIRE(info.quota == (quota == model.quotas.end() ? Quota{} : quota->second));
    const auto policy = model.policies.find(collection);
    if (policy != model.policies.end()) REQUIRE(info.compression == policy->second);
    const Result<CollectionInfo> one = store.collection(collection);
    REQUIRE(one.ok());
    REQUIRE(one->id == info.id);
    REQUIRE(one->objects == info.objects);
    const Result<CollectionUsage> usage = store.collection_usage(collection);
    REQUIRE(message_of(usage.status()) == "");
    REQUIRE(usage->objects == info.objects);
    REQUIRE(usage->bytes == info.bytes);
    require_same_page(store, collection, objects, {});
    for (const auto& [name, object] : objects) {
      require_same_object(store, collection, name, object, rng);
    }
    for (int i = 0; i < 6; ++i) {
      static const char* const kPrefixes[] = {"", "a", "a/", "a/b", "c", "\xff"};
      static const char* const kDelimiters[] = {"", "/", "//", "b"};
      ListOptions options;
      options.prefix = kPrefixes[rng.below(std::size(kPrefixes))];
      options.delimiter = kDelimiters[rng.below(std::size(kDelimiters))];
      options.limit = rng.below(5);
      options.reverse = i % 2 == 1;
      // Page through all of it.
      for (int pages = 0; pages < 50; ++pages) {
        require_same_page(store, collection, objects, options);
        const ListPage page = list_of(objects, options);
        if (!page.next.has_value()) break;
        options.start_after = *page.next;
      }
      // And from somewhere.
      if (!objects.empty()) {
        options.start_after =
            std::next(objects.begin(), static_cast<std::ptrdiff_t>(rng.below(objects.size())))
                ->first;
        if (rng.chance(1, 2)) options.start_after.pop_back();
        require_same_page(store, collection, objects, options);
      }
    }
  }
  for (const std::string absent : {"absent", "a/b/c/d"}) {
    const auto in = model.collections.find(kDefaultCollection);
    if (in == model.collections.end() || in->second.count(absent) > 0) continue;
    REQUIRE(code_of(store.get(kDefaultCollection, absent)) == ErrorCode::kNotFound);
    REQUIRE(code_of(store.stat(kDefaultCollection, absent)) == ErrorCode::kNotFound);
    REQUIRE_FALSE(store.exists(kDefaultCollection, absent).value());
  }
}

}  // namespace hexad::testing
