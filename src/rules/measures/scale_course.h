#pragma once

// A `ScaleCourse` finds from the scale of a gradient scaler how many updates it
// has skipped: the scale is lower after a skipped update, and only then.

#include <array>
#include <cstddef>
#include <optional>

namespace smdebug {

class ScaleCourse {
 public:
  enum class Answer {
    sound,
    always_skips,  // it skips at any scale: that has fallen below 1
    often_skips,   // a large share, long after the first updates
  };

  /// Adds the scale that the gradients of the next update carry.
  void add(double scale);

  /// Judges the updates until now. `share` is the share of skipped updates
  /// above which there are too many.
  Answer judge(double share) const;

  /// Returns the number of skipped updates among the last `updates`.
  std::size_t skipped() const { return skipped_; }
  std::size_t updates() const;

  double highest() const { return highest_; }

 private:
  static constexpr std::size_t kWindow = 64;

  std::array<bool, kWindow> is_skipped_{};  // a ring
  std::size_t updates_ = 0;                 // whose outcome is known
  std::size_t skipped_ = 0;                 // in the ring
  std::optional<double> last_;
  double highest_ = 0;
};

}  // namespace smdebug
