// hexad bucket policy and hexad bucket stat: how a collection compresses, what it may hold, and
// what it holds.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/units.h"
#include "tools/cli/collection_settings.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/names.h"
#include "tools/cli/progress.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

Json as_json(const CollectionInfo& info) {
  Json object;
  set_name(object, "name", info.name);
  object["compression"] = policy_json(info.compression);
  object["quota"] = quota_json(info.quota);
  object["objects"] = info.objects;
  object["bytes"] = info.bytes;
  return object;
}

std::string line(const char* label, const std::string& value) {
  return fmt::format("{:<20}{}\n", label, value);
}

std::string with_unit(std::uint64_t bytes) {
  return fmt::format("{} ({})", bytes, format_size(bytes));
}

std::string as_text(const Output& out, const CollectionInfo& info) {
  const compression::Policy& policy = info.compression;
  std::string text = line("collection", shown_name(out, info.name));
  text += line("compression", std::string(compression::to_string(policy.mode)));
  text += line("algorithm",
               fmt::format("{}, level {}", compression::to_string(policy.algorithm), policy.level));
  text += line("required ratio", compression::format_ratio(policy.required_ratio));
  text += line("min blob size", format_size(policy.min_blob_size));
  text += line("max blob size", format_size(policy.max_blob_size));
  text += line("quota of objects",
               info.quota.objects == 0 ? "none" : fmt::format("{}", info.quota.objects));
  text += line("quota of bytes", info.quota.bytes == 0 ? "none" : with_unit(info.quota.bytes));
  text += line("objects", fmt::format("{}", info.objects));
  text += line("bytes", with_unit(info.bytes));
  return text;
}

void warn_of_more_than_quota(Output& out, const CollectionInfo& info) {
  const auto warn = [&](const char* what, std::uint64_t held, std::uint64_t quota) {
    if (quota == 0 || held <= quota) return;
    out.warn(
        fmt::format("collection {} holds {} {}, its quota is {}: it takes no more until some "
                    "are removed",
                    display_name(info.name), held, what, quota));
  };
  warn("objects", info.objects, info.quota.objects);
  warn("bytes", info.bytes, info.quota.bytes);
}

class BucketPolicy final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("BUCKET", bucket_, "Name of the collection");
    settings_.declare(arguments);
  }

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(bucket_, session.name(bucket_));
    session.out().name_bucket(shell_word(bucket_));
    HEXAD_TRY(settings_.check());
    const bool changes = settings_.has_policy() || settings_.has_quota();
    return session.with_store(changes ? Access::kReadWrite : Access::kReadOnly,
                              [&](Store& store) -> Result<int> {
                                if (changes) HEXAD_TRY(change(store));
                                return show(session.out(), store, changes);
                              });
  }

 private:
  // Between reading and writing nobody else changes anything: this process has the pool.
  Status change(Store& store) {
    HEXAD_TRY_ASSIGN(const CollectionInfo before, store.collection(bucket_));
    Transaction transaction;
    if (settings_.has_policy()) {
      HEXAD_TRY_ASSIGN(const compression::Policy policy, settings_.policy(before.compression));
      transaction.set_policy(bucket_, policy);
    }
    if (settings_.has_quota()) {
      HEXAD_TRY_ASSIGN(const Quota quota, settings_.quota(before.quota));
      transaction.set_quota(bucket_, quota);
    }
    return store.commit(std::move(transaction)).status();
  }

  Result<int> show(Output& out, Store& store, bool changed) const {
    HEXAD_TRY_ASSIGN(const CollectionInfo info, store.collection(bucket_));
    if (settings_.has_quota()) warn_of_more_than_quota(out, info);
    if (out.json()) {
      out.object(as_json(info));
    } else if (!changed || !out.quiet()) {
      out.write(as_text(out, info));
    }
    return kExitOk;
  }

  std::string bucket_;
  CollectionSettings settings_;
};

class BucketStat final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("BUCKET", bucket_, "Name of the collection");
  }

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(bucket_, session.name(bucket_));
    session.out().name_bucket(shell_word(bucket_));
    return session.with_store(Access::kReadOnly,
                              [&](Store& store) { return show(session, store); });
  }

 private:
  Result<int> show(Session& session, Store& store) const {
    Output& out = session.out();
    HEXAD_TRY_ASSIGN(const CollectionInfo info, store.collection(bucket_));
    if (interrupted()) return interrupted_error();
    HEXAD_TRY_ASSIGN(const CollectionUsage usage, count(session, store));
    if (out.json()) {
      Json object;
      set_name(object, "name", info.name);
      object["id"] = info.id;
      object["objects"] = usage.objects;
      object["bytes"] = usage.bytes;
      object["stored"] = usage.stored;
      object["extents"] = usage.extents;
      object["omap_entries"] = usage.omap_entries;
      object["compressed_original"] = usage.compressed_original;
      object["compressed"] = usage.compressed;
      out.object(object);
      return kExitOk;
    }
    std::string text = line("collection", shown_name(out, info.name));
    text += line("objects", fmt::format("{}", usage.objects));
    text += line("bytes", with_unit(usage.bytes));
    text += line("stored", with_unit(usage.stored));
    text += line("extents", fmt::format("{}", usage.extents));
    if (usage.omap_entries > 0) {
      text += line("omap entries", fmt::format("{}", usage.omap_entries));
    }
    if (usage.compressed_original > 0) {
      text += line("compressed original", with_unit(usage.compressed_original));
      text += line("compressed", with_unit(usage.compressed));
    }
    out.write(text);
    return kExitOk;
  }

  // The store does not say how far it is.
  Result<CollectionUsage> count(Session& session, Store& store) const {
    Progress progress(session.out(), session.clock(), "bucket stat", 0);
    const Ticking ticking(progress, session.executor());
    return store.collection_usage(bucket_);
  }

  std::string bucket_;
};

}  // namespace

std::unique_ptr<Verb> make_bucket_policy() { return std::make_unique<BucketPolicy>(); }
std::unique_ptr<Verb> make_bucket_stat() { return std::make_unique<BucketStat>(); }

}  // namespace hexad::tools
