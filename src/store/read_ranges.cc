#include <algorithm>

#include "store/local_files.h"

namespace smdebug {
namespace {

// Reading this many unused bytes takes less time than another call.
constexpr std::uint64_t kGapBytes = 4 << 10;
constexpr std::uint64_t kBlockBytes = 1 << 20;

// A range within the file, and its index in the request.
struct Piece {
  std::uint64_t start = 0;
  std::uint64_t length = 0;
  std::size_t index = 0;

  std::uint64_t end() const { return start + length; }
};

// Returns how many of `pieces`, sorted by their start, form one block.
std::size_t pieces_of_block(std::span<const Piece> pieces) {
  const std::uint64_t start = pieces.front().start;
  std::uint64_t end = pieces.front().end();
  std::size_t n = 1;
  for (; n < pieces.size(); ++n) {
    const Piece& next = pieces[n];
    if (next.length >= kMappedBytes || next.start > end + kGapBytes ||
        std::max(end, next.end()) - start > kBlockBytes) {
      break;
    }
    end = std::max(end, next.end());
  }
  return pieces.front().length >= kMappedBytes ? 1 : n;
}

}  // namespace

ByteRange cut_range(const ByteRange& range, std::uint64_t file_bytes) {
  const std::uint64_t start = std::min(range.start, file_bytes);
  return {start, std::min(range.length, file_bytes - start)};
}

Result<std::vector<Bytes>> read_ranges(const OpenFile& file,
                                       const std::string& path,
                                       std::span<const ByteRange> ranges) {
  std::vector<Bytes> parts(ranges.size());
  std::vector<Piece> pieces;
  pieces.reserve(ranges.size());
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto [start, length] = cut_range(ranges[i], file.bytes);
    if (length > 0) pieces.push_back({start, length, i});
  }
  std::ranges::sort(pieces, {}, &Piece::start);
  for (std::span<const Piece> rest = pieces; !rest.empty();) {
    const auto block = rest.first(pieces_of_block(rest));
    rest = rest.subspan(block.size());
    const std::uint64_t start = block.front().start;
    const std::uint64_t end = std::ranges::max(block, {}, &Piece::end).end();
    SMD_TRY(Bytes bytes, read_bytes(file.descriptor, path, start, end - start));
    if (block.size() == 1) {
      parts[block.front().index] = std::move(bytes);
      continue;
    }
    for (const Piece& piece : block) {
      parts[piece.index] =
          Bytes(bytes.owner(),
                bytes.span().subspan(piece.start - start, piece.length));
    }
  }
  return parts;
}

}  // namespace smdebug
