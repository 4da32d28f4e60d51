// hexad mkfs: a new pool. POOL and its description stay only if formatting succeeded.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "compression/codec.h"
#include "tools/cli/file.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/names.h"
#include "tools/cli/progress.h"
#include "tools/verbs/pool_paths.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

namespace fs = std::filesystem;

// Directories that this run has made; removed again, innermost first, unless kept.
class NewDirectories {
 public:
  NewDirectories() = default;
  NewDirectories(const NewDirectories&) = delete;
  NewDirectories& operator=(const NewDirectories&) = delete;
  ~NewDirectories() {
    for (auto path = made_.rbegin(); path != made_.rend(); ++path) {
      std::error_code ignored;  // not empty any more: somebody else's now
      fs::remove(*path, ignored);
    }
  }

  // Makes `path` and its parents where missing.
  Status make(const fs::path& path) {
    std::error_code ignored;
    if (path.empty() || fs::is_directory(path, ignored)) return {};
    HEXAD_TRY(make(path.parent_path()));
    if (mkdir(path.c_str(), 0777) != 0) {
      if (errno == EEXIST || errno == ENOTDIR) {
        return Error{ErrorCode::kInvalidArgument, path.string() + ": a file is in the way",
                     "Choose another directory for the pool."};
      }
      return system_error(errno, path.string(), "cannot create the directory");
    }
    made_.push_back(path);
    return {};
  }
  void keep() { made_.clear(); }

 private:
  std::vector<fs::path> made_;
};

