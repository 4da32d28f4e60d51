#include "tools/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "tools/cli/file.h"

namespace hexad::tools {

namespace {

constexpr io::Nanos kSecond = 1'000'000'000;
constexpr io::Nanos kRedraw = kSecond / 5;
constexpr int kBarWidth = 24;

void to_terminal(std::string_view text) {
  write_all(STDERR_FILENO, as_bytes(text), "standard error").ignore();  // only decoration
}

}  // namespace

Progress::Progress(const Output& output, const io::Clock& clock, std::string label,
                   std::uint64_t total_bytes)
    : clock_(clock),
      label_(std::move(label)),
      total_bytes_(total_bytes),
      started_(clock.now()),
      next_draw_(started_ + kSecond),
      enabled_(!output.quiet() && isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (drawn_) to_terminal("\r\x1b[K");
}

void Progress::advance(std::uint64_t bytes, std::uint64_t items) {
  bytes_ += bytes;
  items_ += items;
  if (!enabled_) return;
  const io::Nanos now = clock_.now();
  if (now >= next_draw_) draw(now);
}

void Progress::draw(io::Nanos now) {
  next_draw_ = now + kRedraw;
  drawn_ = true;
  to_terminal("\r" + progress_line(label_, bytes_, total_bytes_, items_, now - started_) +
              "\x1b[K");
}

Ticking::Ticking(Progress& progress, io::Executor& executor)
    : progress_(progress), mutex_(executor), over_changed_(executor) {
  if (!progress.enabled()) return;
  Result<std::unique_ptr<io::Thread>> thread =
      executor.try_start("hexad-progress", [this] { tick(); });
  if (thread.ok()) thread_ = std::move(thread).value();
}

Ticking::~Ticking() {
  if (thread_ == nullptr) return;
  {
    const io::Lock lock(mutex_);
    over_ = true;
    over_changed_.notify_all();
  }
  thread_->join();
}

void Ticking::tick() {
  io::Lock lock(mutex_);
  while (!over_) {
    over_changed_.wait_for(lock, kRedraw);
    if (!over_) progress_.advance(0);
  }
}

std::string progress_line(const std::string& label, std::uint64_t bytes, std::uint64_t total_bytes,
                          std::uint64_t items, io::Nanos elapsed) {
  const double seconds = static_cast<double>(elapsed) / static_cast<double>(kSecond);
  const double rate = static_cast<double>(bytes) / seconds;
  std::string line = label;
  if (total_bytes > 0) {
    const double part =
        std::min(1.0, static_cast<double>(bytes) / static_cast<double>(total_bytes));
    const int filled = static_cast<int>(part * kBarWidth);
    line +=
        fmt::format(" [{:=<{}}{: <{}}] {:3.0f}%", "", filled, "", kBarWidth - filled, part * 100);
  }
  const bool in_bytes = bytes > 0 || total_bytes > 0;
  if (in_bytes) line += fmt::format("  {}", format_size(bytes));
  if (items > 0) line += fmt::format("  {} objects", items);
  if (!in_bytes) return line + fmt::format("  {:.0f} s", seconds);
  line += fmt::format("  {}/s", format_size(static_cast<std::uint64_t>(rate)));
  if (total_bytes > bytes && rate > 0) {
    line += fmt::format("  {:.0f} s left", static_cast<double>(total_bytes - bytes) / rate);
  }
  return line;
}

}  // namespace hexad::tools
