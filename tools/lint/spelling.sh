#!/bin/sh
# Common misspellings, in everything we write. Words that are right although
# codespell doubts them go into spelling_allowed.txt, in lower case.
set -eu
tools/lint/sources.sh '*.h' '*.cc' '*.py' '*.sh' '*.md' '*.bzl' 'BUILD' |
  xargs codespell --ignore-words tools/lint/spelling_allowed.txt
