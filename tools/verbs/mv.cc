// hexad mv: one transaction, so that nobody sees both names or neither.
#include "tools/verbs/from_to.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

class Mv final : public FromToVerb {
  const char* help_of_to() const override { return "Its new name"; }
  const char* done() const override { return "renamed"; }
  const char* label() const override { return "mv"; }
  void add(Transaction& transaction, const Names& names, bool replace) const override {
    if (replace) transaction.remove(names.to_collection, names.to);
    transaction.rename(names.collection, names.from, names.to_collection, names.to);
  }
};

}  // namespace

std::unique_ptr<Verb> make_mv() { return std::make_unique<Mv>(); }

}  // namespace hexad::tools
