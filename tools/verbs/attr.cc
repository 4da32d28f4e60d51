// hexad attr ls, get, set, rm: the attributes of one object. Names and values are any bytes.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/units.h"
#include "tools/cli/file.h"
#include "tools/cli/names.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

// What the four have in common.
class AttrVerb : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("NAME", name_, "Name of the object");
    declare_rest(arguments);
  }

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(name_, session.name(name_));
    HEXAD_TRY(prepare(session));
    return session.with_store(access_, [&](Store& store) { return work(session, store); });
  }

 protected:
  explicit AttrVerb(Access access) : access_(access) {}

  virtual void declare_rest(Arguments& arguments) = 0;
  // Before the pool is opened.
  virtual Status prepare(Session& session) = 0;
  virtual Result<int> work(Session& session, Store& store) = 0;

  const std::string& name() const { return name_; }

 private:
  const Access access_;
  std::string name_;
};

class AttrLs final : public AttrVerb {
 public:
  AttrLs() : AttrVerb(Access::kReadOnly) {}

 private:
  void declare_rest(Arguments& arguments) override {
    arguments.flag("-l,--long", long_, "Bytes of the value before each name");
    arguments.flag("-0,--null", null_, "End each name with a zero byte, unchanged");
  }

  Status prepare(Session&) override { return {}; }

  Result<int> work(Session& session, Store& store) override {
    Output& out = session.out();
    HEXAD_TRY_ASSIGN(const Attributes attributes, store.attributes(session.collection(), name()));
    Json result;
    set_name(result, "name", name());
    result["attributes"] = Json::array();
    for (const auto& [key, value] : attributes) {
      if (!out.json()) {
        out.write(line(out, key, value));
        continue;
      }
      Json entry;
      set_name(entry, "name", key);
      set_name(entry, "value", value);
      result["attributes"].push_back(std::move(entry));
    }
    if (out.json()) out.object(result);
    return kExitOk;
  }

  std::string line(const Output& out, const std::string& key, const std::string& value) const {
    if (null_) return key + '\0';
    return (long_ ? fmt::format("{:>7} ", value.size()) : "") + shown_name(out, key) + "\n";
  }

  bool long_ = false;
  bool null_ = false;
};

class AttrGet final : public AttrVerb {
 public:
  AttrGet() : AttrVerb(Access::kReadOnly) {}

 private:
  void declare_rest(Arguments& arguments) override {
    arguments.positional("ATTRIBUTE", attribute_, "Name of the attribute");
  }

  Status prepare(Session& session) override {
    HEXAD_TRY_ASSIGN(attribute_, session.name(attribute_));
    return {};
  }

  Result<int> work(Session& session, Store& store) override {
    HEXAD_TRY_ASSIGN(const std::optional<std::string> value,
                     store.attribute(session.collection(), name(), attribute_));
    if (!value.has_value()) {
      return Error{ErrorCode::kNotFound,
                   fmt::format("object {} has no attribute {}", display_name(name()),
                               display_name(attribute_)),
                   fmt::format("What it has: hexad attr ls {} {}{}", session.pool().word(),
                               shell_word(name()), session.collection_option())};
    }
    if (session.out().json()) {
      Json result;
      set_name(result, "name", name());
      set_name(result, "attribute", attribute_);
      set_name(result, "value", *value);
      session.out().object(result);
    } else {
      session.out().write(*value);
    }
    return kExitOk;
  }

  std::string attribute_;
};

class AttrSet final : public AttrVerb {
 public:
  AttrSet() : AttrVerb(Access::kReadWrite) {}

 private:
  void declare_rest(Arguments& arguments) override {
    arguments.positional("ATTRIBUTE", attribute_, "Name of the attribute");
    arguments.positional("VALUE", value_, "Its value; - is standard input, whatever bytes it has");
  }

