// hexad put: one object from a file or a pipe, whole or not at all, in bounded memory.
#include <fmt/format.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "base/units.h"
#include "tools/cli/file.h"
#include "tools/cli/hints.h"
#include "tools/cli/names.h"
#include "tools/cli/progress.h"
#include "tools/import_export/posix_attributes.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

// Bytes read at a time. An object that ends within the first piece is one plain transaction.
constexpr std::size_t kPieceBytes = 4_MiB;

std::uint64_t size_of(int fd) {
  struct stat info = {};
  return fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? static_cast<std::uint64_t>(info.st_size)
                                                        : 0;
}

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
    HEXAD_TRY_ASSIGN(const Fd input, open_input(file_));
    Stored stored;
    HEXAD_TRY_ASSIGN(const int code,
                     session.with_store(Access::kReadWrite, [&](Store& store) -> Result<int> {
                       const Status done = store_from(session, store, input.get(), stored);
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
  Status store_from(Session& session, Store& store, int fd, Stored& stored) {
    Bytes piece(kPieceBytes);
    Progress progress(session.out(), session.clock(), "put", size_of(fd));
    HEXAD_TRY_ASSIGN(std::uint64_t count, read_full(fd, piece, file_));
    Transaction transaction;
    expect(session, transaction);
    // Hints of a put replace what the object has; only this takes all of them away.
    if (given("--hint") && hint_ == Hint::kNone) {
      transaction.set_hint(session.collection(), name_, Hint::kNone);
    }
    std::unique_ptr<ObjectWriter> writer;
    if (count < piece.size()) {
      transaction.put_borrowed(session.collection(), name_, {piece.data(), count}, hint_);
      stored.size = count;
    } else {
      HEXAD_TRY(look_first(session, store));
      std::optional<Hint> hint;  // without one the object's own hold
      if (given("--hint")) hint = hint_;
      HEXAD_TRY_ASSIGN(writer, store.open_writer(session.collection(), name_, hint));
      while (count > 0) {
        HEXAD_TRY(writer->append({piece.data(), count}));
        stored.size += count;
        progress.advance(count);
        HEXAD_TRY_ASSIGN(count, read_full(fd, piece, file_));
      }
      transaction.publish(*writer);
    }
    // An imported link or directory of this name would otherwise lend its type to the new data.
    remove_posix_attributes(transaction, session.collection(), name_);
    HEXAD_TRY_ASSIGN(stored.version, store.commit(std::move(transaction)));
    return {};
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
    error.hint = fmt::format("Nothing was stored. What is there: hexad stat {} {}",
                             session.pool().word(), shell_word(name_));
    if (session.collection() != kDefaultCollection) {
      error.hint += " --collection " + shell_word(session.collection());
    }
    return error;
  }

  bool given(const char* option) const { return arguments_->given(option); }

  const Arguments* arguments_ = nullptr;
  std::string name_;
  std::string file_;
  std::vector<std::string> hint_words_;
  Hint hint_ = Hint::kNone;
  bool if_absent_ = false;
  Lsn if_version_ = 0;
};

}  // namespace

std::unique_ptr<Verb> make_put() { return std::make_unique<Put>(); }

}  // namespace hexad::tools
