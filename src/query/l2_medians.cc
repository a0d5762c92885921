#include "query/l2_medians.h"

#include <cmath>

#include "format/statistics_file_columns.h"
#include "query/median.h"
#include "query/part_rows.h"

namespace smdebug {

void L2Medians::add(const StatisticsPart& part) {
  const ArrowColumnView& tensor = part.file.column(statistics_file::kTensor);
  const ArrowColumnView& mode = part.file.column(statistics_file::kMode);
  const std::size_t modes = mode.dictionary().size();
  // A tree is searched once for each tensor and mode, not for each row.
  std::vector<Norms*> known(tensor.dictionary().size() * modes);
  for (const auto& rows : part.steps) {
    for (std::size_t row = rows.first; row < rows.end; ++row) {
      const auto l2 = l2_norm(part, row);
      if (!l2 || std::isnan(*l2) || mode.is_null(row)) continue;
      Norms*& norms = known[tensor.code(row) * modes + mode.code(row)];
      if (norms == nullptr) {
        norms = &norms_[{rows.name.worker, std::string(mode.text(row)),
                         std::string(tensor.text(row))}];
      }
      norms->all.push_back(*l2);
    }
  }
}

void L2Medians::finish() {
  for (auto& [name, norms] : norms_) {
    norms.median = reordered_median(norms.all);
    norms.all = {};
  }
}

L2Medians::OfPart L2Medians::of(const StatisticsPart& part) const {
  const auto& tensors = part.file.column(statistics_file::kTensor).dictionary();
  const auto& modes = part.file.column(statistics_file::kMode).dictionary();
  OfPart medians(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    for (const std::string_view mode : modes) {
      const auto found =
          norms_.find({part.steps.front().name.worker, std::string(mode),
                       std::string(tensors[i])});
      medians[i].push_back(found == norms_.end() ? std::nullopt
                                                 : found->second.median);
    }
  }
  return medians;
}

}  // namespace smdebug