class Mkfs final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments_ = &arguments;
    arguments.positional("POOL", pool_, "Directory to create for the pool");
    arguments.option_list("--device", devices_,
                          "Files, block devices, disks that other machines see, too "
                          "(reserved:/dev/...), or images (rbd:POOL/IMAGE), k+m or more; files and "
                          "images that are missing are created");
    arguments.option_list("--failure-domain", domains_,
                          "NAME=PATH...: devices, in place of --device, and what each shares with "
                          "others and fails with (an enclosure, a controller): a stripe is spread "
                          "so that the loss of a whole domain is survived");
    arguments.size("--size", size_, "Size of created files [1GiB]");
    arguments.option_list("--fast", fast_, "Directories of the fast tier [POOL/fast]");
    arguments.flag("--no-fast", no_fast_,
                   "No fast tier: log and metadata are on the data devices alone");
    arguments.option("--preset", preset_, "nvme, hdd or tiny: defaults of the rest [nvme]");
    arguments.option("--profile", profile_, "Data and parity cells per stripe [4+2]");
    arguments.option("--codec", codec_,
                     "isa-vandermonde, isa-cauchy, jerasure:reed_sol_van, ... [by profile]");
    arguments.size("--min-alloc", min_alloc_,
                   "Allocation unit [4KiB, or as much as devices write whole]");
    arguments.option("--checksum", checksum_, "crc32c or xxh3 [crc32c]");
    arguments.size("--checksum-block", checksum_block_,
                   "Bytes under one checksum: 4KiB, 16KiB or 64KiB [16KiB]");
    arguments.option("--compression", compression_, "none, passive, aggressive or force [none]");
    arguments.option("--algorithm", algorithm_, compression::algorithm_names() + " [snappy]");
    arguments.size("--log-size", log_size_, "Bytes of each log copy [by capacity]");
    arguments.flag("--redundant-devices", redundant_devices_,
                   "Each device is redundant itself (RAID array, EBS volume, zvol, RBD image): "
                   "profiles without parity, such as 4+0, need that");
    arguments.flag("--force", force_, "Overwrite an existing pool or other data");
    arguments.number("--wait", wait_seconds_,
                     "Seconds to wait while another program has the devices [0]");
  }

  Result<int> run(Session& session) override {
    session.out().name_pool(shell_word(pool_));
    HEXAD_TRY_ASSIGN(FormatOptions options, format_options());
    HEXAD_TRY(refuse_existing());
    NewDirectories made;
    HEXAD_TRY(made.make(absolute_path(pool_)));
    HEXAD_TRY(check_writable());
    FormatReport made_of;
    PoolDescription description;
    {
      Progress progress(session.out(), session.clock(), "mkfs", 0);
      std::uint64_t told = 0;
      options.progress = [&](std::uint64_t done, std::uint64_t total) {
        progress.set_total(total);
        progress.advance(done - std::min(done, told));
        told = std::max(told, done);
        return !interrupted();
      };
      HEXAD_TRY(session.when_free(wait_seconds_, [&]() -> Status {
        HEXAD_TRY_ASSIGN(description, Store::format(options, nullptr, &made_of));
        return {};
      }));
    }
    for (const std::string& note : made_of.notes) session.out().warn(note);
    made.keep();
    HEXAD_TRY(write_pool(pool_, description));
    return report(session, options, description, made_of.min_alloc);
  }

 private:
  Result<FormatOptions> format_options() {
    FormatOptions options;
    if (!preset_.empty()) {
      HEXAD_TRY_ASSIGN(const Preset preset, parse_preset(preset_));
      options = FormatOptions(preset);
    }
    for (const std::string& device : devices_) options.devices.push_back(absolute_path(device));
    HEXAD_TRY(add_domains(options));
    if (no_fast_ && !fast_.empty()) {
      return Error{ErrorCode::kInvalidArgument, "mkfs: --fast and --no-fast exclude each other",
                   "Give one of them, or neither."};
    }
    if (!no_fast_ && fast_.empty()) fast_.push_back((fs::path(pool_) / "fast").string());
    for (const std::string& fast : fast_) options.fast_directories.push_back(absolute_path(fast));
    options.force = force_;
    options.redundant_devices = redundant_devices_;
    if (given("--size")) options.device_size = size_;
    if (given("--min-alloc")) options.min_alloc = min_alloc_;
    if (given("--checksum-block")) options.checksum_block = checksum_block_;
    if (given("--log-size")) options.log_size = log_size_;
    if (given("--profile") || given("--codec")) {
      HEXAD_TRY_ASSIGN(options.profile, ec::parse_profile(profile_, codec_));
    }
    if (given("--checksum")) {
      HEXAD_TRY_ASSIGN(options.checksum, parse_checksum_type(checksum_));
    }
    if (given("--compression")) {
      HEXAD_TRY_ASSIGN(options.compression.mode, compression::parse_mode(compression_));
    }
    if (given("--algorithm")) {
      HEXAD_TRY_ASSIGN(options.compression.algorithm, compression::parse_algorithm(algorithm_));
    }
    if (options.devices.empty()) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("mkfs: no devices; {} needs {} or more",
                               ec::to_string(options.profile), options.profile.shards()),
                   "Name them with --device PATH...; files that do not exist are created."};
    }
    HEXAD_TRY(options.validate());
    return options;
  }

  Status add_domains(FormatOptions& options) const {
    if (domains_.empty()) return {};
    if (!devices_.empty()) {
      return Error{ErrorCode::kInvalidArgument,
                   "mkfs: --device and --failure-domain exclude each other",
                   "Where some devices are in a failure domain, all are: give each as "
                   "--failure-domain NAME=PATH."};
    }
    for (const std::string& word : domains_) {
      const std::size_t at = word.find('=');
      if (at == std::string::npos || at == 0 || at + 1 == word.size()) {
        return Error{
            ErrorCode::kInvalidArgument,
            fmt::format("mkfs: --failure-domain {}: not a name and a path", printable(word)),
            "Write NAME=PATH, such as shelf-1=/dev/sdb."};
      }
      options.failure_domains.push_back(word.substr(0, at));
      options.devices.push_back(absolute_path(word.substr(at + 1)));
    }
    return {};
  }

  Status refuse_existing() const {
    struct stat info = {};
    const fs::path description = fs::path(pool_) / "hexad.pool";
    if (lstat(description.c_str(), &info) != 0) return {};
    if (S_ISDIR(info.st_mode)) {
      return Error{ErrorCode::kInvalidArgument, description.string() + " is a directory",
                   "Choose another directory for the pool."};
    }
    if (force_) return {};
    return Error{ErrorCode::kAlreadyExists, description.string() + ": here is a pool already",
                 "Choose another directory, or overwrite everything in it with --force."};
  }

  // The pool's description is written when everything else is.
  Status check_writable() const {
    if (access(pool_.c_str(), W_OK | X_OK) == 0) return {};
    return system_error(errno, pool_, "cannot write into the directory");
  }

  Result<int> report(Session& session, const FormatOptions& options,
                     const PoolDescription& description, std::uint64_t min_alloc) {
    if (session.out().json()) {
      session.out().object(Json{{"pool", absolute_path(pool_)},
                                {"profile", ec::to_string(options.profile)},
                                {"codec", ec::codec_to_string(options.profile)},
                                {"min_alloc", min_alloc},
                                {"devices", description.devices},
                                {"failure_domains", options.failure_domains},
                                {"fast", description.fast_directories}});
    }
    session.out().note(fmt::format("created {}: {} devices, {} {}, units of {}", pool_,
                                   description.devices.size(), ec::to_string(options.profile),
                                   ec::codec_to_string(options.profile), format_size(min_alloc)));
    return kExitOk;
  }

  bool given(const char* option) const { return arguments_->given(option); }

  const Arguments* arguments_ = nullptr;
  std::string pool_;
  std::vector<std::string> devices_;
  std::vector<std::string> domains_;
  std::vector<std::string> fast_;
  bool no_fast_ = false;
  std::string preset_;
  std::string profile_ = "4+2";
  std::string codec_;
  std::string checksum_;
  std::string compression_;
  std::string algorithm_;
  std::uint64_t size_ = 0;
  std::uint64_t min_alloc_ = 0;
  std::uint64_t checksum_block_ = 0;
  std::uint64_t log_size_ = 0;
  bool redundant_devices_ = false;
  bool force_ = false;
  double wait_seconds_ = 0;
};

}  // namespace

std::unique_ptr<Verb> make_mkfs() { return std::make_unique<Mkfs>(); }

}  // namespace hexad::tools
