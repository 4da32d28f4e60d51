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

bool is_guard(OpKind kind) {
  return kind == OpKind::kExpectAbsent || kind == OpKind::kExpectExists ||
         kind == OpKind::kExpectVersion;
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
    const ModelObject* object = find(collections, op.collection, op.name);
    const bool holds = op.kind == OpKind::kExpectAbsent ? object == nullptr
                       : op.kind == OpKind::kExpectExists
                           ? object != nullptr
                           : object != nullptr && object->version == op.offset;
    if (!holds) return ErrorCode::kConflict;
  }
  Model next = *this;
  for (const TransactionOp& op : transaction.ops()) {
    if (is_guard(op.kind)) continue;
    if (const auto error = next.apply_op(op)) return error;
  }
  *this = std::move(next);
  return std::nullopt;
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
    if (!objects.empty()) return ErrorCode::kNotEmpty;
    collections.erase(in);
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
    case OpKind::kPut:
      writable().data = std::make_shared<const std::string>(payload);
      break;
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
  const Result<Attributes> attributes = store.attributes(collection, name);
  REQUIRE(attributes.ok());
  REQUIRE((*attributes == object.attributes));

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
    REQUIRE((*found)[index++].name == collection);
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
  }
}

}  // namespace hexad::testing
