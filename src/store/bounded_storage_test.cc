#include "smdebug/store/bounded_storage.h"

#include <semaphore>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smdebug/base/try.h"

#include "store/backends.h"
#include "tests/support/hanging_storage_testing.h"

namespace smdebug {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

// Makes one call of each kind; returns the first failure.
Status make(StorageCall call, Storage& storage) {
  using enum StorageCall;
  const auto as_status = [](const auto& result) {
    return result ? Status() : Status(result.error());
  };
  switch (call) {
    case create:
    case append:
    case commit:
      return put_object(storage, "new", "text");
    case abort: {
      SMD_TRY(const auto writer, storage.create("new"));
      writer->abort();
      return as_status(storage.exists("new"));
    }
    case create_exclusive:
      return as_status(storage.create_exclusive("only", {}));
    case read:
      return as_status(get_object(storage, "old"));
    case list:
      return as_status(storage.list(""));
    case exists:
      return as_status(storage.exists("old"));
    case remove:
      return storage.remove("old");
    case move:
      return storage.move("old", "moved");
    case settle:
      return as_status(storage.settle());
  }
  return {};
}

class HangingCallTest : public testing::TestWithParam<StorageCall> {
 protected:
  HangingCallTest() {
    EXPECT_TRUE(put_object(*memory_, "old", "text"));
    hanging_->hang_at(GetParam());
  }
  ~HangingCallTest() override {
    hanging_->release();
    hanging_->wait_for_release();
  }

  std::shared_ptr<Storage> memory_ = make_memory_storage("memory://hanging");
  std::shared_ptr<HangingStorage> hanging_ =
      std::make_shared<HangingStorage>(memory_);
  std::shared_ptr<Storage> bounded_ =
      bounded_storage(hanging_, {milliseconds(100), nullptr});
};

TEST_P(HangingCallTest, FailsInsteadOfWaitingForever) {
  const Status status = make(GetParam(), *bounded_);
  EXPECT_TRUE(hanging_->has_hung());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Error::Code::unavailable);
  EXPECT_THAT(status.error().message, HasSubstr("memory://hanging"));
  EXPECT_THAT(status.error().message, HasSubstr("0.1 s"));
}

TEST_P(HangingCallTest, MakesEveryOtherCallFailAtOnceUntilItReturns) {
  (void)make(GetParam(), *bounded_);
  for (const StorageCall other : kStorageCalls) {
    const Status status = make(other, *bounded_);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Error::Code::unavailable);
  }
}

TEST_P(HangingCallTest, EndsWhenTheUserInterruptsIt) {
  const auto storage =
      bounded_storage(hanging_, {std::chrono::hours(1), [] { return true; }});
  const Status status = make(GetParam(), *storage);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("interrupted"));
  const Status later = make(StorageCall::list, *storage);
  ASSERT_FALSE(later);
  EXPECT_EQ(later.error().code, Error::Code::unavailable);
  EXPECT_THAT(later.error().message,
              HasSubstr("an earlier call, which was interrupted"));
}

INSTANTIATE_TEST_SUITE_P(Every, HangingCallTest,
                         testing::ValuesIn(kStorageCalls));

TEST(CallBounded, ReturnsTheResultOfTheCall) {
  EXPECT_TRUE(call_bounded("do it", "/runs/a", {}, [] { return Status(); }));
  const Status status = call_bounded("do it", "/runs/a", {}, []() -> Status {
    return Error{Error::Code::io, "it failed"};
  });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "it failed");
}

TEST(CallBounded, NamesTheCallThatDoesNotReturn) {
  const auto ended = std::make_shared<std::binary_semaphore>(0);
  const Status status = call_bounded("create the folder", "/runs/a",
                                     {milliseconds(1), nullptr}, [ended] {
                                       ended->acquire();
                                       return Status();
                                     });
  ended->release();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Error::Code::unavailable);
  EXPECT_THAT(status.error().message,
              HasSubstr("cannot create the folder in '/runs/a': the storage "
                        "has not responded for 0.001 s"));
}

}  // namespace
}  // namespace smdebug
