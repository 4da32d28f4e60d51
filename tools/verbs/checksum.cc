// hexad checksum: of an object's bytes, read back through every check that the store has.
#include "base/checksum.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/cli/byte_range.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

class Checksum final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments_ = &arguments;
    arguments.positional("NAME", name_, "Name of the object");
    arguments.option("--range", range_word_,
                     "OFFSET:LENGTH, or OFFSET: to the end [the whole object]");
    arguments.option("--type", type_word_, "crc32c or xxh3 [crc32c]");
  }

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(name_, session.name(name_));
    if (arguments_->given("--range")) {
      const Result<ByteRange> range = parse_byte_range(range_word_);
      if (!range.ok()) return range.error().with_context("--range");
      range_ = *range;
    }
    HEXAD_TRY_ASSIGN(type_, parse_checksum_type(type_word_));
    return session.with_store(Access::kReadOnly,
                              [&](Store& store) { return show(session, store); });
  }

 private:
  Result<int> show(Session& session, Store& store) const {
    HEXAD_TRY_ASSIGN(const RangeChecksum found,
                     store.checksum(session.collection(), name_, range_, type_));
    // Text: a number of 64 bits is more than most readers of JSON can hold.
    const std::string digits = fmt::format("{:0{}x}", found.value, 2 * checksum_size(type_));
    if (session.out().json()) {
      Json object;
      set_name(object, "name", name_);
      object["type"] = std::string(to_string(type_));
      object["checksum"] = digits;
      object["offset"] = range_.offset;
      object["length"] = found.length;
      session.out().object(object);
    } else {
      session.out().write(fmt::format("{}  {}\n", digits, shown_name(session.out(), name_)));
    }
    return kExitOk;
  }

  const Arguments* arguments_ = nullptr;
  std::string name_;
  std::string range_word_;
  std::string type_word_ = "crc32c";
  ByteRange range_{0, kMaxObjectSize};
  ChecksumType type_ = ChecksumType::kCrc32c;
};

}  // namespace

std::unique_ptr<Verb> make_checksum() { return std::make_unique<Checksum>(); }

}  // namespace hexad::tools
