#include "core/api/op_facts.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>

namespace hexad {
namespace {

constexpr OpKind kFirst = OpKind::kCreateCollection;
constexpr OpKind kLast = OpKind::kMergeCollection;

TEST_CASE("op_facts: every op has a name of its own, and guards are called so") {
  std::set<std::string> names;
  for (int i = static_cast<int>(kFirst); i <= static_cast<int>(kLast); ++i) {
    const OpFacts facts = facts_of(static_cast<OpKind>(i));
    const std::string name(facts.name);
    CAPTURE(i, name);
    CHECK(name != "operation");
    CHECK(names.insert(name).second);
    CHECK((facts.effect == OpEffect::kGuard) == name.starts_with("expect_"));
    CHECK(is_guard(static_cast<OpKind>(i)) == name.starts_with("expect_"));
    CHECK((facts.subject == OpSubject::kCollection) ==
          (name.ends_with("_collection") || name == "set_policy" || name == "set_quota"));
    // What removes never waits for room that it will make.
    if (name.find("remove") != std::string::npos) CHECK(facts.effect == OpEffect::kFrees);
  }
}

TEST_CASE("op_facts: only an op that brings bytes is prepared") {
  for (const OpKind kind : {OpKind::kPut, OpKind::kWrite, OpKind::kAppend, OpKind::kExpectBytes}) {
    CHECK(facts_of(kind).data == OpData::kBlobs);
  }
  for (const OpKind kind : {OpKind::kTouch, OpKind::kRemove, OpKind::kClone, OpKind::kPublish}) {
    CHECK(facts_of(kind).data == OpData::kNone);
  }
}

}  // namespace
}  // namespace hexad
