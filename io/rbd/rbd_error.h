// What librbd and librados answer with, as errors.
#pragma once

#include <string>

#include "base/error.h"

namespace hexad::io {

// `number`: a positive errno value. As os_error(), but for hints that are for files, and ESHUTDOWN:
// kFenced, the cluster takes nothing from this client any more.
Error rbd_error(int number, const std::string& subject);

// A request of a handle that had the image's lock has failed because it has it no more: somebody
// has broken it, and the cluster takes nothing from this client (ESHUTDOWN), or librbd has noticed
// first (EROFS).
bool is_loss_of_lock(int number);

}  // namespace hexad::io
