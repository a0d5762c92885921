#include "smdebug/core/reduction.h"

#include <gtest/gtest.h>

namespace smdebug {
namespace {

TEST(Reduction, IsFoundByItsOwnName) {
  for (std::size_t i = 0; i < kReductionCount; ++i) {
    const auto reduction = static_cast<Reduction>(i);
    EXPECT_EQ(find_reduction(reduction_name(reduction)), reduction);
    for (const bool abs : {false, true}) {
      const ReductionOp op{reduction, abs};
      EXPECT_EQ(find_reduction_op(reduction_op_name(op)), op);
    }
  }
}

TEST(Reduction, HasTheNamesOfSavedTags) {
  EXPECT_EQ(reduction_op_name({Reduction::mean}), "mean");
  EXPECT_EQ(reduction_op_name({Reduction::variance}), "variance");
  EXPECT_EQ(reduction_op_name({Reduction::l2, true}), "abs_l2");
}

TEST(Reduction, AcceptsNormsInBothSpellings) {
  EXPECT_EQ(find_reduction("l1_norm"), Reduction::l1);
  EXPECT_EQ(find_reduction("l2"), Reduction::l2);
  EXPECT_EQ(find_reduction_op("abs_l2_norm"),
            (ReductionOp{Reduction::l2, true}));
}

TEST(Reduction, IsNoneForAnUnknownName) {
  for (const char* name : {"", "abs_", "average", "abs_abs_mean", "mean_norm",
                           "MEAN", "l3_norm"}) {
    EXPECT_EQ(find_reduction_op(name), std::nullopt) << name;
  }
  EXPECT_EQ(find_reduction("abs_mean"), std::nullopt);
}

}  // namespace
}  // namespace smdebug
