# Sourced by ./run: what the tools below it expect of their environment.

# Bazel keeps its output under $HOME/.cache and does not start without one.
if [ -z "${HOME:-}" ] || [ ! -w "$HOME" ]; then
  HOME=/tmp/hexad-home-$(id -u)
  mkdir -p "$HOME"
fi
export HOME

# On a terminal the progress line moves; in a log it would be thousands of lines.
if [ -t 1 ]; then
  HEXAD_BAZEL_UI=--show_progress_rate_limit=0.2
else
  HEXAD_BAZEL_UI=--show_progress_rate_limit=60
fi
export HEXAD_BAZEL_UI
