// Reads an ensemble's plan from JavaScript. JS thread only.
#pragma once

#include <vector>

#include "engine/ensemble/plan.h"
#include "setup.h"

namespace tritonts {

// TypeScript has checked the plan; an invalid value yields a plan without steps.
EnsemblePlan EnsemblePlanOf(const Napi::Value& value);
std::vector<uint32_t> UidsOf(const Napi::Value& value);

}  // namespace tritonts
