// hexad cp: a clone, so that it takes no space and no time with the bytes of the object.
#include "tools/import_export/posix_attributes.h"
#include "tools/verbs/from_to.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

class Cp final : public FromToVerb {
  const char* help_of_to() const override { return "Name of the copy"; }
  const char* done() const override { return "copied"; }
  const char* label() const override { return "cp"; }
  void add(Transaction& transaction, const Names& names, bool replace) const override {
    if (!replace) transaction.expect_absent(names.to_collection, names.to);
    transaction.clone(names.collection, names.from, names.to_collection, names.to);
    // A copy of one name of a file is a file of its own.
    transaction.remove_attr(names.to_collection, names.to, kLinkAttribute);
  }
};

}  // namespace

std::unique_ptr<Verb> make_cp() { return std::make_unique<Cp>(); }

}  // namespace hexad::tools
