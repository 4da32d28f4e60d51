#include "tools/bench/job.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "tools/cli/names.h"

namespace hexad::tools {

namespace {

constexpr std::uint64_t kMaxInFlight = 4096;
constexpr std::uint64_t kMaxObjectSize = 64_MiB;  // filled with one transaction
constexpr std::uint64_t kMaxBatch = 4096;
constexpr std::uint64_t kMaxObjects = std::uint64_t{1} << 32;

Error wrong(const std::string& what) {
  return Error{ErrorCode::kInvalidArgument, what, "See: hexad bench run --help"};
}

Result<Durability> parse_durability(const std::string& text) {
  if (text == "durable") return Durability::kDurable;
  if (text == "buffered") return Durability::kBuffered;
  return Error{ErrorCode::kInvalidArgument,
               "--durability: \"" + display_name(text) + "\" is unknown",
               "One of: durable, buffered"};
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

struct Section {
  std::string name;
  std::vector<std::string> words;  // as on a command line
};

// The sections in order, [global] resolved.
Result<std::vector<Section>> read_sections(const std::string& text) {
  std::vector<Section> sections;
  std::vector<std::string> global;
  bool in_global = false;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = trimmed(text.substr(at, end - at).substr(0, text.find('#', at) - at));
    at = end + 1;
    if (line.empty()) continue;
    const auto refuse = [&](const std::string& why) {
      return wrong(
          fmt::format("line {} of the job file, \"{}\": {}", number + 1, display_name(line), why));
    };
    if (line.front() == '[') {
      if (line.size() < 3 || line.back() != ']') return refuse("a section is written [name]");
      const std::string name = line.substr(1, line.size() - 2);
      in_global = name == "global";
      if (!in_global) sections.push_back({name, global});
      continue;
    }
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos) return refuse("an option is written name = value");
    if (!in_global && sections.empty()) return refuse("it stands before the first section");
    const std::string word =
        "--" + trimmed(line.substr(0, equals)) + "=" + trimmed(line.substr(equals + 1));
    // A section says anew what [global] has said.
    std::vector<std::string>& words = in_global ? global : sections.back().words;
    const std::string option = word.substr(0, word.find('=') + 1);
    std::erase_if(words, [&](const std::string& old) { return old.starts_with(option); });
    words.push_back(word);
  }
  return sections;
}

}  // namespace

void Job::declare(Arguments& arguments) {
  std::string all;
  for (const std::string_view word : workload_names()) {
    all += (all.empty() ? "" : ", ") + std::string(word);
  }
  arguments.option("--rw", workload, all + " [put]");
  arguments.size("--bs", block, "Bytes of each operation [4KiB]");
  arguments.size("--size", object_size, "Bytes of each object that ranges lie in [1MiB]");
  arguments.number("--objects", objects, "How many there are [1000]");
  arguments.number("--threads", threads, "Threads [1]");
  arguments.number("--iodepth", depth, "In flight per thread [1]");
  arguments.number("--batch", batch, "Puts, writes or deletes of one transaction [1]");
  arguments.number("--runtime", runtime_s, "Seconds [10]");
  arguments.option("--durability", durability, "Of changes: durable or buffered [durable]");
  arguments.number("--zipf", zipf, "Theta of Zipf's law, by which places are drawn [none]");
  arguments.number("--rwmixread", read_percent, "Percent of randrw that are reads [50]");
  arguments.number("--compressible", compressible_percent, "Percent of each payload [0]");
  arguments.number("--seed", seed, "Of payloads and places [0]");
}

Result<LoadOptions> Job::load(const std::string& collection) const {
  LoadOptions load;
  HEXAD_TRY_ASSIGN(load.workload, parse_workload(workload));
  HEXAD_TRY_ASSIGN(load.durability, parse_durability(durability));
  const bool ranges = is_of_ranges(load.workload);
  if (block == 0 || block > kMaxObjectSize) {
    return wrong("--bs: " + format_size(block) + " is not between 1 B and 64 MiB");
  }
  if (ranges && (object_size < block || object_size > kMaxObjectSize)) {
    return wrong("--size: " + format_size(object_size) + " is not between --bs and 64 MiB");
  }
  if (objects == 0 || objects > kMaxObjects) {
    return wrong(fmt::format("--objects: {} is not between 1 and {}", objects, kMaxObjects));
  }
  if (threads == 0 || depth == 0 || threads > kMaxInFlight || depth > kMaxInFlight ||
      threads * depth > kMaxInFlight) {
    return wrong(fmt::format("--threads x --iodepth: {} x {} is not between 1 and {}", threads,
                             depth, kMaxInFlight));
  }
  if (batch == 0 || batch > kMaxBatch) {
    return wrong(fmt::format("--batch: {} is not between 1 and {}", batch, kMaxBatch));
  }
  if (moves_bytes(load.workload) && batch * block > kMaxObjectSize) {
    return wrong(fmt::format("--batch: {} of {} are more than 64 MiB", batch, format_size(block)));
  }
  if (batch > objects && !ranges) {
    return wrong(fmt::format("--batch: {} of {} --objects in one transaction", batch, objects));
  }
  if (batch > 1 && !is_submitted(load.workload)) {
    return wrong("--batch: only put, write, randwrite and delete have several in a transaction");
  }
  if (!(runtime_s > 0) || runtime_s > 1e6) return wrong("--runtime: not a positive time");
  if (!(zipf >= 0) || zipf > Zipf::kMaxTheta) {
    return wrong(fmt::format("--zipf: not between 0 and {}", Zipf::kMaxTheta));
  }
  if (zipf > 0 && load.workload == Workload::kDelete) {
    return wrong("--zipf: an object is deleted once only");
  }
  if (compressible_percent > 100) return wrong("--compressible: more than 100 percent");
  if (read_percent > 100) return wrong("--rwmixread: more than 100 percent");
  load.collection = collection;
  load.block = block;
  load.object_size = ranges ? object_size : block;
  load.objects = objects;
  load.threads = static_cast<std::uint32_t>(threads);
  load.depth = static_cast<std::uint32_t>(depth);
  load.batch = static_cast<std::uint32_t>(batch);
  load.zipf = zipf;
  load.read_percent = static_cast<std::uint32_t>(read_percent);
  load.compressible_percent = static_cast<std::uint32_t>(compressible_percent);
  load.seed = seed;
  return load;
}

Result<std::vector<Job>> parse_jobs(const std::string& text, const Job& defaults) {
  HEXAD_TRY_ASSIGN(const std::vector<Section> sections, read_sections(text));
  if (sections.empty()) return wrong("the job file has no section");
  std::vector<Job> jobs;
  for (const Section& section : sections) {
    Job job = defaults;
    job.name = section.name;
    Arguments arguments("bench run", "", "");
    job.declare(arguments);
    const Result<std::optional<std::string>> parsed = arguments.parse(section.words);
    if (!parsed.ok()) {
      return parsed.error().with_context("section [" + display_name(section.name) + "]");
    }
    // Where a mistake is found: before anything is measured.
    const Status checked = job.load("").status();
    if (!checked.ok()) {
      return checked.error().with_context("section [" + display_name(section.name) + "]");
    }
    jobs.push_back(std::move(job));
  }
  return jobs;
}

}  // namespace hexad::tools
