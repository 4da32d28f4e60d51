// The two sides of the crash demonstration (tools/demo/kill_rounds.py):
//
//   crash_writer write POOL SEED ROUND LEDGER IN_FLIGHT
//     Opens the store on drives of uneven speed (tools/demo/uneven_drives.h) and commits
//     transactions, IN_FLIGHT at once, until it is killed. Says on standard output, one line each,
//     unbuffered:
//       open N        the store is open, N is the first transaction of this round
//       s N           N is about to be submitted
//       a N LSN       N is durable
//       e MESSAGE     a commit failed, which nothing here should cause; ends the process
//
//   crash_writer check POOL SEED ROUND LEDGER LEAST MOST [leave|read]
//     Opens the store, which recovers, finds out how many transactions of ROUND there are (the
//     ledger holds the rounds before; LEAST were acknowledged, MOST submitted), and compares
//     every object of the collection with what exactly these transactions make. One JSON object on
//     standard output; exit code 0 only if nothing differs. `leave` lets go of the store without
//     closing it, so that the next opening recovers again. `read` opens it for reading only.
//
// POOL may be the address of a group of images of a Ceph cluster, too (core/api/group.h).
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "core/hexad.h"
#include "io/device_path.h"
#include "io/executor.h"
#include "io/os/text_file.h"
#include "io/system.h"
#include "tools/demo/uneven_drives.h"
#include "tools/demo/workload.h"

namespace hexad::tools::demo {

namespace {

using Json = nlohmann::json;

struct Arguments {
  std::string pool;
  std::uint64_t seed = 0;
  std::uint64_t round = 0;
  std::vector<Span> ledger;

