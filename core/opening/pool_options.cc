#include "core/opening/pool_options.h"

#include "base/codec.h"

namespace hexad::core {

namespace {

constexpr std::uint8_t kVersion = 1;

}  // namespace

std::string encode_pool_options(const PoolOptions& options) {
  std::string bytes;
  Encoder out(bytes);
  out.u8(kVersion);
  ec::encode_profile(out, options.profile);
  compression::encode_policy(out, options.compression);
  out.varint(options.fast_directories.size());
  for (const std::string& directory : options.fast_directories) out.bytes(directory);
  out.varint(options.devices.size());
  for (const PooledDevice& device : options.devices) {
    out.varint(device.id);
    out.u8(static_cast<std::uint8_t>(device.role));
    out.varint(device.slab_units);
    out.varint(device.slab_count);
  }
  return bytes;
}

Result<PoolOptions> decode_pool_options(std::string_view bytes) {
  Decoder in(bytes);
  if (in.u8() != kVersion) in.fail();
  HEXAD_TRY(in.check("pool options"));
  PoolOptions options;
  HEXAD_TRY_ASSIGN(options.profile, ec::decode_profile(in));
  HEXAD_TRY_ASSIGN(options.compression, compression::decode_policy(in));
  const std::uint64_t directories = in.count(1);
  for (std::uint64_t i = 0; i < directories; ++i) {
    options.fast_directories.emplace_back(in.bytes());
  }
  const std::uint64_t devices = in.count(4);
  for (std::uint64_t i = 0; i < devices; ++i) {
    PooledDevice device;
    device.id = static_cast<DeviceId>(in.varint_up_to(UINT32_MAX));
    const std::uint8_t role = in.u8();
    if (role != static_cast<std::uint8_t>(alloc::DeviceRole::kData) &&
        role != static_cast<std::uint8_t>(alloc::DeviceRole::kLog)) {
      in.fail();
    }
    device.role = static_cast<alloc::DeviceRole>(role);
    device.slab_units = static_cast<std::uint32_t>(in.varint_up_to(alloc::kMaxSlabUnits));
    device.slab_count = static_cast<std::uint32_t>(in.varint_up_to(alloc::kMaxSlabs));
    options.devices.push_back(device);
  }
  HEXAD_TRY(in.finish("pool options"));
  return options;
}

std::string fast_log_path(const std::string& directory) { return directory + "/log"; }
std::string index_directory(const std::vector<std::string>& fast_directories) {
  return fast_directories.empty() ? "index" : fast_index_path(fast_directories.front());
}

std::string fast_index_path(const std::string& directory) { return directory + "/index"; }

std::string resident_path(const std::vector<std::string>& fast_directories) {
  return fast_directories.empty() ? "" : fast_directories.front() + "/blocks";
}

}  // namespace hexad::core
