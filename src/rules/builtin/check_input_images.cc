// CheckInputImages: the model's input images are not centered.
//
//   |mean_c| > threshold_mean for a channel c, after threshold_samples images,
//   and max |element| > accepted_maximum
//
// The documents leave the rest open. mean_c is the mean of the finite elements
// of channel c in all images so far, over all workers. A tensor with three
// dimensions is a batch of images with one channel if the user selected it or
// the facts say that a two-dimensional convolution receives it, else a batch of
// sequences; a tensor with fewer is not an image. If the elements were not
// saved, the rule judges the mean over all channels, from statistics or a saved
// reduction. Channels of opposite sign then cancel each other. A tensor of
// which only the mean was saved has no known maximum, so that it exceeds any.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

#include "smdebug/base/try.h"
#include "smdebug/core/tensor_view.h"

#include "rules/builtin/builtin.h"
#include "rules/engine/finding.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/element_values.h"
#include "rules/measures/quantity.h"

namespace smdebug {
namespace {

constexpr const char* kGluonImages = ".*hybridsequential0_input_0";
// The input of PyTorch's outermost module, which is named after its class while
// those in it are named after attributes, and Keras' model inputs.
constexpr const char* kRootInput = "^(?!.*[Ll]oss)[A-Z][^_./]*_input_0$";
constexpr const char* kModelInputs = "^inputs(_\\d+)?$";

// Enough to estimate the mean of each channel.
constexpr std::int64_t kSampledElements = 1 << 16;

const ParameterSpec kCheckInputImagesParameters[] = {
    {.name = "threshold_mean",
     .type = ParameterType::real,
     .default_text = "0.2",
     .description = "Largest allowed distance of a channel's mean from 0.",
     .minimum = 0.0,
     .tuned_text = "0.5"},
    {.name = "threshold_samples",
     .type = ParameterType::integer,
     .default_text = "500",
     .description = "Number of images required before the rule judges.",
     .minimum = 1.0,
     .tuned_text = "100"},
    {.name = "regex",
     .type = ParameterType::text_list,
     .default_text = kGluonImages,
     .description =
         "Patterns of the names of image tensors; the default also selects the "
         "inputs of PyTorch's outermost module and of Keras models, if they "
         "have four dimensions or a two-dimensional convolution receives "
         "them."},
    {.name = "channel",
     .type = ParameterType::integer,
     .default_text = "1",
     .description = "The dimension of the tensor that counts the channels; "
                    "dimension 0 counts the images. With 1, the last dimension "
                    "is used for inputs of a Keras model if it is smaller.",
     .minimum = 1.0,
     .maximum = 8.0},
    {.name = "accepted_maximum",
     .type = ParameterType::real,
     .default_text = "0",
     .description = "Images whose elements are all at most this far from 0 are "
                    "accepted, whatever their mean: with 1, those between 0 "
                    "and 1 or between -1 and 1.",
     .minimum = 0.0,
     .tuned_text = "1"},
    kStartStep,
    kEndStep,
    kPreset,
};

const Advice kCheckInputImagesAdvice[] = {
    {.cause = "images that are passed to the model without normalization: it "
              "learns, but more slowly than it could",
     .advice =
         "subtract the mean of each channel of the training set and divide by "
         "its standard deviation, in training, validation and inference",
     .severity = Severity::advice},
};

// A sum of finite elements.
struct ChannelSum {
  std::uint64_t count = 0;
  double sum = 0;
  double largest = 0;  // of the absolute values

  double mean() const { return sum / static_cast<double>(count); }
};

// The samples of one tensor name.
struct Images {
  std::uint64_t samples = 0;
  std::vector<ChannelSum> channels;
  StepId since;

