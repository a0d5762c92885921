#include "smdebug/base/version.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug {
namespace {

TEST(VersionText, NamesTheDistributionTheVersionAndTheCommit) {
  EXPECT_THAT(
      version_text(),
      testing::MatchesRegex(
          "smdebug 2\\.0\\.0 \\(smdebug-ng(, commit [0-9a-f]{8,})?\\)"));
  if (!commit().empty()) {
    EXPECT_THAT(version_text(), testing::HasSubstr(std::string(commit())));
  }
}

}  // namespace
}  // namespace smdebug