  Status prepare(Session& session) override {
    HEXAD_TRY_ASSIGN(attribute_, session.name(attribute_));
    if (value_ != "-") return {};
    Bytes bytes(kMaxAttributeBytes + 1);
    HEXAD_TRY_ASSIGN(const Fd input, open_input("-"));
    HEXAD_TRY_ASSIGN(const std::uint64_t count, read_full(input.get(), bytes, "standard input"));
    if (count > kMaxAttributeBytes) {
      return Error{ErrorCode::kTooBig,
                   "standard input has more than " + format_size(kMaxAttributeBytes) +
                       ", the most that an object's attributes have together",
                   "Store it as an object of its own: hexad put POOL NAME FILE"};
    }
    value_ = as_text(ByteView(bytes).first(count));
    return {};
  }

  Result<int> work(Session& session, Store& store) override {
    Transaction transaction;
    transaction.set_attr(session.collection(), name(), attribute_, value_);
    HEXAD_TRY_ASSIGN(const Lsn version, store.commit(std::move(transaction)));
    if (session.out().json()) {
      Json result;
      set_name(result, "name", name());
      set_name(result, "attribute", attribute_);
      result["size"] = value_.size();
      result["version"] = version;
      session.out().object(result);
    }
    session.out().note(fmt::format("set {} of {} ({})", shown_name(session.out(), attribute_),
                                   shown_name(session.out(), name()), format_size(value_.size())));
    return kExitOk;
  }

  std::string attribute_;
  std::string value_;
};

class AttrRm final : public AttrVerb {
 public:
  AttrRm() : AttrVerb(Access::kReadWrite) {}

 private:
  void declare_rest(Arguments& arguments) override {
    arguments.positionals("ATTRIBUTE", names_, "Names of the attributes", Need::kOptional);
    arguments.flag("--all", all_, "Remove all attributes of the object");
    arguments.flag("-f,--force", force_, "Missing attributes are no error");
  }

  Status prepare(Session& session) override {
    if (names_.empty() != all_) {
      return Error{ErrorCode::kInvalidArgument,
                   "attr rm takes names of attributes, or --all, and only one of them",
                   "See: hexad attr rm --help"};
    }
    for (std::string& attribute : names_) {
      HEXAD_TRY_ASSIGN(attribute, session.name(attribute));
    }
    return {};
  }

  // All of them in one transaction. Between looking and removing nobody else changes anything: this
  // process has the pool.
  Result<int> work(Session& session, Store& store) override {
    HEXAD_TRY_ASSIGN(const Attributes found, store.attributes(session.collection(), name()));
    std::vector<std::string> missing;
    Transaction transaction;
    std::size_t removed = 0;
    if (all_ && !found.empty()) {
      transaction.remove_attrs(session.collection(), name());
      removed = found.size();
    }
    std::set<std::string_view> seen;
    for (const std::string& attribute : names_) {
      if (!seen.insert(attribute).second) continue;  // given twice, it counts once
      if (found.contains(attribute)) {
        transaction.remove_attr(session.collection(), name(), attribute);
        ++removed;
      } else {
        missing.push_back(attribute);
      }
    }
    if (!transaction.empty()) HEXAD_TRY(store.commit(std::move(transaction)));
    return report(session.out(), removed, missing);
  }

  Result<int> report(Output& out, std::size_t removed, const std::vector<std::string>& missing) {
    if (out.json()) {
      Json result;
      set_name(result, "name", name());
      result["removed"] = removed;
      result["missing"] = Json::array();
      for (const std::string& attribute : missing) {
        Json entry;
        set_name(entry, "name", attribute);
        result["missing"].push_back(std::move(entry));
      }
      out.object(result);
    }
    for (const std::string& attribute : missing) {
      if (!force_) out.warn(fmt::format("{}: no such attribute", display_name(attribute)));
    }
    out.note(fmt::format("removed {} attribute{}", removed, removed == 1 ? "" : "s"));
    return missing.empty() || force_ ? kExitOk : kExitDifference;
  }

  std::vector<std::string> names_;
  bool all_ = false;
  bool force_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_attr_ls() { return std::make_unique<AttrLs>(); }
std::unique_ptr<Verb> make_attr_get() { return std::make_unique<AttrGet>(); }
std::unique_ptr<Verb> make_attr_set() { return std::make_unique<AttrSet>(); }
std::unique_ptr<Verb> make_attr_rm() { return std::make_unique<AttrRm>(); }

}  // namespace hexad::tools
