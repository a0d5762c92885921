#include "capture/run_claim.h"

#include "base/environment.h"
#include "format/claim.h"
#include "format/file_names.h"

namespace smdebug {
namespace {

Claim own_claim() {
  const std::int64_t process = process_id();
  return {host_name(), process, process_start_ticks(process).value_or(0)};
}

std::string owner_of(const Claim& claim) {
  return "process " + std::to_string(claim.process_id) + " on '" + claim.host +
         "'";
}

// Whether the owner may still be writing.
bool may_be_alive(const Claim& claim) {
  return !is_process_gone(claim.host, claim.process_id,
                          claim.process_start_ticks);
}

}  // namespace

Result<std::optional<std::string>> claim_run(Storage& storage, Logger& logger) {
  const std::string text = write_claim(own_claim());
  SMD_TRY(const bool is_ours,
          storage.create_exclusive(
              kClaimKey, std::as_bytes(std::span(text.data(), text.size()))));
  if (is_ours) return std::optional<std::string>();

  std::optional<Claim> owner;
  if (auto bytes = get_object(storage, kClaimKey); bytes)
    owner = parse_claim(bytes->text());
  if (owner && may_be_alive(*owner)) {
    return std::optional<std::string>(
        owner_of(*owner) +
        " writes this run: give this one a folder of its "
        "own, or remove '" +
        std::string(kClaimKey) + "' if that process has exited");
  }
  logger.warning(
      "run " + storage.uri() + ": the claim of " +
      (owner ? owner_of(*owner) : std::string("an unnamed process")) +
      " is taken over: it is not running any more");
  SMD_CHECK_OK(put_object(storage, kClaimKey, text));
  return std::optional<std::string>();
}

}  // namespace smdebug
