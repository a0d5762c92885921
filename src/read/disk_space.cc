#include "smdebug/read/disk_space.h"

#include <chrono>
#include <filesystem>
#include <memory>
#include <system_error>

#include <fmt/format.h>

#include "smdebug/store/bounded_storage.h"

namespace smdebug {
namespace {

constexpr std::uint64_t kEnoughBytes = std::uint64_t{1} << 20;
constexpr std::chrono::seconds kSpaceLimit(5);

}  // namespace

std::string disk_space_text(std::uint64_t free_bytes) {
  if (free_bytes >= kEnoughBytes) return "";
  const std::string found =
      free_bytes == 0 ? "no space is"
                      : fmt::format("only {:.1f} kB are",
                                    static_cast<double>(free_bytes) / 1000);
  return fmt::format(
      "; {} free on its disk: free space, or write to another disk", found);
}

std::string disk_space_text(const std::string& location) {
  const auto free_bytes = std::make_shared<std::uint64_t>(kEnoughBytes);
  const Status looked = call_bounded(
      "look up the free space", location, {kSpaceLimit, nullptr},
      [free_bytes, location] {
        std::error_code failure;
        const auto space = std::filesystem::space(location, failure);
        if (!failure) *free_bytes = space.available;
        return Status();
      });
  return looked ? disk_space_text(*free_bytes) : "";
}

}  // namespace smdebug
