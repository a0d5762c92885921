#include "smdebug/core/reduction.h"

#include <array>

namespace smdebug {
namespace {

// In the order of `Reduction`.
constexpr std::array<std::string_view, kReductionCount> kNames = {
    "min",      "max", "mean", "median", "std",
    "variance", "sum", "prod", "l1",     "l2"};

}  // namespace

std::string_view reduction_name(Reduction reduction) {
  return kNames[static_cast<std::size_t>(reduction)];
}

std::string reduction_op_name(ReductionOp op) {
  const std::string prefix = op.abs ? "abs_" : "";
  return prefix + std::string(reduction_name(op.reduction));
}

std::optional<Reduction> find_reduction(std::string_view name) {
  if (name == "l1_norm") return Reduction::l1;
  if (name == "l2_norm") return Reduction::l2;
  for (std::size_t i = 0; i < kReductionCount; ++i) {
    if (kNames[i] == name) return static_cast<Reduction>(i);
  }
  return {};
}

std::optional<ReductionOp> find_reduction_op(std::string_view name) {
  constexpr std::string_view kAbs = "abs_";
  const bool abs = name.starts_with(kAbs);
  if (abs) name.remove_prefix(kAbs.size());
  const auto reduction = find_reduction(name);
  if (!reduction) return {};
  return ReductionOp{*reduction, abs};
}

}  // namespace smdebug
