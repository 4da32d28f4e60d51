// A process that writes a pool and keeps a ledger of what it was told; killed, stopped and shut out
// by tests/ceph/*.py.
//
//   ledger_writer LEDGER ROUND PATIENCE THREADS take-over|open write|check DEVICE...
//
// Opens the pool on the devices, after it has taken it over if that is asked, with PATIENCE as
// device_patience; compares all that it holds with the ledger, and looks for damage. Then, to
// `write`, each thread puts objects that all rounds share, durably, until the standard input ends.
// Once a commit of a thread has failed in a way that ends writing, it tries a few more.
//
// On standard output, a line each: `checked OBJECTS`, `problem TEXT`, `open`, `status WARNINGS` for
// a line `status` of the input, `ended CODE TEXT` when all threads have, `closed CODE TEXT`. Exit
// code: 0, 1 with problems, 2 where it could not be opened, 5 shut out, 7 otherwise.
//
// The ledger, which all rounds append to:
//   s ROUND NAME VERSION        a commit begins
//   a ROUND NAME VERSION        it was acknowledged as durable: on the disk before anybody hears it
//   f ROUND NAME VERSION CODE   it has failed, so nothing of it may be there (all but kUnknown)
//   u ROUND NAME VERSION        it is not known
//   r ROUND NAME VERSION        what the opening of the round has found
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "core/hexad.h"

