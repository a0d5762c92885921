#include "store/upload_queue.h"

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/result_matchers_testing.h"
#include "store/backends.h"
#include "store/forwarding_storage.h"

namespace smdebug {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

bool is_event(std::string_view key) { return key.starts_with("events/"); }

// Holds each commit until `release` names its key.
class Gate final : public StorageHook {
 public:
  Status enter(StorageCall call, std::string_view key) override {
    if (call != StorageCall::commit) return {};
    std::unique_lock lock(mutex_);
    waiting_.emplace(key);
    moved_.notify_all();
    moved_.wait(lock, [&] { return is_open_ || released_.contains(key); });
    waiting_.erase(std::string(key));
    if (failing_.contains(key)) {
      return Error{Error::Code::io, "no " + std::string(key)};
    }
    return {};
  }

  void release(std::string key) {
    change([&] { released_.insert(key); });
  }
  void fail(std::string key) {
    change([&] {
      failing_.insert(key);
      released_.insert(key);
    });
  }
  void open() {
    change([&] { is_open_ = true; });
  }

  // Returns the keys of the commits that have begun, once there are `n`.
  std::set<std::string, std::less<>> begun(std::size_t n) {
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return waiting_.size() >= n; });
    return waiting_;
  }

 private:
  template <typename Change>
  void change(const Change& change) {
    const std::lock_guard lock(mutex_);
    change();
    moved_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable moved_;
  std::set<std::string, std::less<>> waiting_, released_, failing_;
  bool is_open_ = false;
};

class UploadQueueTest : public testing::Test {
 protected:
  ~UploadQueueTest() override { gate_->open(); }

  void put(std::string_view key, std::string_view text = "text") {
    EXPECT_THAT(put_object(*queue_, key, text), IsOk()) << key;
  }

  std::vector<std::string> published() const {
    std::vector<std::string> keys;
    const auto entries = store_->list("");
    for (const ObjectEntry& entry : *entries) keys.push_back(entry.key);
    return keys;
  }

  Status settle_all() const {
    for (;;) {
      const auto is_settled = queue_->settle();
      if (!is_settled) return is_settled.error();
      if (*is_settled) return {};
    }
  }

  const std::shared_ptr<Storage> store_ = make_memory_storage("memory://store");
  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
  std::shared_ptr<Storage> queue_ = make_upload_queue(
      std::make_shared<ForwardingStorage>(store_, gate_), {is_event, 100, 3});
};

TEST_F(UploadQueueTest, CommitsReturnBeforeTheObjectsArePublished) {
  put("events/0");
  EXPECT_THAT(published(), IsEmpty());
  gate_->open();
  EXPECT_THAT(settle_all(), IsOk());
  EXPECT_THAT(published(), ElementsAre("events/0"));
}

TEST_F(UploadQueueTest, AnObjectWaitsForThoseBeforeItUnlessItMayOvertake) {
  for (const char* const key : {"events/0", "index/0", "events/1", "index/1"}) {
    put(key);
  }
  EXPECT_THAT(gate_->begun(2), UnorderedElementsAre("events/0", "events/1"));
  gate_->release("events/1");
  gate_->release("index/0");
  gate_->release("index/1");
  while (!*store_->exists("events/1")) std::this_thread::yield();
  EXPECT_THAT(published(), ElementsAre("events/1"));
  gate_->release("events/0");
  EXPECT_THAT(settle_all(), IsOk());
  EXPECT_THAT(published(),
              ElementsAre("events/0", "events/1", "index/0", "index/1"));
}

TEST_F(UploadQueueTest, NoMoreThanTheLimitAreUploadedAtOnce) {
  for (const char* const key : {"events/0", "events/1", "events/2", "events/3"})
    put(key);
  EXPECT_THAT(gate_->begun(3),
              UnorderedElementsAre("events/0", "events/1", "events/2"));
  gate_->release("events/1");
  while (!*store_->exists("events/1")) std::this_thread::yield();
  EXPECT_THAT(gate_->begun(3),
              UnorderedElementsAre("events/0", "events/2", "events/3"));
}

