// What a verb is, and what it is given to work with.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "core/control/control_client.h"
#include "core/hexad.h"
#include "io/executor.h"
#include "tools/cli/arguments.h"
#include "tools/cli/exit_code.h"
#include "tools/cli/output.h"
#include "tools/cli/pool_view.h"
#include "tools/cli/wrong_reads.h"

namespace hexad::tools {

// Options that every verb takes.
struct CommonOptions {
  std::string collection = kDefaultCollection;
  bool json = false;
  bool quiet = false;
  bool names_in_base64 = false;
  bool risk_split = false;

  void declare(Arguments& arguments);
};

// POOL, or --device and --fast in its place.
struct PoolArguments {
  std::string directory;  // empty when devices are given
  std::vector<std::string> devices;
  std::vector<std::string> fast_directories;
  bool lose_unwritable = false;  // Unwritable::kLose
  double wait_seconds = 0;       // how long to wait for whoever has the pool

  // Names images where a group of them is given. Errors: those of read_pool() and expand_group();
  // kInvalidArgument.
  Result<PoolDescription> describe() const;
  // For commands in hints: the directory as one shell word, or POOL in place of many devices.
  std::string word() const;
};

class WaitWatch;

// Data devices that are not there, or lack cells, so that stripes do.
struct Missing {
  std::size_t devices = 0;
  std::string text;  // a sentence that says so; empty when none are
};
Missing missing_devices(const StoreStatus& status);

// A pool that can be looked at, and what that takes.
struct OpenView {
  std::unique_ptr<Store> store;                 // or
  std::unique_ptr<core::ControlClient> client;  // of the process that has it
  std::unique_ptr<PoolView> view;

  // Errors: those of Store::close().
  Status close() { return store == nullptr ? Status() : store->close(); }
};

// One run of one verb. Lives on main()'s stack; verbs borrow it.
class Session {
 public:
  Session(CommonOptions common, PoolArguments pool);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Output& out() { return out_; }
  const CommonOptions& common() const { return common_; }
  const std::string& collection() const { return common_.collection; }
  const PoolArguments& pool() const { return pool_; }
  io::Executor& executor() { return *executor_; }
  const io::Clock& clock() { return executor_->clock(); }

  // Opens the pool that the arguments name, waiting for others that have it as long as they say.
  // What an opening for writing warns of is said on standard error, with -q, too. Errors: those of
  // read_pool() and Store::open(); kClosed (interrupted while it waited).
  Result<Store> open(Access access, RuntimeOptions options = {});
  // The same for writing, with a new device in the place of another one.
  Result<Store> open_replacing(const Replacement& replacement, RuntimeOptions options);
  // open(), work, close; says meanwhile what it waits for, when that takes long. An error of
  // closing counts when the work itself succeeded. What wrong_reads() has in the end is read again
  // then, with the pool open for writing, where it can be at once; it is said what came of it.
  Result<int> with_store(Access access, const std::function<Result<int>(Store&)>& work,
                         const RuntimeOptions& options = {});
  // What there is to see of the pool: it is opened for reading or, where another process has it for
  // writing, that one is asked, which is said. Where it cannot be asked, it is waited for as open()
  // does. Errors: those of open(), kBusy with why nobody answers.
  Result<OpenView> open_view();
  // open_view(), work, close; otherwise as with_store().
  Result<int> with_view(const std::function<Result<int>(PoolView&)>& work);
  // The process that has the pool and answers over its control socket; it is said which.
  // Errors: those of core::ControlClient::find().
  Result<core::ControlClient> find_holder();
  // Calls `attempt` again until it does not say kBusy any more, or PoolArguments::wait_seconds are
  // over. Says so when it waits. Errors: those of `attempt`; kClosed (interrupted).
  Status when_free(double wait_seconds, const std::function<Status()>& attempt);
  // For what verbs read that open the pool read-only.
  WrongReads& wrong_reads() { return wrong_reads_; }
  // The pool is not to be written, whatever is found.
  void leave_wrong_reads() { mends_ = false; }
  // Whether an interrupt has kept some of it from being repaired.
  bool mending_was_cut() const { return mending_cut_; }
  // Whether a store has been opened for writing. Any thread.
  bool writing() const { return writing_.load(); }
  // For commands in hints: " --collection NAME", or nothing for the one that is the default.
  std::string collection_option() const;
  // The object name that the user typed: decoded when --name-b64 was given.
  Result<std::string> name(const std::string& typed) const;

 private:
  // Says nothing once `quiet` is true.
  WaitWatch watch_opening(const std::atomic<bool>& quiet);
  Result<Store> open_when_free(const PoolDescription& description, const RuntimeOptions& options,
                               const Replacement* replacement);
  Result<Store> open(Access access, RuntimeOptions options, const Replacement* replacement);
  Result<int> work_with(Store& store, Access access,
                        const std::function<Result<int>(Store&)>& work);
  // The store is still open.
  void note_wrong_reads(Store& store);
  void mend_wrong_reads();
  Result<Mended> mend_now(const WrongReads::Places& places);
  // What has come back and lacks little gets it now: the process may be over in a moment.
  void catch_up_briefly(Store& store);

  CommonOptions common_;
  PoolArguments pool_;
  Output out_;
  std::unique_ptr<io::Executor> executor_;
  bool mends_ = true;
  bool mending_cut_ = false;
  WrongReads wrong_reads_;
  WrongReads::Places to_mend_;
  Status may_mend_;
  std::atomic<bool> writing_ = false;
};

class Verb {
 public:
  virtual ~Verb() = default;
  virtual void declare(Arguments& arguments) = 0;
  // The exit code, or an error that main() prints and turns into one.
  virtual Result<int> run(Session& session) = 0;
};

enum class PoolUse : std::uint8_t {
  kNone,      // the verb has nothing to do with a pool, or names one itself (mkfs)
  kRequired,  // POOL comes first, or --device stands in its place
};

struct VerbEntry {
  std::string_view name;  // one word or two: "put", "bucket create"
  PoolUse pool;
  std::string_view summary;  // one line
  std::string_view example;
  std::unique_ptr<Verb> (*make)();
};

}  // namespace hexad::tools
