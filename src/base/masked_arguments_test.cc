#include "base/masked_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> masked(std::vector<std::string> arguments) {
  return masked_arguments(arguments);
}

TEST(MaskedArguments, HideTheValuesOfSecretNames) {
  EXPECT_THAT(masked({"--token=abc", "--api-key=abc", "--apiKey=abc",
                      "password=abc", "AWS_SESSION=abc", "--hf_token=abc",
                      "wandb.api_key=abc", "MY_SECRET=a=b"}),
              ElementsAre("--token=***", "--api-key=***", "--apiKey=***",
                          "password=***", "AWS_SESSION=***", "--hf_token=***",
                          "wandb.api_key=***", "MY_SECRET=***"));
  EXPECT_THAT(masked({"Authorization: Bearer abc"}),
              ElementsAre("Authorization: ***"));
}

TEST(MaskedArguments, HideTheArgumentAfterASecretName) {
  EXPECT_THAT(masked({"--api-key", "abc", "--lr", "0.1"}),
              ElementsAre("--api-key", "***", "--lr", "0.1"));
  EXPECT_THAT(masked({"--use-auth-token", "--lr", "0.1"}),
              ElementsAre("--use-auth-token", "--lr", "0.1"));
  EXPECT_THAT(masked({"--password"}), ElementsAre("--password"));
}

TEST(MaskedArguments, HideSecretsInAddresses) {
  EXPECT_THAT(masked({"https://me:abc@host/x", "--url=s3://u:p@h",
                      "https://host/x?token=abc&lr=1&sig=def#part",
                      "https://host/?lr=1&X-Amz-Signature=abc"}),
              ElementsAre("https://***@host/x", "--url=s3://***@h",
                          "https://host/x?token=***&lr=1&sig=***#part",
                          "https://host/?lr=1&X-Amz-Signature=***"));
}

TEST(MaskedArguments, HideKeysThatAreKnownByTheirForm) {
  EXPECT_THAT(masked({"AKIAIOSFODNN7EXAMPLE", "--key",
                      "ghp_0123456789012345678901234567"}),
              ElementsAre("***", "--key", "***"));
}

TEST(MaskedArguments, KeepEverythingElse) {
  const std::vector<std::string> arguments = {"/usr/bin/python",
                                              "train.py",
                                              "--lr=0.1",
                                              "--max-tokens=10",
                                              "--tokenizer=bert",
                                              "--author=me",
                                              "--pad-token=<p>",
                                              "https://host/a@b",
                                              "https://host/?lr=1",
                                              "--name",
                                              "x=y",
                                              "",
                                              "="};
  EXPECT_EQ(masked(arguments), arguments);
}

}  // namespace
}  // namespace smdebug
