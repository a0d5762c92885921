#pragma once

// The reductions of a tensor, by the names that users write in a configuration
// and that tags of saved reductions contain.

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace [[gnu::visibility("default")]] smdebug {

enum class Reduction : std::uint8_t {
  min,
  max,
  mean,
  median,
  std,
  variance,
  sum,
  prod,
  l1,
  l2,
};

inline constexpr std::size_t kReductionCount = 10;

// A reduction of the elements or, with `abs`, of their absolute values.
struct ReductionOp {
  Reduction reduction = Reduction::mean;
  bool abs = false;

  friend bool operator==(const ReductionOp&, const ReductionOp&) = default;
  friend auto operator<=>(const ReductionOp&, const ReductionOp&) = default;
};

/// Returns the name: "mean", "l2".
std::string_view reduction_name(Reduction reduction);

/// Returns the name as spelled in a saved tag: "mean", "abs_l2".
std::string reduction_op_name(ReductionOp op);

/// Returns the reduction of a name without prefix, or none. Accepts "l1_norm"
/// and "l2_norm" as well as "l1" and "l2".
std::optional<Reduction> find_reduction(std::string_view name);

/// Does the same for a name that may have the prefix "abs_".
std::optional<ReductionOp> find_reduction_op(std::string_view name);

}  // namespace smdebug
