#pragma once

// TreeDepth: a tree of a boosted model is deeper than is good for it.
//
// Nodes are numbered level by level, 0 the root, so the largest number tells
// the depth: floor(log2(largest + 1)); a full tree of nodes 0 to 30 has depth
// 4. The node numbers are the tensor `trees/Node`; its largest element is
// enough.
//
// Our reading where the documents are silent: the rule fires above the depth
// asked for, not at it. Trees that grow leaf by leaf (grow_policy lossguide)
// are not numbered by level; their depth is not told by this number.

#include "smdebug/rules/rule.h"

namespace smdebug {

extern const RuleFactory kTreeDepth;

}  // namespace smdebug
