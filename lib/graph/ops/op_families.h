// The entries of the table of ops, each defined by its family's file.
#pragma once

#include "lib/graph/op_table.h"

namespace stoker::graph {

extern const OpDef kConv2D, kConv2DGradInput, kConv2DGradWeights;
extern const OpDef kMatMul, kMatMulGradInput, kMatMulGradWeights;
extern const OpDef kPool2D, kPool2DGrad, kGlobalPool, kGlobalPoolGrad;
extern const OpDef kActivation, kActivationGrad, kSoftmax, kSoftmaxGrad;
extern const OpDef kBatchNorm, kBatchNormGrad, kBatchNormInference, kBatchNormInferenceGrad;
extern const OpDef kBinary, kReduceToShape, kScale, kAffine, kDropout, kFill;
extern const OpDef kConcat, kSlice, kPad2D, kReshape;
extern const OpDef kLoss, kMetric;

// FLOPs an element of an activation and of its derivative; transcendental functions count as 8.
double activation_flops(const ActivationAttributes& activation);

// Throws unless the op's activation is linear: gradients are taken before activations are fused.
void require_not_fused(const ActivationAttributes& activation, const std::string& name);

}  // namespace stoker::graph
