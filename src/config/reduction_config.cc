#include "smdebug/config/reduction_config.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"

namespace smdebug {
namespace {

bool is_norm(ReductionOp op) {
  return op.reduction == Reduction::l1 || op.reduction == Reduction::l2;
}

}  // namespace

Result<std::vector<ReductionOp>> ReductionConfig::parse_ops(
    std::string_view text) {
  std::vector<ReductionOp> ops;
  for (const std::string& word : split_list(text)) {
    const auto op = find_reduction_op(word);
    if (!op) {
      return Error{Error::Code::invalid_config,
                   fmt::format("unknown reduction '{}'; use min, max, mean, "
                               "median, std, variance, sum, prod, l1_norm or "
                               "l2_norm, or one of them with the prefix abs_",
                               word)};
    }
    ops.push_back(*op);
  }
  return ops;
}

std::vector<ReductionOp> ReductionConfig::ordered_ops() const {
  std::vector<ReductionOp> ordered;
  for (ReductionOp op : ops) {
    if (std::find(ordered.begin(), ordered.end(), op) == ordered.end()) {
      ordered.push_back(op);
    }
  }
  std::stable_sort(
      ordered.begin(), ordered.end(), [](ReductionOp a, ReductionOp b) {
        return std::pair(a.abs, is_norm(a)) < std::pair(b.abs, is_norm(b));
      });
  return ordered;
}

std::string ReductionConfig::ops_text() const {
  std::string text;
  for (ReductionOp op : ordered_ops()) {
    if (!text.empty()) text += ',';
    text += reduction_op_name(op);
    if (is_norm(op)) text += "_norm";
  }
  return text;
}

}  // namespace smdebug
