#include "smdebug/config/hook_config.h"

#include <gtest/gtest.h>

namespace smdebug {
namespace {

TEST(HookConfig, FindsTheEditedCollectionBeforeTheFrameworks) {
  HookConfig config;
  const auto find = [&](std::string_view name) {
    return config.find_collection(pytorch_framework(), name);
  };
  ASSERT_NE(find("weights"), nullptr);
  EXPECT_EQ(find("weights")->tensors.include_regex.size(), 1u);
  EXPECT_EQ(find("mine"), nullptr);

  Collection edited = *find("weights");
  edited.tensors.include_regex.push_back("kernel");
  config.collections.push_back(edited);
  EXPECT_EQ(find("weights"), &config.collections[0]);
}

}  // namespace
}  // namespace smdebug
