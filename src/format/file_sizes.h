#pragma once

// The largest size of each kind of file that readers load as a whole. A larger
// file is damage: reading it would take the memory of the reader. The values of
// event files are read one record at a time and need no such limit.
// docs/format.md lists these limits.

#include <cstdint>

namespace smdebug {

// An entry takes about 350 bytes with its statistics, and 150 more per
// reduction: this is a million tensors. The parser needs several times as much
// memory.
inline constexpr std::uint64_t kMaxIndexFileBytes = std::uint64_t{512} << 20;

// A tensor name takes about 60 bytes per collection: this is a million tensors
// in two collections.
inline constexpr std::uint64_t kMaxCollectionsFileBytes = 128 << 20;

// The configuration in it has the form of a collections file.
inline constexpr std::uint64_t kMaxRunFileBytes = kMaxCollectionsFileBytes;

// A parameter takes about 300 bytes.
inline constexpr std::uint64_t kMaxFactsFileBytes = kMaxCollectionsFileBytes;

// 4096 samples, at worst each of a series of its own whose name has 1000 bytes
// that are written as six.
inline constexpr std::uint64_t kMaxSeriesFileBytes = 64 << 20;

// Its writer begins another one beyond `kStatisticsFileBytes`, and a step takes
// less than its index file.
inline constexpr std::uint64_t kMaxStatisticsFileBytes = kMaxIndexFileBytes;

// Its writer bounds it to a few kilobytes.
inline constexpr std::uint64_t kMaxProgressFileBytes = 64 << 10;

// A host name and two numbers.
inline constexpr std::uint64_t kMaxClaimBytes = 64 << 10;

}  // namespace smdebug
