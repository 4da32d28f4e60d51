// The operating system's files, each behaving as a drive of its own: one request at a time, and
// every write held back for a random while before it is issued, shorter on the drive that has the
// fast tier's log.
//
// Why: the device files of the demonstration lie on one disk, which takes everything that it is
// given and finishes it, in order, even when the process that asked is dead. A kill would hardly
// ever find a commit half written. On six drives of uneven speed it does, and so it does here: what
// has not been issued when the process dies is never written.
#pragma once

#include <memory>

#include "base/error.h"
#include "io/system.h"

namespace hexad::tools::demo {

// Errors: as io::make_real_system.
Result<std::unique_ptr<io::System>> make_uneven_drives();

}  // namespace hexad::tools::demo
