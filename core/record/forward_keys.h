// Forward keys: which lists of extents show packed blobs for which the footers of their stripes
// name other lists. Whoever changes a list says so here, and adds what comes of it to the log
// record that changes the list. The rules are FW1 to FW3 of doc/invariants.md#owners. Pure.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/keys.h"
#include "core/record/log_record.h"
#include "core/record/record.h"

namespace hexad::core {

// The key of a list of extents. As text, or as a page of a body.
struct ListName {
  std::string_view key;  // outlives it
  BodyId body = 0;       // not 0: page_key(body, page), and `key` is empty
  std::uint32_t page = 0;

  std::string text() const { return body == 0 ? std::string(key) : page_key(body, page); }
  bool operator==(const ListName&) const = default;
};

class ForwardKeys {
 public:
  // The list under `was` showed `before`; what became of it is under `is` and shows `now`, whose
  // marks say which blobs are forwarded (FW1). Either may be empty. Unplaced blobs in `before` have
  // their places where these are known, and with them those in `now`: what was due of those is
  // written, and their marks say so. Cost: none where nothing is forwarded.
  void change(const ListName& was, const ExtentList& before, const ListName& is, ExtentList& now);
  // What all changes of one record add to it: at most one image for each key.
  void write(std::vector<PostImage>& images) const;
  // Of the keys that it adds, so far.
  std::uint64_t bytes() const { return bytes_; }

 private:
  void add(std::set<std::string>& keys, std::string key);

  std::uint64_t bytes_ = 0;
  std::set<std::string> written_;
  std::set<std::string> gone_;  // some other list may have come under the same key
};

// The forward keys that a checkpoint writes for the list, whose blobs all have their places: the
// marks say so then. For each a call.
template <typename Take>
void write_due_keys(std::string_view list, ExtentList& extents, const Take& take) {
  for (Extent& extent : extents) {
    Blob& blob = extent.blob;
    if (extent.is_inline() || blob.forward != Forward::kDue) continue;
    if (blob.placement != Placement::kPacked) continue;
    blob.forward = Forward::kWritten;
    take(forward_key(blob.where.zone, blob.where.unit, list));
  }
}

}  // namespace hexad::core
