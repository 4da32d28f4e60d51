// hexad ec encode and decode: the codes on plain files, without a pool.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/units.h"
#include "tools/erasure/chunk_files.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

class EcEncode final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("FILE", file_, "File to cut and protect");
    arguments.positional("OUT", out_, "Writes OUT.0 to OUT.(k+m-1), and OUT.meta");
    arguments.option("--profile", shape_, "Data and parity chunks [4+2]");
    arguments.option("--codec", codec_,
                     "isa:reed_sol_van, isa:cauchy, jerasure:TECHNIQUE,w=8,packetsize=P");
  }

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(const ec::Profile profile, ec::parse_profile(shape_, codec_));
    Result<ChunkMeta> meta = Error{};
    {
      Progress progress(session.out(), session.clock(), "encode", 0);
      meta = encode_chunks(file_, out_, profile, progress);
    }
    if (!meta.ok()) return meta.error();
    if (session.out().json()) {
      session.out().object(Json{{"profile", ec::to_string(profile)},
                                {"codec", ec::codec_to_string(profile)},
                                {"length", meta->length},
                                {"chunk", meta->chunk},
                                {"chunks", profile.shards()}});
    }
    session.out().note(fmt::format("wrote {0}.0 to {0}.{1}, {2} each ({3} {4})", out_,
                                   profile.shards() - 1, format_size(meta->chunk),
                                   ec::to_string(profile), ec::codec_to_string(profile)));
    return kExitOk;
  }

 private:
  std::string file_;
  std::string out_;
  std::string shape_ = "4+2";
  std::string codec_;
};

class EcDecode final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments_ = &arguments;
    arguments.positional("FILE", file_, "File to write; - is standard output");
    arguments.positional("OUT", out_, "Reads OUT.0 to OUT.(k+m-1); up to m may be missing");
    arguments.option("--profile", shape_, "Data and parity chunks [from OUT.meta]");
    arguments.option("--codec", codec_, "As for encode [from OUT.meta]");
    arguments.size("--length", length_, "Bytes of the original file [from OUT.meta]");
  }

  Result<int> run(Session& session) override {
    if (file_ == "-") session.out().reserve_stdout();
    DecodeRequest request{shape_, codec_, std::nullopt};
    if (arguments_->given("--length")) request.length = length_;
    Result<DecodeReport> report = Error{};
    {
      Progress progress(session.out(), session.clock(), "decode", 0);
      report = decode_chunks(file_, out_, request, progress);
    }
    if (!report.ok()) return report.error();
    print(session.out(), *report);
    return kExitOk;
  }

 private:
  void print(Output& out, const DecodeReport& report) const {
    for (const std::uint32_t index : report.damaged) {
      out.warn(fmt::format("{}.{} is damaged and was not used", out_, index));
    }
    if (out.json()) {
      out.object(Json{
          {"length", report.length}, {"missing", report.missing}, {"damaged", report.damaged}});
    }
    if (file_ == "-") return;
    out.note(fmt::format("wrote {} ({}); {} chunks missing, {} damaged", file_,
                         format_size(report.length), report.missing.size(), report.damaged.size()));
  }

  const Arguments* arguments_ = nullptr;
  std::string file_;
  std::string out_;
  std::string shape_;
  std::string codec_;
  std::uint64_t length_ = 0;
};

}  // namespace

std::unique_ptr<Verb> make_ec_encode() { return std::make_unique<EcEncode>(); }
std::unique_ptr<Verb> make_ec_decode() { return std::make_unique<EcDecode>(); }

}  // namespace hexad::tools
