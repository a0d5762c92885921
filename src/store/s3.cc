// Stores objects below a prefix of a bucket. Reads of several ranges or objects
// are requests at once; ranges that are close together are one request.

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "smdebug/base/escape.h"
#include "smdebug/base/parallel.h"
#include "smdebug/base/try.h"

#include "net/s3_client.h"
#include "store/backends.h"

namespace smdebug {
namespace {

// Requests at once of one call.
constexpr std::size_t kMostRequests = 64;
// Bytes between two ranges that are read rather than requested apart: a request
// takes as long as the transfer of about this many.
constexpr std::uint64_t kLongestGap = 64 << 10;
// No single request reads more than this, so that the parts of a long range
// arrive at once.
constexpr std::uint64_t kLongestRead = 8 << 20;
// An object that is longer is uploaded in parts of this size.
constexpr std::size_t kPartBytes = 8 << 20;
constexpr std::size_t kMostUploads = 4;

// The objects of one run, with their keys in the bucket.
struct Place {
  Place(S3Location at, S3Endpoint endpoint, FindCredentials find,
        const HttpClient& http, const Clock& clock, RetryPolicy retries)
      : location(std::move(at)),
        client(location, std::move(endpoint), std::move(find), http, clock,
               retries) {}

  std::string key(std::string_view key_in_run) const {
    return location.prefix.empty()
               ? std::string(key_in_run)
               : fmt::format("{}/{}", location.prefix, key_in_run);
  }

  const S3Location location;
  const S3Client client;
};

Bytes owned(std::string text) {
  const auto owner = std::make_shared<const std::string>(std::move(text));
  return {owner, std::as_bytes(std::span(*owner)), Bytes::Kind::shared};
}

// A part of an object that is read in one request, for the ranges with these
// positions.
struct Span {
  std::uint64_t start = 0;
  std::uint64_t end = 0;  // UINT64_MAX: the end of the object
  std::vector<std::size_t> ranges;
};

std::uint64_t end_of(const ByteRange& range) {
  return range.length > UINT64_MAX - range.start ? UINT64_MAX
                                                 : range.start + range.length;
}

// The requests that cover the ranges, which need not be sorted.
std::vector<Span> spans_of(std::span<const ByteRange> ranges) {
  std::vector<std::size_t> order(ranges.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) {
    return std::pair(ranges[i].start, end_of(ranges[i]));
  });
  std::vector<Span> spans;
  for (const std::size_t i : order) {
    const ByteRange& range = ranges[i];
    if (range.length == 0) continue;
    const std::uint64_t end = end_of(range);
    const bool is_near =
        !spans.empty() &&
        (range.start <= spans.back().end ||
         range.start - spans.back().end <= kLongestGap) &&
        (end <= spans.back().end || end - spans.back().start <= kLongestRead);
    if (!is_near) spans.push_back({range.start, end, {}});
    spans.back().end = std::max(spans.back().end, end);
    spans.back().ranges.push_back(i);
  }
  return spans;
}

class S3Writer final : public ObjectWriter {
 public:
  S3Writer(std::shared_ptr<const Place> place, std::string key)
      : place_(std::move(place)), key_(std::move(key)) {}
  ~S3Writer() override { abort(); }

  Status append(std::span<const std::span<const std::byte>> parts) override {
    if (!is_open_) return closed();
    for (const auto part : parts) {
      bytes_ += part.size();
      body_.append(reinterpret_cast<const char*>(part.data()), part.size());
    }
    while (body_.size() >= (kMostUploads + 1) * kPartBytes) {
      SMD_CHECK_OK(upload(kMostUploads));
    }
    return {};
  }

  Status commit() override {
    if (!is_open_) return closed();
    if (upload_.empty() && body_.size() <= kPartBytes) {
      is_open_ = false;
      return place_->client.put(key_, std::move(body_));
    }
    SMD_CHECK_OK(upload((body_.size() + kPartBytes - 1) / kPartBytes));
    SMD_CHECK_OK(place_->client.complete_upload(key_, upload_, tags_, bytes_));
    is_open_ = false;
    upload_.clear();
    return {};
  }

  void abort() override {
    is_open_ = false;
    body_.clear();
    // The parts take space until the upload is aborted.
    if (!upload_.empty()) (void)place_->client.abort_upload(key_, upload_);
    upload_.clear();
  }

