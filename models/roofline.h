/* What a batch would take on a device that nobody measured: layer by layer the longer of arithmetic and
 * memory traffic, and a launch for each operation.
 *
 *   time = sum over products of max(flops / (rate * efficiency), bytes / (bandwidth * efficiency)) + launch
 *        + sum over all other operations of bytes / (bandwidth * efficiency) + launch
 *
 * (Williams, Waterman, Patterson: Roofline, CACM 52(4), 2009.) The efficiencies and the launch are round
 * ones that fit the 60 measured times of the RTX A5000: 5.4 % off in the root mean square, 11.6 % at most.
 * When they are fitted to the others alone, a model is 5.8 % off, 13.3 % at most, and a family of models 19 %
 * and 27 % (tests/bench/roofline_error.py). Of other devices nobody said how far off they are. */
#ifndef RUE_ROOFLINE_H
#define RUE_ROOFLINE_H

#include "architecture.h"
#include "device.h"
#include "profile.h"

/* Of a batch of `images`, in ns; the device must have the precision. */
double rue_roofline_batch_ns(const struct rue_architecture *architecture, const struct rue_device *device,
                             enum rue_precision precision, uint64_t images);

/* The points of a profile: powers of two, between which the roofline is nearly straight. */
void rue_roofline_fill(const struct rue_architecture *architecture, const struct rue_device *device,
                       enum rue_precision precision, struct rue_profile *out);

/* The largest batch whose weights and activations fit into the device's memory beside the driver's context;
 * 0 when none does. */
uint64_t rue_roofline_largest_batch(const struct rue_architecture *architecture,
                                    const struct rue_device *device, enum rue_precision precision);

#endif
