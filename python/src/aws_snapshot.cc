// Binding of include/smdebug/net: the credentials that
// python/smdebug/aws_credentials.py gets from botocore.

#include "smdebug/net/aws_snapshot.h"

#include <optional>
#include <string>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "bindings.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace smdebug {

void bind_aws(nb::module_& m) {
  m.def(
      "set_aws_snapshot",
      [](std::string key, std::string secret, std::string token,
         std::optional<double> expires, bool precedes_variables) {
        set_aws_snapshot(AwsSnapshot{std::move(key), std::move(secret),
                                     std::move(token), expires,
                                     precedes_variables});
      },
      "access_key_id"_a, "secret_access_key"_a, "session_token"_a,
      "expires"_a.none(), "precedes_variables"_a,
      "Makes requests to AWS use these credentials until `expires`, in seconds "
      "since the epoch; None for credentials that never expire.");
  m.def(
      "remove_aws_snapshot", [] { set_aws_snapshot(std::nullopt); },
      "Makes requests to AWS use the credentials that the core finds.");
  m.def("is_aws_renewal_due", &is_aws_renewal_due,
        "Whether the credentials of set_aws_snapshot expire within 15 minutes, "
        "or have expired.");
}

}  // namespace smdebug
