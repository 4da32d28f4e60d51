// A line on the terminal for work that takes longer than a second: "import  312.4 MiB  41%  ...".
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "io/clock.h"
#include "io/executor.h"
#include "tools/cli/output.h"

namespace hexad::tools {

// Draws on standard error, and only when that is a terminal and -q was not given. One thread at a
// time. Cost of advance(): one clock reading.
class Progress {
 public:
  // `total_bytes`: 0 when unknown. `clock` outlives the progress.
  Progress(const Output& output, const io::Clock& clock, std::string label,
           std::uint64_t total_bytes);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  // Wipes the line.
  ~Progress();

  void advance(std::uint64_t bytes, std::uint64_t items = 0);
  // Whether anything will be drawn: a total that costs something to find is for this alone.
  bool enabled() const { return enabled_; }
  void set_total(std::uint64_t bytes) { total_bytes_ = bytes; }

 private:
  void draw(io::Nanos now);

  const io::Clock& clock_;
  std::string label_;
  std::uint64_t total_bytes_;
  std::uint64_t bytes_ = 0;
  std::uint64_t items_ = 0;
  io::Nanos started_;
  io::Nanos next_draw_;
  bool enabled_;
  bool drawn_ = false;
};

// Draws a progress again and again while the caller is in one call that says nothing of how far it
// is: what is known, and for how long it has gone on. Nobody else touches the progress meanwhile.
class Ticking {
 public:
  // Both outlive it. Where nothing is drawn, or the system refuses the thread, it does nothing.
  Ticking(Progress& progress, io::Executor& executor);
  Ticking(const Ticking&) = delete;
  Ticking& operator=(const Ticking&) = delete;
  ~Ticking();

 private:
  void tick();

  Progress& progress_;
  io::Mutex mutex_;
  io::CondVar over_changed_;
  bool over_ = false;  // guarded by mutex_
  std::unique_ptr<io::Thread> thread_;
};

// Pure: the text of the line, without the control characters around it. `elapsed` > 0.
std::string progress_line(const std::string& label, std::uint64_t bytes, std::uint64_t total_bytes,
                          std::uint64_t items, io::Nanos elapsed);

}  // namespace hexad::tools
