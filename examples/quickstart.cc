// A store in one file: make it, commit two objects together, lose two devices, read them back.
//
//   quickstart DIRECTORY      makes its pool there: six files of 64 MiB and a fast tier
#include <hexad/hexad.h>

#include <cstdio>
#include <string>

namespace {

hexad::Status run(const std::string& directory) {
  hexad::FormatOptions format(hexad::Preset::kTiny);
  format.device_size = 64 << 20;
  format.fast_directories = {directory + "/fast"};
  for (int i = 0; i < 6; ++i) format.devices.push_back(directory + "/drive" + std::to_string(i));
  HEXAD_TRY_ASSIGN(const hexad::PoolDescription pool, hexad::Store::format(format));
  HEXAD_TRY(hexad::write_pool(directory, pool));  // so that `hexad status DIRECTORY` works too

  const hexad::Bytes weights(3'000'000, std::byte{42});
  {
    HEXAD_TRY_ASSIGN(hexad::Store store, hexad::Store::open(pool));
    hexad::Transaction transaction;
    transaction.put("default", "run7/weights", weights);
    transaction.put("default", "run7/meta.json", R"({"epoch": 7})");
    transaction.set_attr("default", "run7/weights", "kind", "float32");
    HEXAD_TRY_ASSIGN(const hexad::Lsn lsn, store.commit(std::move(transaction)));
    std::printf("both objects are durable as of LSN %llu\n", static_cast<unsigned long long>(lsn));
    HEXAD_TRY(store.close());
  }

  for (const int lost : {1, 4}) std::remove((directory + "/drive" + std::to_string(lost)).c_str());

  hexad::RuntimeOptions reading;
  reading.access = hexad::Access::kReadOnly;
  HEXAD_TRY_ASSIGN(hexad::Store store, hexad::Store::open(pool, reading));
  std::printf("without two drives: survives the loss of %u more\n",
              store.status().faults_tolerated);
  hexad::ListOptions under_run7;
  under_run7.prefix = "run7/";
  HEXAD_TRY_ASSIGN(const hexad::ListPage page, store.list("default", under_run7));
  for (const hexad::ListEntry& entry : page.entries) {
    std::printf("  %.*s, %llu bytes\n", static_cast<int>(entry.name.size()), entry.name.data(),
                static_cast<unsigned long long>(entry.size));
  }
  HEXAD_TRY_ASSIGN(const hexad::Bytes back, store.get("default", "run7/weights"));
  if (back != weights) {
    return hexad::Error{hexad::ErrorCode::kCorruption, "run7/weights came back different", ""};
  }
  std::printf("every byte is back\n");
  return store.close();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
    return 2;
  }
  const hexad::Status status = run(argv[1]);
  if (!status.ok()) {
    // The message says what failed, the hint what to do next.
    std::fprintf(stderr, "quickstart: %s\n", status.error().to_string().c_str());
    return 1;
  }
  return 0;
}
