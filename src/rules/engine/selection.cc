#include "rules/engine/selection.h"

#include <fmt/format.h>

namespace smdebug {

TensorSelector selected_tensors(const Parameters& parameters) {
  TensorSelector selector;
  selector.collections = parameters.text_list(kCollectionNames.name);
  selector.regexes = parameters.text_list(kTensorRegex.name);
  return selector;
}

TensorSelector selected_or_every_tensor(const Parameters& parameters) {
  TensorSelector selector = selected_tensors(parameters);
  selector.every_tensor =
      selector.collections.empty() && selector.regexes.empty();
  return selector;
}

Result<TensorSelector> required_tensors(const Parameters& parameters) {
  TensorSelector selector = selected_tensors(parameters);
  if (selector.collections.empty() && selector.regexes.empty()) {
    return Error{
        Error::Code::invalid_config,
        fmt::format(
            "rule {}: neither collection_names nor tensor_regex is given; "
            "select the tensors to judge, for example collection_names=weights",
            parameters.rule())};
  }
  return selector;
}

}  // namespace smdebug
