#pragma once

// CheckInputImages: the images that the model is given are not centred: the
// mean of a channel is far from 0.
//
// Our reading where the documents are silent: the mean of each channel runs
// over all images so far, over all workers; nothing is judged before
// `threshold_samples` images. A tensor of three dimensions is a batch of
// images of one channel; one of fewer is no image. NaN and infinities are left
// out. Where the elements were not kept, the mean over all channels is judged
// from statistics or a saved reduction; opposite channels hide each other then.

#include "smdebug/rules/rule.h"

namespace smdebug {

extern const RuleFactory kCheckInputImages;

}  // namespace smdebug
