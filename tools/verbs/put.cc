// hexad put: one object from a file or a pipe, whole or not at all, in bounded memory. Holes of the
// file are holes of the object; a file that changes meanwhile is refused.
#include <fmt/format.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "base/units.h"
#include "tools/cli/file.h"
#include "tools/cli/hints.h"
#include "tools/cli/names.h"
#include "tools/cli/progress.h"
#include "tools/import_export/posix_attributes.h"
#include "tools/import_export/source_file.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

// Bytes read at a time. An object that ends within the first piece is one plain transaction.
constexpr std::size_t kPieceBytes = 4_MiB;

// Ranges of data that such a transaction has at most.
constexpr std::size_t kManyRanges = 128;

// What FILE is: a file, which has holes and must not change meanwhile, or a stream of bytes.
class Input {
 public:
  static Result<Input> open(const std::string& path) {
    HEXAD_TRY_ASSIGN(Fd fd, open_input(path));
    struct stat info = {};
    if (path == "-" || fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
      return Input(std::move(fd), path);
    }
    HEXAD_TRY_ASSIGN(SourceFile file, SourceFile::adopt(std::move(fd), path));
    return Input(std::move(file), path);
  }

  // 0: unknown.
  std::uint64_t size() const { return file_.has_value() ? file_->size() : 0; }
  Result<SourceFile::Piece> next(MutByteView into) {
    if (file_.has_value()) return file_->next(into);
    SourceFile::Piece piece{end_, 0};
    HEXAD_TRY_ASSIGN(piece.length, read_full(stream_.get(), into, path_));
    end_ += piece.length;
    return piece;
  }
  std::uint64_t end() const { return file_.has_value() ? file_->end() : end_; }
  // Behind the last piece: whether they were of one state of the file.
  Status check() const {
    if (!file_.has_value()) return {};
    HEXAD_TRY_ASSIGN(const bool unchanged, file_->is_unchanged());
    return unchanged ? ok_status() : Status(changing_file_error(path_, 1));
  }

