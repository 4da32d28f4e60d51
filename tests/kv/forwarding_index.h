// An index that hands everything on to another one, for tests that override what they watch.
#pragma once

#include <memory>
#include <span>
#include <utility>

#include "kv/index.h"

namespace hexad::testing {

class ForwardingIndex : public kv::Index {
 public:
  explicit ForwardingIndex(std::unique_ptr<kv::Index> inner) : inner_(std::move(inner)) {}

  Result<std::unique_ptr<kv::IndexReader>> snapshot() override { return inner_->snapshot(); }
  Status apply(Lsn lsn, Epoch epoch, std::span<const kv::IndexChange> changes) override {
    return inner_->apply(lsn, epoch, changes);
  }
  Lsn applied_lsn() const override { return inner_->applied_lsn(); }
  Epoch applied_epoch() const override { return inner_->applied_epoch(); }
  Result<kv::IndexStats> stats() override { return inner_->stats(); }
  Status verify() override { return inner_->verify(); }

 private:
  std::unique_ptr<kv::Index> inner_;
};

}  // namespace hexad::testing
