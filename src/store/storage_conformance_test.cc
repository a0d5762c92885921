#include "smdebug/store/bounded_storage.h"

#include "base/environment.h"
#include "net/fake_s3_testing.h"
#include "store/backends.h"
#include "store/cached_storage.h"
#include "store/upload_queue.h"
#include "tests/conformance/storage_suite.h"
#include "tests/support/fake_clock_testing.h"
#include "tests/support/temporary_folder_testing.h"

namespace smdebug {
namespace {

// Keeps its folder as long as itself.
template <FileSync sync>
std::shared_ptr<Storage> make_local_in_temporary_folder() {
  struct Both {
    TemporaryFolder folder;
    std::shared_ptr<Storage> storage =
        make_local_storage("local", folder.path() + "/run", system_clock(),
                           FileAccess::by_umask, MissingFolder::create, sync);
  };
  const auto both = std::make_shared<Both>();
  return {both, both->storage.get()};
}

// A bucket, with a cache that is used until the first write.
struct SuiteBucket {
  FakeS3 server;
  FakeClock clock{1440938160};
  TemporaryFolder folder;
  std::shared_ptr<Storage> storage;

  SuiteBucket(const std::string& prefix, bool is_cached) {
    auto remote = make_s3_storage(
        {"s3", "bucket", prefix},
        {.url = "http://127.0.0.1:9009", .region = "eu-west-1"},
        [] {
          return Result(std::optional(AwsCredentials{"AKID", "secret", ""}));
        },
        server, clock);
    storage = remote;
    if (!is_cached) return;
    storage = make_cached_storage(
        remote,
        std::make_shared<ObjectCache>(folder.path(), 1 << 20, default_logger()),
        "memory");
  }
};

std::shared_ptr<Storage> make_suite_bucket(const std::string& prefix,
                                           bool is_cached) {
  const auto bucket = std::make_shared<SuiteBucket>(prefix, is_cached);
  return {bucket, bucket->storage.get()};
}

// Empty stores of a real server, of which python/tests/test_object_stores.py
// tells the location and the credentials.
constexpr const char* kServerVariable = "SMDEBUG_TEST_STORE";

std::vector<MakeStorage> stores_of_server() {
  const auto location = environment_variable(kServerVariable);
  if (!location) return {};
  return {[location] {
    static int made = 0;
    return *open_storage(*location + "/" + std::to_string(++made));
  }};
}

INSTANTIATE_TEST_SUITE_P(
    S3, StorageSuite,
    testing::Values([] { return make_suite_bucket("runs/a", false); },
                    [] { return make_suite_bucket("", false); }));
INSTANTIATE_TEST_SUITE_P(Cached, StorageSuite, testing::Values([] {
                           return make_suite_bucket("runs/a", true);
                         }));
INSTANTIATE_TEST_SUITE_P(Server, StorageSuite,
                         testing::ValuesIn(stores_of_server()));
INSTANTIATE_TEST_SUITE_P(Memory, StorageSuite, testing::Values([] {
                           return make_memory_storage("memory://suite");
                         }));
INSTANTIATE_TEST_SUITE_P(
    Local, StorageSuite,
    testing::Values(make_local_in_temporary_folder<FileSync::never>));
INSTANTIATE_TEST_SUITE_P(
    Synced, StorageSuite,
    testing::Values(make_local_in_temporary_folder<FileSync::each_call>));
INSTANTIATE_TEST_SUITE_P(Bounded, StorageSuite, testing::Values([] {
                           return bounded_storage(
                               make_memory_storage("memory://bounded"), {});
                         }));
INSTANTIATE_TEST_SUITE_P(
    Queued, StorageSuite, testing::Values([] {
      return make_upload_queue(
          make_memory_storage("memory://queued"),
          {[](std::string_view key) { return key.starts_with("a"); }, 100, 3});
    }));

}  // namespace
}  // namespace smdebug