TEST_F(UploadQueueTest, SettlesOneUploadAfterTheOther) {
  put("index/0");
  put("index/1");
  std::jthread other([&] {
    gate_->release("index/0");
    while (!*store_->exists("index/0")) std::this_thread::yield();
    gate_->open();
  });
  int calls = 0;
  for (bool is_settled = false; !is_settled; ++calls) {
    const auto settled = queue_->settle();
    ASSERT_THAT(settled, IsOk());
    is_settled = *settled;
  }
  EXPECT_THAT(calls, testing::AllOf(testing::Ge(1), testing::Le(2)));
  EXPECT_THAT(published(), ElementsAre("index/0", "index/1"));
}

TEST_F(UploadQueueTest, CommitWaitsForSpace) {
  put("events/0", std::string(60, 'a'));
  std::atomic<bool> is_committed = false;
  std::jthread other([&] {
    put("events/1", std::string(60, 'b'));
    is_committed = true;
  });
  (void)gate_->begun(1);
  EXPECT_FALSE(is_committed);
  gate_->open();
  other.join();
  EXPECT_TRUE(is_committed);
  put("events/2", std::string(1000, 'c'));  // more than the limit, alone
  EXPECT_THAT(settle_all(), IsOk());
  EXPECT_EQ(published().size(), 3);
}

TEST_F(UploadQueueTest, AFailureDiscardsWhatWaitsAndFailsLaterCalls) {
  put("events/0");
  put("index/0");
  (void)gate_->begun(1);
  gate_->fail("events/0");
  EXPECT_THAT(settle_all(), FailsWith(Error::Code::io, "no events/0"));
  gate_->open();
  EXPECT_THAT(put_object(*queue_, "events/1", "text"),
              FailsWith(Error::Code::io, "no events/0"));
  EXPECT_THAT(queue_->remove("events/1"),
              FailsWith(Error::Code::io, "no events/0"));
  EXPECT_THAT(published(), IsEmpty());
}

TEST_F(UploadQueueTest, OtherCallsSeeWhatWasCommitted) {
  gate_->open();
  for (int i = 0; i < 20; ++i) put("index/" + std::to_string(i));
  EXPECT_EQ(queue_->list("")->size(), 20);
  put("index/a");
  EXPECT_THAT(queue_->exists("index/a"), IsOkAndHolds(true));
  put("index/a", "newer");
  EXPECT_EQ(get_object(*queue_, "index/a")->text(), "newer");
  put("index/b");
  EXPECT_THAT(queue_->remove("index/b"), IsOk());
  EXPECT_THAT(queue_->exists("index/b"), IsOkAndHolds(false));
}

// Checks at each commit that everything before it is published.
class OrderCheck final : public StorageHook {
 public:
  explicit OrderCheck(const Storage& store) : store_(store) {}

  void expect_before(std::string key, std::vector<std::string> earlier) {
    const std::lock_guard lock(mutex_);
    before_[std::move(key)] = std::move(earlier);
  }

  Status enter(StorageCall call, std::string_view key) override {
    if (call != StorageCall::commit || is_event(key)) return {};
    const std::lock_guard lock(mutex_);
    for (const std::string& earlier : before_.find(key)->second) {
      EXPECT_THAT(store_.exists(earlier), IsOkAndHolds(true))
          << earlier << " before " << key;
    }
    return {};
  }

 private:
  const Storage& store_;
  std::mutex mutex_;
  std::map<std::string, std::vector<std::string>, std::less<>> before_;
};

TEST(UploadQueueOrder, IsKeptForAnySequence) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 20; ++round) {
    const auto store = make_memory_storage("memory://order");
    const auto check = std::make_shared<OrderCheck>(*store);
    const auto queue =
        make_upload_queue(std::make_shared<ForwardingStorage>(store, check),
                          {is_event, 1 + random() % 200, 1 + random() % 8});
    std::vector<std::string> keys;
    for (int i = 0; i < 100; ++i) {
      const std::string key =
          (random() % 2 ? "events/" : "index/") + std::to_string(i);
      check->expect_before(key, keys);
      keys.push_back(key);
      ASSERT_THAT(put_object(*queue, key, std::string(random() % 50, 'x')),
                  IsOk());
    }
    EXPECT_EQ(queue->list("")->size(), keys.size());
  }
}

}  // namespace
}  // namespace smdebug
