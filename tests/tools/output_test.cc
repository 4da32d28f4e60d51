#include "tools/cli/output.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/tools/capture.h"

namespace hexad::tools {
namespace {

using testing::Capture;

struct Said {
  std::string out;
  std::string err;
};

// What `use` makes an output say.
template <typename Use>
Said said(Style style, Verbosity verbosity, const Use& use) {
  Capture out(STDOUT_FILENO);
  Capture err(STDERR_FILENO);
  Status finished;
  {
    Output output(style, verbosity);
    use(output);
    finished = output.finish();
  }
  Said text{out.text(), err.text()};
  REQUIRE(finished.ok());
  return text;
}

const Error kError{ErrorCode::kNotFound, "object a does not exist", "Look for it."};

TEST_CASE("output: notes are for people, warnings for all but the quiet, errors for everybody") {
  const auto use = [](Output& output) {
    output.write("data\n");
    output.note("done");
    output.warn("beware");
    output.error(kError);
  };
  const std::string error = "hexad: object a does not exist\n  hint: Look for it.\n";
  Said text = said(Style::kText, Verbosity::kNormal, use);
  CHECK(text.out == "data\ndone\n");
  CHECK(text.err == "hexad: beware\n" + error);
  text = said(Style::kText, Verbosity::kQuiet, use);
  CHECK(text.out == "data\n");
  CHECK(text.err == error);
}

TEST_CASE("output: commands in what it says have the pool, data and names stay as they are") {
  const std::string command = "hexad fsck POOL";
  const std::string typed = "hexad fsck '/a pool'";
  const auto use = [&](Output& output) {
    output.name_pool("'/a pool'");
    output.write(command + "\n");
    output.write(output.typed(command) + "\n");
    output.note(command);
    output.warn(command);
    output.error({ErrorCode::kIo, "m", command});
  };
  Said text = said(Style::kText, Verbosity::kNormal, use);
  CHECK(text.out == command + "\n" + typed + "\n" + typed + "\n");
  CHECK(text.err == "hexad: " + typed + "\nhexad: m\n  hint: " + typed + "\n");

  text = said(Style::kJson, Verbosity::kNormal, [&](Output& output) {
    output.name_pool("/pool");
    output.keep_warnings({command});
    output.object(Json{{"name", command},
                       {"notes", {command}},
                       {"devices", {{{"path", command}, {"detail", command}}}},
                       {"error", error_json({ErrorCode::kIo, "m", command})}});
  });
  const Json object = Json::parse(text.out);
  CHECK(object["name"] == command);
  CHECK(object["notes"][0] == "hexad fsck /pool");
  CHECK(object["devices"][0]["path"] == command);
  CHECK(object["devices"][0]["detail"] == "hexad fsck /pool");
  CHECK(object["error"]["hint"] == "hexad fsck /pool");
  CHECK(object["warnings"][0] == "hexad fsck /pool");
}

TEST_CASE("output: with json there is one object on standard output, of the result or the error") {
  Said text = said(Style::kJson, Verbosity::kNormal, [](Output& output) {
    output.note("done");
    output.error(kError);
  });
  CHECK(Json::parse(text.out) == Json{{"error", error_json(kError)}});
  CHECK_THAT(text.err, Catch::Contains("object a does not exist"));
  text = said(Style::kJson, Verbosity::kNormal, [](Output& output) {
    output.object(Json{{"key", 1}});
    output.error(kError);
  });
  CHECK(text.out == "{\"key\":1}\n");
  text = said(Style::kJson, Verbosity::kNormal, [](Output& output) {
    output.write("{\"entries\":[]}\n");
    output.object_written();
    output.error(kError);
  });
  CHECK(text.out == "{\"entries\":[]}\n");
  text = said(Style::kJson, Verbosity::kQuiet, [](Output& output) {
    output.object(Json{{"key", 1}}, true);
  });
  CHECK(text.out == "{\n  \"key\": 1\n}\n");
}

TEST_CASE("output: while standard output carries data, all else goes to standard error") {
  const Said text = said(Style::kJson, Verbosity::kNormal, [](Output& output) {
    output.reserve_stdout();
    output.write("data");
    output.object(Json{{"key", 1}});
    output.error(kError);
  });
  CHECK(text.out == "data");
  CHECK_THAT(text.err, Catch::StartsWith("{\"key\":1}\n") && Catch::Contains("does not exist"));
  const Said note = said(Style::kText, Verbosity::kNormal, [](Output& output) {
    output.reserve_stdout();
    output.note("done");
  });
  CHECK(note.out.empty());
  CHECK(note.err == "done\n");
}

TEST_CASE("output: what a signal ended is told as that") {
  const Said text =
      said(Style::kJson, Verbosity::kNormal, [](Output& output) { output.interrupted(); });
  CHECK(Json::parse(text.out)["error"]["code"] == "interrupted");
  CHECK_THAT(text.err, Catch::StartsWith("hexad: interrupted\n"));
}

TEST_CASE("output: much is written in pieces, in order") {
  std::string wanted;
  const Said text = said(Style::kText, Verbosity::kNormal, [&](Output& output) {
    for (int i = 0; i < 20'000; ++i) {
      const std::string line = "line " + std::to_string(i) + "\n";
      output.write(line);
      wanted += line;
    }
  });
  CHECK((text.out == wanted));
}

TEST_CASE("output: a failure of standard output is told at the end") {
  Capture out(STDOUT_FILENO);
  close(STDOUT_FILENO);
  Output output(Style::kText, Verbosity::kNormal);
  output.write("lost");
  const Status finished = output.finish();
  const std::string text = out.text();
  REQUIRE_FALSE(finished.ok());
  REQUIRE_THAT(finished.error().message, Catch::Contains("standard output"));
  REQUIRE(text.empty());
}

TEST_CASE("output: names that are not UTF-8 are given in base64, and bytes do not break json") {
  Json object;
  set_name(object, "name", "a\xc3\xa9");
  set_name(object, "other", "\xff\x01");
  CHECK(object.dump() == "{\"name\":\"a\xc3\xa9\",\"other_b64\":\"/wE=\"}");
  const Said text = said(Style::kJson, Verbosity::kNormal, [](Output& output) {
    output.error({ErrorCode::kIo, "path \xff", ""});
  });
  CHECK(Json::parse(text.out)["error"]["code"] == to_string(ErrorCode::kIo));
  CHECK(Json::parse(text.out)["error"]["hint"] == "");
}

TEST_CASE("output: names go out raw where nobody looks at them") {
  Capture out(STDOUT_FILENO);
  const Output output(Style::kText, Verbosity::kNormal);
  const bool terminal = output.terminal();
  const std::string name = shown_name(output, "a\nb");
  out.text();
  CHECK_FALSE(terminal);
  CHECK(name == "a\nb");
}

}  // namespace
}  // namespace hexad::tools
