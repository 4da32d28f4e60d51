#include "core/blob/enough_cells.h"

#include "io/bounded_reads.h"

namespace hexad::core {

std::optional<ec::ShardSet> enough_cells(const std::vector<CellPlace>& places, std::uint32_t k) {
  ec::ShardSet chosen;
  for (std::uint32_t role = 0; role < places.size() && chosen.size() < k; ++role) {
    if (places[role].readable && !io::is_silent(*places[role].device)) chosen.add(role);
  }
  if (chosen.size() < k) return std::nullopt;
  return chosen;
}

}  // namespace hexad::core
