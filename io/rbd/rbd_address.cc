#include "io/rbd/rbd_address.h"

#include <cstddef>

#include "io/device_path.h"

namespace hexad::io {

namespace {

Error bad_address(std::string_view text, const std::string& what) {
  return Error{ErrorCode::kInvalidArgument, std::string(text) + ": " + what,
               "Name an image as rbd:POOL/IMAGE, with ?conf=FILE and &id=USER where needed."};
}

// Takes what is in front of the first `mark` off `text`; all, where there is none.
std::string_view cut_front(std::string_view& text, char mark) {
  const std::size_t at = text.find(mark);
  const std::string_view front = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return front;
}

}  // namespace

Result<RbdAddress> RbdAddress::parse(std::string_view text) {
  if (!is_rbd_path(text)) return bad_address(text, "does not begin with rbd:");
  std::string_view keys = text.substr(kRbdPrefix.size());
  const bool has_keys = keys.find('?') != std::string_view::npos;
  const std::string_view place = cut_front(keys, '?');
  RbdAddress address;
  std::string_view rest = place;
  address.pool = cut_front(rest, '/');
  if (address.pool.empty() || rest.empty()) return bad_address(text, "a pool or image is missing");
  if (rest.find('/') != std::string_view::npos) {
    return bad_address(text, "more than one / (namespaces of pools are not known here)");
  }
  const bool has_snapshot = rest.find('@') != std::string_view::npos;
  address.image = cut_front(rest, '@');
  address.snapshot = rest;
  if (address.image.empty() || (has_snapshot && address.snapshot.empty())) {
    return bad_address(text, "an image or snapshot is missing");
  }
  if (has_keys && keys.empty()) return bad_address(text, "nothing behind the ?");
  while (!keys.empty()) {
    std::string_view value = cut_front(keys, '&');
    const std::string_view pair = value;
    const std::string_view key = cut_front(value, '=');
    std::string* const field = key == "conf"        ? &address.conf
                               : key == "id"        ? &address.user
                               : key == "data_pool" ? &address.data_pool
                                                    : nullptr;
    if (field == nullptr) {
      return bad_address(text, "'" + std::string(pair) + "' is none of conf=, id= and data_pool=");
    }
    if (value.empty() || !field->empty()) {
      return bad_address(text, "'" + std::string(key) + "' has no value, or is there twice");
    }
    *field = value;
  }
  return address;
}

std::string RbdAddress::keys() const {
  std::string keys;
  if (!conf.empty()) keys += "?conf=" + conf;
  if (!user.empty()) keys += (keys.empty() ? "?id=" : "&id=") + user;
  return keys;
}

}  // namespace hexad::io