  double largest() const {
    return std::ranges::max(channels, {}, &ChannelSum::largest).largest;
  }
};

struct ImageLayout {
  std::size_t channels = 1;
  std::size_t inner = 1;  // contiguous elements of one channel
};

// Keras puts channels last by default and names a model's inputs `inputs`. The
// channel dimension is the smaller candidate, because images have more rows
// than channels.
std::size_t channel_of(const Observation& tensor, std::size_t wanted) {
  const bool is_of_keras =
      tensor.name == "inputs" || tensor.name.starts_with("inputs_");
  const std::size_t last = tensor.shape.size() - 1;
  if (!is_of_keras || wanted != 1 || tensor.shape.size() < 4) return wanted;
  return tensor.shape[last] < tensor.shape[1] ? last : wanted;
}

// Returns none if a tensor of that shape contains no images.
// `may_lack_channels`: three dimensions are those of images with one channel.
std::optional<ImageLayout> layout_of(std::span<const std::int64_t> shape,
                                     std::size_t channel,
                                     bool may_lack_channels) {
  if (shape.size() < 3) return std::nullopt;
  if (shape.size() == 3)
    return may_lack_channels ? std::optional(ImageLayout()) : std::nullopt;
  if (channel >= shape.size()) return std::nullopt;
  ImageLayout layout;
  layout.channels = static_cast<std::size_t>(shape[channel]);
  for (std::size_t i = channel + 1; i < shape.size(); ++i) {
    layout.inner *= static_cast<std::size_t>(shape[i]);
  }
  return layout;
}

std::vector<ChannelSum> sums_by_channel(const TensorView& view,
                                        const ImageLayout& layout) {
  std::vector<ChannelSum> sums(layout.channels);
  std::size_t position = 0;
  for_each_block(view, [&](std::span<const double> block) {
    for (const double value : block) {
      const std::size_t channel = position++ / layout.inner % layout.channels;
      if (!std::isfinite(value)) continue;
      ++sums[channel].count;
      sums[channel].sum += value;
      sums[channel].largest = std::max(sums[channel].largest, std::abs(value));
    }
  });
  return sums;
}

// "Conv2d" of PyTorch, "Conv2D" and "DepthwiseConv2D" of Keras.
bool is_convolution_of_images(const std::string& layer) {
  return layer.find("Conv2d") != layer.npos ||
         layer.find("Conv2D") != layer.npos;
}

class CheckInputImages : public Rule {
 public:
  explicit CheckInputImages(const Parameters& parameters)
      : threshold_mean_(parameters.real("threshold_mean")),
        threshold_samples_(static_cast<std::uint64_t>(
            parameters.integer("threshold_samples"))),
        accepted_maximum_(parameters.real("accepted_maximum")),
        channel_(static_cast<std::size_t>(parameters.integer("channel"))) {
    selector_.regexes = parameters.text_list("regex");
    if (selector_.regexes == std::vector<std::string>{kGluonImages}) {
      is_selected_by_user_ = false;
      selector_.regexes.insert(selector_.regexes.end(),
                               {kRootInput, kModelInputs});
    }
    selector_.capture_as = "input_image";
  }

  // A long interval, because images are large.
  RuleNeeds needs() const override {
    RuleNeeds needs;
    needs.selectors.push_back(selector_);
    needs.depth = RuleNeeds::Depth::values;
    needs.interval = 50;
    needs.max_elements = kSampledElements;
    return needs;
  }

  void on_facts(std::string_view, const RunFacts& facts) override {
    for (const DataFacts& input : facts.inputs) {
      if (is_convolution_of_images(input.received_by))
        of_convolutions_.insert(input.tensor);
    }
  }

  Outcome on_step(const RuleStep& step) override {
    std::optional<Finding> finding;
    for (const Observation* tensor : step.by_selector(0)) {
      SMD_TRY(const Images* const added, add(*tensor, step.step));
      if (!added) continue;
      const Images& images = *added;
      if (images.samples < threshold_samples_) continue;
      count_judged();
      if (images.largest() <= accepted_maximum_) continue;
      judge(images, evidence_of(*tensor, step.step), finding);
    }
    if (finding) {
      std::ranges::stable_sort(
          finding->evidence, std::ranges::greater(),
          [](const Evidence& one) { return std::abs(one.value); });
    }
    return finding;
  }

  Outcome finish() override {
    if (has_judged() || (images_.empty() && no_image_.empty())) {
      return no_finding();
    }
    if (images_.empty()) {
      return Error{Error::Code::unsupported, "nothing to judge: " + no_image_};
    }
    std::uint64_t samples = 0;
    for (const auto& [key, images] : images_) {
      samples = std::max(samples, images.samples);
    }
    return Error{Error::Code::not_found,
                 fmt::format("nothing to judge: only {} images were seen, but "
                             "{} are required (parameter 'threshold_samples')",
                             samples, threshold_samples_)};
  }

 private:
  // Returns the images so far, with these; null if the tensor contains none
  // that can be judged.
  Result<const Images*> add(const Observation& tensor, const StepId& step) {
    const bool may_lack_channels =
        is_selected_by_user_ || of_convolutions_.contains(tensor.name);
    const auto layout = layout_of(tensor.shape, channel_of(tensor, channel_),
                                  may_lack_channels);
    if (!layout) {
      no_image_ = no_image_text(tensor);
      return nullptr;
    }
    SMD_TRY(const auto sums, sums_of(tensor, *layout));
    if (sums.empty()) return nullptr;
    const auto [place, is_new] =
        images_.try_emplace({step.mode, std::string(tensor.name)}, Images());
    Images& images = place->second;
    if (is_new) images.since = step;
    // Elements tell the channels apart, so steps without them no longer count.
    const bool lacks_elements = sums.size() == 1 && layout->channels > 1;
    if (lacks_elements && images.channels.size() > 1) return nullptr;
    if (images.channels.size() != sums.size()) {
      images = {.samples = 0, .channels = {}, .since = step};
      images.channels.resize(sums.size());
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
      images.channels[i].count += sums[i].count;
      images.channels[i].sum += sums[i].sum;
      images.channels[i].largest =
          std::max(images.channels[i].largest, sums[i].largest);
    }
    images.samples += static_cast<std::uint64_t>(tensor.shape[0]);
    return &images;
  }

