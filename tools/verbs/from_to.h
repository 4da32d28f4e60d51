// What `cp` and `mv` share: an object goes from one name to another, in one transaction.
#pragma once

#include <string>

#include "tools/cli/verb.h"

namespace hexad::tools {

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
  // The transaction; it has to be refused if TO exists and may not be replaced.
  virtual Transaction transaction(const Names& names, bool replace) const = 0;

 private:
  Result<int> commit(Session& session, Store& store);

  const Arguments* arguments_ = nullptr;
  Names names_;
  bool force_ = false;
};

}  // namespace hexad::tools
