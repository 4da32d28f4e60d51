// Questions between processes of one machine: one line in, one line out, over a socket in a private
// directory. Both sides; what the lines say is the business of whoever is above.
//
//   CS1 the directory is the user's own and closed to others before there is a socket in it
//   CS2 only processes of the same user, or of root, are heard; who asks believes these, and root
//       others where it says so
//   CS3 a line has a bound, and so has the time to send or take it; who asks holds one of a bounded
//       number of connections, and nothing else
//   CS4 a child that is forked has none of its descriptors
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "io/clock.h"
#include "io/executor.h"

namespace hexad::io {

struct LineLimits {
  std::size_t question = 64 << 10;  // bytes, the newline included
  std::size_t answer = 8 << 20;     // bytes, the newline included
  std::size_t connections = 8;      // at once; others wait to be accepted
  Nanos to_ask = 5'000'000'000;     // from the connection to the end of the question
  Nanos to_take = 5'000'000'000;    // for each part of an answer
};

// One question's answer; whoever lets go of it without sending one ends the connection.
class LineAnswer {
 public:
  virtual ~LineAnswer() = default;
  // Without its newline. Once; any thread.
  virtual void send(std::string line) = 0;
  // Whether somebody still waits for it. Any thread.
  virtual bool wanted() const = 0;
};

// Called on the thread of the service, which hears nobody else meanwhile; sends the answer, or
// keeps it for another thread that does.
using LineHandler = std::function<void(std::string question, std::shared_ptr<LineAnswer> answer)>;

class LineService {
 public:
  virtual ~LineService() = default;
  // Where the socket is.
  virtual const std::string& path() const = 0;
  // Ends all connections and removes the socket. Waits for the handler, not for answers. Any number
  // of times; the destructor does it, too.
  virtual void stop() = 0;
};

// What the service itself answers, without newlines.
struct LineRefusals {
  std::string too_long;    // to a question over its bound
  std::string other_user;  // to one
};

// Serves in the first of the directories where that is possible; made where it is missing, but for
// its parents. Whatever socket an earlier process has left in any of them is removed: the caller
// holds a lock that says that none of those is alive. `executor` outlives the service. Errors:
// kUnsupported (none of them will do; the message has each and why), kExhausted.
Result<std::unique_ptr<LineService>> serve_lines(const std::vector<std::string>& directories,
                                                 Executor& executor, LineHandler handler,
                                                 LineRefusals refusals = {},
                                                 LineLimits limits = {});

// An answer, and the process that gave it, by the kernel's word.
struct AnsweredLine {
  std::string line;
  int process = 0;
};

struct AskLimits {
  std::size_t answer = 8 << 20;      // bytes
  Nanos to_answer = 60'000'000'000;  // from the first try to the last byte
  // Whether to believe a process of that user, who is this one or root, or anybody if this one is
  // root, about what is asked in that directory. Empty: yes.
  std::function<bool(const std::string& directory, unsigned user)> believe = {};
  // Asked ten times a second; false ends it. Empty: go on.
  std::function<bool()> go_on = {};
};

// Asks whoever serves in one of the directories, the first that somebody does. Errors: kNotFound
// (nobody does; message and hint say what stood in the way, where something did), kBusy (it ended
// the connection before it had answered: it serves no more), kUnavailable (no answer in time, or a
// broken one), kTooBig, kClosed (go_on), kExhausted.
Result<AnsweredLine> ask_line(const std::vector<std::string>& directories,
                              const std::string& question, const AskLimits& limits = {});

// Directories for what a user's processes share until the machine is started again, the best
// first: XDG_RUNTIME_DIR where the user is the caller's own, /run/user/UID, /tmp.
std::vector<std::string> runtime_directories(unsigned user);

// The user of this process.
unsigned own_user();
// Whose file it is; nothing: that cannot be known.
std::optional<unsigned> owner_of(const std::string& path);

}  // namespace hexad::io
