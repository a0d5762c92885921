#include "smdebug/store/bounded_storage.h"

#include "store/backends.h"
#include "store/upload_queue.h"
#include "tests/conformance/storage_suite.h"
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
