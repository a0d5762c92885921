#include "smdebug/config/reduction_config.h"

#include <gtest/gtest.h>

#include "base/result_matchers_testing.h"

namespace smdebug {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ReductionConfig, ParsesNamesInTheOrderGiven) {
  EXPECT_THAT(ReductionConfig::parse_ops(" mean, abs_max ,,l2_norm,median,l1"),
              IsOkAndHolds(ElementsAre(
                  ReductionOp{Reduction::mean},
                  ReductionOp{Reduction::max, true}, ReductionOp{Reduction::l2},
                  ReductionOp{Reduction::median}, ReductionOp{Reduction::l1})));
  EXPECT_THAT(ReductionConfig::parse_ops(" , "), IsOkAndHolds(IsEmpty()));
}

TEST(ReductionConfig, NamesTheWordThatIsNoReduction) {
  EXPECT_THAT(
      ReductionConfig::parse_ops("mean,average"),
      FailsWith(Error::Code::invalid_config,
                HasSubstr("unknown reduction 'average'; use min, max")));
}

TEST(ReductionConfig, WritesTheTextOfCollectionFiles) {
  const auto ops =
      ReductionConfig::parse_ops("abs_l1,abs_max,l2,mean,mean,l1,min");
  ASSERT_THAT(ops, IsOk());
  EXPECT_EQ(ReductionConfig{.ops = *ops}.ops_text(),
            "mean,min,l2_norm,l1_norm,abs_max,abs_l1_norm");
  EXPECT_EQ(ReductionConfig{}.ops_text(), "");
}

}  // namespace
}  // namespace smdebug
