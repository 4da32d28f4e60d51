#include "io/rbd/rbd_address.h"

#include <catch2/catch.hpp>
#include <string>

using namespace hexad;
using namespace hexad::io;

TEST_CASE("rbd_address: pool, image, snapshot and keys") {
  const RbdAddress plain = RbdAddress::parse("rbd:log/a").value();
  CHECK(plain.pool == "log");
  CHECK(plain.image == "a");
  CHECK(plain.snapshot.empty());
  CHECK(plain.conf.empty());
  CHECK(plain.user.empty());
  CHECK(plain.data_pool.empty());
  CHECK(plain.keys().empty());
  const RbdAddress all =
      RbdAddress::parse("rbd:p 1/a.b@monday?id=store&conf=/etc/ceph/x=y.conf&data_pool=ec").value();
  CHECK(all.pool == "p 1");
  CHECK(all.image == "a.b");
  CHECK(all.snapshot == "monday");
  CHECK(all.conf == "/etc/ceph/x=y.conf");
  CHECK(all.user == "store");
  CHECK(all.data_pool == "ec");
  CHECK(all.keys() == "?conf=/etc/ceph/x=y.conf&id=store");
  CHECK(RbdAddress::parse("rbd:log/a?id=store").value().keys() == "?id=store");
}

TEST_CASE("rbd_address: what is no address of an image says what is wrong and how one looks") {
  for (const char* text : {"", "/dev/sda", "rbd", "rbd:", "rbd:log", "rbd:log/", "rbd:/a", "rbd:/",
                           "rbd:log/ns/a", "rbd:log/a@", "rbd:log/@s", "rbd:log/a?",
                           "rbd:log/a?conf", "rbd:log/a?conf=", "rbd:log/a?name=x",
                           "rbd:log/a?id=x&id=y", "rbd:log/a?id=x&Conf=y", "rbd:?id=x"}) {
    CAPTURE(text);
    const auto parsed = RbdAddress::parse(text);
    REQUIRE_FALSE(parsed.ok());
    CHECK(parsed.error().code == ErrorCode::kInvalidArgument);
    CHECK(parsed.error().message.find(text) == 0);
    CHECK_THAT(parsed.error().hint, Catch::Contains("rbd:POOL/IMAGE"));
  }
}
