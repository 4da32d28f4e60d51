// hexad checksum: of an object's bytes, read back through every check that the store has.
#include "base/checksum.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "tools/cli/byte_range.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/progress.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

constexpr std::uint64_t kPieceBytes = 4_MiB;

class Checksum final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments_ = &arguments;
    arguments.positional("NAME", name_, "Name of the object");
    arguments.option("--range", range_word_,
                     "OFFSET:LENGTH, or OFFSET: to the end [the whole object]");
    arguments.option("--type", type_word_, "crc32c or xxh3 [crc32c]");
    arguments.flag("--no-repair", no_repair_, kNoRepairHelp);
  }

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(name_, session.name(name_));
    if (arguments_->given("--range")) {
      const Result<ByteRange> range = parse_byte_range(range_word_);
      if (!range.ok()) return range.error().with_context("--range");
      range_ = *range;
    }
    HEXAD_TRY_ASSIGN(type_, parse_checksum_type(type_word_));
    if (no_repair_) session.leave_wrong_reads();
    return session.with_store(Access::kReadOnly,
                              [&](Store& store) { return show(session, store); });
  }

 private:
  Result<int> show(Session& session, Store& store) const {
    HEXAD_TRY_ASSIGN(const RangeChecksum found, sum(session, store));
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

  // Piece by piece, so that Ctrl-C ends it between two of them. Of one version, as a reader is.
  Result<RangeChecksum> sum(Session& session, Store& store) const {
    HEXAD_TRY_ASSIGN(const std::unique_ptr<ObjectReader> reader,
                     store.open_reader(session.collection(), name_));
    const std::uint64_t size = reader->stat().size;
    const std::uint64_t start = std::min(range_.offset, size);
    RangeChecksum result;
    result.length = std::min(range_.length, size - start);
    result.version = reader->stat().version;
    RunningChecksum running(type_);
    Progress progress(session.out(), session.clock(), "checksum", result.length);
    Bytes buffer(std::min(result.length, kPieceBytes));
    reader->seek(start);
    for (std::uint64_t done = 0; done < result.length;) {
      if (interrupted()) return interrupted_error();
      const MutByteView piece =
          MutByteView(buffer).first(std::min(result.length - done, kPieceBytes));
      const Result<std::uint64_t> count = reader->read(piece);
      session.wrong_reads().note(store, {session.collection(), name_, start + done, piece.size()});
      HEXAD_TRY(count.status());
      if (*count == 0) break;  // not before the end, of one version
      running.add(piece.first(*count));
      progress.advance(*count);
      done += *count;
    }
    result.value = running.value();
    return result;
  }

  const Arguments* arguments_ = nullptr;
  std::string name_;
  std::string range_word_;
  std::string type_word_ = "crc32c";
  ByteRange range_{0, kMaxObjectSize};
  bool no_repair_ = false;
  ChecksumType type_ = ChecksumType::kCrc32c;
};

}  // namespace

std::unique_ptr<Verb> make_checksum() { return std::make_unique<Checksum>(); }

}  // namespace hexad::tools
