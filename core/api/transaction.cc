#include "core/api/transaction.h"

#include <utility>

#include "base/buffer_shelf.h"
#include "base/refused_memory.h"
#include "core/api/op_facts.h"

namespace hexad {
namespace {

constexpr std::size_t kMaxAttributeName = 255;  // bytes

// "put of collection/object": where in a transaction of thousands the caller has to look.
std::string subject(const TransactionOp& op) {
  const OpFacts facts = facts_of(op.kind);
  std::string text = std::string(facts.name) + " of \"" + printable(op.collection, 64);
  if (facts.subject == OpSubject::kObject) text += "/" + printable(op.name, 64);
  return text + "\"";
}

// Nothing, or what is wrong with a name of `size` bytes.
Status check_name_size(const TransactionOp& op, std::string_view what, std::size_t size,
                       std::size_t limit) {
  if (size >= 1 && size <= limit) return ok_status();
  return Error{ErrorCode::kInvalidArgument,
               subject(op) + ": the name of the " + std::string(what) + " has " +
                   std::to_string(size) + " bytes",
               "Names have 1 to " + std::to_string(limit) + " bytes."};
}

Status check_hint(const TransactionOp& op) {
  if (is_valid(op.hint)) return ok_status();
  return Error{ErrorCode::kInvalidArgument,
               subject(op) + ": the hints " + std::to_string(static_cast<unsigned>(op.hint)) +
                   " are unknown, or exclude each other",
               "An object is compressible or incompressible, short-lived or long-lived."};
}

Status check_omap_value(const TransactionOp& op, std::uint64_t size) {
  if (size <= kMaxOmapValue) return ok_status();
  return Error{ErrorCode::kTooBig,
               subject(op) + ": a value of " + std::to_string(size) + " bytes, the limit is " +
                   std::to_string(kMaxOmapValue),
               "Store large values as objects of their own."};
}

Status check_range(const TransactionOp& op, std::uint64_t offset, std::uint64_t length) {
  if (offset <= kMaxObjectSize && length <= kMaxObjectSize - offset) return ok_status();
  return Error{ErrorCode::kTooBig, subject(op) + ": the range of " + std::to_string(length) +
                                       " bytes at offset " + std::to_string(offset) +
                                       " ends behind the largest object of " +
                                       std::to_string(kMaxObjectSize) + " bytes"};
}

}  // namespace

bool is_guard(OpKind kind) { return facts_of(kind).effect == OpEffect::kGuard; }

Transaction::Transaction() = default;
Transaction::~Transaction() = default;

Transaction::Transaction(Transaction&& other) noexcept
    : ops_(std::exchange(other.ops_, {})),
      payload_bytes_(std::exchange(other.payload_bytes_, 0)),
      written_bytes_(std::exchange(other.written_bytes_, 0)),
      problem_(std::exchange(other.problem_, {})) {}

Transaction& Transaction::operator=(Transaction&& other) noexcept {
  ops_ = std::exchange(other.ops_, {});
  payload_bytes_ = std::exchange(other.payload_bytes_, 0);
  written_bytes_ = std::exchange(other.written_bytes_, 0);
  problem_ = std::exchange(other.problem_, {});
  return *this;
}

TransactionOp& Transaction::add(OpKind kind, std::string_view collection, std::string_view name) {
  // Ops are large, and a second one seldom stays the last.
  if (ops_.size() == ops_.capacity() && ops_.size() < 64) {
    ops_.reserve(ops_.empty() ? 1 : ops_.size() * 8);
  }
  TransactionOp& op = ops_.emplace_back();
  op.kind = kind;
  op.collection = collection;
  op.name = name;
  check(check_name_size(op, "collection", collection.size(), kMaxNameSize));
  if (facts_of(kind).subject == OpSubject::kObject && kind != OpKind::kRemoveRange) {
    check(check_name_size(op, "object", name.size(), kMaxNameSize));
  }
  return op;
}

void Transaction::check(const Status& status) {
  if (problem_.ok() && !status.ok()) problem_ = status;
}

void Transaction::add_payload(TransactionOp& op, ByteView data, Payload ownership) {
  if (ownership == Payload::kCopied) {
    const Status copied = without_bad_alloc([&]() -> Status {
      if (data.size() < BufferShelf::kSmallest) {
        op.owned.assign(data.begin(), data.end());
      } else {
        op.large = AlignedBuffer::copy_of(data);  // in memory that large payloads had before
      }
      return {};
    });
    if (!copied.ok() && problem_.ok())
      problem_ = no_memory_for(data.size(), facts_of(op.kind).name);
    data = op.large.empty() ? ByteView(op.owned) : op.large.bytes();
  }
  op.payload = data;
  payload_bytes_ += data.size();
  if (!is_guard(op.kind)) written_bytes_ += data.size();
}

void Transaction::create_collection(std::string_view collection) {
  add(OpKind::kCreateCollection, collection, {});
}

void Transaction::remove_collection(std::string_view collection, Contents contents) {
  add(OpKind::kRemoveCollection, collection, {}).contents = contents;
}

TransactionOp& Transaction::add_for_two(OpKind kind, std::string_view collection,
                                        std::string_view to) {
  TransactionOp& op = add(kind, collection, {});
  op.other_collection = to;
  check(check_name_size(op, "destination collection", to.size(), kMaxNameSize));
  if (collection == to) {
    check(Error{ErrorCode::kInvalidArgument, subject(op) + ": into itself", ""});
  }
  return op;
}

void Transaction::split_collection(std::string_view collection, std::string_view prefix,
                                   std::string_view to) {
  TransactionOp& op = add_for_two(OpKind::kSplitCollection, collection, to);
  op.name = prefix;
  if (!prefix.empty()) check(check_name_size(op, "prefix", prefix.size(), kMaxNameSize));
}

void Transaction::merge_collection(std::string_view collection, std::string_view into) {
  add_for_two(OpKind::kMergeCollection, collection, into);
}

void Transaction::set_policy(std::string_view collection, const compression::Policy& policy) {
  TransactionOp& op = add(OpKind::kSetPolicy, collection, {});
  op.policy = policy;
  const Status valid = compression::validate(policy);
  if (!valid.ok()) check(valid.error().with_context(subject(op)));
}

void Transaction::set_quota(std::string_view collection, const Quota& quota) {
  add(OpKind::kSetQuota, collection, {}).quota = quota;
}

void Transaction::touch(std::string_view collection, std::string_view name) {
  add(OpKind::kTouch, collection, name);
}

void Transaction::create(std::string_view collection, std::string_view name) {
  add(OpKind::kCreate, collection, name);
}

void Transaction::put(std::string_view collection, std::string_view name, ByteView data,
                      Hint hint) {
  TransactionOp& op = add(OpKind::kPut, collection, name);
  op.hint = hint;
  check(check_hint(op));
  check(check_range(op, 0, data.size()));
  add_payload(op, data, Payload::kCopied);
}

void Transaction::put(std::string_view collection, std::string_view name, std::string_view data,
                      Hint hint) {
  put(collection, name, as_bytes(data), hint);
}

void Transaction::put_borrowed(std::string_view collection, std::string_view name, ByteView data,
                               Hint hint) {
  TransactionOp& op = add(OpKind::kPut, collection, name);
  op.hint = hint;
  check(check_hint(op));
  check(check_range(op, 0, data.size()));
  add_payload(op, data, Payload::kBorrowed);
}

void Transaction::write(std::string_view collection, std::string_view name, std::uint64_t offset,
                        ByteView data, Hint hint) {
  TransactionOp& op = add(OpKind::kWrite, collection, name);
  op.offset = offset;
  op.hint = hint;
  check(check_hint(op));
  check(check_range(op, offset, data.size()));
  add_payload(op, data, Payload::kCopied);
}

void Transaction::append(std::string_view collection, std::string_view name, ByteView data,
                         Hint hint) {
  TransactionOp& op = add(OpKind::kAppend, collection, name);
  op.hint = hint;
  check(check_hint(op));
  check(check_range(op, 0, data.size()));
  add_payload(op, data, Payload::kCopied);
}

void Transaction::zero(std::string_view collection, std::string_view name, std::uint64_t offset,
                       std::uint64_t length) {
  TransactionOp& op = add(OpKind::kZero, collection, name);
  op.offset = offset;
  op.length = length;
  check(check_range(op, offset, length));
}

void Transaction::truncate(std::string_view collection, std::string_view name, std::uint64_t size) {
  TransactionOp& op = add(OpKind::kTruncate, collection, name);
  op.offset = size;
  check(check_range(op, 0, size));
}

void Transaction::remove(std::string_view collection, std::string_view name) {
  add(OpKind::kRemove, collection, name);
}

void Transaction::remove_range(std::string_view collection, std::string_view from,
                               std::string_view to) {
  TransactionOp& op = add(OpKind::kRemoveRange, collection, from);
  op.other = to;
  for (const std::string_view bound : {from, to}) {
    if (!bound.empty()) check(check_name_size(op, "bound", bound.size(), kMaxNameSize));
  }
}

TransactionOp& Transaction::add_for_attribute(OpKind kind, std::string_view collection,
                                              std::string_view name, std::string_view attribute) {
  TransactionOp& op = add(kind, collection, name);
  op.other = attribute;
  check(check_name_size(op, "attribute", attribute.size(), kMaxAttributeName));
  return op;
}

void Transaction::set_attr(std::string_view collection, std::string_view name,
                           std::string_view attribute, std::string_view value) {
  TransactionOp& op = add_for_attribute(OpKind::kSetAttr, collection, name, attribute);
  add_payload(op, as_bytes(value), Payload::kCopied);
}

void Transaction::remove_attr(std::string_view collection, std::string_view name,
                              std::string_view attribute) {
  add_for_attribute(OpKind::kRemoveAttr, collection, name, attribute);
}

void Transaction::set_attrs(std::string_view collection, std::string_view name,
                            const Attributes& attributes) {
  TransactionOp& op = add(OpKind::kSetAttrs, collection, name);
  op.attributes = attributes;
  for (const auto& [attribute, value] : attributes) {
    check(check_name_size(op, "attribute", attribute.size(), kMaxAttributeName));
    payload_bytes_ += value.size();
    written_bytes_ += value.size();
  }
}

void Transaction::remove_attrs(std::string_view collection, std::string_view name) {
  add(OpKind::kRemoveAttrs, collection, name);
}

void Transaction::set_hint(std::string_view collection, std::string_view name, Hint hint) {
  TransactionOp& op = add(OpKind::kSetHint, collection, name);
  op.hint = hint;
  check(check_hint(op));
}

TransactionOp& Transaction::add_for_key(OpKind kind, std::string_view collection,
                                        std::string_view name, std::string_view key) {
  TransactionOp& op = add(kind, collection, name);
  op.other = key;
  check(check_name_size(op, "omap key", key.size(), kMaxOmapKey));
  return op;
}

void Transaction::omap_set(std::string_view collection, std::string_view name, std::string_view key,
                           ByteView value, Hint hint) {
  TransactionOp& op = add_for_key(OpKind::kOmapSet, collection, name, key);
  op.hint = hint;
  check(check_hint(op));
  check(check_omap_value(op, value.size()));
  add_payload(op, value, Payload::kCopied);
}

void Transaction::omap_set(std::string_view collection, std::string_view name, std::string_view key,
                           std::string_view value, Hint hint) {
  omap_set(collection, name, key, as_bytes(value), hint);
}

void Transaction::omap_remove(std::string_view collection, std::string_view name,
                              std::string_view key) {
  add_for_key(OpKind::kOmapRemove, collection, name, key);
}

void Transaction::omap_remove_range(std::string_view collection, std::string_view name,
                                    std::string_view first, std::string_view end) {
  TransactionOp& op = add(OpKind::kOmapRemoveRange, collection, name);
  op.other = first;
  op.other_collection = end;
  for (const std::string_view bound : {first, end}) {
    if (!bound.empty()) check(check_name_size(op, "bound", bound.size(), kMaxOmapKey));
  }
}

void Transaction::omap_clear(std::string_view collection, std::string_view name) {
  add(OpKind::kOmapClear, collection, name);
}

void Transaction::omap_set_header(std::string_view collection, std::string_view name,
                                  ByteView header) {
  TransactionOp& op = add(OpKind::kOmapSetHeader, collection, name);
  check(check_omap_value(op, header.size()));
  add_payload(op, header, Payload::kCopied);
}

TransactionOp& Transaction::add_with_destination(OpKind kind, std::string_view collection,
                                                 std::string_view from,
                                                 std::string_view to_collection,
                                                 std::string_view to) {
  TransactionOp& op = add(kind, collection, from);
  op.other_collection = to_collection;
  op.other = to;
  check(check_name_size(op, "destination collection", to_collection.size(), kMaxNameSize));
  check(check_name_size(op, "destination object", to.size(), kMaxNameSize));
  return op;
}

void Transaction::rename(std::string_view collection, std::string_view from,
                         std::string_view to_collection, std::string_view to) {
  add_with_destination(OpKind::kRename, collection, from, to_collection, to);
}

void Transaction::clone(std::string_view collection, std::string_view from,
                        std::string_view to_collection, std::string_view to) {
  const TransactionOp& op =
      add_with_destination(OpKind::kClone, collection, from, to_collection, to);
  if (collection != to_collection || from != to) return;
  check(Error{ErrorCode::kInvalidArgument, subject(op) + ": onto itself", ""});
}

void Transaction::clone_range(std::string_view collection, std::string_view from,
                              std::uint64_t offset, std::uint64_t length,
                              std::string_view to_collection, std::string_view to,
                              std::uint64_t to_offset) {
  TransactionOp& op =
      add_with_destination(OpKind::kCloneRange, collection, from, to_collection, to);
  op.offset = offset;
  op.length = length;
  op.to_offset = to_offset;
  check(check_range(op, to_offset, length));
  const std::uint64_t apart = offset > to_offset ? offset - to_offset : to_offset - offset;
  if (collection != to_collection || from != to || apart >= length) return;
  check(Error{ErrorCode::kInvalidArgument,
              subject(op) + ": " + std::to_string(length) + " bytes at " + std::to_string(offset) +
                  " overlap those at " + std::to_string(to_offset) + " of the same object",
              ""});
}

void Transaction::expect_absent(std::string_view collection, std::string_view name) {
  add(OpKind::kExpectAbsent, collection, name);
}

void Transaction::expect_exists(std::string_view collection, std::string_view name) {
  add(OpKind::kExpectExists, collection, name);
}

void Transaction::expect_version(std::string_view collection, std::string_view name, Lsn version) {
  add(OpKind::kExpectVersion, collection, name).offset = version;
}

void Transaction::expect_version_in(std::string_view collection, std::string_view name, Lsn version,
                                    std::uint32_t space) {
  TransactionOp& op = add(OpKind::kExpectVersion, collection, name);
  op.offset = version;
  op.space = space;
}

void Transaction::expect_attr(std::string_view collection, std::string_view name,
                              std::string_view attribute, std::string_view value) {
  TransactionOp& op = add_for_attribute(OpKind::kExpectAttr, collection, name, attribute);
  add_payload(op, as_bytes(value), Payload::kCopied);
}

void Transaction::expect_attr_absent(std::string_view collection, std::string_view name,
                                     std::string_view attribute) {
  add_for_attribute(OpKind::kExpectAttrAbsent, collection, name, attribute);
}

void Transaction::expect_bytes(std::string_view collection, std::string_view name,
                               std::uint64_t offset, ByteView bytes) {
  TransactionOp& op = add(OpKind::kExpectBytes, collection, name);
  op.offset = offset;
  check(check_range(op, offset, bytes.size()));
  add_payload(op, bytes, Payload::kCopied);
}

void Transaction::expect_omap(std::string_view collection, std::string_view name,
                              std::string_view key, ByteView value) {
  TransactionOp& op = add_for_key(OpKind::kExpectOmap, collection, name, key);
  check(check_omap_value(op, value.size()));
  add_payload(op, value, Payload::kCopied);
}

void Transaction::expect_omap_absent(std::string_view collection, std::string_view name,
                                     std::string_view key) {
  add_for_key(OpKind::kExpectOmapAbsent, collection, name, key);
}

}  // namespace hexad
