#include "tools/verbs/from_to.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace hexad::tools {

void FromToVerb::declare(Arguments& arguments) {
  arguments_ = &arguments;
  arguments.positional("FROM", names_.from, "Name of the object");
  arguments.positional("TO", names_.to, help_of_to());
  arguments.option("--to-collection", names_.to_collection, "Collection of TO [that of FROM]");
  arguments.flag("-f,--force", force_, "Replace TO if it exists");
}

Result<int> FromToVerb::run(Session& session) {
  HEXAD_TRY_ASSIGN(names_.from, session.name(names_.from));
  HEXAD_TRY_ASSIGN(names_.to, session.name(names_.to));
  names_.collection = session.collection();
  if (!arguments_->given("--to-collection")) names_.to_collection = names_.collection;
  // Replacing TO would take FROM away.
  if (names_.from == names_.to && names_.collection == names_.to_collection) {
    return Error{ErrorCode::kInvalidArgument, "FROM and TO are the same object",
                 "Give another name, or another collection with --to-collection."};
  }
  return session.with_store(Access::kReadWrite,
                            [&](Store& store) { return commit(session, store); });
}

Result<int> FromToVerb::commit(Session& session, Store& store) {
  bool replaced = false;
  if (force_) {
    HEXAD_TRY_ASSIGN(replaced, store.exists(names_.to_collection, names_.to));
  }
  const Result<Lsn> committed = store.commit(transaction(names_, force_));
  if (!committed.ok()) {
    Error error = committed.error();
    if (!force_ && error.code == ErrorCode::kConflict) {  // what expect_absent() says
      error = {ErrorCode::kAlreadyExists,
               "object " + printable(names_.to_collection) + "/" + printable(names_.to) +
                   " exists already",
               ""};
    }
    if (error.code == ErrorCode::kAlreadyExists) error.hint = "Replace it with --force.";
    return error;
  }
  if (session.out().json()) {
    Json result;
    set_name(result, "from", names_.from);
    set_name(result, "name", names_.to);
    result["version"] = *committed;
    result["replaced"] = replaced;
    session.out().object(result);
  }
  session.out().note(fmt::format("{} {} to {}{}", done(), shown_name(session.out(), names_.from),
                                 shown_name(session.out(), names_.to),
                                 replaced ? ", which is replaced" : ""));
  return kExitOk;
}

}  // namespace hexad::tools
