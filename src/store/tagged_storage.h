#pragma once

// A storage on a server that gives each object a tag, which changes with the
// content (the ETag of S3). `cached_storage` finds out with it whether a copy
// is still the object.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/store/storage.h"

#include "net/s3_client.h"

namespace smdebug {

struct TaggedEntry {
  ObjectEntry entry;
  std::string tag;  // empty if the server has none
};

class TaggedStorage : public Storage {
 public:
  // `list`, with the tags; perhaps only as much as one request gives.
  virtual Result<std::vector<TaggedEntry>> list_tagged(std::string_view prefix,
                                                       std::string_view after,
                                                       S3Pages pages) const = 0;

  // `read`; sets `tag` to that of the object which was read. Empty if the
  // server sent none, or the ranges are of an object and of its successor.
  virtual Result<std::vector<Bytes>> read_tagged(
      std::string_view key, std::span<const ByteRange> ranges,
      std::string& tag) const = 0;

  // `read_each`; sets `tags` to one for each range, as `read_tagged` does.
  virtual std::vector<Result<Bytes>> read_each_tagged(
      std::span<const ObjectRange> ranges,
      std::vector<std::string>& tags) const = 0;
};

}  // namespace smdebug
