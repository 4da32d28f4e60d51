#include "tools/cli/arguments.h"

#include <catch2/catch.hpp>

namespace hexad::tools {
namespace {

struct Example {
  std::string pool;
  std::string name;
  std::string text = "default";
  std::vector<std::string> list;
  std::vector<std::string> more;
  std::vector<std::string> repeated;
  std::uint64_t size = 0;
  std::uint64_t number = 0;
  double fraction = 0;
  bool flag = false;
  Arguments arguments{"verb", "Does it", "hexad verb pool"};

  Example() {
    arguments.positional("POOL", pool, "Where");
    arguments.positional("NAME", name, "What");
    arguments.positionals("MORE", more, "And", Need::kOptional);
    arguments.option("--text", text, "Text");
    arguments.option_list("--list", list, "Several");
    arguments.repeated("--each", repeated, "One at a time");
    arguments.size("--size", size, "Bytes");
    arguments.number("--number", number, "Count");
    arguments.number("--fraction", fraction, "Part");
    arguments.flag("-f,--flag", flag, "Yes");
  }
};

Error error_of(const std::vector<std::string>& words) {
  Example example;
  const auto parsed = example.arguments.parse(words);
  REQUIRE_FALSE(parsed.ok());
  CHECK(parsed.error().code == ErrorCode::kInvalidArgument);
  CHECK_FALSE(parsed.error().hint.empty());
  return parsed.error();
}

TEST_CASE("arguments: options stand anywhere") {
  for (const auto& words :
       std::vector<std::vector<std::string>>{{"p", "n", "--size", "4KiB", "-f", "--text=x"},
                                             {"--flag", "--text", "x", "p", "--size=4KiB", "n"}}) {
    Example example;
    REQUIRE(example.arguments.parse(words).ok());
    CHECK(example.pool == "p");
    CHECK(example.name == "n");
    CHECK(example.size == 4096);
    CHECK(example.text == "x");
    CHECK(example.flag);
    CHECK(example.arguments.given("--size"));
    CHECK_FALSE(example.arguments.given("--number"));
  }
}

TEST_CASE("arguments: names are taken as they are, whatever they look like") {
  for (const std::string name :
       {"[a,b]", "[", "\x01[", "\x01", "", "a=b", "{}", "\"x\"", "#", "-"}) {
    CAPTURE(name);
    Example example;
    REQUIRE(example.arguments.parse({"p", name, name, name, "--list", name, "--text", name}).ok());
    CHECK(example.name == name);
    CHECK(example.more == std::vector<std::string>{name, name});
    CHECK(example.list == std::vector<std::string>{name});
    CHECK(example.text == name);
  }
  for (const std::string name : {"-x", "--flag", "--", "--text=y"}) {
    CAPTURE(name);
    Example example;
    REQUIRE(example.arguments.parse({"--", "p", name}).ok());
    CHECK(example.name == name);
    CHECK_FALSE(example.flag);
  }
}

TEST_CASE("arguments: an option with an empty value takes nothing from its neighbours") {
  Example example;
  REQUIRE(example.arguments.parse({"--text=", "p", "n"}).ok());
  CHECK(example.text.empty());
  CHECK(example.name == "n");
}

TEST_CASE("arguments: a list leaves what the verb needs") {
  Example example;
  REQUIRE(example.arguments.parse({"--list", "a", "b", "c", "p", "n"}).ok());
  CHECK(example.list == std::vector<std::string>{"a", "b", "c"});
  CHECK(example.pool == "p");
  CHECK(example.name == "n");
}

TEST_CASE("arguments: what may be repeated takes one word each time") {
  Example example;
  REQUIRE(example.arguments.parse({"--each", "a", "p", "--each=b", "n", "--each", "[c,d]"}).ok());
  CHECK(example.repeated == std::vector<std::string>{"a", "b", "[c,d]"});
  CHECK(example.pool == "p");
  CHECK(example.name == "n");
}

TEST_CASE("arguments: numbers are whole or not, as the verb says") {
  Example example;
  REQUIRE(example.arguments.parse({"p", "n", "--fraction", "-2.5", "--number=7"}).ok());
  CHECK(example.fraction == -2.5);
  CHECK(example.number == 7);
}

TEST_CASE("arguments: an option that is given twice is named") {
  for (const auto& [option, value] : std::vector<std::pair<std::string, std::string>>{
           {"--text", "x"}, {"--size", "4KiB"}, {"--number", "3"}, {"--fraction", "0.5"}}) {
    CAPTURE(option);
    const Error error = error_of({"p", "n", option, value, option + "=" + value});
    CHECK_THAT(error.message, Catch::Contains(option + " is given more than once"));
  }
  Example flags;
  CHECK(flags.arguments.parse({"p", "n", "-f", "--flag"}).ok());
}

TEST_CASE("arguments: mistakes are named and something is suggested") {
  CHECK(error_of({"p"}).message.find("NAME") != std::string::npos);
  CHECK(error_of({"p", "n", "--szie", "1"}).hint.find("--size") != std::string::npos);
  CHECK(error_of({"--nubmer=3"}).hint.find("--number") != std::string::npos);
  CHECK(error_of({"p", "n", "--size", "huge"}).message.find("huge") != std::string::npos);
  CHECK(error_of({"p", "n", "--number", "-1"}).message.find("-1") != std::string::npos);
  CHECK(error_of({"p", "n", "--fraction", "half"}).message.find("half") != std::string::npos);
  error_of({"p", "n", "--text"});
  error_of({"p", "n", "--flag=maybe"});
  error_of({});
}

TEST_CASE("arguments: help is text with the example") {
  Example example;
  const auto parsed = example.arguments.parse({"--help"});
  REQUIRE(parsed.ok());
  REQUIRE(parsed->has_value());
  CHECK((*parsed)->find("Example:\n  hexad verb pool") != std::string::npos);
  CHECK((*parsed)->find("--size") != std::string::npos);
}

}  // namespace
}  // namespace hexad::tools
