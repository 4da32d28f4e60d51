#include "tools/cli/collection_settings.h"

#include <charconv>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/units.h"
#include "compression/codec.h"
#include "tools/cli/names.h"

namespace hexad::tools {

namespace {

constexpr const char* kMode = "--compression";
constexpr const char* kAlgorithm = "--algorithm";
constexpr const char* kLevel = "--level";
constexpr const char* kRequiredRatio = "--required-ratio";
constexpr const char* kMinBlobSize = "--min-blob-size";
constexpr const char* kMaxBlobSize = "--max-blob-size";
constexpr const char* kQuotaBytes = "--quota-bytes";
constexpr const char* kQuotaObjects = "--quota-objects";
constexpr std::string_view kNoQuota = "none";

template <typename T>
Result<T> parse_whole(std::string_view text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return Error{ErrorCode::kInvalidArgument,
                 "\"" + display_name(text) + "\" is not a whole number",
                 "Write decimal digits only; see --help."};
  }
  return value;
}

// A store takes 0 for no quota; a user who types it means something else.
Result<std::uint64_t> bound(const char* option, Result<std::uint64_t> parsed) {
  if (!parsed.ok()) return parsed.error().with_context(option);
  if (*parsed == 0) {
    return Error{ErrorCode::kInvalidArgument, std::string(option) + ": a quota is at least 1",
                 "To take the quota away: " + std::string(option) + " none"};
  }
  return parsed;
}

}  // namespace

void CollectionSettings::declare(Arguments& arguments) {
  arguments_ = &arguments;
  arguments.option(kMode, mode_, "none, passive, aggressive or force");
  arguments.option(kAlgorithm, algorithm_, compression::algorithm_names());
  arguments.option(kLevel, level_, "Of the algorithm, a whole number; 0 is its default");
  arguments.option(kRequiredRatio, required_ratio_,
                   "Keep what is compressed to this part of its size or less, like 0.875");
  arguments.size(kMinBlobSize, min_blob_size_, "Shorter data is stored as it is");
  arguments.size(kMaxBlobSize, max_blob_size_, "Longer data is compressed in pieces of this");
  arguments.option(kQuotaBytes, quota_bytes_,
                   "All objects together have at most this many bytes; or none");
  arguments.option(kQuotaObjects, quota_objects_, "At most this many objects; or none");
}

Status CollectionSettings::check() const {
  HEXAD_TRY(changes().status());
  return quota({}).status();
}

bool CollectionSettings::has_policy() const {
  for (const char* option :
       {kMode, kAlgorithm, kLevel, kRequiredRatio, kMinBlobSize, kMaxBlobSize}) {
    if (given(option)) return true;
  }
  return false;
}

bool CollectionSettings::has_quota() const { return given(kQuotaBytes) || given(kQuotaObjects); }

// As parse_policy() reads them: all at once, so that a level is judged with its algorithm.
Result<std::string> CollectionSettings::changes() const {
  std::string text;
  const auto add = [&text](const char* field, std::string_view value) {
    text += (text.empty() ? "" : ",") + std::string(field) + "=" + std::string(value);
  };
  if (given(kMode)) {
    HEXAD_TRY_ASSIGN(const compression::Mode mode, compression::parse_mode(mode_));
    add("mode", compression::to_string(mode));
  }
  if (given(kAlgorithm)) {
    HEXAD_TRY_ASSIGN(const compression::Algorithm algorithm,
                     compression::parse_algorithm(algorithm_));
    add("algorithm", compression::to_string(algorithm));
    if (algorithm == compression::Algorithm::kNone && given(kMode) && mode_ != "none") {
      return Error{ErrorCode::kInvalidArgument,
                   "--compression " + mode_ + " and --algorithm none exclude each other",
                   "To compress nothing: --compression none"};
    }
  }
  if (given(kLevel)) {
    const Result<int> level = parse_whole<int>(level_);
    if (!level.ok()) return level.error().with_context(kLevel);
    add("level", std::to_string(*level));
  }
  if (given(kRequiredRatio)) {
    const Result<std::uint32_t> ratio = compression::parse_ratio(required_ratio_);
    if (!ratio.ok()) return ratio.error().with_context(kRequiredRatio);
    add("required_ratio", compression::format_ratio(*ratio));
  }
  if (given(kMinBlobSize)) add("min_blob_size", std::to_string(min_blob_size_));
  if (given(kMaxBlobSize)) add("max_blob_size", std::to_string(max_blob_size_));
  return text;
}

Result<compression::Policy> CollectionSettings::policy(const compression::Policy& base) const {
  HEXAD_TRY_ASSIGN(const std::string text, changes());
  return compression::parse_policy(text, base);
}

Result<Quota> CollectionSettings::quota(const Quota& base) const {
  Quota quota = base;
  if (given(kQuotaObjects)) {
    quota.objects = 0;
    if (quota_objects_ != kNoQuota) {
      HEXAD_TRY_ASSIGN(quota.objects,
                       bound(kQuotaObjects, parse_whole<std::uint64_t>(quota_objects_)));
    }
  }
  if (given(kQuotaBytes)) {
    quota.bytes = 0;
    if (quota_bytes_ != kNoQuota) {
      HEXAD_TRY_ASSIGN(quota.bytes, bound(kQuotaBytes, parse_size(quota_bytes_)));
    }
  }
  return quota;
}

Json policy_json(const compression::Policy& policy) {
  return Json{{"mode", std::string(compression::to_string(policy.mode))},
              {"algorithm", std::string(compression::to_string(policy.algorithm))},
              {"level", policy.level},
              {"required_ratio", policy.required_ratio / 1000.0},
              {"min_blob_size", policy.min_blob_size},
              {"max_blob_size", policy.max_blob_size}};
}

Json quota_json(const Quota& quota) {
  Json object;
  object["objects"] = quota.objects == 0 ? Json() : Json(quota.objects);
  object["bytes"] = quota.bytes == 0 ? Json() : Json(quota.bytes);
  return object;
}

}  // namespace hexad::tools
