#include "io/sim/crash_recorder.h"

#include <utility>

#include "base/assert.h"

namespace hexad::io {

CrashRecorder::DiskIndex CrashRecorder::add_disk(std::string name,
                                                 std::shared_ptr<const CowImage> initial,
                                                 std::uint32_t physical_block) {
  const auto index = static_cast<DiskIndex>(disks_.size());
  disks_.push_back({std::move(name), std::move(initial), physical_block, index});
  return index;
}

CrashRecorder::DiskIndex CrashRecorder::add_disk_in_domain_of(
    DiskIndex with, std::string name, std::shared_ptr<const CowImage> initial,
    std::uint32_t physical_block) {
  const DiskIndex index = add_disk(std::move(name), std::move(initial), physical_block);
  disks_[index].flush_domain = disks_[with].flush_domain;
  return index;
}

CrashRecorder::DiskIndex CrashRecorder::disk_index(const std::string& name) const {
  for (DiskIndex i = 0; i < disks_.size(); ++i) {
    if (disks_[i].name == name) return i;
  }
  HEXAD_ASSERT(false);
  return 0;
}

OpId CrashRecorder::submit_write(DiskIndex disk, std::uint64_t offset, std::uint64_t length,
                                 std::shared_ptr<const Bytes> data, WriteMode mode) {
  const OpId op = disk_of_op_.size();
  disk_of_op_.push_back(disk);
  events_.push_back({Event::Kind::kSubmitWrite, disk, op, offset, length, std::move(data), mode});
  return op;
}

void CrashRecorder::complete_write(OpId op) {
  events_.push_back({Event::Kind::kCompleteWrite, disk_of_op_[op], op, 0, 0, nullptr, {}});
}

void CrashRecorder::drop_write(OpId op) {
  events_.push_back({Event::Kind::kDropWrite, disk_of_op_[op], op, 0, 0, nullptr, {}});
}

OpId CrashRecorder::submit_flush(DiskIndex disk) {
  const OpId op = disk_of_op_.size();
  disk_of_op_.push_back(disk);
  events_.push_back({Event::Kind::kSubmitFlush, disk, op, 0, 0, nullptr, {}});
  return op;
}

void CrashRecorder::complete_flush(OpId op) {
  events_.push_back({Event::Kind::kCompleteFlush, disk_of_op_[op], op, 0, 0, nullptr, {}});
}

void CrashRecorder::fail_flush(OpId op) {
  events_.push_back({Event::Kind::kFailFlush, disk_of_op_[op], op, 0, 0, nullptr, {}});
}

void CrashRecorder::resize(DiskIndex disk, std::uint64_t new_size) {
  const OpId op = disk_of_op_.size();
  disk_of_op_.push_back(disk);
  events_.push_back({Event::Kind::kResize, disk, op, new_size, 0, nullptr, {}});
}

void CrashRecorder::record_write(DiskIndex disk, std::uint64_t offset, ByteView bytes,
                                 WriteMode mode) {
  auto copy = std::make_shared<const Bytes>(bytes.begin(), bytes.end());
  complete_write(submit_write(disk, offset, bytes.size(), std::move(copy), mode));
}

void CrashRecorder::record_sync(DiskIndex disk) { complete_flush(submit_flush(disk)); }

}  // namespace hexad::io
