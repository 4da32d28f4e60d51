// Calls of librbd that ask the cluster and return when it has answered, however long that takes.
// Each runs on a thread of its own; who has asked waits for a limited time. A call that takes
// longer goes on without them, and what it ends with is taken down where it ends.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "io/rbd/rbd_cluster.h"

namespace hexad::io {

inline constexpr std::chrono::seconds kRbdPatience{30};
// For what waits for more than an answer: a lock, until the cluster has missed who had it; a place
// on the blocklist, until all OSDs know.
inline constexpr std::chrono::seconds kRbdLongPatience{120};

// Returns when `call` has, or after `patience`. While a call is late, no other one to the same
// cluster is made, but refused at once: an opening asks for many images, one after the other.
// `call` has all that it uses: it may outlive its caller. Errors: kUnavailable, beginning with
// `what`; kExhausted (no thread).
Status wait_for_rbd(const std::shared_ptr<RbdCluster>& cluster, const std::string& what,
                    std::chrono::seconds patience, std::function<void()> call);
// For closing: also while another call is late, and where there is no thread, on this one.
void close_rbd(const std::shared_ptr<RbdCluster>& cluster, const std::function<void()>& call);

// As wait_for_rbd(), with the call's result.
template <typename Outcome>
Outcome ask_rbd(const std::shared_ptr<RbdCluster>& cluster, const std::string& what,
                std::chrono::seconds patience, std::function<Outcome()> call) {
  auto outcome = std::make_shared<std::optional<Outcome>>();
  HEXAD_TRY(wait_for_rbd(cluster, what, patience,
                         [outcome, call = std::move(call)] { *outcome = call(); }));
  return std::move(**outcome);
}

}  // namespace hexad::io
