// The objects of a listing, one after the other, each opened and, where it is small, read by the
// time that it is asked for: many are under way at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "core/store.h"
#include "io/executor.h"
#include "tools/cli/wrong_reads.h"
#include "tools/import_export/in_order.h"
#include "tools/import_export/object_pieces.h"
#include "tools/import_export/posix_attributes.h"

namespace hexad::tools {

struct ObjectBody {
  std::vector<ObjectPiece> pieces;
  Bytes data;  // of those that are no holes, one behind the other
};

struct OpenObject {
  std::string name;
  Status status;  // why it could not be opened or read; then there is nothing below
  std::unique_ptr<ObjectReader> reader;
  PosixAttributes posix;
  std::optional<ObjectBody> body;  // nothing: the data is the caller's to read
};

// What is under way, and waits to be asked for.
struct AheadLimits {
  std::uint64_t object_bytes = 1 << 20;  // data of larger objects is not read ahead
  std::uint64_t bytes = 32 << 20;        // of all objects together
  std::size_t objects = 256;
};

class ObjectAhead {
 public:
  // Store and executor outlive this. `wants_data`: whether an object is to be read; is asked on the
  // executor's threads, several at once, when reader and posix are there. `wrong_reads`, which
  // outlives this: is told what has been read, if it is given.
  ObjectAhead(Store& store, io::Executor& executor, std::string collection,
              const std::string& prefix, std::function<bool(const OpenObject&)> wants_data,
              const AheadLimits& limits = {}, WrongReads* wrong_reads = nullptr);

  // In the order of names. Nothing: that was the last one. Errors: those of Store::list(), behind
  // the objects that were listed before.
  Result<std::optional<OpenObject>> next();

 private:
  // Asks for as many objects as the limits allow.
  void look_ahead();
  // False: there is none, or it cannot be listed.
  bool next_entry();
  OpenObject fetch(const std::string& name) const;
  Status load(OpenObject& object) const;

  Store& store_;
  std::string collection_;
  std::function<bool(const OpenObject&)> wants_data_;
  AheadLimits limits_;
  WrongReads* const wrong_reads_;
  ListOptions options_;  // of the next page
  ListPage page_;
  std::size_t next_ = 0;             // of page_.entries
  bool more_ = true;                 // pages behind page_
  Status failure_;                   // of the listing
  std::deque<std::uint64_t> costs_;  // bytes, of each object that is under way or waits
  std::uint64_t bytes_ = 0;          // their sum
  std::vector<OpenObject> batch_;    // the oldest, of which used_ have been given away
  std::size_t used_ = 0;
  InOrder<std::vector<OpenObject>> batches_;
};

}  // namespace hexad::tools
