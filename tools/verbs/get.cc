// hexad get and hexad cat: one object to a file or a pipe, in bounded memory. A file appears only
// when all of the object has been read and checked.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "tools/cli/file.h"
#include "tools/cli/progress.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

constexpr std::size_t kPieceBytes = 4_MiB;

struct Range {
  std::uint64_t offset = 0;      // bytes
  std::uint64_t length = ~0ULL;  // bytes; more than there is means: to the end
};

// Returns the bytes copied.
Result<std::uint64_t> copy_out(Session& session, ObjectReader& reader, const Range& range,
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

class Get : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("NAME", name_, "Name of the object");
    if (file_.empty()) {
      arguments.positional("FILE", file_, "File to write; - is standard output");
    }
    arguments.size("--offset", range_.offset, "Start at this byte [0]");
    arguments.size("--length", range_.length, "At most this many bytes [to the end]");
  }

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(name_, session.name(name_));
    if (file_ == "-") session.out().reserve_stdout();
    return session.with_store(Access::kReadOnly,
                              [&](Store& store) { return fetch(session, store); });
  }

 protected:
  explicit Get(std::string file) : file_(std::move(file)) {}

 public:
  Get() = default;

 private:
  Result<int> fetch(Session& session, Store& store) {
    HEXAD_TRY_ASSIGN(const std::unique_ptr<ObjectReader> reader,
                     store.open_reader(session.collection(), name_));
    HEXAD_TRY_ASSIGN(OutputFile output, OutputFile::create(file_));
    HEXAD_TRY_ASSIGN(const std::uint64_t copied, copy_out(session, *reader, range_, output));
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

  std::string name_;
  std::string file_;  // already "-" for cat
  Range range_;
};

class Cat final : public Get {
 public:
  Cat() : Get("-") {}
};

}  // namespace

std::unique_ptr<Verb> make_get() { return std::make_unique<Get>(); }
std::unique_ptr<Verb> make_cat() { return std::make_unique<Cat>(); }

}  // namespace hexad::tools
