// The options that say how a collection compresses and how much it may hold.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "core/api/types.h"
#include "tools/cli/arguments.h"
#include "tools/cli/output.h"

namespace hexad::tools {

// Declared once, then parsed by the arguments; lives as long as they do.
class CollectionSettings {
 public:
  CollectionSettings() = default;
  CollectionSettings(const CollectionSettings&) = delete;
  CollectionSettings& operator=(const CollectionSettings&) = delete;

  void declare(Arguments& arguments);

  // What can be said without knowing the collection. Errors: kInvalidArgument.
  Status check() const;
  bool has_policy() const;
  bool has_quota() const;
  // `base` with what was given in place of its own. The result is valid.
  // Errors: kInvalidArgument, which names the option or the field.
  Result<compression::Policy> policy(const compression::Policy& base) const;
  Result<Quota> quota(const Quota& base) const;

 private:
  bool given(const char* option) const { return arguments_->given(option); }
  Result<std::string> changes() const;

  const Arguments* arguments_ = nullptr;
  std::string mode_;
  std::string algorithm_;
  std::string level_;
  std::string required_ratio_;
  std::uint64_t min_blob_size_ = 0;
  std::uint64_t max_blob_size_ = 0;
  std::string quota_bytes_;
  std::string quota_objects_;
};

// {"mode", "algorithm", "level", "required_ratio", "min_blob_size", "max_blob_size"}
Json policy_json(const compression::Policy& policy);
// {"objects", "bytes"}; null where nothing bounds them.
Json quota_json(const Quota& quota);

}  // namespace hexad::tools
