// hexad put: one object from a file or a pipe, whole or not at all, in bounded memory.
#include <fmt/format.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "base/units.h"
#include "tools/cli/file.h"
#include "tools/cli/names.h"
#include "tools/cli/progress.h"
#include "tools/import_export/posix_attributes.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

// Bytes read at a time. An object that ends within the first piece is one plain transaction.
constexpr std::size_t kPieceBytes = 4_MiB;

Result<Hint> parse_hint(const std::string& text) {
  if (text.empty() || text == "none") return Hint::kNone;
  if (text == "compressible") return Hint::kCompressible;
  if (text == "incompressible") return Hint::kIncompressible;
  return Error{ErrorCode::kInvalidArgument, "\"" + display_name(text) + "\" is not a hint",
               "One of: none, compressible, incompressible"};
}

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
    arguments.positional("NAME", name_, "Name of the object");
    arguments.positional("FILE", file_, "File to store; - is standard input");
    arguments.option("--hint", hint_text_, "compressible or incompressible");
  }

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(name_, session.name(name_));
    HEXAD_TRY_ASSIGN(hint_, parse_hint(hint_text_));
    HEXAD_TRY_ASSIGN(const Fd input, open_input(file_));
    Stored stored;
    HEXAD_TRY_ASSIGN(const int code, session.with_store(Access::kReadWrite, [&](Store& store) {
      return store_from(session, store, input.get(), stored);
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
  Result<int> store_from(Session& session, Store& store, int fd, Stored& stored) {
    Bytes piece(kPieceBytes);
    Progress progress(session.out(), session.clock(), "put", size_of(fd));
    HEXAD_TRY_ASSIGN(std::uint64_t count, read_full(fd, piece, file_));
    Transaction transaction;
    std::unique_ptr<ObjectWriter> writer;
    if (count < piece.size()) {
      transaction.put_borrowed(session.collection(), name_, {piece.data(), count}, hint_);
      stored.size = count;
    } else {
      HEXAD_TRY_ASSIGN(writer, store.open_writer(session.collection(), name_, hint_));
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
    return kExitOk;
  }

  std::string name_;
  std::string file_;
  std::string hint_text_;
  Hint hint_ = Hint::kNone;
};

}  // namespace

std::unique_ptr<Verb> make_put() { return std::make_unique<Put>(); }

}  // namespace hexad::tools