namespace hexad {
namespace {

constexpr std::uint64_t kNames = 24;  // of each thread
constexpr std::uint64_t kVersionsOfRound = 10'000'000;
constexpr int kAttemptsAfterTheEnd = 3;
constexpr int kShutOut = 5;
constexpr int kFailed = 7;

void say(const std::string& line) {
  const std::string text = line + "\n";
  if (::write(STDOUT_FILENO, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    _exit(kFailed);  // nobody listens any more
  }
}

// As one word.
std::string name_of(ErrorCode code) {
  std::string name(to_string(code));
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string describe(const Error& error) {
  std::string text = error.to_string();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return name_of(error.code) + " " + text;
}

std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

// Begins with the version; all of it follows from name and version.
std::string content(const std::string& name, std::uint64_t version) {
  std::uint64_t state = mix(std::hash<std::string>{}(name) + version * 0x9e3779b97f4a7c15U);
  const std::uint64_t size = state % 8 == 0 ? 4096 + state % 300'000 : 16 + state % 20'000;
  std::string data = std::to_string(version) + " ";
  while (data.size() < size) {
    state = mix(state + 1);
    data.append(reinterpret_cast<const char*>(&state), sizeof(state));
  }
  return data;
}

class Ledger {
 public:
  explicit Ledger(const std::string& path)
      : path_(path), file_(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0600)) {
    if (file_ < 0) std::exit(kFailed);
  }
  // One write each, so that lines of several processes do not mix.
  void add(char what, std::uint64_t round, const std::string& name, std::uint64_t version,
           const std::string& code = "") const {
    const std::string line = std::string(1, what) + " " + std::to_string(round) + " " + name + " " +
                             std::to_string(version) + (code.empty() ? "" : " " + code) + "\n";
    const bool written =
        ::write(file_, line.data(), line.size()) == static_cast<ssize_t>(line.size());
    if (!written || (what == 'a' && fdatasync(file_) != 0)) _exit(kFailed);
  }

  // What an object may hold: its version 0 is that it is not there.
  struct Entry {
    std::uint64_t known = 0;  // acknowledged, or found by the last round that looked
    std::uint64_t looked = 0;
    std::map<std::uint64_t, std::uint64_t> begun;  // version -> round
    std::set<std::uint64_t> failed;

    bool allows(std::uint64_t version) const {
      if (version == known) return true;
      const auto at = begun.find(version);
      return version > known && at != begun.end() && at->second >= looked &&
             !failed.contains(version);
    }
  };
  std::map<std::string, Entry> read() const {
    std::map<std::string, Entry> entries;
    std::ifstream in(path_);
    std::string line;
    while (std::getline(in, line)) {
      std::istringstream words(line);
      std::string what;
      std::string name;
      std::uint64_t round = 0;
      std::uint64_t version = 0;
      words >> what >> round >> name >> version;
      Entry& entry = entries[name];
      if (what == "s") entry.begun[version] = round;
      if (what == "f") entry.failed.insert(version);
      if (what == "a" || what == "r") entry.known = std::max(entry.known, version);
      if (what == "r") entry.looked = std::max(entry.looked, round);
    }
    return entries;
  }

 private:
  const std::string path_;
  const int file_;
};

struct Writer {
  Store& store;
  const Ledger& ledger;
  const std::uint64_t round;
  std::atomic<bool> stop = false;
  std::mutex mutex = {};
  std::string end = {};  // guarded by it: what ended the first thread that has ended by itself

  static bool ends_writing(ErrorCode code) {
    return code == ErrorCode::kUnknown || code == ErrorCode::kFenced ||
           code == ErrorCode::kReadOnly || code == ErrorCode::kClosed;
  }

  void run(std::uint64_t thread) {
    int left = kAttemptsAfterTheEnd;
    bool ended = false;
    for (std::uint64_t number = 1; !stop && (!ended || left > 0); ++number) {
      const std::string name = std::to_string(thread) + "/" + std::to_string(number % kNames);
      const std::uint64_t version = round * kVersionsOfRound + number;
      Transaction transaction;
      transaction.put("default", name, content(name, version));
      ledger.add('s', round, name, version);
      const Result<Lsn> lsn = store.commit(std::move(transaction));
      if (lsn.ok()) {
        ledger.add('a', round, name, version);
        if (ended) say("problem acknowledged after the end: " + name);
        continue;
      }
      const ErrorCode code = lsn.error().code;
      if (code == ErrorCode::kClosed && stop) {
        ledger.add('f', round, name, version, name_of(code));
        return;
      }
      if (code == ErrorCode::kUnknown) {
        ledger.add('u', round, name, version);
      } else {
        ledger.add('f', round, name, version, name_of(code));
      }
      say("error " + describe(lsn.error()));
      if (ended) --left;
      if (ends_writing(code)) {
        ended = true;
        const std::lock_guard<std::mutex> lock(mutex);
        // What later attempts are told says more than "unknown".
        if (end.empty() || code == ErrorCode::kFenced) end = describe(lsn.error());
      } else {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));  // no more of these than needed
      }
    }
  }
};

// The number of problems.
int compare(Store& store, const Ledger& ledger, std::uint64_t round) {
  int problems = 0;
  const auto problem = [&](const std::string& text) {
    say("problem " + text);
    ++problems;
  };
  std::size_t objects = 0;
  const std::map<std::string, Ledger::Entry> entries = ledger.read();
  for (const auto& [name, entry] : entries) {
    const Result<Bytes> bytes = store.get("default", name);
    std::uint64_t version = 0;
    if (bytes.ok()) {
      const std::string text(as_text(*bytes));
      version = std::strtoull(text.c_str(), nullptr, 10);
      if (text != content(name, version)) problem(name + " is not what anybody wrote");
      ++objects;
    } else if (bytes.error().code != ErrorCode::kNotFound) {
      problem(name + ": " + describe(bytes.error()));
      continue;
    }
    if (!entry.allows(version)) {
      problem(name + " has version " + std::to_string(version) + ", and " +
              std::to_string(entry.known) + " was acknowledged or found");
    }
    ledger.add('r', round, name, version);
  }
  const Result<FsckReport> report = store.fsck({.deep = true});
  if (!report.ok()) {
    problem("fsck: " + describe(report.error()));
  } else {
    for (const Finding& finding : report->findings) {
      problem("fsck: " + finding.subject + ": " + finding.problem);
    }
  }
  say("checked " + std::to_string(objects));
  return problems;
}

// Returns whether the store has been closed as it should be.
bool write(Store& store, Writer& writer, std::uint64_t threads) {
  say("open");
  std::vector<std::thread> running;
  std::atomic<std::uint64_t> left = threads;
  for (std::uint64_t thread = 0; thread < threads; ++thread) {
    running.emplace_back([&, thread] {
      writer.run(thread);
      if (--left > 0 || writer.stop) return;
      const std::lock_guard<std::mutex> lock(writer.mutex);
      say("ended " + writer.end);
    });
  }
  std::string line;
  while (std::getline(std::cin, line)) {
    std::string warnings;
    for (const std::string& warning : store.status().warnings) warnings += " | " + warning;
    say("status" + warnings);
  }
  writer.stop = true;
  const Status closed = store.close();
  say("closed " + (closed.ok() ? std::string("ok") : describe(closed.error())));
  // Where a device does not answer threads wait for it, and the end of the process ends that.
  if (!closed.ok() && closed.error().code == ErrorCode::kUnavailable) _exit(kFailed);
  for (std::thread& thread : running) thread.join();
  return closed.ok();
}

int run(const std::vector<std::string>& words) {
  const Ledger ledger(words[0]);
  const std::uint64_t round = std::stoull(words[1]);
  RuntimeOptions options;
  options.device_patience = std::stoull(words[2]);
  const std::uint64_t threads = std::stoull(words[3]);
  PoolDescription pool;
  pool.devices.assign(words.begin() + 6, words.end());
  if (words[4] == "take-over") {
    const Result<std::vector<DeviceHolder>> taken = Store::take_over(pool);
    if (!taken.ok()) return say("failed " + describe(taken.error())), 2;
    say("taken " + std::to_string(taken->size()));
  }
  Result<Store> store = Store::open(pool, options);
  if (!store.ok()) return say("failed " + describe(store.error())), 2;
  const int problems = compare(*store, ledger, round);
  if (words[5] == "check") {
    const Status closed = store->close();
    say("closed " + (closed.ok() ? std::string("ok") : describe(closed.error())));
    if (!closed.ok()) return kFailed;
  } else {
    Writer writer{*store, ledger, round};
    const bool closed = write(*store, writer, threads);
    if (!writer.end.empty()) return writer.end.starts_with("shut-out") ? kShutOut : kFailed;
    if (!closed) return kFailed;
  }
  return problems > 0 ? 1 : 0;
}

}  // namespace
}  // namespace hexad

int main(int argc, char** argv) {
  if (argc < 8) {
    std::fprintf(stderr,
                 "usage: ledger_writer LEDGER ROUND PATIENCE THREADS take-over|open write|check "
                 "DEVICE...\n");
    return hexad::kFailed;
  }
  return hexad::run(std::vector<std::string>(argv + 1, argv + argc));
}
