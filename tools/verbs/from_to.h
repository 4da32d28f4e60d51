// What `cp` and `mv` share: an object, or a directory with all that is in it, goes from one name to
// another, in one transaction.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/verb.h"

namespace hexad::tools {

class Progress;

class FromToVerb : public Verb {
 public:
  void declare(Arguments& arguments) final;
  Result<int> run(Session& session) final;

 protected:
  struct Names {
    std::string collection;
    std::string from;
    std::string to_collection;
    std::string to;
  };

  virtual const char* help_of_to() const = 0;
  // "copied", "renamed".
  virtual const char* done() const = 0;
  // Of the progress: the verb.
  virtual const char* label() const = 0;
  // What one object takes; the transaction has to be refused if `to` exists and may not be
  // replaced.
  virtual void add(Transaction& transaction, const Names& names, bool replace) const = 0;

 private:
  // A name that ends in a slash is that of a directory, here as in what `import` stores.
  bool directory() const { return names_.from.ends_with('/'); }
  // That FROM does not go onto or into itself, and a file and a directory not into each other's
  // place.
  Status check(const Output& out) const;
  // The objects that go: FROM, or all whose names begin with it.
  Result<std::vector<Names>> objects(Store& store, Progress& progress) const;
  Result<int> work(Session& session, Store& store);
  // All of them in one transaction. `objects` become those, `replaced` whether any is replaced.
  Result<Lsn> commit(Session& session, Store& store, std::vector<Names>& objects, bool& replaced);
  void tell(Output& out, Lsn version, std::size_t objects, bool replaced) const;
  // `objects`: what was to be moved or copied.
  Error explained(Error error, Store& store, const std::vector<Names>& objects) const;

  const Arguments* arguments_ = nullptr;
  Names names_;
  bool force_ = false;
};

}  // namespace hexad::tools
