#include "alloc/failure_domains.h"

#include <algorithm>

namespace hexad::alloc {

void MostCells::add(std::string_view domain) {
  if (domain.empty() || domain_cells_ == 0) {
    ++count_;
    return;
  }
  auto at = in_.find(domain);
  if (at == in_.end()) at = in_.emplace(std::string(domain), 0).first;
  if (at->second == domain_cells_) return;
  ++at->second;
  ++count_;
}

std::uint32_t least_domain_cells(std::span<const std::string> domains, std::uint32_t cells) {
  const bool named = std::any_of(domains.begin(), domains.end(),
                                 [](const std::string& name) { return !name.empty(); });
  if (!named || domains.size() < cells) return 0;
  for (std::uint32_t most = 1; most < cells; ++most) {
    MostCells count(most);
    for (const std::string& name : domains) count.add(name);
    if (count.count() >= cells) return most;
  }
  return cells;
}

Status check_domain_name(const std::string& name) {
  const bool fits = !name.empty() && name.size() <= kMaxDomainName &&
                    std::all_of(name.begin(), name.end(), [](char c) {
                      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                             (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-' || c == ':';
                    });
  if (fits) return {};
  return Error{ErrorCode::kInvalidArgument, "\"" + name + "\" is no name of a failure domain",
               "From 1 to " + std::to_string(kMaxDomainName) +
                   " letters, digits and the characters . _ - : make one, such as shelf-1."};
}

}  // namespace hexad::alloc
