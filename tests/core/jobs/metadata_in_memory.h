// Changes of the store's own over a map, without sequencer, log and devices: for jobs.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/commit/internal_commits.h"

namespace hexad::core::testing {

class MetadataInMemory : public InternalCommits {
 public:
  Result<std::optional<std::string>> get(std::string_view key) override {
    const auto at = map.find(std::string(key));
    return at == map.end() ? std::nullopt : std::optional(at->second);
  }
  Status scan(std::string_view prefix, const Visit& visit) override {
    return scan_from(prefix, prefix, visit);
  }
  Status scan_from(std::string_view prefix, std::string_view from, const Visit& visit) override {
    for (auto at = map.lower_bound(std::string(from));
         at != map.end() && at->first.starts_with(prefix); ++at) {
      HEXAD_TRY_ASSIGN(const bool more, visit(at->first, at->second));
      if (!more) break;
    }
    return {};
  }
  Status scan_to_fill(std::string_view prefix, std::string_view from, const Visit& visit) override {
    return scan_from(prefix, from, visit);
  }

  using InternalCommits::commit_internal;
  Result<Lsn> commit_internal(const FillRecord& fill, const std::function<void()>& placed,
                              LogRoom) override {
    HEXAD_TRY(outcome);
    LogRecord record;
    HEXAD_TRY(fill(record));
    for (const PostImage& image : record.images) {
      if (image.value.has_value()) {
        map[image.key] = *image.value;
      } else {
        map.erase(image.key);
      }
    }
    if (placed) placed();
    return ++commits;
  }

  std::map<std::string, std::string> map;
  Lsn commits = 0;
  Status outcome;  // of commits
};

}  // namespace hexad::core::testing
