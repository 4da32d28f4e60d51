#include "tools/verbs/from_to.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tools/cli/interrupt.h"
#include "tools/cli/names.h"
#include "tools/cli/progress.h"

namespace hexad::tools {

void FromToVerb::declare(Arguments& arguments) {
  arguments_ = &arguments;
  arguments.positional("FROM", names_.from,
                       "Name of the object; with a slash at its end, of a directory");
  arguments.positional("TO", names_.to, help_of_to());
  arguments.option("--to-collection", names_.to_collection, "Collection of TO [that of FROM]");
  arguments.flag("-f,--force", force_, "Replace TO if it exists");
}

Result<int> FromToVerb::run(Session& session) {
  HEXAD_TRY_ASSIGN(names_.from, session.name(names_.from));
  HEXAD_TRY_ASSIGN(names_.to, session.name(names_.to));
  names_.collection = session.collection();
  if (!arguments_->given("--to-collection")) names_.to_collection = names_.collection;
  HEXAD_TRY(check(session.out()));
  return session.with_store(Access::kReadWrite, [&](Store& store) { return work(session, store); });
}

Status FromToVerb::check(const Output& out) const {
  const bool same_collection = names_.collection == names_.to_collection;
  // Replacing TO would take FROM away.
  if (names_.from == names_.to && same_collection) {
    return Error{ErrorCode::kInvalidArgument, "FROM and TO are the same object",
                 "Give another name, or another collection with --to-collection."};
  }
  const std::string from = shown_name(out, names_.from);
  const std::string to = shown_name(out, names_.to);
  if (!directory() && names_.to.ends_with('/')) {
    const std::string base = names_.from.substr(names_.from.rfind('/') + 1);
    return Error{ErrorCode::kInvalidArgument,
                 to + " is the name of a directory, " + from + " that of an object",
                 "Give the whole new name: " + shown_name(out, names_.to + base)};
  }
  if (directory() && !names_.to.ends_with('/')) {
    return Error{ErrorCode::kInvalidArgument,
                 from + " is the name of a directory, " + to + " that of an object",
                 "Let both names end in a slash, or none."};
  }
  if (directory() && names_.to.starts_with(names_.from) && same_collection) {
    return Error{ErrorCode::kInvalidArgument,
                 to + " lies in " + from + ", which would go into itself",
                 "Give a directory outside of it."};
  }
  return {};
}

Result<std::vector<FromToVerb::Names>> FromToVerb::objects(Store& store, Progress& progress) const {
  if (!directory()) return std::vector<Names>{names_};
  std::vector<Names> found;
  std::set<std::string> targets;
  ListOptions options{names_.from, "", "", kMaxListPage};
  for (;;) {
    if (interrupted()) return interrupted_error();
    HEXAD_TRY_ASSIGN(const ListPage page, store.list(names_.collection, options));
    for (const ListEntry& entry : page.entries) {
      Names names = names_;
      names.from = entry.name;
      names.to += entry.name.substr(names_.from.size());
      targets.insert(names.to);
      found.push_back(std::move(names));
    }
    progress.advance(0, page.entries.size());
    if (!page.next) break;
    options.start_after = *page.next;
  }
  if (found.empty()) {
    return Error{ErrorCode::kNotFound,
                 "no object of " + printable(names_.collection) + " has a name that begins with " +
                     printable(names_.from),
                 ""};
  }
  for (const Names& names : found) {
    if (names_.collection == names_.to_collection && targets.contains(names.from)) {
      return Error{ErrorCode::kInvalidArgument,
                   printable(names.from) + " would be replaced before it has gone itself",
                   "Take another name for the directory first."};
    }
  }
  return found;
}

Error FromToVerb::explained(Error error, Store& store, const std::vector<Names>& objects) const {
  // A conflict may have other causes, as an object that changes faster than it can be copied.
  const bool may_exist = !force_ && error.code == ErrorCode::kConflict;
  for (std::size_t i = 0; may_exist && i < objects.size(); ++i) {
    const Result<bool> exists = store.exists(objects[i].to_collection, objects[i].to);
    if (!exists.ok() || !*exists) continue;
    error = {ErrorCode::kAlreadyExists,
             "object " + printable(objects[i].to_collection) + "/" + printable(objects[i].to) +
                 " exists already",
             ""};
    break;
  }
  if (error.code == ErrorCode::kAlreadyExists) error.hint = "Replace it with --force.";
  if (error.code == ErrorCode::kNotFound && !directory()) {
    const Result<ListPage> below =
        store.list(names_.collection, ListOptions{names_.from + "/", "", "", 1});
    if (below.ok() && !below->entries.empty()) {
      error.hint = "It is a directory. To take all that is in it, let both names end in a slash.";
    }
  }
  return error;
}

Result<int> FromToVerb::work(Session& session, Store& store) {
  std::vector<Names> objects;
  bool replaced = false;
  const Result<Lsn> committed = commit(session, store, objects, replaced);
  if (!committed.ok()) {
    const bool no_target = committed.error().code == ErrorCode::kNotFound &&
                           !store.collection(names_.to_collection).ok();
    if (no_target) session.out().name_bucket(shell_word(names_.to_collection));
    return explained(committed.error(), store, objects);
  }
  tell(session.out(), *committed, objects.size(), replaced);
  return kExitOk;
}

Result<Lsn> FromToVerb::commit(Session& session, Store& store, std::vector<Names>& objects,
                               bool& replaced) {
  Progress progress(session.out(), session.clock(), label(), 0);
  HEXAD_TRY_ASSIGN(objects, this->objects(store, progress));
  Transaction transaction;
  for (const Names& names : objects) {
    if (interrupted()) return interrupted_error();
    if (force_ && !replaced) {
      HEXAD_TRY_ASSIGN(replaced, store.exists(names.to_collection, names.to));
    }
    add(transaction, names, force_);
  }
  const Ticking ticking(progress, session.executor());
  return store.commit(std::move(transaction));
}

void FromToVerb::tell(Output& out, Lsn version, std::size_t objects, bool replaced) const {
  if (out.json()) {
    Json result;
    set_name(result, "from", names_.from);
    set_name(result, "name", names_.to);
    result["version"] = version;
    result["replaced"] = replaced;
    if (directory()) result["objects"] = objects;
    out.object(result);
  }
  const char* end = !replaced ? "" : directory() ? ", replacing some" : ", which is replaced";
  out.note(fmt::format("{} {} to {}{}{}", done(), shown_name(out, names_.from),
                       shown_name(out, names_.to),
                       directory() ? fmt::format(", {} objects", objects) : "", end));
}

}  // namespace hexad::tools
