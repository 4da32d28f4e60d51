// hexad ls: names in bytewise order or its reverse, page by page, so that memory does not grow with
// the listing.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/cli/interrupt.h"
#include "tools/cli/names.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

constexpr std::uint64_t kPage = 1000;  // entries

std::string json_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

class Ls final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("PREFIX", prefix_, "Only names that begin with this", Need::kOptional);
    arguments.option("--after", after_, "Only names behind this one, in the order asked for");
    arguments.option("-d,--delimiter", delimiter_,
                     "Fold names that have this text behind PREFIX into one line");
    arguments.flag("-r,--reverse", reverse_, "The last name first");
    arguments.number("--limit", limit_, "At most this many entries [all]");
    arguments.flag("-l,--long", long_, "Size and version before each name");
    arguments.flag("-0,--null", null_, "End each name with a zero byte, unchanged");
  }

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(prefix_, session.name(prefix_));
    HEXAD_TRY_ASSIGN(after_, session.name(after_));
    return session.with_view([&](PoolView& pool) { return list(session, pool); });
  }

 private:
  Result<int> list(Session& session, PoolView& pool) {
    Output& out = session.out();
    ListOptions options{prefix_, after_, delimiter_, std::min(limit_, kPage), reverse_};
    Result<ListPage> page = pool.list(session.collection(), options);
    if (!page.ok()) return page.error();  // nothing has been printed yet
    if (out.json()) {
      out.object_written();
      out.write("{\"entries\":[");
    }
    std::uint64_t left = limit_;  // 0 from the start: only whether the collection is there
    Status failed;
    for (;;) {
      for (const ListEntry& entry : page->entries) print(out, entry);
      left -= page->entries.size();
      if (!page->next || left == 0) break;
      if (interrupted()) {
        failed = interrupted_error();
        break;
      }
      options.start_after = *page->next;
      options.limit = std::min(left, kPage);
      page = pool.list(session.collection(), options);
      if (!page.ok()) {
        failed = page.error();
        break;
      }
    }
    if (out.json()) end_json(out, failed, page.ok() ? page->next : std::nullopt);
    if (!failed.ok()) return failed.error();
    return kExitOk;
  }

  void print(Output& out, const ListEntry& entry) {
    if (out.json()) {
      Json object;
      set_name(object, "name", entry.name);
      if (entry.common_prefix) {
        object["prefix"] = true;
      } else {
        object["size"] = entry.size;
        object["version"] = entry.version;
      }
      out.write((first_ ? "" : ",") + json_text(object));
      first_ = false;
      return;
    }
    if (null_) {
      out.write(std::string(entry.name) + '\0');
      return;
    }
    std::string line;
    if (long_ && entry.common_prefix) {
      line = fmt::format("{:>14} {:>10} ", "prefix", "-");
    } else if (long_) {
      line = fmt::format("{:>14} {:>10} ", entry.size, entry.version);
    }
    out.write(line + shown_name(out, entry.name) + "\n");
  }

  void end_json(Output& out, const Status& failed, const std::optional<std::string>& next) {
    Json tail;
    if (!failed.ok()) {
      tail["error"] = error_json(failed.error());
      tail["error"]["hint"] = out.typed(failed.error().hint);
    } else if (next) {
      set_name(tail, "next", *next);
    } else {
      tail["next"] = nullptr;
    }
    tail.update(out.notes());
    out.write("]," + json_text(tail).substr(1) + "\n");
  }

  std::string prefix_;
  std::string after_;
  std::string delimiter_;
  std::uint64_t limit_ = ~0ULL;
  bool reverse_ = false;
  bool long_ = false;
  bool null_ = false;
  bool first_ = true;
};

}  // namespace

std::unique_ptr<Verb> make_ls() { return std::make_unique<Ls>(); }

}  // namespace hexad::tools
