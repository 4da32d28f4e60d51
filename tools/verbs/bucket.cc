// hexad bucket create, rm, ls: collections, under the name that other object stores use.
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

// What a new collection gets when nobody says otherwise.
Result<compression::Policy> policy_of_pool(const Store& store) {
  for (const EffectiveOption& option : store.effective_options()) {
    if (option.name == "compression") return compression::parse_policy(option.value);
  }
  return compression::Policy{};
}

class BucketCreate final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("BUCKET", bucket_, "Name of the collection");
    settings_.declare(arguments);
  }

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(bucket_, session.name(bucket_));
    session.out().name_bucket(shell_word(bucket_));
    HEXAD_TRY(settings_.check());
    return session.with_store(Access::kReadWrite,
                              [&](Store& store) { return create(session, store); });
  }

 private:
  Result<int> create(Session& session, Store& store) {
    Transaction transaction;
    transaction.create_collection(bucket_);
    if (settings_.has_policy()) {
      HEXAD_TRY_ASSIGN(const compression::Policy base, policy_of_pool(store));
      HEXAD_TRY_ASSIGN(const compression::Policy policy, settings_.policy(base));
      transaction.set_policy(bucket_, policy);
    }
    if (settings_.has_quota()) {
      HEXAD_TRY_ASSIGN(const Quota quota, settings_.quota({}));
      transaction.set_quota(bucket_, quota);
    }
    const Result<Lsn> committed = store.commit(std::move(transaction));
    if (!committed.ok()) {
      Error error = committed.error();
      if (error.code == ErrorCode::kAlreadyExists) {
        error.hint = fmt::format("What it is set to: hexad bucket policy {} {}",
                                 session.pool().word(), shell_word(bucket_));
      }
      return error;
    }
    HEXAD_TRY_ASSIGN(const CollectionInfo info, store.collection(bucket_));
    if (session.out().json()) {
      Json result;
      set_name(result, "name", bucket_);
      result["id"] = info.id;
      result["compression"] = policy_json(info.compression);
      result["quota"] = quota_json(info.quota);
      session.out().object(result);
    }
    session.out().note(fmt::format("created collection {}", shown_name(session.out(), bucket_)));
    return kExitOk;
  }

  std::string bucket_;
  CollectionSettings settings_;
};

class BucketRm final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("BUCKET", bucket_, "Name of the collection");
    arguments.flag("--recursive", recursive_, "With all its objects");
  }

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(bucket_, session.name(bucket_));
    session.out().name_bucket(shell_word(bucket_));
    return session.with_store(Access::kReadWrite,
                              [&](Store& store) { return remove(session, store); });
  }

 private:
  Result<int> remove(Session& session, Store& store) {
    // When it cannot be looked at, neither can it be removed: that error says why.
    const Result<CollectionInfo> held = store.collection(bucket_);
    if (interrupted()) return interrupted_error();
    Transaction transaction;
    transaction.remove_collection(bucket_,
                                  recursive_ ? Contents::kRemoved : Contents::kMustBeEmpty);
    const Result<Lsn> committed = [&] {
      Progress progress(session.out(), session.clock(), "bucket rm", 0);
      const Ticking ticking(progress, session.executor());
      return store.commit(std::move(transaction));
    }();
    if (!committed.ok()) {
      const Error& error = committed.error();
      return error.code == ErrorCode::kNotEmpty ? not_empty(session, store, error) : error;
    }
    if (session.out().json()) {
      Json result;
      set_name(result, "name", bucket_);
      result["objects"] = held->objects;
      result["bytes"] = held->bytes;
      session.out().object(result);
    }
    session.out().note(fmt::format(
        "removed collection {}{}", shown_name(session.out(), bucket_),
        held->objects == 0 ? ""
                           : fmt::format(" with {} object{} ({})", held->objects,
                                         held->objects == 1 ? "" : "s", format_size(held->bytes))));
    return kExitOk;
  }

  Error not_empty(Session& session, Store& store, const Error& found) const {
    Error error = found;
    const Result<CollectionInfo> info = store.collection(bucket_);
    if (info.ok()) {
      error.message =
          fmt::format("collection {} still holds {} object{} ({})", display_name(bucket_),
                      info->objects, info->objects == 1 ? "" : "s", format_size(info->bytes));
    }
    error.hint = fmt::format("To remove them, too: hexad bucket rm {} {} --recursive",
                             session.pool().word(), shell_word(bucket_));
    return error;
  }

  std::string bucket_;
  bool recursive_ = false;
};

class BucketLs final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.flag("-l,--long", long_, "Objects and their bytes before each name");
    arguments.flag("-0,--null", null_, "End each name with a zero byte, unchanged");
  }

  Result<int> run(Session& session) override {
    return session.with_view([&](PoolView& pool) -> Result<int> {
      HEXAD_TRY_ASSIGN(const std::vector<CollectionInfo> found, pool.collections());
      print(session.out(), found);
      return kExitOk;
    });
  }

 private:
  void print(Output& out, const std::vector<CollectionInfo>& found) const {
    Json result{{"collections", Json::array()}};
    for (const CollectionInfo& info : found) {
      if (!out.json()) {
        out.write(line(out, info));
        continue;
      }
      Json entry;
      set_name(entry, "name", info.name);
      entry["id"] = info.id;
      entry["objects"] = info.objects;
      entry["bytes"] = info.bytes;
      result["collections"].push_back(std::move(entry));
    }
    if (out.json()) out.object(result);
  }

  std::string line(const Output& out, const CollectionInfo& info) const {
    if (null_) return info.name + '\0';
    std::string text;
    if (long_) text = fmt::format("{:>14} {:>20} ", info.objects, info.bytes);
    return text + shown_name(out, info.name) + "\n";
  }

  bool long_ = false;
  bool null_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_bucket_create() { return std::make_unique<BucketCreate>(); }
std::unique_ptr<Verb> make_bucket_rm() { return std::make_unique<BucketRm>(); }
std::unique_ptr<Verb> make_bucket_ls() { return std::make_unique<BucketLs>(); }

}  // namespace hexad::tools
