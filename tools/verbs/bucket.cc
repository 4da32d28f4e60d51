// hexad bucket create, rm, ls: collections, under the name that other object stores use.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

enum class Change : std::uint8_t { kCreate, kRemove };

class BucketChange final : public Verb {
 public:
  explicit BucketChange(Change change) : change_(change) {}

  void declare(Arguments& arguments) override {
    arguments.positional("BUCKET", bucket_, "Name of the collection");
  }

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(bucket_, session.name(bucket_));
    return session.with_store(Access::kReadWrite,
                              [&](Store& store) { return apply(session, store); });
  }

 private:
  Result<int> apply(Session& session, Store& store) {
    Transaction transaction;
    if (change_ == Change::kCreate) {
      transaction.create_collection(bucket_);
    } else {
      transaction.remove_collection(bucket_);
    }
    const Result<Lsn> committed = store.commit(std::move(transaction));
    if (!committed.ok()) {
      Error error = committed.error();
      if (error.code == ErrorCode::kNotEmpty) {
        error.hint = "Empty it first: hexad rm POOL --collection NAME --all";
      }
      return error;
    }
    if (session.out().json()) {
      Json result;
      set_name(result, "name", bucket_);
      session.out().object(result);
    }
    session.out().note(fmt::format("{} collection {}",
                                   change_ == Change::kCreate ? "created" : "removed",
                                   shown_name(session.out(), bucket_)));
    return kExitOk;
  }

  Change change_;
  std::string bucket_;
};

class BucketLs final : public Verb {
 public:
  void declare(Arguments&) override {}

  Result<int> run(Session& session) override {
    return session.with_store(Access::kReadOnly, [&](Store& store) -> Result<int> {
      HEXAD_TRY_ASSIGN(const std::vector<CollectionInfo> found, store.collections());
      print(session.out(), found);
      return kExitOk;
    });
  }

 private:
  static void print(Output& out, const std::vector<CollectionInfo>& found) {
    Json result{{"collections", Json::array()}};
    for (const CollectionInfo& info : found) {
      Json entry;
      set_name(entry, "name", info.name);
      entry["id"] = info.id;
      result["collections"].push_back(std::move(entry));
      if (!out.json()) out.write(shown_name(out, info.name) + "\n");
    }
    if (out.json()) out.object(result);
  }
};

}  // namespace

std::unique_ptr<Verb> make_bucket_create() {
  return std::make_unique<BucketChange>(Change::kCreate);
}
std::unique_ptr<Verb> make_bucket_rm() { return std::make_unique<BucketChange>(Change::kRemove); }
std::unique_ptr<Verb> make_bucket_ls() { return std::make_unique<BucketLs>(); }

}  // namespace hexad::tools
