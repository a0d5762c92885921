#include "smdebug/read/saved_collections.h"

#include <utility>

#include "smdebug/base/try.h"

#include "format/file_names.h"
#include "format/file_sizes.h"
#include "read/run_collections.h"

namespace smdebug {
namespace {

Error not_a_file(const Error& error) {
  return {Error::Code::invalid_argument, error.message};
}

}  // namespace

Result<SavedCollections> parse_collections(std::string_view text) {
  const auto file = parse_collections_file(text);
  if (!file) return not_a_file(file.error());
  SavedCollections saved{{}, file->num_workers};
  for (const StoredCollection& stored : file->collections) {
    auto collection = collection_of(stored);
    if (!collection) {
      return not_a_file(std::move(collection).error())
          .within("collections file: collection '" + stored.tensors.name + "'");
    }
    saved.collections.push_back(*std::move(collection));
  }
  return saved;
}

Result<SavedCollections> read_collections(const Storage& folder,
                                          std::string_view key) {
  SMD_TRY(const Bytes bytes, get_object(folder, key, kMaxCollectionsFileBytes));
  return parse_collections(bytes.text());
}

std::string collections_text(const SavedCollections& saved) {
  CollectionsFile file;
  file.num_workers = saved.num_workers;
  for (const Collection& collection : saved.collections) {
    file.collections.push_back(stored_of(collection));
  }
  return write_collections_file(file);
}

Status write_collections(const SavedCollections& saved, Storage& run,
                         std::string_view file_name) {
  return put_object(run,
                    std::string(kCollectionsPrefix) + std::string(file_name),
                    collections_text(saved));
}

}  // namespace smdebug
