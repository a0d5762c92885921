#include "store/cached_storage.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "store/backends.h"
#include "store/forwarding_storage.h"

namespace smdebug {
namespace {

// The folders of a run whose files do not change, except that another attempt
// of the training replaces them (docs/format.md).
constexpr std::string_view kLastingFolders[] = {"events/", "facts/", "index/",
                                                "series/", "statistics/"};

// An attempt that another one has replaced is a run in this folder.
constexpr std::string_view kAttempts = "attempts/";

// 100 bytes each. Objects beyond that are listed again when they are read.
constexpr std::size_t kMostTags = 200'000;

// "events/" for "events/000000000007/000000000007_worker_0.tfevents"; empty if
// files in the folder may change.
std::string_view lasting_folder(std::string_view key) {
  std::size_t start = 0;
  if (key.starts_with(kAttempts)) {
    start = key.find('/', kAttempts.size()) + 1;  // npos + 1 is 0
  }
  for (const std::string_view folder : kLastingFolders) {
    if (key.substr(start).starts_with(folder)) {
      return key.substr(0, start + folder.size());
    }
  }
  return {};
}

// A text that sorts before a key, and after most keys that do. ASCII, because a
// server may refuse others that are not whole characters.
std::string key_before(std::string_view key) {
  std::string before(key.substr(0, key.size() - 1));
  const char last = key.back();
  if (last > ' ' && last <= '~') {
    before += static_cast<char>(last - 1);
    before += '~';
  }
  return before;
}

// An object in a listing.
struct Listed {
  std::uint64_t bytes = 0;
  std::string tag;
};

// The objects that the server has listed since the caller last requested a
// listing, which is part of it. Older tags are forgotten: the caller looks for
// changes.
class KnownTags {
 public:
  // Notes the answer to a request of the caller.
  void take_listing(const std::vector<TaggedEntry>& entries) {
    const std::lock_guard lock(mutex_);
    ++listings_;
    tags_.clear();
    add(entries);
  }

  // Notes a page that was requested after `listings` listings of the caller.
  void take_page(const std::vector<TaggedEntry>& entries,
                 std::uint64_t listings) {
    const std::lock_guard lock(mutex_);
    if (listings != listings_) return;
    if (tags_.size() + entries.size() > kMostTags) tags_.clear();
    add(entries);
  }

  std::optional<Listed> find(std::string_view key) const {
    const std::lock_guard lock(mutex_);
    const auto found = tags_.find(key);
    if (found == tags_.end()) return std::nullopt;
    return found->second;
  }

  std::uint64_t listings() const {
    const std::lock_guard lock(mutex_);
    return listings_;
  }

 private:
  void add(const std::vector<TaggedEntry>& entries) {
    for (const auto& [entry, tag] : entries) {
      if (tags_.size() >= kMostTags) return;
      if (tag.empty() || lasting_folder(entry.key).empty()) continue;
      tags_.insert_or_assign(entry.key, Listed{entry.bytes, tag});
    }
  }

  mutable std::mutex mutex_;
  std::uint64_t listings_ = 0;  // that the caller has requested
  std::map<std::string, Listed, std::less<>> tags_;
};

// The part of a range that is in an object.
ByteRange part_of(const ByteRange& range, std::uint64_t object_bytes) {
  const std::uint64_t start = std::min(range.start, object_bytes);
  return {start, std::min(range.length, object_bytes - start)};
}

// Notices that a storage writes.
class WriteWatch final : public StorageHook {
 public:
  Status enter(StorageCall call, std::string_view) override {
    switch (call) {
      case StorageCall::read:
      case StorageCall::list:
      case StorageCall::exists:
      case StorageCall::settle:
        break;
      default:
        has_written_ = true;
    }
    return {};
  }

  bool has_written() const { return has_written_; }

 private:
  std::atomic<bool> has_written_ = false;
};

class CachedStorage final : public ForwardingStorage {
 public:
  CachedStorage(std::shared_ptr<TaggedStorage> inner,
                std::shared_ptr<ObjectCache> cache, std::string place,
                std::shared_ptr<WriteWatch> writes)
      : ForwardingStorage(inner, writes),
        inner_(std::move(inner)),
        cache_(std::move(cache)),
        place_(std::move(place)),
        writes_(std::move(writes)) {}

  Result<std::vector<Bytes>> read(
      std::string_view key, std::span<const ByteRange> ranges) const override {
    const auto object = find_object(key);
    if (!object) return inner_->read(key, ranges);
    std::vector<Bytes> parts(ranges.size());
    std::vector<std::size_t> missing;
    std::vector<ByteRange> wanted;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      auto part = find_part(key, *object, ranges[i]);
      if (part) {
        parts[i] = *std::move(part);
      } else {
        missing.push_back(i);
        wanted.push_back(ranges[i]);
      }
    }
    if (missing.empty()) return parts;
    std::string tag;
    SMD_TRY(auto read, inner_->read_tagged(key, wanted, tag));
    for (std::size_t i = 0; i < missing.size(); ++i) {
      keep_part(key, *object, wanted[i], tag, read[i]);
      parts[missing[i]] = std::move(read[i]);
    }
    // Parts of the object and of its successor are no object.
    if (missing.size() < ranges.size() && tag != object->tag) {
      return inner_->read(key, ranges);
    }
    return parts;
  }

