#include "format/reduction_tag.h"

#include <gtest/gtest.h>

namespace smdebug {
namespace {

constexpr ReductionOp kAbsMean = {Reduction::mean, true};

TEST(ReductionTag, IsThatOfTheOriginal) {
  EXPECT_EQ(reduction_tag(kAbsMean, "gradient/Net_fc.weight"),
            "smdebug/reductions/abs_mean/gradient/Net_fc.weight");
  EXPECT_EQ(reduction_tag({Reduction::l2, false}, "w"),
            "smdebug/reductions/l2/w");
}

TEST(ReductionTag, DropsColonsWithDigitsUnlessToldToKeepThem) {
  EXPECT_EQ(reduction_tag(kAbsMean, "a:0/b:12:3:x:"),
            "smdebug/reductions/abs_mean/a/b:x:");
  EXPECT_EQ(reduction_tag(kAbsMean, "dense/kernel:0", true),
            "smdebug/reductions/abs_mean/dense/kernel:0");
}

TEST(ReductionTag, ComesBackForEveryOp) {
  for (std::size_t i = 0; i < kReductionCount; ++i) {
    for (const bool abs : {false, true}) {
      const ReductionOp op = {static_cast<Reduction>(i), abs};
      const std::string tag = reduction_tag(op, "a/b");
      const auto parsed = parse_reduction_tag(tag);
      ASSERT_TRUE(parsed) << tag;
      EXPECT_EQ(parsed->op, op);
      EXPECT_EQ(parsed->tensor_name, "a/b");
    }
  }
}

TEST(ReductionTag, IsFoundBehindAScope) {
  const auto parsed = parse_reduction_tag("scope/smdebug/reductions/max/t");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->op, (ReductionOp{Reduction::max, false}));
  EXPECT_EQ(parsed->tensor_name, "t");
}

TEST(ReductionTag, IsNoOrdinaryName) {
  for (const char* name :
       {"", "Net_fc.weight", "smdebug/reductions/", "smdebug/reductions/mean",
        "smdebug/reductions/mode/t"}) {
    EXPECT_FALSE(parse_reduction_tag(name)) << name;
  }
}

}  // namespace
}  // namespace smdebug