 private:
  Error closed() const {
    return {Error::Code::closed,
            fmt::format("'{}' was already committed or aborted", key_)};
  }

  // Uploads the first `count` parts of what is left, at once.
  Status upload(std::size_t count) {
    if (upload_.empty()) {
      SMD_TRY(upload_, place_->client.begin_upload(key_));
    }
    const std::size_t first = tags_.size();
    tags_.resize(first + count);
    SMD_CHECK_OK(
        try_concurrently(count, kMostUploads, [&](std::size_t i) -> Status {
          SMD_TRY(tags_[first + i],
                  place_->client.put_part(
                      key_, upload_, static_cast<int>(first + i + 1),
                      body_.substr(i * kPartBytes, kPartBytes)));
          return {};
        }));
    body_.erase(0, count * kPartBytes);
    return {};
  }

  const std::shared_ptr<const Place> place_;
  const std::string key_;  // in the bucket
  std::uint64_t bytes_ = 0;
  std::string body_;    // what is not uploaded yet
  std::string upload_;  // empty: none was begun
  std::vector<std::string> tags_;
  bool is_open_ = true;
};

class S3Storage final : public TaggedStorage {
 public:
  explicit S3Storage(std::shared_ptr<const Place> place)
      : place_(std::move(place)), uri_(place_->location.text()) {}

  const std::string& uri() const override { return uri_; }

  Result<std::unique_ptr<ObjectWriter>> create(std::string_view key) override {
    SMD_CHECK_OK(check_key(key));
    return std::unique_ptr<ObjectWriter>(
        std::make_unique<S3Writer>(place_, place_->key(key)));
  }

