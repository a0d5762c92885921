#pragma once

// NLPSequenceRatio: too large a part of the token sequences is one token, as
// padding is.
//
// Our reading where the documents are silent: the share of each token is that
// of one tensor at one step; any tensor and any token suffices. Where only the
// token 0 is asked for, statistics tell enough.

#include "smdebug/rules/rule.h"

namespace smdebug {

extern const RuleFactory kNLPSequenceRatio;

}  // namespace smdebug