  Result<Bytes> read_whole(std::string_view key,
                           std::uint64_t max_bytes) const override {
    const auto object = find_object(key);
    if (!object || object->bytes > max_bytes) {
      return inner_->read_whole(key, max_bytes);
    }
    if (auto whole = find_part(key, *object, {})) return *std::move(whole);
    const ObjectRange wanted{std::string(key), {}};
    std::vector<std::string> tags;
    auto read = std::move(inner_->read_each_tagged({&wanted, 1}, tags).front());
    if (!read) return read;
    if (read->size() > max_bytes) return too_large(key, max_bytes);
    keep_part(key, *object, {}, tags.front(), *read);
    return read;
  }

  std::vector<Result<Bytes>> read_each(
      std::span<const ObjectRange> ranges) const override {
    std::vector<Result<Bytes>> parts(
        ranges.size(), Error{Error::Code::internal, "was not read"});
    std::vector<std::optional<Listed>> objects(ranges.size());
    std::vector<std::size_t> missing;
    std::vector<ObjectRange> wanted;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const auto& [key, range] = ranges[i];
      objects[i] = find_object(key);
      auto part =
          objects[i] ? find_part(key, *objects[i], range) : std::nullopt;
      if (part) {
        parts[i] = *std::move(part);
      } else {
        missing.push_back(i);
        wanted.push_back(ranges[i]);
      }
    }
    std::vector<std::string> tags;
    auto read = inner_->read_each_tagged(wanted, tags);
    for (std::size_t i = 0; i < missing.size(); ++i) {
      const auto& object = objects[missing[i]];
      if (object && read[i]) {
        keep_part(wanted[i].key, *object, wanted[i].range, tags[i], *read[i]);
      }
      parts[missing[i]] = std::move(read[i]);
    }
    return parts;
  }

  Result<std::vector<ObjectEntry>> list(std::string_view prefix,
                                        std::string_view after) const override {
    SMD_TRY(auto tagged, inner_->list_tagged(prefix, after, S3Pages::all));
    tags_.take_listing(tagged);
    std::vector<ObjectEntry> entries;
    entries.reserve(tagged.size());
    for (TaggedEntry& each : tagged) entries.push_back(std::move(each.entry));
    return entries;
  }

  Result<std::vector<std::string>> names_in(
      std::string_view folder) const override {
    return inner_->names_in(folder);
  }

  Status move_each(std::span<const ObjectMove> moves) override {
    SMD_CHECK_OK(writes_->enter(StorageCall::move, ""));
    return inner_->move_each(moves);
  }

 private:
  // Returns what the server listed of an object that may be in the cache.
  std::optional<Listed> find_object(std::string_view key) const {
    const std::string_view folder = lasting_folder(key);
    if (folder.empty() || !check_key(key) || writes_->has_written() ||
        !cache_->is_usable()) {
      return std::nullopt;
    }
    if (auto known = tags_.find(key)) return known;
    // One page for all threads that read the objects of it.
    const std::lock_guard lock(paging_);
    if (auto known = tags_.find(key)) return known;
    if (!can_list_) return std::nullopt;
    const std::uint64_t listings = tags_.listings();
    const auto page =
        inner_->list_tagged(folder, key_before(key), S3Pages::first);
    can_list_ = static_cast<bool>(page);
    if (page) tags_.take_page(*page, listings);
    return tags_.find(key);
  }

  std::string entry_name(std::string_view key, const Listed& object,
                         const ByteRange& part) const {
    return fmt::format("{}/{}\n{}\n{}\n{}-{}", place_, key, object.bytes,
                       object.tag, part.start, part.length);
  }

  std::optional<Bytes> find_part(std::string_view key, const Listed& object,
                                 const ByteRange& range) const {
    const ByteRange part = part_of(range, object.bytes);
    if (part.length == 0) return std::nullopt;
    return cache_->find(entry_name(key, object, part), part.length);
  }

  // `tag` is that of the object which was read, perhaps a newer one.
  void keep_part(std::string_view key, const Listed& object,
                 const ByteRange& range, const std::string& tag,
                 const Bytes& bytes) const {
    const ByteRange part = part_of(range, object.bytes);
    if (part.length == 0 || bytes.size() != part.length || tag != object.tag) {
      return;
    }
    cache_->put(entry_name(key, object, part), bytes.span());
  }

  const std::shared_ptr<TaggedStorage> inner_;
  const std::shared_ptr<ObjectCache> cache_;
  const std::string place_;
  const std::shared_ptr<WriteWatch> writes_;
  mutable KnownTags tags_;
  mutable std::mutex paging_;
  mutable bool can_list_ = true;  // guarded by `paging_`
};

}  // namespace

std::shared_ptr<Storage> make_cached_storage(
    std::shared_ptr<TaggedStorage> inner, std::shared_ptr<ObjectCache> cache,
    std::string place) {
  return std::make_shared<CachedStorage>(std::move(inner), std::move(cache),
                                         std::move(place),
                                         std::make_shared<WriteWatch>());
}

}  // namespace smdebug
