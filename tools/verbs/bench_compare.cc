// hexad bench compare: two sets of figures beside each other.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "tools/bench/compare.h"
#include "tools/cli/file.h"
#include "tools/cli/names.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

constexpr std::uint64_t kMaxFile = 64_MiB;

Result<std::vector<Series>> read_series(const std::string& path) {
  HEXAD_TRY_ASSIGN(const std::string text, read_whole_file(path, kMaxFile));
  Result<std::vector<Series>> series = parse_series(text);
  if (!series.ok()) return series.error().with_context(display_name(path));
  return series;
}

class BenchCompare final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("BEFORE", before_, "bench.json, or lines of bench run --json");
    arguments.positional("AFTER", after_, "The same, measured later or with other options");
    arguments.flag("--all", all_, "Also figures that are the same");
  }

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(const std::vector<Series> before, read_series(before_));
    HEXAD_TRY_ASSIGN(const std::vector<Series> after, read_series(after_));
    const std::vector<Comparison> figures = compare(before, after);
    if (figures.empty()) {
      return Error{ErrorCode::kNotFound, "the two files have no figure in common", ""};
    }
    if (session.out().json()) {
      session.out().object(json_of(figures));
    } else {
      session.out().write(text_of(figures));
    }
    return count(figures, Verdict::kWorse) > 0 ? kExitDifference : kExitOk;
  }

 private:
  static std::size_t count(const std::vector<Comparison>& figures, Verdict verdict) {
    return static_cast<std::size_t>(
        std::count_if(figures.begin(), figures.end(),
                      [&](const Comparison& figure) { return figure.verdict == verdict; }));
  }

  static Json json_of(const std::vector<Comparison>& figures) {
    Json rows = Json::array();
    for (const Comparison& figure : figures) {
      rows.push_back({{"id", figure.id},
                      {"unit", figure.unit},
                      {"before", figure.before},
                      {"after", figure.after},
                      {"ratio", figure.ratio},
                      {"noise", figure.noise},
                      {"verdict", std::string(to_string(figure.verdict))}});
    }
    return {{"figures", rows},
            {"better", count(figures, Verdict::kBetter)},
            {"worse", count(figures, Verdict::kWorse)},
            {"same", count(figures, Verdict::kSame)},
            {"not_judged", count(figures, Verdict::kNotJudged)}};
  }

  std::string text_of(const std::vector<Comparison>& figures) const {
    std::string text;
    for (const Comparison& figure : figures) {
      if (figure.verdict == Verdict::kSame && !all_) continue;
      text += fmt::format("{:<10} {:>7.3f} x  noise {:>4.1f} %  {:>10.4g} -> {:<10.4g} {:<6} {}\n",
                          to_string(figure.verdict), figure.ratio, 100 * figure.noise,
                          figure.before, figure.after, figure.unit, figure.id);
    }
    return text + fmt::format("{} better, {} worse, {} the same, {} not judged\n",
                              count(figures, Verdict::kBetter), count(figures, Verdict::kWorse),
                              count(figures, Verdict::kSame), count(figures, Verdict::kNotJudged));
  }

  std::string before_;
  std::string after_;
  bool all_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_bench_compare() { return std::make_unique<BenchCompare>(); }

}  // namespace hexad::tools
