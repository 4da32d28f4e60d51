#include "core/control/control_slot.h"

#include <optional>
#include <utility>

namespace hexad::core {

std::shared_ptr<ControlServer> ControlSlot::server() {
  const io::Lock lock(mutex_);
  return server_;
}

Status ControlSlot::serve(const std::function<Status()>& may_serve,
                          const std::function<Result<std::shared_ptr<ControlServer>>()>& make) {
  const io::Lock lock(mutex_);
  HEXAD_TRY(may_serve());
  if (server_ != nullptr) return {};
  Result<std::shared_ptr<ControlServer>> made = make();
  why_none_ = made.ok() ? "" : made.error().message;
  HEXAD_TRY(made.status());
  server_ = *std::move(made);
  return {};
}

void ControlSlot::show(StoreStatus& status) {
  std::shared_ptr<ControlServer> server;
  {
    const io::Lock lock(mutex_);
    if (!why_none_.empty()) status.notes.push_back("no control socket: " + why_none_);
    server = server_;
  }
  if (server == nullptr) return;
  std::string where;
  for (const std::string& path : server->paths()) where += (where.empty() ? "" : " or ") + path;
  if (!where.empty()) {
    const std::string refused = server->refused();
    status.notes.push_back("others may ask over the control socket " + where +
                           (refused.empty() ? "" : ", and nowhere else: " + refused));
  }
  if (std::optional<JobStatus> scrub = server->scrub_status(); scrub.has_value()) {
    status.jobs.push_back(*std::move(scrub));
  }
}

void ControlSlot::end() {
  std::shared_ptr<ControlServer> last;
  const io::Lock lock(mutex_);
  last = std::move(server_);
}

}  // namespace hexad::core
