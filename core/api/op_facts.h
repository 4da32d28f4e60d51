// What each op of a transaction is, in one place: whoever adds an op says all of it here, and the
// compiler misses no case. For the engine; applications use the calls of Transaction.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/api/transaction.h"

namespace hexad {

// What the op is about.
enum class OpSubject : std::uint8_t { kObject, kCollection };

// What the op does to the size of the metadata.
enum class OpEffect : std::uint8_t {
  kGuard,  // nothing: it is evaluated before all that change something
  kFrees,  // it is longer by tombstones at most: done even where the reserve is not whole
  kGrows,  // anything else
};

// What becomes of the op's payload.
enum class OpData : std::uint8_t {
  kNone,   // it has none
  kBlobs,  // it is prepared (compressed, coded) or, of a guard, compared, ahead of the plan
};

// What there is to know of one kind of op.
struct OpFacts {
  std::string_view name;                   // of the call of Transaction
  OpSubject subject = OpSubject::kObject;  // what the op is about
  OpEffect effect = OpEffect::kGrows;      // what it does to the size of the metadata
  OpData data = OpData::kNone;             // what becomes of its payload
};

// Returns what there is to know of the ops of that kind.
constexpr OpFacts facts_of(OpKind kind) {
  switch (kind) {
    case OpKind::kCreateCollection:
      return {"create_collection", OpSubject::kCollection, OpEffect::kGrows, OpData::kNone};
    case OpKind::kRemoveCollection:
      return {"remove_collection", OpSubject::kCollection, OpEffect::kFrees, OpData::kNone};
    case OpKind::kTouch:
      return {"touch", OpSubject::kObject, OpEffect::kGrows, OpData::kNone};
    case OpKind::kCreate:
      return {"create", OpSubject::kObject, OpEffect::kGrows, OpData::kNone};
    case OpKind::kPut:
      return {"put", OpSubject::kObject, OpEffect::kGrows, OpData::kBlobs};
    case OpKind::kWrite:
      return {"write", OpSubject::kObject, OpEffect::kGrows, OpData::kBlobs};
    case OpKind::kAppend:
      return {"append", OpSubject::kObject, OpEffect::kGrows, OpData::kBlobs};
    case OpKind::kZero:
      return {"zero", OpSubject::kObject, OpEffect::kFrees, OpData::kNone};
    case OpKind::kTruncate:
      return {"truncate", OpSubject::kObject, OpEffect::kFrees, OpData::kNone};
    case OpKind::kRemove:
      return {"remove", OpSubject::kObject, OpEffect::kFrees, OpData::kNone};
    case OpKind::kSetAttr:
      return {"set_attr", OpSubject::kObject, OpEffect::kGrows, OpData::kNone};
    case OpKind::kRemoveAttr:
      return {"remove_attr", OpSubject::kObject, OpEffect::kFrees, OpData::kNone};
    case OpKind::kRename:
      return {"rename", OpSubject::kObject, OpEffect::kGrows, OpData::kNone};
    case OpKind::kPublish:
      return {"publish", OpSubject::kObject, OpEffect::kGrows, OpData::kNone};
    case OpKind::kExpectAbsent:
      return {"expect_absent", OpSubject::kObject, OpEffect::kGuard, OpData::kNone};
    case OpKind::kExpectExists:
      return {"expect_exists", OpSubject::kObject, OpEffect::kGuard, OpData::kNone};
    case OpKind::kExpectVersion:
      return {"expect_version", OpSubject::kObject, OpEffect::kGuard, OpData::kNone};
    case OpKind::kExpectAttr:
      return {"expect_attr", OpSubject::kObject, OpEffect::kGuard, OpData::kNone};
    case OpKind::kExpectAttrAbsent:
      return {"expect_attr_absent", OpSubject::kObject, OpEffect::kGuard, OpData::kNone};
    case OpKind::kExpectBytes:
      return {"expect_bytes", OpSubject::kObject, OpEffect::kGuard, OpData::kBlobs};
    case OpKind::kSetAttrs:
      return {"set_attrs", OpSubject::kObject, OpEffect::kGrows, OpData::kNone};
    case OpKind::kRemoveAttrs:
      return {"remove_attrs", OpSubject::kObject, OpEffect::kFrees, OpData::kNone};
    case OpKind::kRemoveRange:
      return {"remove_range", OpSubject::kObject, OpEffect::kFrees, OpData::kNone};
    case OpKind::kSetHint:
      return {"set_hint", OpSubject::kObject, OpEffect::kGrows, OpData::kNone};
    case OpKind::kSetPolicy:
      return {"set_policy", OpSubject::kCollection, OpEffect::kGrows, OpData::kNone};
    case OpKind::kSetQuota:
      return {"set_quota", OpSubject::kCollection, OpEffect::kGrows, OpData::kNone};
    case OpKind::kOmapSet:
      return {"omap_set", OpSubject::kObject, OpEffect::kGrows, OpData::kBlobs};
    case OpKind::kOmapRemove:
      return {"omap_remove", OpSubject::kObject, OpEffect::kFrees, OpData::kNone};
    case OpKind::kOmapRemoveRange:
      return {"omap_remove_range", OpSubject::kObject, OpEffect::kFrees, OpData::kNone};
    case OpKind::kOmapClear:
      return {"omap_clear", OpSubject::kObject, OpEffect::kFrees, OpData::kNone};
    case OpKind::kOmapSetHeader:
      return {"omap_set_header", OpSubject::kObject, OpEffect::kGrows, OpData::kBlobs};
    case OpKind::kExpectOmap:
      return {"expect_omap", OpSubject::kObject, OpEffect::kGuard, OpData::kBlobs};
    case OpKind::kExpectOmapAbsent:
      return {"expect_omap_absent", OpSubject::kObject, OpEffect::kGuard, OpData::kNone};
    case OpKind::kClone:
      return {"clone", OpSubject::kObject, OpEffect::kGrows, OpData::kNone};
    case OpKind::kCloneRange:
      return {"clone_range", OpSubject::kObject, OpEffect::kGrows, OpData::kNone};
    case OpKind::kSplitCollection:
      return {"split_collection", OpSubject::kCollection, OpEffect::kGrows, OpData::kNone};
    case OpKind::kMergeCollection:
      return {"merge_collection", OpSubject::kCollection, OpEffect::kGrows, OpData::kNone};
  }
  return {"operation"};
}

}  // namespace hexad
