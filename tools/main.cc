// The command line. Everything it does is in tools/verbs; how it parses, prints and fails, in
// tools/cli.
#include "tools/cli/command_line.h"
#include "tools/verbs/verbs.h"

int main(int argc, char** argv) {
  const int skipped = argc > 0 ? 1 : 0;  // the name of the program
  return hexad::tools::run_command_line({argv + skipped, argv + argc}, hexad::tools::verb_table());
}
