#include "benchmarks/commit_path/fio.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "benchmarks/commit_path/must.h"

namespace hexad::bench {

namespace {

// Whatever ends no request in so many seconds does not work.
constexpr double kLongEnough = 30;

// For the shell, whatever is in it.
std::string shell_word(const std::string& word) {
  std::string result = "'";
  for (const char c : word) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

struct Output {
  std::string text;
  bool ok = false;
};

Output output_of(const std::string& command) {
  Output output;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return output;
  std::array<char, 4096> piece;
  while (const std::size_t got = fread(piece.data(), 1, piece.size(), pipe)) {
    output.text.append(piece.data(), got);
  }
  const int status = pclose(pipe);
  output.ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return output;
}

}  // namespace

std::optional<std::string> fio_version() {
  Output output = output_of("fio --version 2>/dev/null");
  if (!output.ok) return std::nullopt;
  while (!output.text.empty() && output.text.back() == '\n') output.text.pop_back();
  return output.text;
}

std::optional<std::string> find_fio(const std::string& program) {
  std::optional<std::string> version = fio_version();
  if (!version.has_value()) {
    std::fprintf(stderr,
                 "%s: *** there is no fio: NO RATIO IS MEASURED ***\n"
                 "%s: *** it is a Debian package: apt-get install fio ***\n",
                 program.c_str(), program.c_str());
  }
  return version;
}

FioResult run_fio(const std::vector<std::string>& files, double seconds,
                  const std::vector<std::string>& arguments) {
  std::string names;
  for (const std::string& file : files) {
    if (!names.empty()) names += ':';
    for (const char c : file) names += c == ':' ? std::string("\\:") : std::string(1, c);
  }
  std::string others;
  for (const std::string& argument : arguments) others += " " + shell_word("--" + argument);
  for (;; seconds *= 4) {
    // Milliseconds, because fio takes whole numbers.
    const std::string command = fmt::format(
        "fio --name=ceiling --output-format=json --direct=1 --norandommap --randseed=1"
        " --time_based --runtime={}ms --filename={}{}",
        std::lround(seconds * 1000), shell_word(names), others);
    const Output output = output_of(command);
    const std::optional<FioResult> result = parse_fio(output.text);
    if (output.ok && result.has_value()) return *result;
    // On a busy machine a moment may pass in which none of its requests has ended.
    if (!output.ok || seconds > kLongEnough) {
      die("this did not work: " + command + "\n" + output.text);
    }
  }
}

std::optional<FioResult> parse_fio(const std::string& output) {
  // Notes may stand before the JSON.
  const std::size_t begin = output.find('{');
  if (begin == std::string::npos) return std::nullopt;
  const nlohmann::json json = nlohmann::json::parse(output.substr(begin), nullptr, false);
  if (json.is_discarded() || !json.contains("jobs") || json["jobs"].empty()) return std::nullopt;
  const nlohmann::json& job = json["jobs"][0];
  for (const char* direction : {"read", "write"}) {
    if (!job.contains(direction)) continue;
    const nlohmann::json& side = job[direction];
    if (side.value("total_ios", 0) == 0) continue;
    FioResult result;
    result.operations_per_second = side.value("iops", 0.0);
    result.bytes_per_second = side.value("bw_bytes", 0.0);
    const auto us = [&](const char* percent) {
      const nlohmann::json::json_pointer at(std::string("/clat_ns/percentile/") + percent);
      return side.contains(at) ? side[at].get<double>() / 1000 : 0;
    };
    result.p50_us = us("50.000000");
    result.p95_us = us("95.000000");
    result.p99_us = us("99.000000");
    return result;
  }
  return std::nullopt;
}

}  // namespace hexad::bench
