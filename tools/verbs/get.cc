// hexad get and hexad cat: one object to a file or a pipe, in bounded memory. A file appears only
// when all of the object has been read and checked; holes of the object are holes of the file.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/units.h"
#include "tools/cli/byte_range.h"
#include "tools/cli/file.h"
#include "tools/cli/progress.h"
#include "tools/import_export/object_pieces.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

constexpr std::size_t kPieceBytes = 4_MiB;

// Ranges no longer than this are read as they are, holes as zeros: a file has none that is shorter
// than a block.
constexpr std::uint64_t kShortRange = 511;

// Writes an object, or ranges of it one behind the other, in pieces that are small enough for
// memory. Several short ranges are read together. The pool is open read-only, so that all of it is
// of one version.
class CopyOut {
 public:
  CopyOut(Session& session, Store& store, const std::string& name, std::uint64_t size,
          std::uint64_t total, OutputFile& output)
      : session_(session),
        store_(store),
        name_(name),
        size_(size),
        output_(output),
        progress_(session.out(), session.clock(), "get", total) {}

  Status add(const ByteRange& range) {
    if (range.length <= kShortRange) return add_data(range);
    ObjectPieces pieces(store_, session_.collection(), name_, range, size_, kPieceBytes);
    for (;;) {
      HEXAD_TRY_ASSIGN(const std::optional<ObjectPiece> piece, pieces.next());
      if (!piece.has_value()) return {};
      if (piece->hole) {
        HEXAD_TRY(flush());
        HEXAD_TRY(output_.skip(piece->length));
        done(piece->length);
      } else {
        HEXAD_TRY(add_data({piece->offset, piece->length}));
      }
    }
  }
  // Returns the bytes written.
  Result<std::uint64_t> finish() {
    HEXAD_TRY(flush());
    return copied_;
  }

 private:
  Status add_data(const ByteRange& range) {
    if (range.length == 0) return {};
    if (waiting_bytes_ + range.length > kPieceBytes) HEXAD_TRY(flush());
    waiting_.push_back(range);
    waiting_bytes_ += range.length;
    return {};
  }

  Status flush() {
    if (waiting_.empty()) return {};
    const Result<Bytes> bytes = store_.read_ranges(session_.collection(), name_, waiting_);
    for (const ByteRange& range : waiting_) {
      session_.wrong_reads().note(store_,
                                  {session_.collection(), name_, range.offset, range.length});
    }
    HEXAD_TRY(bytes.status());
    waiting_.clear();
    waiting_bytes_ = 0;
    HEXAD_TRY(output_.write(*bytes));
    done(bytes->size());
    return {};
  }

  void done(std::uint64_t bytes) {
    copied_ += bytes;
    progress_.advance(bytes);
  }

  Session& session_;
  Store& store_;
  const std::string& name_;
  std::uint64_t size_;
  OutputFile& output_;
  Progress progress_;
  std::vector<ByteRange> waiting_;
  std::uint64_t waiting_bytes_ = 0;
  std::uint64_t copied_ = 0;
};

// What of the range is inside the object.
ByteRange clipped(const ByteRange& range, std::uint64_t size) {
  const std::uint64_t start = std::min(range.offset, size);
  return {start, std::min(range.length, size - start)};
}

class Get : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("NAME", name_, "Name of the object");
    if (file_.empty()) {
      arguments.positional("FILE", file_, "File to write; - is standard output");
    }
    arguments_ = &arguments;
    arguments.size("--offset", range_.offset, "Start at this byte [0]");
    arguments.size("--length", range_.length, "At most this many bytes [to the end]");
    arguments.repeated("--range", range_words_,
                       "OFFSET:LENGTH, or OFFSET: to the end; several follow each other");
    arguments.flag("--no-repair", no_repair_, kNoRepairHelp);
  }

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(name_, session.name(name_));
    HEXAD_TRY(parse_ranges());
    if (file_ == "-") session.out().reserve_stdout();
    if (no_repair_) session.leave_wrong_reads();
    return session.with_store(Access::kReadOnly,
                              [&](Store& store) { return fetch(session, store); });
  }

 protected:
  explicit Get(std::string file) : file_(std::move(file)) {}

 public:
  Get() = default;

 private:
  Status parse_ranges() {
    const bool one = arguments_->given("--offset") || arguments_->given("--length");
    if (one && !range_words_.empty()) {
      return Error{ErrorCode::kInvalidArgument, "--range excludes --offset and --length",
                   "--range OFFSET:LENGTH says both."};
    }
    for (const std::string& word : range_words_) {
      const Result<ByteRange> range = parse_byte_range(word);
      if (!range.ok()) return range.error().with_context("--range");
      ranges_.push_back(*range);
    }
    return {};
  }

  Result<std::uint64_t> copy(Session& session, Store& store, std::uint64_t size,
                             OutputFile& output) const {
    std::vector<ByteRange> ranges = ranges_.empty() ? std::vector<ByteRange>{range_} : ranges_;
    std::uint64_t total = 0;
    for (ByteRange& range : ranges) {
      range = clipped(range, size);
      total += range.length;
    }
    CopyOut copy(session, store, name_, size, total, output);
    for (const ByteRange& range : ranges) HEXAD_TRY(copy.add(range));
    return copy.finish();
  }

  Result<int> fetch(Session& session, Store& store) {
    HEXAD_TRY_ASSIGN(const std::unique_ptr<ObjectReader> reader,
                     store.open_reader(session.collection(), name_));
    HEXAD_TRY_ASSIGN(OutputFile output, OutputFile::create(file_));
    HEXAD_TRY_ASSIGN(const std::uint64_t copied, copy(session, store, reader->stat().size, output));
    HEXAD_TRY(output.commit());
    if (session.out().json()) {
      Json result;
      set_name(result, "name", name_);
      result["size"] = copied;
      result["version"] = reader->stat().version;
      session.out().object(result);
    }
    if (file_ != "-") {
      session.out().note(fmt::format("wrote {} ({})", file_, format_size(copied)));
    }
    return kExitOk;
  }

  const Arguments* arguments_ = nullptr;
  std::string name_;
  std::string file_;  // already "-" for cat
  ByteRange range_{0, kMaxObjectSize};
  std::vector<std::string> range_words_;
  std::vector<ByteRange> ranges_;
  bool no_repair_ = false;
};

class Cat final : public Get {
 public:
  Cat() : Get("-") {}
};

}  // namespace

std::unique_ptr<Verb> make_get() { return std::make_unique<Get>(); }
std::unique_ptr<Verb> make_cat() { return std::make_unique<Cat>(); }

}  // namespace hexad::tools
