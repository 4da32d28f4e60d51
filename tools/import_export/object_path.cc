#include "tools/import_export/object_path.h"

#include <cstddef>
#include <utility>

namespace hexad::tools {

namespace {

constexpr std::size_t kMaxComponent = 255;  // bytes; NAME_MAX of every common file system

Error unsafe(std::string reason) {
  return Error{ErrorCode::kInvalidArgument, std::move(reason),
               "Read it by itself: hexad get POOL NAME FILE"};
}

}  // namespace

Result<ObjectPath> split_object_name(std::string_view name) {
  if (name.empty()) return unsafe("the name is empty");
  if (name.front() == '/') return unsafe("the name is absolute");
  if (name.find('\0') != std::string_view::npos) return unsafe("the name holds a zero byte");
  ObjectPath path;
  if (name.back() == '/') {
    path.directory = true;
    name.remove_suffix(1);
  }
  for (;;) {
    const std::size_t slash = name.find('/');
    const std::string_view component = name.substr(0, slash);
    if (component.empty()) return unsafe("the name has an empty component");
    if (component == "." || component == "..") {
      return unsafe("the name has a component \"" + std::string(component) + "\"");
    }
    if (component.size() > kMaxComponent) {
      return unsafe("the name has a component of " + std::to_string(component.size()) +
                    " bytes; files may have " + std::to_string(kMaxComponent));
    }
    if (slash == std::string_view::npos) {
      path.leaf = component;
      return path;
    }
    path.parents.emplace_back(component);
    name.remove_prefix(slash + 1);
  }
}

}  // namespace hexad::tools
