// hexad rm: objects by name in one transaction, or everything below a prefix, page by page.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tools/cli/interrupt.h"
#include "tools/cli/names.h"
#include "tools/cli/progress.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

constexpr std::uint64_t kPage = 1000;  // objects per transaction

class Rm final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments_ = &arguments;
    arguments.positionals("NAME", names_, "Names of the objects", Need::kOptional);
    arguments.option("--prefix", prefix_, "Remove all objects whose names begin with this");
    arguments.flag("--all", all_, "Remove all objects of the collection");
    arguments.flag("-f,--force", force_, "Missing objects are no error");
  }

  Result<int> run(Session& session) override {
    by_prefix_ = arguments_->given("--prefix");
    if (static_cast<int>(!names_.empty()) + static_cast<int>(by_prefix_) + static_cast<int>(all_) !=
        1) {
      return Error{ErrorCode::kInvalidArgument,
                   "rm takes names, or --prefix, or --all, and only one of them",
                   "See: hexad rm --help"};
    }
    if (by_prefix_ && prefix_.empty()) {
      return Error{ErrorCode::kInvalidArgument, "--prefix is empty, which would match every object",
                   "To remove all objects of the collection, say so with --all."};
    }
    for (std::string& name : names_) {
      HEXAD_TRY_ASSIGN(name, session.name(name));
    }
    HEXAD_TRY_ASSIGN(prefix_, session.name(prefix_));
    HEXAD_TRY(session.with_store(Access::kReadWrite, [&](Store& store) {
      return names_.empty() ? remove_prefix(session, store) : remove_names(session, store);
    }));
    return report(session.out());
  }

 private:
  struct Missing {
    std::string name;
    std::string reason;  // empty, or what follows "no such object"
  };

  Result<int> remove_names(Session& session, Store& store) {
    Transaction transaction;
    std::set<std::string_view> seen;
    for (const std::string& name : names_) {
      if (!seen.insert(name).second) continue;  // given twice, it counts once
      const Result<ObjectStat> found = store.stat(session.collection(), name);
      if (found.ok()) {
        transaction.remove(session.collection(), name);
      } else if (found.error().code == ErrorCode::kNotFound && collection_exists(session, store)) {
        missing_.push_back({name, reason(session, store, name)});
      } else {
        return found.error();
      }
    }
    removed_ = transaction.size();
    if (!transaction.empty()) HEXAD_TRY(store.commit(std::move(transaction)));
    return kExitOk;
  }

  // Why a name is none of an object, where that can be seen: what is removed is named, never
  // matched.
  static std::string reason(Session& session, Store& store, const std::string& name) {
    const Result<ListPage> below =
        store.list(session.collection(), ListOptions{name + "/", "", "", 1});
    if (below.ok() && !below->entries.empty()) {
      return "; to remove all below it: --prefix " + shell_word(name + "/");
    }
    if (name.find_first_of("*?[") != std::string::npos) return "; names are no patterns";
    return "";
  }

  // Tells a missing object from a missing collection, which is an error even with --force.
  static bool collection_exists(Session& session, Store& store) {
    return store.list(session.collection(), ListOptions{"", "", "", 1}).ok();
  }

  Result<int> remove_prefix(Session& session, Store& store) {
    Progress progress(session.out(), session.clock(), "rm", 0);
    ListOptions options{prefix_, "", "", kPage};
    for (;;) {
      if (interrupted()) return interrupted_error();
      HEXAD_TRY_ASSIGN(const ListPage page, store.list(session.collection(), options));
      if (page.entries.empty()) return kExitOk;
      Transaction transaction;
      for (const ListEntry& entry : page.entries) {
        transaction.remove(session.collection(), entry.name);
      }
      HEXAD_TRY(store.commit(std::move(transaction)));
      removed_ += page.entries.size();
      progress.advance(0, page.entries.size());
      if (!page.next) return kExitOk;
      options.start_after = *page.next;
    }
  }

  Result<int> report(Output& out) {
    if (out.json()) {
      Json result{{"removed", removed_}, {"missing", Json::array()}};
      for (const Missing& missing : missing_) {
        Json entry;
        set_name(entry, "name", missing.name);
        result["missing"].push_back(std::move(entry));
      }
      out.object(result);
    }
    for (const Missing& missing : missing_) {
      if (force_) break;
      out.warn(fmt::format("{}: no such object{}", display_name(missing.name), missing.reason));
    }
    out.note(fmt::format("removed {} objects", removed_));
    return missing_.empty() || force_ ? kExitOk : kExitDifference;
  }

  const Arguments* arguments_ = nullptr;
  std::vector<std::string> names_;
  std::string prefix_;
  bool by_prefix_ = false;
  bool all_ = false;
  bool force_ = false;
  std::uint64_t removed_ = 0;
  std::vector<Missing> missing_;
};

}  // namespace

std::unique_ptr<Verb> make_rm() { return std::make_unique<Rm>(); }

}  // namespace hexad::tools
