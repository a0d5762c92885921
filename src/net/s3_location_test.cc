#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/result_matchers_testing.h"
#include "net/s3_client.h"
#include "net/scripted_http_testing.h"

namespace smdebug {
namespace {

using testing::HasSubstr;

TEST(S3Location, HasABucketAndAPrefix) {
  const struct {
    const char *location, *scheme, *bucket, *prefix, *text;
  } cases[] = {
      {"s3://runs/a/b", "s3", "runs", "a/b", "s3://runs/a/b"},
      {"s3://runs/a/b///", "s3", "runs", "a/b", "s3://runs/a/b"},
      {"s3://runs", "s3", "runs", "", "s3://runs"},
      {"s3://runs/", "s3", "runs", "", "s3://runs"},
      {"gs://my.runs/x y", "gs", "my.runs", "x y", "gs://my.runs/x y"},
  };
  for (const auto& each : cases) {
    const auto parsed = parse_s3_location(each.location);
    ASSERT_THAT(parsed, IsOk());
    ASSERT_TRUE(parsed->has_value()) << each.location;
    EXPECT_EQ((*parsed)->scheme, each.scheme);
    EXPECT_EQ((*parsed)->bucket, each.bucket);
    EXPECT_EQ((*parsed)->prefix, each.prefix);
    EXPECT_EQ((*parsed)->text(), each.text);
  }
}

TEST(S3Location, IsNoPathAndNoOtherUri) {
  for (const char* location : {"runs/a", "/runs/s3://x", "memory://a", "", "s3",
                               "http://s3.amazonaws.com/runs"}) {
    EXPECT_THAT(parse_s3_location(location), IsOkAndHolds(std::nullopt))
        << location;
  }
}

TEST(S3Location, RefusesANameThatNoBucketHas) {
  for (const char* location :
       {"s3://", "s3:///a", "s3://a/b", "s3://a b c/d", "s3://user@host/x"}) {
    EXPECT_THAT(parse_s3_location(location),
                FailsWith(Error::Code::invalid_argument,
                          HasSubstr("s3://bucket/prefix was expected")))
        << location;
  }
}

class S3EndpointTest : public testing::Test {
 protected:
  static S3Endpoint of(const char* location) {
    return s3_endpoint(**parse_s3_location(location));
  }

  ScopedVariable region_{"AWS_REGION", "eu-west-1"};
  ScopedVariable endpoint_{"AWS_ENDPOINT_URL", nullptr};
  ScopedVariable s3_endpoint_{"AWS_ENDPOINT_URL_S3", nullptr};
};

TEST_F(S3EndpointTest, IsThatOfAwsInTheRegion) {
  const S3Endpoint endpoint = of("s3://runs/a");
  EXPECT_EQ(endpoint.url, "https://s3.eu-west-1.amazonaws.com");
  EXPECT_EQ(endpoint.region, "eu-west-1");
  EXPECT_TRUE(endpoint.is_of_aws);
  EXPECT_TRUE(endpoint.has_bucket_in_host);
  const ScopedVariable china("AWS_REGION", "cn-north-1");
  EXPECT_EQ(of("s3://runs/a").url, "https://s3.cn-north-1.amazonaws.com.cn");
}

TEST_F(S3EndpointTest, HasTheBucketInThePathIfACertificateDoesNotCoverIt) {
  EXPECT_FALSE(of("s3://my.runs").has_bucket_in_host);
  EXPECT_FALSE(of("s3://My_Runs").has_bucket_in_host);
}

TEST_F(S3EndpointTest, IsThatOfTheEnvironment) {
  const ScopedVariable all("AWS_ENDPOINT_URL", "http://127.0.0.1:9009/");
  EXPECT_EQ(of("s3://runs/a").url, "http://127.0.0.1:9009");
  EXPECT_FALSE(of("s3://runs/a").has_bucket_in_host);
  EXPECT_FALSE(of("s3://runs/a").is_of_aws);
  EXPECT_EQ(of("gs://runs/a").url, "http://127.0.0.1:9009");
  const ScopedVariable s3("AWS_ENDPOINT_URL_S3", "https://minio.local:9000");
  EXPECT_EQ(of("s3://runs/a").url, "https://minio.local:9000");
}

TEST_F(S3EndpointTest, IsThatOfGoogleForItsScheme) {
  EXPECT_EQ(of("gs://runs/a").url, "https://storage.googleapis.com");
  EXPECT_EQ(of("gs://runs/a").region, "auto");
}

}  // namespace
}  // namespace smdebug
