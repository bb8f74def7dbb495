// What the records of a file have in common: it tells whether others are of the same sort.
#pragma once

#include <set>
#include <string>

#include "core/example/entries.h"

namespace penstock {

class RecordSort {
 public:
  // Takes a record in; false where a header of a TFRecord is in it: then records inside records look like any others.
  bool learn(wire::Bytes record);

  // True while all that was learned are Examples or SequenceExamples that have features.
  bool has_features() const { return has_features_; }

  // True when a record could be one of them: it has features, and none that is not known; or they have none either.
  bool fits(wire::Bytes record) const;

 private:
  std::set<std::string, std::less<>> keys_;
  bool has_features_ = true;
};

}  // namespace penstock