  Result<bool> create_exclusive(std::string_view key,
                                std::span<const std::byte> bytes) override {
    SMD_CHECK_OK(check_key(key));
    return place_->client.put_if_free(
        place_->key(key),
        {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }

  Result<std::vector<Bytes>> read(
      std::string_view key, std::span<const ByteRange> ranges) const override {
    std::string tag;
    return read_tagged(key, ranges, tag);
  }

  Result<std::vector<Bytes>> read_tagged(std::string_view key,
                                         std::span<const ByteRange> ranges,
                                         std::string& tag) const override {
    SMD_CHECK_OK(check_key(key));
    const std::vector<Span> spans = spans_of(ranges);
    std::vector<Bytes> parts(ranges.size());
    std::vector<std::string> tags(spans.size());
    SMD_CHECK_OK(try_concurrently(
        spans.size(), kMostRequests, [&](std::size_t i) -> Status {
          const auto& [start, end, positions] = spans[i];
          SMD_TRY(std::string text,
                  get(key, {start, end == UINT64_MAX ? end : end - start},
                      tags[i]));
          const Bytes bytes = owned(std::move(text));
          for (const std::size_t position : positions) {
            const ByteRange& wanted = ranges[position];
            const std::uint64_t first =
                std::min<std::uint64_t>(wanted.start - start, bytes.size());
            parts[position] =
                Bytes(bytes.owner(),
                      bytes.span().subspan(
                          first, std::min<std::uint64_t>(
                                     wanted.length, bytes.size() - first)));
          }
          return {};
        }));
    const bool is_one_object =
        !tags.empty() &&
        std::ranges::count(tags, tags.front()) == std::ssize(tags);
    tag = is_one_object ? tags.front() : "";
    return parts;
  }

  Result<Bytes> read_whole(std::string_view key,
                           std::uint64_t max_bytes) const override {
    SMD_CHECK_OK(check_key(key));
    SMD_TRY(std::string text,
            place_->client.get(place_->key(key), 0, UINT64_MAX, max_bytes));
    return owned(std::move(text));
  }

  std::vector<Result<Bytes>> read_each(
      std::span<const ObjectRange> ranges) const override {
    std::vector<std::string> tags;
    return read_each_tagged(ranges, tags);
  }

  std::vector<Result<Bytes>> read_each_tagged(
      std::span<const ObjectRange> ranges,
      std::vector<std::string>& tags) const override {
    std::vector<Result<Bytes>> parts(
        ranges.size(), Error{Error::Code::internal, "was not read"});
    tags.assign(ranges.size(), "");
    concurrent_for(ranges.size(), kMostRequests, [&](std::size_t i) {
      parts[i] = read_part(ranges[i], tags[i]);
    });
    return parts;
  }

  Result<std::vector<ObjectEntry>> list(std::string_view prefix,
                                        std::string_view after) const override {
    SMD_TRY(auto tagged, list_tagged(prefix, after, S3Pages::all));
    std::vector<ObjectEntry> entries;
    entries.reserve(tagged.size());
    for (TaggedEntry& each : tagged) entries.push_back(std::move(each.entry));
    return entries;
  }

  Result<std::vector<TaggedEntry>> list_tagged(std::string_view prefix,
                                               std::string_view after,
                                               S3Pages pages) const override {
    const std::size_t skipped = place_->key("").size();
    SMD_TRY(auto objects, place_->client.list(
                              place_->key(prefix),
                              after.empty() ? "" : place_->key(after), pages));
    std::vector<TaggedEntry> entries;
    entries.reserve(objects.size());
    for (S3Object& object : objects) {
      if (object.key.size() < skipped) continue;
      std::string key = object.key.substr(skipped);
      // Keys that are no names in a run, such as the "folder/" of a browser.
      if (!check_key(key)) continue;
      entries.push_back(
          {{std::move(key), object.bytes}, std::move(object.tag)});
    }
    return entries;
  }

  Result<std::vector<std::string>> names_in(
      std::string_view folder) const override {
    const std::string prefix = place_->key(folder);
    SMD_TRY(std::vector<std::string> names, place_->client.list_level(prefix));
    for (std::string& name : names) name.erase(0, prefix.size());
    return names;
  }

  Result<bool> exists(std::string_view key) const override {
    SMD_CHECK_OK(check_key(key));
    return place_->client.exists(place_->key(key));
  }

  Status remove(std::string_view key) override {
    SMD_CHECK_OK(check_key(key));
    return place_->client.remove(place_->key(key));
  }

  Status move(std::string_view from, std::string_view to) override {
    const ObjectMove one = {std::string(from), std::string(to)};
    return move_each({&one, 1});
  }

  // Copies all objects before it removes one, the last one first: if this is
  // cut off, none is lost, and the first ones are the first to be gone.
  Status move_each(std::span<const ObjectMove> moves) override {
    for (const auto& [from, to] : moves) {
      SMD_CHECK_OK(check_key(from));
      SMD_CHECK_OK(check_key(to));
    }
    SMD_CHECK_OK(try_concurrently(
        moves.size(), kMostRequests,
        [&](std::size_t i) { return copy(moves[moves.size() - 1 - i]); }));
    return try_concurrently(
        moves.size(), kMostRequests, [&](std::size_t i) -> Status {
          if (moves[i].from == moves[i].to) return {};
          return place_->client.remove(place_->key(moves[i].from));
        });
  }

  bool is_remote() const override { return true; }

 private:
  // A missing object is none to copy.
  Status copy(const ObjectMove& move) const {
    if (move.from == move.to) return {};
    Status copied =
        place_->client.copy(place_->key(move.from), place_->key(move.to));
    if (!copied && copied.error().code == Error::Code::not_found) return {};
    return copied;
  }

  Result<std::string> get(std::string_view key, const ByteRange& range,
                          std::string& tag) const {
    const std::uint64_t most =
        std::min<std::uint64_t>(range.length, kMaxObjectBytes);
    return place_->client.get(place_->key(key), range.start, range.length, most,
                              &tag);
  }

  Result<Bytes> read_part(const ObjectRange& wanted, std::string& tag) const {
    SMD_CHECK_OK(check_key(wanted.key));
    SMD_TRY(std::string text, get(wanted.key, wanted.range, tag));
    return owned(std::move(text));
  }

  const std::shared_ptr<const Place> place_;
  const std::string uri_;
};

}  // namespace

std::shared_ptr<TaggedStorage> make_s3_storage(
    S3Location location, S3Endpoint endpoint, FindCredentials find,
    const HttpClient& http, const Clock& clock, RetryPolicy retries) {
  return std::make_shared<S3Storage>(
      std::make_shared<const Place>(std::move(location), std::move(endpoint),
                                    std::move(find), http, clock, retries));
}

}  // namespace smdebug
