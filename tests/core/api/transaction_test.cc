#include "core/api/transaction.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <utility>

#include "base/buffer_shelf.h"

namespace hexad::core {
struct StagedObject {};
}  // namespace hexad::core

namespace hexad {
namespace {

const std::string kLongest(kMaxNameSize, 'n');
const std::string kTooLong(kMaxNameSize + 1, 'n');

TEST_CASE("transaction: ops stand in the order of the calls, with what was said") {
  Transaction t;
  REQUIRE(t.empty());
  t.create_collection("c");
  t.put("c", "a", "12345", Hint::kCompressible);
  t.write("c", "a", 10, as_bytes("678"));
  t.append("c", "a", as_bytes("9"));
  t.zero("c", "a", 3, 4);
  t.truncate("c", "a", 99);
  t.set_attr("c", "a", "key", "value");
  t.remove_attr("c", "a", "key");
  t.rename("c", "a", "d", "b");
  t.touch("c", "t");
  t.create("c", "u");
  t.remove("c", "v");
  t.expect_absent("c", "w");
  t.expect_exists("c", "x");
  t.expect_version("c", "y", 42);
  t.remove_collection("c");
  REQUIRE(t.problem().ok());
  REQUIRE(t.size() == 16);
  REQUIRE(t.payload_bytes() == 5 + 3 + 1 + 5);
  const std::vector<TransactionOp>& ops = t.ops();
  REQUIRE(ops[0].kind == OpKind::kCreateCollection);
  REQUIRE(ops[1].kind == OpKind::kPut);
  REQUIRE(ops[1].hint == Hint::kCompressible);
  REQUIRE(as_text(ops[1].payload) == "12345");
  REQUIRE(ops[2].offset == 10);
  REQUIRE(as_text(ops[2].payload) == "678");
  REQUIRE(as_text(ops[3].payload) == "9");
  REQUIRE(ops[4].offset == 3);
  REQUIRE(ops[4].length == 4);
  REQUIRE(ops[5].offset == 99);
  REQUIRE(ops[6].other == "key");
  REQUIRE(as_text(ops[6].payload) == "value");
  REQUIRE(ops[7].kind == OpKind::kRemoveAttr);
  REQUIRE(ops[8].other_collection == "d");
  REQUIRE(ops[8].other == "b");
  REQUIRE(ops[9].kind == OpKind::kTouch);
  REQUIRE(ops[10].kind == OpKind::kCreate);
  REQUIRE(ops[11].kind == OpKind::kRemove);
  REQUIRE(ops[12].kind == OpKind::kExpectAbsent);
  REQUIRE(ops[13].kind == OpKind::kExpectExists);
  REQUIRE(ops[14].offset == 42);
  REQUIRE(ops[15].kind == OpKind::kRemoveCollection);
}

TEST_CASE("transaction: payloads are copied, unless they are borrowed") {
  std::string data = "first";
  Transaction t;
  t.put("c", "copied", data);
  t.put_borrowed("c", "borrowed", as_bytes(data));
  data = "other";
  for (int i = 0; i < 100; ++i) t.touch("c", "x");  // the ops move in memory
  REQUIRE(as_text(t.ops()[0].payload) == "first");
  REQUIRE(as_text(t.ops()[1].payload) == "other");
  REQUIRE(t.ops()[1].payload.data() == as_bytes(data).data());
  REQUIRE(t.payload_bytes() == 10);
}

TEST_CASE("transaction: large payloads are copied into memory that large payloads had before") {
  const Bytes large(1 << 20, std::byte{1});
  const auto copy_in = [&] {
    Transaction t;
    t.put("c", "o", large);
    REQUIRE(std::ranges::equal(t.ops()[0].payload, large));
    return t.ops()[0].payload.data();
  };
  const std::byte* const first = copy_in();
  if (BufferShelf::process().most() == 0) return;  // nothing is kept under the address sanitizer
  REQUIRE(BufferShelf::process().bytes() >= large.size());
  for (int i = 0; i < 3; ++i) REQUIRE(copy_in() == first);
  // One that is moved keeps it.
  Transaction t;
  t.put("c", "o", large);
  const Transaction moved = std::move(t);
  REQUIRE(std::ranges::equal(moved.ops()[0].payload, large));
  REQUIRE(copy_in() != moved.ops()[0].payload.data());
}

TEST_CASE("transaction: moving takes everything and leaves an empty one") {
  Transaction t;
  t.put("c", "a", "data");
  t.touch("c", "");
  Transaction moved = std::move(t);
  REQUIRE(moved.size() == 2);
  REQUIRE(moved.payload_bytes() == 4);
  REQUIRE(moved.written_bytes() == 4);
  REQUIRE_FALSE(moved.problem().ok());
  REQUIRE(as_text(moved.ops()[0].payload) == "data");
  REQUIRE(t.empty());  // NOLINT: the state after a move is promised
  REQUIRE(t.payload_bytes() == 0);
  REQUIRE(t.written_bytes() == 0);
  REQUIRE(t.problem().ok());
  t = std::move(moved);
  REQUIRE(t.size() == 2);
}

TEST_CASE("transaction: names have 1 to 1024 bytes, attributes 1 to 255") {
  const auto problem_of = [](const std::function<void(Transaction&)>& build) {
    Transaction t;
    build(t);
    return t.problem();
  };
  const std::string attribute(255, 'a');
  REQUIRE(problem_of([](Transaction& t) { t.touch("c", kLongest); }).ok());
  REQUIRE(problem_of([](Transaction& t) { t.touch(kLongest, "x"); }).ok());
  REQUIRE(problem_of([&](Transaction& t) { t.set_attr("c", "x", attribute, ""); }).ok());
  const std::vector<std::function<void(Transaction&)>> bad = {
      [](Transaction& t) { t.touch("c", ""); },
      [](Transaction& t) { t.touch("c", kTooLong); },
      [](Transaction& t) { t.touch("", "x"); },
      [](Transaction& t) { t.touch(kTooLong, "x"); },
      [](Transaction& t) { t.create_collection(""); },
      [](Transaction& t) { t.create_collection(kTooLong); },
      [](Transaction& t) { t.remove_collection(""); },
      [](Transaction& t) { t.put("c", "", "data"); },
      [](Transaction& t) { t.put_borrowed("c", "", {}); },
      [](Transaction& t) { t.write("c", "", 0, {}); },
      [](Transaction& t) { t.append("c", "", {}); },
      [](Transaction& t) { t.zero("c", "", 0, 1); },
      [](Transaction& t) { t.truncate("c", "", 0); },
      [](Transaction& t) { t.create("c", ""); },
      [](Transaction& t) { t.remove("c", ""); },
      [](Transaction& t) { t.expect_absent("c", ""); },
      [](Transaction& t) { t.expect_exists("c", ""); },
      [](Transaction& t) { t.expect_version("c", "", 1); },
      [](Transaction& t) { t.set_attr("c", "x", "", "v"); },
      [&](Transaction& t) { t.set_attr("c", "x", attribute + "a", "v"); },
      [](Transaction& t) { t.remove_attr("c", "x", ""); },
      [](Transaction& t) { t.rename("c", "a", "d", ""); },
      [](Transaction& t) { t.rename("c", "a", "", "b"); },
      [](Transaction& t) { t.rename("c", "a", "d", kTooLong); },
  };
  for (std::size_t i = 0; i < bad.size(); ++i) {
    CAPTURE(i);
    REQUIRE(problem_of(bad[i]).error().code == ErrorCode::kInvalidArgument);
    REQUIRE_FALSE(problem_of(bad[i]).error().hint.empty());
  }
}

TEST_CASE("transaction: ranges end at the largest object size") {
  const auto code_of = [](const std::function<void(Transaction&)>& build) {
    Transaction t;
    build(t);
    return t.problem().ok() ? ErrorCode{} : t.problem().error().code;
  };
  const ByteView one = as_bytes("x");
  constexpr std::uint64_t kHuge = ~std::uint64_t{0};
  REQUIRE(code_of([&](auto& t) { t.write("c", "x", kMaxObjectSize - 1, one); }) == ErrorCode{});
  REQUIRE(code_of([&](auto& t) { t.write("c", "x", kMaxObjectSize, {}); }) == ErrorCode{});
  REQUIRE(code_of([&](auto& t) { t.zero("c", "x", 0, kMaxObjectSize); }) == ErrorCode{});
  REQUIRE(code_of([&](auto& t) { t.truncate("c", "x", kMaxObjectSize); }) == ErrorCode{});
  const ErrorCode big = ErrorCode::kTooBig;
  REQUIRE(code_of([&](auto& t) { t.write("c", "x", kMaxObjectSize, one); }) == big);
  REQUIRE(code_of([&](auto& t) { t.write("c", "x", kHuge, one); }) == big);
  REQUIRE(code_of([&](auto& t) { t.write("c", "x", kHuge, {}); }) == big);
  REQUIRE(code_of([&](auto& t) { t.zero("c", "x", 1, kMaxObjectSize); }) == big);
  REQUIRE(code_of([&](auto& t) { t.zero("c", "x", 1, kHuge); }) == big);
  REQUIRE(code_of([&](auto& t) { t.truncate("c", "x", kMaxObjectSize + 1); }) == big);
}

TEST_CASE("transaction: guards keep what they want to see, and their names have the same limits") {
  Transaction t;
  std::string bytes = "bytes";
  t.expect_attr("c", "a", "key", "value");
  t.expect_attr_absent("c", "a", "other");
  t.expect_bytes("c", "a", 7, as_bytes(bytes));
  t.expect_bytes("c", kLongest, kMaxObjectSize, {});
  t.put("c", "a", "data");
  bytes = "other";
  REQUIRE(t.problem().ok());
  REQUIRE(t.payload_bytes() == 5 + 5 + 4);
  REQUIRE(t.written_bytes() == 4);
  const std::vector<TransactionOp>& ops = t.ops();
  REQUIRE(ops[0].kind == OpKind::kExpectAttr);
  REQUIRE(ops[0].other == "key");
  REQUIRE(as_text(ops[0].payload) == "value");
  REQUIRE(ops[1].kind == OpKind::kExpectAttrAbsent);
  REQUIRE(ops[1].other == "other");
  REQUIRE(ops[2].kind == OpKind::kExpectBytes);
  REQUIRE(ops[2].offset == 7);
  REQUIRE(as_text(ops[2].payload) == "bytes");
  for (std::size_t i = 0; i < 4; ++i) REQUIRE(is_guard(ops[i].kind));
  REQUIRE_FALSE(is_guard(ops[4].kind));

  const std::string attribute(256, 'a');
  const std::vector<std::function<void(Transaction&)>> bad = {
      [](Transaction& b) { b.expect_attr("c", "", "k", "v"); },
      [](Transaction& b) { b.expect_attr("", "x", "k", "v"); },
      [](Transaction& b) { b.expect_attr("c", "x", "", "v"); },
      [&](Transaction& b) { b.expect_attr("c", "x", attribute, "v"); },
      [](Transaction& b) { b.expect_attr_absent("c", kTooLong, "k"); },
      [](Transaction& b) { b.expect_attr_absent("c", "x", ""); },
      [](Transaction& b) { b.expect_bytes("c", "", 0, {}); },
      [](Transaction& b) { b.expect_bytes(kTooLong, "x", 0, {}); },
  };
  for (std::size_t i = 0; i < bad.size(); ++i) {
    CAPTURE(i);
    Transaction b;
    bad[i](b);
    REQUIRE(b.problem().error().code == ErrorCode::kInvalidArgument);
  }
  Transaction far;
  far.expect_bytes("c", "x", kMaxObjectSize, as_bytes("x"));
  REQUIRE(far.problem().error().code == ErrorCode::kTooBig);
}

TEST_CASE(
    "transaction: ops on several attributes, on ranges and on hints check what they are given") {
  Transaction t;
  t.set_attrs("c", "a", {{"k", "value"}, {"l", ""}});
  t.set_attrs("c", "a", {});
  t.remove_attrs("c", "a");
  t.remove_range("c", "", "");
  t.remove_range("c", kLongest, "x");
  t.set_hint("c", "a", Hint::kAppendOnly | Hint::kLongLived);
  REQUIRE(t.problem().ok());
  REQUIRE(t.payload_bytes() == 5);
  const std::vector<TransactionOp>& ops = t.ops();
  REQUIRE(ops[0].attributes == Attributes{{"k", "value"}, {"l", ""}});
  REQUIRE(ops[3].name.empty());
  REQUIRE(ops[4].name == kLongest);
  REQUIRE(ops[4].other == "x");
  REQUIRE(ops[5].hint == static_cast<Hint>(0x240));

  const Hint both = Hint::kCompressible | Hint::kIncompressible;
  const std::vector<std::function<void(Transaction&)>> bad = {
      [](Transaction& b) {
        b.set_attrs("c", "x", {{"", "v"}});
      },
      [](Transaction& b) {
        b.set_attrs("c", "x", {{"k", "v"}, {std::string(256, 'k'), "v"}});
      },
      [](Transaction& b) { b.set_attrs("c", "", {}); },
      [](Transaction& b) { b.remove_attrs("c", ""); },
      [](Transaction& b) { b.remove_range("", "a", "b"); },
      [](Transaction& b) { b.remove_range("c", kTooLong, "b"); },
      [](Transaction& b) { b.remove_range("c", "a", kTooLong); },
      [](Transaction& b) { b.set_hint("c", "", Hint::kNone); },
      [&](Transaction& b) { b.set_hint("c", "x", both); },
      [&](Transaction& b) { b.set_hint("c", "x", Hint::kShortLived | Hint::kLongLived); },
      [&](Transaction& b) { b.set_hint("c", "x", static_cast<Hint>(1 << 10)); },
      [&](Transaction& b) { b.put("c", "x", "data", both); },
      [&](Transaction& b) { b.put_borrowed("c", "x", as_bytes("data"), both); },
      [&](Transaction& b) { b.write("c", "x", 0, as_bytes("data"), both); },
      [&](Transaction& b) { b.append("c", "x", as_bytes("data"), both); },
  };
  for (std::size_t i = 0; i < bad.size(); ++i) {
    CAPTURE(i);
    Transaction b;
    bad[i](b);
    REQUIRE(b.problem().error().code == ErrorCode::kInvalidArgument);
    REQUIRE_FALSE(b.problem().error().hint.empty());
  }
}

TEST_CASE("transaction: settings of collections are checked, and want a name") {
  Transaction t;
  compression::Policy policy;
  policy.mode = compression::Mode::kForce;
  t.set_policy("c", policy);
  t.set_quota("c", {10, 20});
  REQUIRE(t.problem().ok());
  REQUIRE(t.ops()[0].policy == policy);
  REQUIRE(t.ops()[1].quota == Quota{10, 20});
  policy.max_blob_size = 5000;
  Transaction broken;
  broken.set_policy("c", policy);
  REQUIRE(broken.problem().error().code == ErrorCode::kInvalidArgument);
  REQUIRE(broken.problem().error().message.find("set_policy of \"c\"") != std::string::npos);
  for (const std::string& bad : {std::string(), kTooLong}) {
    Transaction named;
    named.set_quota(bad, {});
    REQUIRE(named.problem().error().code == ErrorCode::kInvalidArgument);
    Transaction other;
    other.set_policy(bad, {});
    REQUIRE(other.problem().error().code == ErrorCode::kInvalidArgument);
  }
}

TEST_CASE("transaction: the first problem is kept, and names the op and the object") {
  Transaction t;
  t.put("c", "good", "1");
  t.write("c", "bad\n", kMaxObjectSize, as_bytes("x"));
  t.touch("c", "");
  const Error error = t.problem().error();
  REQUIRE(error.code == ErrorCode::kTooBig);
  REQUIRE(error.message ==
          "write of \"c/bad\\x0a\": the range of 1 bytes at offset 17592186044415 ends behind the "
          "largest object of 17592186044415 bytes");
  Transaction u;
  u.create_collection("");
  REQUIRE(u.problem().error().message ==
          "create_collection of \"\": the name of the collection has 0 bytes");
}

}  // namespace
}  // namespace hexad
