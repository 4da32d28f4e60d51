// A transaction that Python builds, with what its borrowed payloads lie in.
#pragma once

#include <hexad/hexad.h>
#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "python/native/arguments.h"
#include "python/native/errors.h"

namespace hexad::python {

// Objects that somebody outside Python still reads. References come and go with the GIL.
using Kept = std::vector<nanobind::object>;

// Used with the GIL held, so by one thread at a time. Payloads that are `bytes` are borrowed. All
// others are copied, so that nothing that Python code does afterwards changes what is committed;
// unless the caller of put() says that it leaves the data alone until the commit.
class Changes {
 public:
  enum class Payload { kCopied, kBorrowed };

  // kInvalidArgument when it has been committed.
  Transaction& transaction() {
    if (spent_) {
      fail({ErrorCode::kInvalidArgument, "the transaction has been committed or dropped",
            "Begin another one."});
    }
    return transaction_;
  }

  void put(std::string_view collection, std::string_view name, nanobind::handle data, Hint hint,
           Payload payload);
  // put() of (name, data) pairs, from `from` on, as long as the payload is at most `most` bytes
  // afterwards. Returns the index of the first one that it has not put.
  std::size_t put_some(nanobind::handle collection, const nanobind::list& pairs, std::size_t from,
                       Hint hint, Payload payload, std::uint64_t most);

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