  std::string no_image_text(const Observation& tensor) const {
    const std::string subject = fmt::format("'{}' of shape ({})", tensor.name,
                                            fmt::join(tensor.shape, ", "));
    if (tensor.shape.size() == 3) {
      return subject +
             " may contain sequences; if they are images, select it with the "
             "parameter 'regex'";
    }
    return fmt::format("{} contains no images with channels in dimension {}",
                       subject, channel_);
  }

  // Returns one sum per channel, or a single sum over all channels if the
  // elements were not saved, or nothing if no mean is known either.
  Result<std::vector<ChannelSum>> sums_of(const Observation& tensor,
                                          const ImageLayout& layout) {
    std::vector<ChannelSum> sums;
    const auto size = static_cast<std::uint64_t>(element_count(tensor.shape));
    if (size == 0) return sums;
    if (layout.channels > 1) {
      SMD_TRY(const auto view, elements_of(tensor));
      if (view) return sums_by_channel(*view, layout);
    }
    SMD_TRY(const auto statistics, full_statistics(tensor));
    if (statistics) {
      const auto finite = static_cast<double>(statistics->finite());
      sums.push_back(
          {statistics->finite(), statistics->mean * finite,
           std::max(std::abs(statistics->min), std::abs(statistics->max))});
      return sums;
    }
    const auto mean = saved_reduction(tensor, {Reduction::mean});
    if (!mean || !std::isfinite(*mean)) return sums;
    sums.push_back({size, *mean * static_cast<double>(size),
                    std::numeric_limits<double>::infinity()});
    return sums;
  }

  void judge(const Images& images, const Evidence& place,
             std::optional<Finding>& finding) const {
    for (std::size_t i = 0; i < images.channels.size(); ++i) {
      const ChannelSum& channel = images.channels[i];
      const double mean = channel.mean();
      if (!(std::abs(mean) > threshold_mean_)) continue;
      const std::string subject = images.channels.size() > 1
                                      ? fmt::format("channel {}", i)
                                      : std::string("all elements");
      Evidence evidence = place;
      evidence.quantity = "mean of " + subject;
      evidence.value = mean;
      evidence.relation = mean > 0 ? ">" : "<";
      evidence.threshold = mean > 0 ? threshold_mean_ : -threshold_mean_;
      if (!finding) finding.emplace();
      const bool is_worst =
          std::ranges::none_of(finding->evidence, [&](const Evidence& other) {
            return std::abs(other.value) >= std::abs(mean);
          });
      if (is_worst) describe(images, evidence, *finding);
      finding->evidence.push_back(std::move(evidence));
    }
  }

  void describe(const Images& images, const Evidence& evidence,
                Finding& finding) const {
    std::vector<std::string> means;
    for (const ChannelSum& channel : images.channels) {
      means.push_back(short_number(channel.mean()));
    }
    finding.message = fmt::format(
        "{}: the {} of {} images from {} up to {} is {}, further from 0 than "
        "{}",
        evidence.tensor, evidence.quantity, images.samples,
        step_text(images.since), step_text(evidence.step),
        short_number(evidence.value), threshold_mean_);
    if (means.size() > 1) {
      finding.message +=
          fmt::format("; the channels have {}", fmt::join(means, ", "));
    }
    set_advice(finding, kCheckInputImagesAdvice[0]);
  }

  double threshold_mean_;
  std::uint64_t threshold_samples_;
  double accepted_maximum_;
  std::size_t channel_;
  TensorSelector selector_;
  bool is_selected_by_user_ = true;
  // The inputs that two-dimensional convolutions receive.
  std::set<std::string, std::less<>> of_convolutions_;
  // By mode and tensor name: those of an evaluation may have another mean.
  std::map<std::pair<Mode, std::string>, Images> images_;
  std::string no_image_;  // what was found in place of images
};

}  // namespace

const RuleFactory kCheckInputImages = {
    .name = "CheckInputImages",
    .summary = "The input images of the model are not centered around 0.",
    .condition =
        "Fires when, after 'threshold_samples' images, the mean of a channel "
        "over all of them is further from 0 than 'threshold_mean', unless no "
        "element is further from 0 than 'accepted_maximum'.",
    .advice = kCheckInputImagesAdvice,
    .parameters = kCheckInputImagesParameters,
    .make = make_rule<CheckInputImages>,
};

}  // namespace smdebug
