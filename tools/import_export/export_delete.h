// Removes what lies below the directory of an export and is no object: the export's --delete.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>

#include "tools/cli/verb.h"
#include "tools/import_export/transfer_options.h"
#include "tools/import_export/transfer_report.h"
#include "tools/import_export/tree_walk.h"

namespace hexad::tools {

using FileIds = std::set<std::pair<dev_t, ino_t>>;

// Only what an object whose name begins with `prefix` could have become; a directory goes with all
// that is in it. Never: the entries of `kept`, the files of the pool itself, and the directories
// that they are in. `say` hears every name, ending in "/" if it is a directory's; what is inside a
// directory that goes is not told. In a dry run that is all. Counts in the report, where failures
// are, too. Errors: the store cannot be asked, the directory cannot be opened, a signal.
Status delete_extra(Session& session, Store& store, const std::string& directory,
                    const std::string& prefix, const FileIds& kept, Run run,
                    const std::function<void(const std::string&)>& say, TransferReport& report);

}  // namespace hexad::tools
