// Where the control socket of a store is: the process that serves and those that ask come to the
// same list.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"

namespace hexad::core {

// The best first: beside the index, where whoever may open the store can look; then what the users'
// processes share, under the name of the store.
std::vector<std::string> control_directories(const std::vector<std::string>& fast_directories,
                                             const Uuid& store, const std::vector<unsigned>& users);

// The one user who serves there: where everybody may make a directory, under any name, root has to
// know. Nothing: it is beside the index, where only those can who may write to that.
std::optional<unsigned> user_of_place(const std::string& directory);

}  // namespace hexad::core
