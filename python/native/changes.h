// A transaction that Python builds, with what its borrowed payloads lie in.
#pragma once

#include <hexad/hexad.h>
#include <nanobind/nanobind.h>

#include <memory>
#include <vector>

#include "python/native/arguments.h"
#include "python/native/errors.h"

namespace hexad::python {

// Objects that somebody outside Python still reads. References come and go with the GIL.
using Kept = std::vector<nanobind::object>;

// Used with the GIL held, so by one thread at a time. Payloads that are `bytes` are borrowed, all
// others copied: nothing that Python code does afterwards changes what is committed.
class Changes {
 public:
  // kInvalidArgument when it has been committed.
  Transaction& transaction() {
    if (spent_) {
      fail({ErrorCode::kInvalidArgument, "the transaction has been committed or dropped",
            "Begin another one."});
    }
    return transaction_;
  }

  void put(nanobind::handle collection, nanobind::handle name, nanobind::handle data, Hint hint);

  struct Taken {
    Transaction transaction;
    std::shared_ptr<Kept> kept;
  };
  // What is to be committed; this is spent then.
  Taken take();
  void drop();
  bool spent() const { return spent_; }

 private:
  Transaction transaction_;
  std::shared_ptr<Kept> kept_ = std::make_shared<Kept>();
  bool spent_ = false;
};

void bind_changes(nanobind::module_& module);

}  // namespace hexad::python
