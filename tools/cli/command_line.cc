#include "tools/cli/command_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "tools/cli/file.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/interrupt_watch.h"
#include "tools/cli/names.h"
#include "tools/cli/suggest.h"

namespace hexad::tools {

namespace {

using Verbs = std::span<const VerbEntry>;

constexpr const char* kVersion = "0.1.0";
constexpr int kExitReaderGone = 141;  // what a shell shows for SIGPIPE

std::string general_help(Verbs verbs) {
  std::string text =
      "hexad: an erasure-coded object store on the drives of one machine\n"
      "usage: hexad VERB POOL ...\n\n"
      "POOL is a directory made by mkfs, or --device PATH... in its place.\n\n";
  for (const VerbEntry& entry : verbs) {
    text += fmt::format("  {:<23}{}\n", entry.name, entry.summary);
  }
  text +=
      "\nEvery verb takes --collection NAME, --json, -q and --help.\n"
      "Exit codes: 0 ok, 1 not found or difference, 2 usage, 3 damaged, 4 unavailable,\n"
      "5 busy, 6 no space, 7 input/output error, 130 interrupted.\n";
  return text;
}

// How many of `words` the name of the verb takes; 0 when they do not begin with it.
std::size_t words_matched(const VerbEntry& entry, const std::vector<std::string>& words) {
  const std::size_t space = entry.name.find(' ');
  if (words.empty() || words[0] != entry.name.substr(0, space)) return 0;
  if (space == std::string_view::npos) return 1;
  return words.size() > 1 && words[1] == entry.name.substr(space + 1) ? 2 : 0;
}

const VerbEntry* find_verb(Verbs verbs, const std::vector<std::string>& words) {
  for (const VerbEntry& entry : verbs) {
    if (words_matched(entry, words) > 0) return &entry;
  }
  return nullptr;
}

Error unknown_verb(Verbs verbs, const std::vector<std::string>& words) {
  std::vector<std::string> known;
  std::string family;  // "bucket create, bucket rm": what the first word could go on with
  for (const VerbEntry& entry : verbs) {
    known.emplace_back(entry.name);
    if (entry.name.starts_with(words[0] + " ")) {
      family += (family.empty() ? "hexad " : ", hexad ") + std::string(entry.name);
    }
  }
  Error error{ErrorCode::kInvalidArgument, "there is no verb \"" + display_name(words[0]) + "\"",
              "See: hexad --help"};
  if (!family.empty()) {
    error.message = "\"" + words[0] + "\" needs one more word";
    error.hint = "One of: " + family;
  } else {
    const std::string meant = nearest(words[0], known);
    if (!meant.empty()) error.hint = "Did you mean hexad " + meant + "? " + error.hint;
  }
  return error;
}

// Whether --device is among the options. It decides if POOL is one of the arguments.
bool names_devices(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--") return false;
    if (word == "--device" || word.starts_with("--device=")) return true;
  }
  return false;
}

bool asks_for_json(const std::vector<std::string>& words) {
  return std::find(words.begin(), words.end(), "--json") !=
         std::find(words.begin(), words.end(), "--");
}

void declare_pool(const VerbEntry& entry, bool by_devices, PoolArguments& pool,
                  Arguments& arguments) {
  if (entry.pool == PoolUse::kNone) return;
  if (!by_devices) {
    arguments.positional("POOL", pool.directory,
                         "Directory of the pool, or --device PATH... in its place");
  }
  arguments.option_list("--device", pool.devices,
                        "Device paths, in any order, instead of POOL; end the list with another "
                        "option or --");
  arguments.option_list("--fast", pool.fast_directories,
                        "With --device: directories of the fast tier");
  arguments.flag("--lose-unwritable-devices", pool.lose_unwritable,
                 "Opens for writing although devices that are there cannot be written: they leave "
                 "the pool");
  arguments.number("--wait", pool.wait_seconds,
                   "Seconds to wait while another program has the pool [0]");
}

// Ends the run: writes what is buffered and chooses the exit code.
int finish(Output& out, int code) {
  const Status written = out.finish();
  if (written.ok()) return code;
  if (reader_gone()) return kExitReaderGone;
  out.error(written.error());
  return code == kExitOk ? exit_code(written.error().code) : code;
}

int report_usage_error(const std::vector<std::string>& words, const Error& error) {
  Output out(asks_for_json(words) ? Style::kJson : Style::kText, Verbosity::kNormal);
  out.error(error);
  return finish(out, kExitUsage);
}

int print_text(std::string_view text) {
  Output out(Style::kText, Verbosity::kNormal);
  out.write(text);
  return finish(out, kExitOk);
}

// Prints the error, unless nobody is there to read it, and chooses the exit code.
int report_failure(const VerbEntry& entry, Output& out, Error error) {
  if (reader_gone()) return kExitReaderGone;
  if (interrupted()) {
    out.interrupted();
    return kExitInterrupted;
  }
  if (error.hint.empty() && exit_code(error.code) == kExitUsage) {
    error.hint = fmt::format("See: hexad {} --help", entry.name);
  }
  out.error(error);
  return exit_code(error.code);
}

// What could not be cut short any sooner: a device that does not answer, a commit, the end of a
// store. The system takes back what the process has; the pool bears that at any moment.
[[noreturn]] void end_now(bool may_have_written) {
  const std::string_view hint =
      may_have_written
          ? "It was in a step that nothing cuts short, or waiting for a device. What was reported "
            "as stored stays stored; whether the last change was made shows when you look at it."
          : "It was in a step that nothing cuts short, or waiting for a device. Nothing was "
            "changed "
            "in the pool.";
  const std::string text = fmt::format("hexad: interrupted\n  hint: {}\n", hint);
  write_all(STDERR_FILENO, as_bytes(text), "standard error").ignore();  // nobody left to tell
  _exit(kExitInterrupted);
}

// The code of a run that came to its end although it was interrupted.
int ended_anyway(Session& session, int code) {
  if (!interrupted() || code != kExitOk) return code;
  session.out().alarm(
      session.mending_was_cut()
          ? session.out().typed("interrupted when it was done, but for the repair of "
                                "what it had read wrong: hexad scrub POOL does that")
          : "interrupted when it was done: nothing is missing");
  return kExitInterrupted;
}

int run_verb(const VerbEntry& entry, const std::vector<std::string>& words) {
  CommonOptions common;
  PoolArguments pool;
  Arguments arguments{std::string(entry.name), std::string(entry.summary),
                      std::string(entry.example)};
  const std::unique_ptr<Verb> verb = entry.make();
  declare_pool(entry, names_devices(words), pool, arguments);
  verb->declare(arguments);
  common.declare(arguments);

  const Result<std::optional<std::string>> parsed = arguments.parse(words);
  if (!parsed.ok()) return report_usage_error(words, parsed.error());
  if (parsed->has_value()) return print_text(**parsed);

  watch_interrupts();
  Session session(std::move(common), std::move(pool));
  const InterruptWatch watch(session.executor(), &interrupted,
                             [&] { end_now(entry.pool == PoolUse::kNone || session.writing()); });
  const Result<int> result = verb->run(session);
  return finish(session.out(), result.ok() ? ended_anyway(session, *result)
                                           : report_failure(entry, session.out(), result.error()));
}

}  // namespace

int run_command_line(const std::vector<std::string>& words, Verbs verbs) {
  if (words.empty()) {
    return report_usage_error(
        words, Error{ErrorCode::kInvalidArgument, "no verb given", "See: hexad --help"});
  }
  if (words[0] == "--version") return print_text(fmt::format("hexad {}\n", kVersion));
  if (words[0] == "--help" || words[0] == "-h") return print_text(general_help(verbs));
  if (words[0] == "help") {
    if (words.size() == 1) return print_text(general_help(verbs));
    std::vector<std::string> asked(words.begin() + 1, words.end());
    asked.emplace_back("--help");
    return run_command_line(asked, verbs);
  }
  const VerbEntry* entry = find_verb(verbs, words);
  if (entry == nullptr) return report_usage_error(words, unknown_verb(verbs, words));
  const auto skip = static_cast<std::ptrdiff_t>(words_matched(*entry, words));
  return run_verb(*entry, {words.begin() + skip, words.end()});
}

}  // namespace hexad::tools
