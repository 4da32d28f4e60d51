// What names a device: the path of a file or block device, or the address of one that is no file,
// or is not this machine's alone.
// Addresses stay as they are where paths are made absolute, or their links followed.
#pragma once

#include <string_view>

namespace hexad::io {

inline constexpr std::string_view kRbdPrefix = "rbd:";

// An image of a Ceph cluster (io/rbd/rbd_address.h).
inline bool is_rbd_path(std::string_view path) { return path.starts_with(kRbdPrefix); }

// A snapshot of such an image, which is as it was at some moment.
inline bool is_snapshot_path(std::string_view path) {
  return is_rbd_path(path) && path.substr(0, path.find('?')).find('@') != std::string_view::npos;
}

inline constexpr std::string_view kReservedPrefix = "reserved:";

// A disk that several machines see, and one of them reserves (io/os/reservation.h): its path
// follows, from the root.
inline bool is_reserved_path(std::string_view path) { return path.starts_with(kReservedPrefix); }

// The path of the disk; of any other path that itself.
inline std::string_view disk_of(std::string_view path) {
  return is_reserved_path(path) ? path.substr(kReservedPrefix.size()) : path;
}

// Names no file, though there may be one that is called so: ./rbd:x is its path.
inline bool is_address(std::string_view path) {
  return is_rbd_path(path) || is_reserved_path(path);
}

}  // namespace hexad::io