  std::uint64_t first() const { return ledger.empty() ? 1 : ledger.back().last + 1; }
  Result<PoolDescription> describe() const {
    if (io::is_rbd_path(pool)) return expand_group({{pool}, {}});
    return read_pool(pool);
  }
};

Result<std::uint64_t> parse_number(const std::string& word) {
  std::uint64_t value = 0;
  const char* end = word.data() + word.size();
  const auto parsed = std::from_chars(word.data(), end, value);
  if (parsed.ec == std::errc() && parsed.ptr == end && !word.empty()) return value;
  return Error{ErrorCode::kInvalidArgument, "\"" + word + "\" is no number", ""};
}

Result<Arguments> parse_arguments(const std::vector<std::string>& words) {
  Arguments arguments;
  arguments.pool = words[1];
  HEXAD_TRY_ASSIGN(arguments.seed, parse_number(words[2]));
  HEXAD_TRY_ASSIGN(arguments.round, parse_number(words[3]));
  HEXAD_TRY_ASSIGN(const std::string text, io::read_text_file(words[4]));
  HEXAD_TRY_ASSIGN(arguments.ledger, parse_ledger(text));
  return arguments;
}

// One write each: a line is either wholly in the pipe when we are killed or not at all.
void say(const std::string& line) {
  const std::string text = line + "\n";
  if (::write(STDOUT_FILENO, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    _exit(1);  // nobody keeps the ledger any more
  }
}

Status make_collection(Store& store) {
  Transaction transaction;
  transaction.create_collection(kLedgerCollection);
  const Result<Lsn> made = store.commit(std::move(transaction));
  if (!made.ok() && made.error().code != ErrorCode::kAlreadyExists) return made.error();
  return {};
}

Status write(const Arguments& arguments, std::uint64_t in_flight) {
  HEXAD_TRY_ASSIGN(const PoolDescription pool, arguments.describe());
  // Images of a cluster are uneven enough.
  const bool images = io::is_rbd_path(pool.devices.front());
  HEXAD_TRY_ASSIGN(const std::unique_ptr<io::System> system,
                   images ? io::make_real_system() : make_uneven_drives());
  HEXAD_TRY_ASSIGN(Store store, Store::open(pool, {}, system.get()));
  HEXAD_TRY(make_collection(store));
  Model model = replay(arguments.seed, arguments.ledger);
  io::Mutex mutex(system->executor());
  io::CondVar changed(system->executor());
  std::uint64_t pending = 0;
  say("open " + std::to_string(arguments.first()));
  for (std::uint64_t number = arguments.first();; ++number) {
    const Change change = plan_change(arguments.seed, arguments.round, number, model);
    apply_change(change, model);
    Transaction transaction = build(change, arguments.seed, arguments.round, number);
    {
      io::Lock lock(mutex);
      changed.wait(lock, [&] { return pending < in_flight; });
      ++pending;
    }
    say("s " + std::to_string(number));
    store.submit(std::move(transaction), [&, number](const Result<Lsn>& lsn) {
      if (!lsn.ok()) {
        say("e " + lsn.error().to_string());
        _exit(1);
      }
      say("a " + std::to_string(number) + " " + std::to_string(*lsn));
      const io::Lock lock(mutex);
      --pending;
      changed.notify_all();
    });
  }
}

Result<std::set<std::string>> list_names(Store& store) {
  std::set<std::string> names;
  ListOptions options;
  for (bool more = true; more;) {
    HEXAD_TRY_ASSIGN(const ListPage page, store.list(kLedgerCollection, options));
    for (const ListEntry& entry : page.entries) names.emplace(entry.name);
    more = page.next.has_value();
    if (more) options.start_after = *page.next;
  }
  names.erase(kHeadName);
  return names;
}

// What differs between the store and the model; empty when nothing does.
Result<std::vector<std::string>> compare(Store& store, const Arguments& arguments,
                                         const Model& model) {
  std::vector<std::string> problems;
  HEXAD_TRY_ASSIGN(const std::set<std::string> names, list_names(store));
  for (const std::string& name : names) {
    if (model.count(name) == 0) problems.push_back(name + " is there and should not be");
  }
  for (const auto& [name, origin] : model) {
    const Result<Bytes> bytes = store.get(kLedgerCollection, name);
    if (!bytes.ok()) {
      problems.push_back(name + ": " + bytes.error().to_string());
      continue;
    }
    if (*bytes != content(arguments.seed, origin)) {
      problems.push_back(name + " does not hold what transaction " + std::to_string(origin.number) +
                         " wrote");
    }
    HEXAD_TRY_ASSIGN(const Attributes attributes, store.attributes(kLedgerCollection, name));
    const auto number = attributes.find(kNumberAttribute);
    if (number == attributes.end() || number->second != std::to_string(origin.number)) {
      problems.push_back(name + " has the attribute of another transaction");
    }
  }
  return problems;
}

Result<Head> read_head(Store& store) {
  const Result<Bytes> text = store.get(kLedgerCollection, kHeadName);
  if (text.ok()) return parse_head(as_text(*text));
  if (text.error().code != ErrorCode::kNotFound) return text.error();
  return Head{};
}

Result<bool> check(const Arguments& arguments, std::uint64_t least, std::uint64_t most,
                   const std::string& how) {
  HEXAD_TRY_ASSIGN(const PoolDescription pool, arguments.describe());
  RuntimeOptions options;
  if (how == "read") options.access = Access::kReadOnly;
  HEXAD_TRY_ASSIGN(Store store, Store::open(pool, options));
  HEXAD_TRY_ASSIGN(const Head head, read_head(store));
  std::vector<Span> ledger = arguments.ledger;
  std::vector<std::string> problems;
  const std::uint64_t found = std::max(head.number, arguments.first() - 1);
  if (head.number + 1 < arguments.first()) {
    problems.push_back("transactions that earlier rounds had are gone");
  }
  if (found < least) {
    problems.push_back("transaction " + std::to_string(least) +
                       " was acknowledged, the store ends at " + std::to_string(found));
  }
  if (found > most) {
    problems.push_back("the store holds transaction " + std::to_string(found) + ", only " +
                       std::to_string(most) + " were submitted");
  }
  if (found >= arguments.first()) {
    if (head.round != arguments.round) problems.push_back("the head is of another round");
    ledger.push_back({arguments.round, arguments.first(), found});
  }
  const Model model = replay(arguments.seed, ledger);
  // Without the collection nothing has ever been written.
  if (head.number > 0) {
    HEXAD_TRY_ASSIGN(const std::vector<std::string> differences, compare(store, arguments, model));
    problems.insert(problems.end(), differences.begin(), differences.end());
  }

  Json result{{"number", found},
              {"objects", model.size()},
              {"problems", problems},
              {"counters", Json::object()},
              {"notes", store.status().notes}};
  for (const Counter& counter : store.counters()) {
    result["counters"][counter.name] = counter.since_open;
  }
  if (how != "leave") HEXAD_TRY(store.close());
  say(result.dump());
  return problems.empty();
}

int usage() {
  std::fprintf(stderr,
               "usage: crash_writer write POOL SEED ROUND LEDGER IN_FLIGHT\n"
               "       crash_writer check POOL SEED ROUND LEDGER LEAST MOST [leave|read]\n");
  return 2;
}

Result<bool> run(const std::vector<std::string>& words) {
  HEXAD_TRY_ASSIGN(const Arguments arguments, parse_arguments(words));
  HEXAD_TRY_ASSIGN(const std::uint64_t fifth, parse_number(words[5]));
  if (words[0] == "write") {
    HEXAD_TRY(write(arguments, fifth));
    return true;
  }
  HEXAD_TRY_ASSIGN(const std::uint64_t most, parse_number(words[6]));
  return check(arguments, fifth, most, words.size() == 8 ? words[7] : "");
}

}  // namespace

int main(const std::vector<std::string>& words) {
  const bool writes = words.size() == 6 && words[0] == "write";
  const bool checks = (words.size() == 7 || words.size() == 8) && words[0] == "check";
  if (!writes && !checks) return usage();
  const Result<bool> result = run(words);
  if (!result.ok()) {
    std::fprintf(stderr, "crash_writer: %s\n", result.error().to_string().c_str());
    return 1;
  }
  return *result ? 0 : 1;
}

}  // namespace hexad::tools::demo

int main(int argc, char** argv) {
  return hexad::tools::demo::main(std::vector<std::string>(argv + 1, argv + argc));
}
