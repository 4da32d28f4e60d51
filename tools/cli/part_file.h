// Files that are written beside their place and renamed when they are whole: what they are called
// meanwhile, and how what a killed process has left of them is told from what is still written.
//
// The name follows from the file's own, so that whoever writes the same file next finds what was
// left and takes its place. Whoever writes one holds a lock (flock) on it, which ends with its
// process, however that ends.
//
//   I6  an unfinished file is removed only by whoever holds the lock on it
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace hexad::tools {

// ".hexad-part-" and 16 hexadecimal digits that follow from `leaf`; with `attempt` > 0 "-ATTEMPT"
// behind it, for when the name is taken.
std::string part_name(std::string_view leaf, unsigned attempt = 0);
bool is_part_name(std::string_view leaf);

// Makes a new, empty file for `leaf` in the directory, with a lock on it and mode 0600, and tells
// its name. What was left under that name and nobody writes is removed first. -1, with errno: none.
int open_part(int directory, std::string_view leaf, std::string& name);
// The same for links, which have no descriptor and no lock: `make` makes one under the name it is
// given, and returns 0, or -1 with errno. For EEXIST it is asked again, once what was left under
// the name is gone, or with another name.
int make_part(int directory, std::string_view leaf, std::string& name,
              const std::function<int(const char*)>& make);

// Removes the file of that name, unless it is being written. True: there is none now.
bool remove_stale_part(int directory, const std::string& name);
// All of them in the directory, as far as that can be read: this is tidying.
void remove_stale_parts(int directory);

}  // namespace hexad::tools
