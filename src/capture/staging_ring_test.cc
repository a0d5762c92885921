#include "capture/staging_ring.h"

#include <cstring>
#include <deque>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace smdebug {
namespace {

constexpr std::size_t kBytes = 64 << 10;

std::unique_ptr<StagingRing> ring_of(std::size_t bytes) {
  auto ring = StagingRing::create(bytes);
  EXPECT_TRUE(ring.ok());
  return *std::move(ring);
}

// A message for these tests: its size, then that many bytes of one value.
struct Sent {
  std::uint64_t bytes;
  std::uint64_t value;
};

bool send(StagingRing& ring, const Sent& sent) {
  std::byte* room = ring.try_reserve(sent.bytes);
  if (room == nullptr) return false;
  std::memset(room, static_cast<int>(sent.value & 0x7f), sent.bytes);
  std::memcpy(room, &sent, sizeof(sent));
  ring.publish();
  return true;
}

Sent receive(StagingRing& ring) {
  Sent sent;
  std::memcpy(&sent, ring.front(), sizeof(sent));
  for (std::size_t i = sizeof(sent); i < sent.bytes; ++i)
    EXPECT_EQ(ring.front()[i], std::byte(sent.value & 0x7f));
  ring.advance(sent.bytes);
  return sent;
}

TEST(StagingRing, GivesBackWhatWasPutInAtTheSameAddressAlignment) {
  auto ring = ring_of(kBytes);
  ASSERT_TRUE(send(*ring, {100, 7}));
  ASSERT_TRUE(ring->can_read(ring->published()));
  EXPECT_EQ(
      reinterpret_cast<std::uintptr_t>(ring->front()) % StagingRing::kAlignment,
      0u);
  EXPECT_EQ(receive(*ring).value, 7u);
  EXPECT_FALSE(ring->can_read(ring->published()));
}

TEST(StagingRing, RefusesWhatDoesNotFitUntilTheReaderReleases) {
  auto ring = ring_of(kBytes);
  ASSERT_TRUE(send(*ring, {kBytes / 2, 1}));
  ASSERT_TRUE(send(*ring, {kBytes / 2, 2}));
  EXPECT_FALSE(send(*ring, {64, 3}));
  ASSERT_TRUE(ring->can_read(ring->published()));
  receive(*ring);
  EXPECT_FALSE(send(*ring, {64, 3})) << "read, but not released";
  ring->release();
  EXPECT_TRUE(send(*ring, {64, 3}));
}

TEST(StagingRing, GoesBackToItsStartWheneverTheReaderHasCaughtUp) {
  auto ring = ring_of(kBytes);
  const std::byte* start = nullptr;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    ASSERT_TRUE(send(*ring, {640, i}));
    ASSERT_TRUE(ring->can_read(ring->published()));
    if (start == nullptr) start = ring->front();
    EXPECT_EQ(ring->front(), start);
    EXPECT_EQ(receive(*ring).value, i);
    ring->release();
    EXPECT_EQ(ring->used(), 0u);
  }
}

TEST(StagingRing, AgreesWithAQueueOverRandomSizes) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  auto ring = ring_of(kBytes);
  std::deque<std::uint64_t> model;
  std::uint64_t next = 0;
  for (int i = 0; i < 20000; ++i) {
    if (random() % 2 == 0) {
      const std::uint64_t bytes =
          sizeof(Sent) + random() % (kBytes / 2 - sizeof(Sent));
      if (send(*ring, {bytes, next})) model.push_back(next++);
      continue;
    }
    const std::uint64_t end = ring->published();
    while (!model.empty() && random() % 8 != 0) {
      ASSERT_TRUE(ring->can_read(end));
      ASSERT_EQ(receive(*ring).value, model.front());
      model.pop_front();
    }
    if (model.empty()) {
      EXPECT_FALSE(ring->can_read(end));
    }
    ring->release();
  }
}

TEST(StagingRing, CarriesEveryMessageFromOneThreadToAnother) {
  auto ring = ring_of(kBytes);
  constexpr std::uint64_t kMessages = 50000;
  std::jthread sender([&] {
    std::mt19937 random(1);
    for (std::uint64_t i = 0; i < kMessages;) {
      if (send(*ring, {sizeof(Sent) + random() % 2000, i}))
        ++i;
      else
        std::this_thread::yield();
    }
  });
  for (std::uint64_t i = 0; i < kMessages;) {
    const std::uint64_t end = ring->published();
    if (!ring->can_read(end)) std::this_thread::yield();
    while (ring->can_read(end)) ASSERT_EQ(receive(*ring).value, i++);
    ring->release();
  }
}

}  // namespace
}  // namespace smdebug
