#pragma once

// The histogram of a tensor as TensorBoard takes it: how many elements lie
// between each pair of neighbouring edges, and what they come to. Counted in
// reduce/histogram.h, encoded in format/tensorboard_record.h.

#include <cstdint>
#include <span>
#include <vector>

namespace smdebug {

struct Histogram {
  // Over all elements, NaN and infinities included, as numpy has it.
  double min = 0;
  double max = 0;
  double sum = 0;
  double sum_squares = 0;
  std::uint64_t count = 0;

  // `buckets[i]` counts the elements from `limits[i - 1]` up to `limits[i]`.
  // The first is always 0: it stands for all that lies below `limits[0]`.
  std::span<const double> limits;  // lives as long as the program
  std::vector<double> buckets;
};

}  // namespace smdebug
