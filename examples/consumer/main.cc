// An application outside the tree: counts its own starts in a store.
//
//   counter DIRECTORY
#include <hexad/hexad.h>

#include <cstdio>
#include <string>

namespace {

hexad::Result<hexad::PoolDescription> find_or_make_pool(const std::string& directory) {
  hexad::Result<hexad::PoolDescription> pool = hexad::read_pool(directory);
  if (pool.ok() || pool.error().code != hexad::ErrorCode::kNotFound) return pool;
  hexad::FormatOptions format(hexad::Preset::kTiny);
  format.device_size = 64 << 20;
  format.fast_directories = {directory + "/fast"};
  for (int i = 0; i < 6; ++i) format.devices.push_back(directory + "/drive" + std::to_string(i));
  pool = hexad::Store::format(format);
  if (pool.ok()) HEXAD_TRY(hexad::write_pool(directory, *pool));
  return pool;
}

hexad::Result<int> count_start(const std::string& directory) {
  HEXAD_TRY_ASSIGN(const hexad::PoolDescription pool, find_or_make_pool(directory));
  HEXAD_TRY_ASSIGN(hexad::Store store, hexad::Store::open(pool));
  int starts = 0;
  const hexad::Result<hexad::Bytes> old = store.get("default", "starts");
  if (old.ok()) starts = std::stoi(std::string(hexad::as_text(*old)));
  hexad::Transaction transaction;
  transaction.put("default", "starts", std::to_string(starts + 1));
  HEXAD_TRY(store.commit(std::move(transaction)).status());
  HEXAD_TRY(store.close());
  return starts + 1;
}

}  // namespace

int main(int argc, char** argv) {
  const hexad::Result<int> starts = count_start(argc > 1 ? argv[1] : ".");
  if (!starts.ok()) {
    std::fprintf(stderr, "%s\n", starts.error().to_string().c_str());
    return 1;
  }
  std::printf("start number %d\n", *starts);
  return 0;
}
