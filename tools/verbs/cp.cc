// hexad cp: a clone, so that it takes no space and no time with the bytes of the object.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

class Cp final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments_ = &arguments;
    arguments.positional("FROM", from_, "Name of the object");
    arguments.positional("TO", to_, "Name of the copy");
    arguments.option("--to-collection", to_collection_, "Collection of TO [that of FROM]");
    arguments.flag("-f,--force", force_, "Replace TO if it exists");
  }

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(from_, session.name(from_));
    HEXAD_TRY_ASSIGN(to_, session.name(to_));
    if (!arguments_->given("--to-collection")) to_collection_ = session.collection();
    if (from_ == to_ && to_collection_ == session.collection()) {
      return Error{ErrorCode::kInvalidArgument, "FROM and TO are the same object",
                   "Give another name, or another collection with --to-collection."};
    }
    return session.with_store(Access::kReadWrite,
                              [&](Store& store) { return copy(session, store); });
  }

 private:
  Result<int> copy(Session& session, Store& store) {
    bool replaced = false;
    Transaction transaction;
    if (force_) {
      HEXAD_TRY_ASSIGN(replaced, store.exists(to_collection_, to_));
    } else {
      transaction.expect_absent(to_collection_, to_);
    }
    transaction.clone(session.collection(), from_, to_collection_, to_);
    const Result<Lsn> committed = store.commit(std::move(transaction));
    if (!committed.ok() && committed.error().code == ErrorCode::kConflict) {
      return Error{ErrorCode::kAlreadyExists,
                   "object " + printable(to_collection_) + "/" + printable(to_) + " exists already",
                   "Replace it with --force."};
    }
    HEXAD_TRY(committed.status());
    if (session.out().json()) {
      Json result;
      set_name(result, "from", from_);
      set_name(result, "name", to_);
      result["version"] = *committed;
      result["replaced"] = replaced;
      session.out().object(result);
    }
    session.out().note(fmt::format("copied {} to {}{}", shown_name(session.out(), from_),
                                   shown_name(session.out(), to_),
                                   replaced ? ", which is replaced" : ""));
    return kExitOk;
  }

  const Arguments* arguments_ = nullptr;
  std::string from_;
  std::string to_;
  std::string to_collection_;
  bool force_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_cp() { return std::make_unique<Cp>(); }

}  // namespace hexad::tools
