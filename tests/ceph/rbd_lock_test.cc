// Who may write an image: one client at a time, which the cluster sees to.
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "base/units.h"
#include "io/rbd/rbd_cluster.h"
#include "io/rbd/rbd_device.h"
#include "io/rbd/rbd_lockers.h"
#include "tests/ceph/ceph_images.h"
#include "tests/io/device_contract.h"

using namespace hexad;
using namespace hexad::io;
using hexad::io::testing::ceph_conf;
using hexad::io::testing::CephImages;
using hexad::io::testing::pattern;

namespace {

std::string why(const Status& status) { return status.ok() ? "" : status.error().to_string(); }

std::string output_of(const std::string& command) {
  std::FILE* const pipe = popen((command + " --conf " + ceph_conf() + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  char part[4096];
  for (std::size_t got = 0; (got = std::fread(part, 1, sizeof(part), pipe)) > 0;) {
    text.append(part, got);
  }
  CAPTURE(command, text);
  REQUIRE(pclose(pipe) == 0);
  return text;
}

// Shuts the client that has the image's lock out of the cluster, as an administrator or another
// writer would, and takes the lock from it.
void break_lock(const std::string& image) {
  const std::string locks = output_of("rbd lock ls " + image + " --format json");
  const auto value_of = [&](const std::string& key) {
    const std::string begin = "\"" + key + "\":\"";
    const std::size_t at = locks.find(begin);
    REQUIRE(at != std::string::npos);
    const std::size_t from = at + begin.size();
    return locks.substr(from, locks.find('"', from) - from);
  };
  const std::string broken =
      "rbd lock rm " + image + " '" + value_of("id") + "' " + value_of("locker");
  static_cast<void>(output_of(broken));
}

std::string address_of_holder(const std::string& message) {
  const std::string before = "client at ";
  const std::size_t at = message.find(before);
  REQUIRE(at != std::string::npos);
  const std::size_t from = at + before.size();
  return message.substr(from, message.find(' ', from) - from);
}

}  // namespace

TEST_CASE("rbd_lock: a child that lets go of a device leaves image and lock to its parent") {
  CephImages images;
  const std::string path = images.address("a");
  const auto system = make_real_system().value();
  auto device = system->create_device(path, 8_MiB).value();
  const AlignedBuffer data = pattern(1, 4096);
  REQUIRE(device->write(0, data).ok());
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(60);  // what hangs ends, and not well
    device.reset();
    _exit(0);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(why(device->write(4096, data)) == "");
  const auto other = make_real_system().value();
  const auto second = other->open_device(path, OpenMode::kReadWrite);
  REQUIRE_FALSE(second.ok());
  CHECK(second.error().code == ErrorCode::kBusy);
}

TEST_CASE("rbd_lock: a second writer is refused, and told who has the image") {
  CephImages images;
  const std::string path = images.address("a");
  const auto one = make_real_system().value();
  const auto other = make_real_system().value();
  auto device = one->create_device(path, 8_MiB).value();
  const std::string holder = output_of("rbd lock ls " + images.image("a") + " --format json");
  for (const auto& system : {&one, &other}) {  // of this client, too
    const auto second = (*system)->open_device(path, OpenMode::kReadWrite);
    REQUIRE_FALSE(second.ok());
    CHECK(second.error().code == ErrorCode::kBusy);
    const std::string& message = second.error().message;
    const std::string address = address_of_holder(message);
    CHECK_THAT(holder, Catch::Contains(address));
    if (system == &other) CHECK_THAT(message, Catch::Contains("watched by " + address));
    CHECK_THAT(message, Catch::Contains(", process " + std::to_string(getpid()) + ", ") &&
                            Catch::Contains(", since 20"));
  }
  const auto reader = other->open_device(path, OpenMode::kReadOnly);
  REQUIRE_FALSE(reader.ok());
  CHECK(reader.error().code == ErrorCode::kBusy);
  CHECK_THAT(reader.error().hint,
             Catch::Contains("hexad snapshot-group create POOL NAME; open rbd:log/GROUP@NAME"));
  CHECK(other->open_device(path, OpenMode::kLook).ok());
  // Asking has taken nothing from who has it.
  const AlignedBuffer data = pattern(1, 4096);
  REQUIRE(why(device->write(0, data)) == "");
  REQUIRE_FALSE(device->is_fenced());
  device.reset();
  CHECK(other->open_device(path, OpenMode::kReadOnly).ok());
  CHECK(other->open_device(path, OpenMode::kReadWrite).ok());
}

TEST_CASE("rbd_lock: a writer whose lock was broken writes nothing any more, and says so") {
  CephImages images;
  const std::string path = images.address("a");
  const auto one = make_real_system().value();
  const auto other = make_real_system().value();
  const auto old = one->create_device(path, 8_MiB).value();
  const auto beside = one->create_device(images.address("b"), 8_MiB).value();
  const AlignedBuffer first = pattern(1, 64_KiB);
  const AlignedBuffer second = pattern(2, 64_KiB);
  const AlignedBuffer late = pattern(3, 64_KiB);
  REQUIRE(why(old->write(0, first)) == "");
  break_lock(images.image("a"));
  const auto now = other->open_device(path, OpenMode::kReadWrite).value();
  // Some are on their way when the first comes back.
  IoBatch batch;
  for (int i = 0; i < 16; ++i) {
    batch.requests.push_back(IoRequest::write(*old, static_cast<std::uint64_t>(i) * 64_KiB, late));
  }
  batch.requests.push_back(IoRequest::flush(*old));
  one->queue().run(batch);
  for (const IoRequest& request : batch.requests) {
    REQUIRE_FALSE(request.status.ok());
    CHECK(request.status.error().code == ErrorCode::kFenced);
  }
  CHECK(old->is_fenced());
  CHECK(old->traffic().failed_writes == 0);  // no fault of the device
  AlignedBuffer found(64_KiB);
  for (std::uint64_t at = 0; at < 1_MiB; at += 64_KiB) {
    CAPTURE(at);
    REQUIRE(why(now->read(at, found.bytes())) == "");
    CHECK(as_text(found) != as_text(late));
  }
  REQUIRE(why(now->write(0, second)) == "");
  for (const Status& status : {old->write(0, late), old->flush(), old->discard(0, 64_KiB),
                               old->grow(16_MiB), old->read(0, found.bytes())}) {
    REQUIRE_FALSE(status.ok());
    CHECK(status.error().code == ErrorCode::kFenced);
  }
  REQUIRE(why(now->read(0, found.bytes())) == "");
  CHECK(as_text(found) == as_text(second));
  // It was one client, which is shut out of all that it had.
  CHECK_FALSE(beside->write(0, late).ok());
  CHECK(beside->is_fenced());
  CHECK_FALSE(now->is_fenced());
}

TEST_CASE("rbd_lock: whoever has an image is named, and can be shut out of it while it writes") {
  CephImages images;
  const std::string path = images.address("a");
  const auto one = make_real_system().value();
  const auto other = make_real_system().value();
  REQUIRE(other->holder(path).error().code == ErrorCode::kNotFound);
  auto device = one->create_device(path, 8_MiB).value();
  const Holder holder = other->holder(path).value().value();
  CHECK(holder.can_be_shut_out);
  CHECK_THAT(holder.who, Catch::Contains("the client at "));
  REQUIRE(why(device->write(0, pattern(1, 4096))) == "");  // asking took nothing
  REQUIRE(why(other->shut_out(path)) == "");
  CHECK_FALSE(other->holder(path).value().has_value());
  REQUIRE(why(other->shut_out(path)) == "");
  const auto now = other->open_device(path, OpenMode::kReadWrite);
  REQUIRE(why(now.status()) == "");
  CHECK(device->write(0, pattern(2, 4096)).error().code == ErrorCode::kFenced);
  CHECK(device->is_fenced());
  AlignedBuffer found(4096);
  REQUIRE(why((*now)->read(0, found.bytes())) == "");
  CHECK(as_text(found) == as_text(pattern(1, 4096)));
}

TEST_CASE("rbd_lock: where who loses the lock is not shut out, nobody opens or takes it over") {
  CephImages images;
  const std::string path = images.address("a");
  const auto one = make_real_system().value();
  const auto other = make_real_system().value();
  auto device = one->create_device(path, 8_MiB).value();
  const std::string setting = images.image("a") + " rbd_blocklist_on_break_lock";
  static_cast<void>(output_of("rbd config image set " + setting + " false"));
  const Status refused = other->shut_out(path);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kUnsupported);
  CHECK_THAT(refused.error().hint, Catch::Contains("rbd config image remove " + setting));
  REQUIRE(why(device->write(0, pattern(1, 4096))) == "");  // it has its lock
  device.reset();
  CHECK(other->open_device(path, OpenMode::kReadWrite).error().code == ErrorCode::kUnsupported);
  static_cast<void>(output_of("rbd config image remove " + setting));
  CHECK(other->open_device(path, OpenMode::kReadWrite).ok());
}

TEST_CASE("rbd_lock: a lock that was made by hand is nobody's to break") {
  CephImages images;
  const std::string path = images.address("a");
  const auto system = make_real_system().value();
  REQUIRE(system->create_device(path, 8_MiB).ok());
  static_cast<void>(output_of("rbd lock add " + images.image("a") + " mine"));
  const auto holder = system->holder(path).value();
  REQUIRE(holder.has_value());
  CHECK_FALSE(holder->can_be_shut_out);
  CHECK_FALSE(system->shut_out(path).ok());
  const std::string locks = output_of("rbd lock ls " + images.image("a") + " --format json");
  const std::size_t at = locks.find("client.");
  REQUIRE(at != std::string::npos);
  const std::string locker = locks.substr(at, locks.find('"', at) - at);
  static_cast<void>(output_of("rbd lock rm " + images.image("a") + " mine " + locker));
}

// Another process: it says over its standard output that it has the image, and stays.
TEST_CASE("rbd_lock: has the image until it is killed", "[.holder]") {
  const char* const path = std::getenv("HEXAD_HELD_IMAGE");
  REQUIRE(path != nullptr);
  const auto system = make_real_system().value();
  const auto device = system->open_device(path, OpenMode::kReadWrite);
  const char said = device.ok() ? 'y' : 'n';
  REQUIRE(::write(STDOUT_FILENO, &said, 1) == 1);
  while (device.ok()) pause();
}

TEST_CASE("rbd_lock: what a client had that was killed is free when the cluster has missed it") {
  CephImages images;
  const std::string path = images.address("a");
  const auto system = make_real_system().value();
  static_cast<void>(system->create_device(path, 8_MiB).value());
  REQUIRE(setenv("HEXAD_HELD_IMAGE", path.c_str(), 1) == 0);
  int output[2];
  REQUIRE(pipe(output) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(output[1], STDOUT_FILENO);
    execl("/proc/self/exe", "rbd_lock_test", "[.holder]", nullptr);
    _exit(1);
  }
  close(output[1]);
  char said = 0;
  const ssize_t got = ::read(output[0], &said, 1);
  const bool held = got == 1 && said == 'y';
  const auto meanwhile = system->open_device(path, OpenMode::kReadWrite);
  REQUIRE(kill(child, SIGKILL) == 0);
  REQUIRE(waitpid(child, nullptr, 0) == child);
  close(output[0]);
  REQUIRE(held);
  REQUIRE_FALSE(meanwhile.ok());
  CHECK(meanwhile.error().code == ErrorCode::kBusy);
  const std::string holder = address_of_holder(meanwhile.error().message);
  const auto device = system->open_device(path, OpenMode::kReadWrite);  // waits
  REQUIRE(why(device.status()) == "");
  REQUIRE(why((*device)->write(0, pattern(1, 4096))) == "");
  CHECK_THAT(output_of("ceph osd blocklist ls"), Catch::Contains(holder + " "));
}
