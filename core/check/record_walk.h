// All objects, entries of omaps and pages that one state of the metadata has, each kind in the
// order of its keys: who shows private stripes, and what they are found by.
#pragma once

#include <functional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "core/metadata/metadata.h"
#include "core/record/keys.h"
#include "core/record/record.h"
#include "core/record/shape.h"

namespace hexad::core {

class RecordWalk {
 public:
  using GoOn = std::function<Status()>;
  using VisitRecord = std::function<Status(std::string_view key, const ObjectRecord& record)>;
  using VisitPage = std::function<Status(const PageKey& key, const ExtentList& extents)>;

  // `view` and `shape` outlive it. `go_on`: asked behind each key; its error ends the walk.
  RecordWalk(MetaView& view, const RecordShape& shape, GoOn go_on)
      : view_(view), shape_(shape), go_on_(std::move(go_on)) {}

  // Errors: those of `visit` and `go_on`; kCorruption (a record does not decode).
  Status over_objects(const VisitRecord& visit);
  Status over_entries(const VisitRecord& visit);  // but for those that hide others
  Status over_pages(const VisitPage& visit);

 private:
  Status over(std::string_view prefix,
              const std::function<Status(std::string_view key, std::string_view value)>& visit);

  MetaView& view_;
  const RecordShape& shape_;
  const GoOn go_on_;
};

}  // namespace hexad::core
