// Requests that were refused: they have failed, and their device is not to blame. The bytes are
// still with whoever sent them, so the same ones may go to the same place again.
#pragma once

#include <functional>
#include <vector>

#include "io/clock.h"
#include "io/device.h"
#include "io/executor.h"

namespace hexad::io {

// How often, and for how long, what was refused goes out again.
struct Patience {
  Nanos first_pause = 1'000'000;        // then twice as long each time
  Nanos longest_pause = 1'000'000'000;  // at most
  Nanos limit = 30'000'000'000;         // in all
};

// A flush is never refused: whatever it failed with, nothing is known about the writes that it
// should have covered (D4), and no later flush makes that good.
bool is_refused(const IoRequest& request);

// Those of a batch that is complete.
std::vector<IoRequest*> refused_of(IoBatch& batch);

// Sends the refused ones of `requests`, all of them complete, until each has succeeded or has
// failed by its device's fault, or until the limit has passed. Writes go out kDurable, since the
// flush that should have followed has not covered them. Blocks; sleeps by the executor's clock.
// `pausing` is called before each pause with the error of the first.
// Returns that error when some are still refused, at once when one was shut out (kFenced); what
// failed by a device's fault is in the requests.
Status send_again(const std::vector<IoRequest*>& requests, Executor& executor,
                  const Patience& patience, const std::function<void(const Error&)>& pausing = {});

// The same for all of a batch, and only where something that passes is lacking (kExhausted): for
// what can still be given up, so that a full file system is an answer and not a wait.
Status send_again_briefly(IoBatch& batch, Executor& executor);

}  // namespace hexad::io