 private:
  Input(Fd stream, std::string path) : stream_(std::move(stream)), path_(std::move(path)) {}
  Input(SourceFile file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  std::optional<SourceFile> file_;
  Fd stream_;
  std::uint64_t end_ = 0;
  std::string path_;
};

struct Stored {
  std::uint64_t size = 0;  // bytes
  Lsn version = 0;
};

class Put final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments_ = &arguments;
    arguments.positional("NAME", name_, "Name of the object");
    arguments.positional("FILE", file_, "File to store; - is standard input");
    arguments.repeated("--hint", hint_words_, "What is known of it: " + known_hints() + "; none");
    arguments.flag("--if-absent", if_absent_, "Only if there is no such object");
    arguments.number("--if-version", if_version_, "Only over the object of this version");
  }

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(name_, session.name(name_));
    HEXAD_TRY_ASSIGN(hint_, parse_hints(hint_words_));
    if (if_absent_ && given("--if-version")) {
      return Error{ErrorCode::kInvalidArgument, "--if-absent and --if-version exclude each other",
                   "Give the one that says what you expect to find."};
    }
    HEXAD_TRY_ASSIGN(Input input, Input::open(file_));
    Stored stored;
    HEXAD_TRY_ASSIGN(const int code,
                     session.with_store(Access::kReadWrite, [&](Store& store) -> Result<int> {
                       const Status done = store_from(session, store, input, stored);
                       if (!done.ok()) return explained(session, done.error());
                       return kExitOk;
                     }));
    Json result;
    set_name(result, "name", name_);
    result["size"] = stored.size;
    result["version"] = stored.version;
    if (session.out().json()) session.out().object(result);
    session.out().note(
        fmt::format("stored {} ({})", shown_name(session.out(), name_), format_size(stored.size)));
    return code;
  }

 private:
  Status store_from(Session& session, Store& store, Input& input, Stored& stored) {
    Bytes first(kPieceBytes);
    Progress progress(session.out(), session.clock(), "put", input.size());
    std::vector<ByteRange> ranges;
    std::uint64_t used = 0;
    bool all = false;
    while (!all && used < first.size() && ranges.size() < kManyRanges) {
      HEXAD_TRY_ASSIGN(const SourceFile::Piece piece, input.next(MutByteView(first).subspan(used)));
      all = piece.length == 0;
      if (!all) ranges.push_back({piece.offset, piece.length});
      used += piece.length;
    }
    Transaction transaction;
    expect(session, transaction);
    // Hints of a put replace what the object has; only this takes all of them away.
    if (given("--hint") && hint_ == Hint::kNone) {
      transaction.set_hint(session.collection(), name_, Hint::kNone);
    }
    std::unique_ptr<ObjectWriter> writer;
    if (all) {
      put_at_once(session, transaction, input.end(), ranges, ByteView(first).first(used));
    } else {
      HEXAD_TRY(look_first(session, store));
      std::optional<Hint> hint;  // without one the object's own hold
      if (given("--hint")) hint = hint_;
      HEXAD_TRY_ASSIGN(writer, store.open_writer(session.collection(), name_, hint));
      HEXAD_TRY(write_all_of(input, ranges, first, *writer, progress));
      transaction.publish(*writer);
    }
    HEXAD_TRY(input.check());
    stored.size = input.end();
    // An imported link or directory of this name would otherwise lend its type to the new data.
    const Result<Attributes> before = store.attributes(session.collection(), name_);
    if (before.ok()) {
      remove_posix_attributes(transaction, session.collection(), name_, *before);
    } else if (before.error().code != ErrorCode::kNotFound) {
      return before.error();
    }
    HEXAD_TRY_ASSIGN(stored.version, store.commit(std::move(transaction)));
    return {};
  }

  void put_at_once(Session& session, Transaction& transaction, std::uint64_t size,
                   const std::vector<ByteRange>& ranges, ByteView data) const {
    if (data.size() == size) {
      transaction.put_borrowed(session.collection(), name_, data, hint_);
      return;
    }
    transaction.put(session.collection(), name_, ByteView(), hint_);
    for (const ByteRange& range : ranges) {
      transaction.write(session.collection(), name_, range.offset, data.first(range.length));
      data = data.subspan(range.length);
    }
    transaction.truncate(session.collection(), name_, size);
  }

  // `first` holds what has been read already: the ranges.
  static Status write_all_of(Input& input, const std::vector<ByteRange>& ranges, Bytes& first,
                             ObjectWriter& writer, Progress& progress) {
    ByteView left = first;
    for (const ByteRange& range : ranges) {
      HEXAD_TRY(writer.skip(range.offset - writer.size()));
      HEXAD_TRY(writer.append(left.first(range.length)));
      left = left.subspan(range.length);
    }
    progress.advance(writer.size());
    for (;;) {
      HEXAD_TRY_ASSIGN(const SourceFile::Piece piece, input.next(first));
      progress.advance(input.end() - writer.size());
      HEXAD_TRY(writer.skip(piece.offset - writer.size()));
      if (piece.length == 0) return {};
      HEXAD_TRY(writer.append(ByteView(first).first(piece.length)));
    }
  }

  void expect(Session& session, Transaction& transaction) const {
    if (if_absent_) transaction.expect_absent(session.collection(), name_);
    if (given("--if-version")) transaction.expect_version(session.collection(), name_, if_version_);
  }

  // The guards alone, before much is written in vain. They hold again at the commit.
  Status look_first(Session& session, Store& store) const {
    Transaction guards;
    expect(session, guards);
    if (guards.empty()) return {};
    return store.commit(std::move(guards)).status();
  }

  Error explained(Session& session, Error error) const {
    if (error.code != ErrorCode::kConflict) return error;
    error.hint = fmt::format("Nothing was stored. What is there: hexad stat {} {}{}",
                             session.pool().word(), shell_word(name_), session.collection_option());
    return error;
  }

  bool given(const char* option) const { return arguments_->given(option); }

  const Arguments* arguments_ = nullptr;
  std::string name_;
  std::string file_;
  std::vector<std::string> hint_words_;
  Hint hint_ = Hint::kNone;
  bool if_absent_ = false;
  std::uint64_t if_version_ = 0;  // an Lsn
};

}  // namespace

std::unique_ptr<Verb> make_put() { return std::make_unique<Put>(); }

}  // namespace hexad::tools
