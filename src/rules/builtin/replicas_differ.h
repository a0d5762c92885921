#pragma once

// ReplicasDiffer: weights that every worker should hold alike are not the same.
// A rule of ours: the replicas of a data-parallel training drift apart where a
// gradient is not shared, or a worker began from other weights.
//
// Each worker is compared, at the same step, with the first one that saved the
// tensor. Where the elements were not kept, statistics further apart than the
// tolerance allows show a difference; smaller ones they cannot show. NaN equals
// NaN.

#include "smdebug/rules/rule.h"

namespace smdebug {

extern const RuleFactory kReplicasDiffer;

}  // namespace smdebug
