// hexad get and hexad cat: one object to a file or a pipe, in bounded memory. A file appears only
// when all of the object has been read and checked.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "base/units.h"
#include "tools/cli/byte_range.h"
#include "tools/cli/file.h"
#include "tools/cli/progress.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

constexpr std::size_t kPieceBytes = 4_MiB;

// Returns the bytes copied. A range may be longer than what is there.
Result<std::uint64_t> copy_out(Session& session, ObjectReader& reader, const ByteRange& range,
                               OutputFile& output) {
  const std::uint64_t size = reader.stat().size;
  const std::uint64_t start = std::min(range.offset, size);
  const std::uint64_t total = std::min(range.length, size - start);
  Progress progress(session.out(), session.clock(), "get", total);
  Bytes piece(static_cast<std::size_t>(std::clamp<std::uint64_t>(total, 1, kPieceBytes)));
  reader.seek(start);
  std::uint64_t copied = 0;
  while (copied < total) {
    const std::uint64_t wanted = std::min<std::uint64_t>(piece.size(), total - copied);
    HEXAD_TRY_ASSIGN(const std::uint64_t count, reader.read({piece.data(), wanted}));
    if (count == 0) break;
    HEXAD_TRY(output.write({piece.data(), count}));
    copied += count;
    progress.advance(count);
  }
  return copied;
}

// Cuts what is inside the object into pieces that are small enough for memory.
std::vector<ByteRange> pieces_of(const std::vector<ByteRange>& ranges, std::uint64_t size) {
  std::vector<ByteRange> pieces;
  for (const ByteRange& range : ranges) {
    const std::uint64_t start = std::min(range.offset, size);
    const std::uint64_t end = start + std::min(range.length, size - start);
    for (std::uint64_t at = start; at < end; at += kPieceBytes) {
      pieces.push_back({at, std::min<std::uint64_t>(kPieceBytes, end - at)});
    }
  }
  return pieces;
}

// As many of the first as are read together.
std::size_t first_round(std::span<const ByteRange> pieces) {
  std::uint64_t bytes = 0;
  std::size_t count = 0;
  while (count < pieces.size() && bytes + pieces[count].length <= kPieceBytes) {
    bytes += pieces[count++].length;
  }
  return count;  // no piece is longer, so one at least
}

// One range behind the other, whatever their order. Returns the bytes copied. The pool is open
// read-only, so that all rounds see one version.
Result<std::uint64_t> copy_ranges(Session& session, Store& store, const std::string& name,
                                  std::span<const ByteRange> pieces, OutputFile& output) {
  std::uint64_t total = 0;
  for (const ByteRange& piece : pieces) total += piece.length;
  Progress progress(session.out(), session.clock(), "get", total);
  std::uint64_t copied = 0;
  while (!pieces.empty()) {
    const std::span<const ByteRange> round = pieces.first(first_round(pieces));
    pieces = pieces.subspan(round.size());
    HEXAD_TRY_ASSIGN(const Bytes bytes, store.read_ranges(session.collection(), name, round));
    HEXAD_TRY(output.write(bytes));
    copied += bytes.size();
    progress.advance(bytes.size());
  }
  return copied;
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
  }

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(name_, session.name(name_));
    HEXAD_TRY(parse_ranges());
    if (file_ == "-") session.out().reserve_stdout();
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

  Result<std::uint64_t> copy(Session& session, Store& store, ObjectReader& reader,
                             OutputFile& output) {
    if (ranges_.empty()) return copy_out(session, reader, range_, output);
    return copy_ranges(session, store, name_, pieces_of(ranges_, reader.stat().size), output);
  }

  Result<int> fetch(Session& session, Store& store) {
    HEXAD_TRY_ASSIGN(const std::unique_ptr<ObjectReader> reader,
                     store.open_reader(session.collection(), name_));
    HEXAD_TRY_ASSIGN(OutputFile output, OutputFile::create(file_));
    HEXAD_TRY_ASSIGN(const std::uint64_t copied, copy(session, store, *reader, output));
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
};

class Cat final : public Get {
 public:
  Cat() : Get("-") {}
};

}  // namespace

std::unique_ptr<Verb> make_get() { return std::make_unique<Get>(); }
std::unique_ptr<Verb> make_cat() { return std::make_unique<Cat>(); }

}  // namespace hexad::tools
