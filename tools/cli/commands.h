// Commands in texts: "Run hexad fsck POOL." is what the engine says, which knows no path of a pool.
#pragma once

#include <string>
#include <string_view>

namespace hexad::tools {

// What stands for placeholders in commands, each as one word of a shell. Empty: not known, and the
// placeholder stays.
struct CommandWords {
  std::string pool;    // for POOL, behind the verb
  std::string bucket;  // for BUCKET, behind the pool
};

// The text with the words in each of its commands: behind "hexad" and one or two words of a verb.
// What only looks like a placeholder elsewhere stays as it is.
std::string with_words(std::string_view text, const CommandWords& words);

}  // namespace hexad::tools
