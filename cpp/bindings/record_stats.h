// Statistics that reading threads add to.
#pragma once

#include <memory>

#include "core/stats/record_stats.h"

namespace penstock::bindings {

struct SharedStats {
  std::shared_ptr<RecordStats> native;
};

}  // namespace penstock::bindings
