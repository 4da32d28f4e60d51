// What looks at an open store and puts it right: the parts that the engine owns for that.
#pragma once

#include <memory>

namespace hexad::core {

class CounterReport;
class FillSamples;
class Fsck;
class KnownDamage;
class LayerReport;
class PoolHeaders;
class Scrubber;
class SpaceReport;
class StatusReport;

// In the order in which they are made (Engine::make_reports()): later ones may use earlier ones.
struct Reports {
  Reports();
  ~Reports();

  std::unique_ptr<KnownDamage> damage;
  std::unique_ptr<PoolHeaders> headers;
  std::unique_ptr<Fsck> fsck;
  std::unique_ptr<Scrubber> scrubber;
  std::unique_ptr<StatusReport> status;
  std::unique_ptr<SpaceReport> space;
  std::unique_ptr<CounterReport> counters;
  std::unique_ptr<FillSamples> fill;
  std::unique_ptr<LayerReport> layers;
};

}  // namespace hexad::core
