#include "tools/cli/arguments.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <functional>
#include <utility>

#include "base/units.h"
#include "tools/cli/names.h"
#include "tools/cli/suggest.h"

namespace hexad::tools {

namespace {

// CLI11 reads "[a,b]" as a list of two wherever a list may stand; a name may well look like that.
// Words that begin with a bracket therefore travel behind this character.
constexpr char kShield = '\x01';

std::string shield(const std::string& word) {
  const bool needed = !word.empty() && (word[0] == '[' || word[0] == kShield);
  return needed ? kShield + word : word;
}

std::string unshield(const std::string& word) {
  return !word.empty() && word[0] == kShield ? word.substr(1) : word;
}

void unshield_into(const CLI::results_t& words, std::vector<std::string>& into) {
  into.clear();
  for (const std::string& word : words) into.push_back(unshield(word));
}

template <typename T>
bool parse_all(const std::string& word, T& into) {
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, into);
  return error == std::errc() && stop == end;
}

}  // namespace

struct Arguments::Impl {
  CLI::App app;
  // Values that CLI11 has accepted as words but that do not mean anything.
  std::optional<Error> bad_value;

  // `take` gets the only word, unshielded, and says what is wrong with it.
  CLI::Option* add_one(const std::string& names,
                       std::function<Status(const std::string& word)> take,
                       const std::string& help) {
    const CLI::callback_t take_only = [this, names,
                                       take = std::move(take)](const CLI::results_t& words) {
      const Status status = words.size() == 1 ? take(unshield(words[0])) : given_twice(names);
      if (!status.ok() && !bad_value.has_value()) bad_value = status.error();
      return true;
    };
    // CLI11 would refuse the second word, too, but in words of its own.
    return app.add_option(names, take_only, help)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }

  CLI::Option* add_all(const std::string& names, std::vector<std::string>& into,
                       const std::string& help) {
    const CLI::callback_t take = [&into](const CLI::results_t& words) {
      unshield_into(words, into);
      return true;
    };
    return app.add_option(names, take, help);
  }

  Error given_twice(const std::string& names) const {
    return Error{ErrorCode::kInvalidArgument,
                 app.get_name() + ": " + names + " is given more than once",
                 "Once is enough. See: " + app.get_name() + " --help"};
  }

  Error unexpected(const std::string& word) const {
    Error error{ErrorCode::kInvalidArgument,
                app.get_name() + ": unexpected argument \"" + display_name(unshield(word)) + "\"",
                "See: " + app.get_name() + " --help"};
    if (word.size() > 2 && word[0] == '-') {
      std::vector<std::string> known;
      for (const CLI::Option* option : app.get_options()) {
        for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
      }
      const std::string meant = nearest(word.substr(0, word.find('=')), known);
      if (!meant.empty()) error.hint = "Did you mean " + meant + "? " + error.hint;
    }
    return error;
  }
};

Arguments::Arguments(const std::string& verb, const std::string& summary,
                     const std::string& example)
    : impl_(std::make_unique<Impl>()) {
  CLI::App& app = impl_->app;
  app.name("hexad " + verb);
  app.description(summary);
  app.footer("Example:\n  " + example);
  app.set_help_flag("-h,--help", "This text");
  app.get_formatter()->column_width(34);
}

Arguments::~Arguments() = default;

void Arguments::positional(const std::string& name, std::string& into, const std::string& help,
                           Need need) {
  const auto take = [&into](const std::string& word) {
    into = word;
    return ok_status();
  };
  impl_->add_one(name, take, help)->required(need == Need::kRequired);
}

void Arguments::positionals(const std::string& name, std::vector<std::string>& into,
                            const std::string& help, Need need) {
  impl_->add_all(name, into, help)
      ->expected(1, CLI::detail::expected_max_vector_size)
      ->allow_extra_args()
      ->required(need == Need::kRequired);
}

void Arguments::option(const std::string& names, std::string& into, const std::string& help) {
  const auto take = [&into](const std::string& word) {
    into = word;
    return ok_status();
  };
  impl_->add_one(names, take, help)->type_name("TEXT");
}

void Arguments::repeated(const std::string& names, std::vector<std::string>& into,
                         const std::string& help) {
  impl_->add_all(names, into, help)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("TEXT ...");
}

void Arguments::option_list(const std::string& names, std::vector<std::string>& into,
                            const std::string& help) {
  impl_->add_all(names, into, help)
      ->expected(1, CLI::detail::expected_max_vector_size)
      ->allow_extra_args()
      ->type_name("TEXT");
}

void Arguments::number(const std::string& names, std::uint64_t& into, const std::string& help) {
  // Not CLI11's conversion, for which -1 is 18446744073709551615.
  const auto take = [&into, names](const std::string& word) -> Status {
    if (parse_all(word, into)) return ok_status();
    return Error{ErrorCode::kInvalidArgument,
                 names + ": \"" + display_name(word) + "\" is not a whole number",
                 "Write decimal digits only; see --help."};
  };
  impl_->add_one(names, take, help)->type_name("N");
}

void Arguments::number(const std::string& names, double& into, const std::string& help) {
  const auto take = [&into, names](const std::string& word) -> Status {
    if (parse_all(word, into)) return ok_status();
    return Error{ErrorCode::kInvalidArgument,
                 names + ": \"" + display_name(word) + "\" is not a number",
                 "Write it like 2.5; see --help."};
  };
  impl_->add_one(names, take, help)->type_name("NUMBER");
}

void Arguments::size(const std::string& names, std::uint64_t& into, const std::string& help) {
  const auto take = [&into, names](const std::string& word) -> Status {
    const Result<std::uint64_t> parsed = parse_size(word);
    if (!parsed.ok()) return parsed.error().with_context(names);
    into = *parsed;
    return ok_status();
  };
  impl_->add_one(names, take, help)->type_name("SIZE");
}

void Arguments::flag(const std::string& names, bool& into, const std::string& help) {
  impl_->app.add_flag(names, into, help);
}

bool Arguments::given(const std::string& name) const { return impl_->app.count(name) > 0; }

Result<std::optional<std::string>> Arguments::parse(const std::vector<std::string>& words) {
  std::vector<std::string> reversed;
  bool options_ended = false;
  for (const std::string& word : words) {
    options_ended = options_ended || word == "--";
    // CLI11 takes the next word as the value of "--option=".
    if (!options_ended && word.size() > 3 && word.starts_with("--") && word.ends_with('=')) {
      reversed.push_back(word.substr(0, word.size() - 1));
      reversed.emplace_back();
    } else {
      reversed.push_back(shield(word));
    }
  }
  std::reverse(reversed.begin(), reversed.end());
  CLI::App& app = impl_->app;
  app.allow_extras();  // collected, so that we can say more about them
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    return std::optional<std::string>(app.help());
  } catch (const CLI::ParseError& error) {
    const std::vector<std::string> extra = app.remaining();
    for (const std::string& word : extra) {
      if (word.starts_with('-')) return impl_->unexpected(word);
    }
    return Error{ErrorCode::kInvalidArgument, app.get_name() + ": " + error.what(),
                 "See: " + app.get_name() + " --help"};
  }
  for (const std::string& word : app.remaining()) {
    if (word != "--") return impl_->unexpected(word);  // CLI11 leaves the mark itself behind
  }
  if (impl_->bad_value.has_value()) return *impl_->bad_value;
  return std::optional<std::string>();
}

}  // namespace hexad::tools
