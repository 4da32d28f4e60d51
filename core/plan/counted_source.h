// Counts what a plan looks at, so that the work under the sequencer's lock has a number.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/plan/planner.h"

namespace hexad::core {

class CountedSource : public PlanSource {
 public:
  // `source` outlives it.
  explicit CountedSource(PlanSource& source) : source_(source) {}

  // Looked up, or walked over by a scan, so far.
  std::uint64_t keys() const { return keys_; }

  Result<std::optional<std::string>> get(std::string_view key) override {
    ++keys_;
    return source_.get(key);
  }
  Result<std::optional<std::string_view>> look_up(std::string_view key,
                                                  std::string& room) override {
    ++keys_;
    return source_.look_up(key, room);
  }
  Status scan(std::string_view prefix, const Visit& visit) override {
    return source_.scan(prefix, counted(visit));
  }
  Status scan_from(std::string_view prefix, std::string_view from, const Visit& visit) override {
    return source_.scan_from(prefix, from, counted(visit));
  }
  std::unique_ptr<KnownPage> take_page(BodyId body, std::uint32_t page) override {
    return source_.take_page(body, page);
  }
  void give_page_back(BodyId body, std::uint32_t page, std::unique_ptr<KnownPage> known) override {
    source_.give_page_back(body, page, std::move(known));
  }

 private:
  Visit counted(const Visit& visit) {
    return [this, &visit](std::string_view key, std::string_view value) {
      ++keys_;
      return visit(key, value);
    };
  }

  PlanSource& source_;
  std::uint64_t keys_ = 0;
};

}  // namespace hexad::core
