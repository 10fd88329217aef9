/* Estimates the time of a batch on a device without measurements: for each layer the longer of arithmetic and
 * memory traffic, plus a launch for each operation.
 *
 *   time = sum over products of max(flops / (rate * efficiency), bytes / (bandwidth * efficiency)) + launch
 *        + sum over all other operations of bytes / (bandwidth * efficiency) + launch
 *
 * (Williams, Waterman, Patterson: Roofline, CACM 52(4), 2009.) The efficiencies and the launch are round
 * numbers that fit the 60 measured times of the RTX A5000. The error is 5.4 % (root mean square), at most
 * 11.6 %. Fitted without the model it is 5.8 %, at most 13.3 %; fitted without the family of the model 19 %,
 * at most 27 % (tests/bench/roofline_error.py). The error on other devices is unknown. */
#ifndef RUE_ROOFLINE_H
#define RUE_ROOFLINE_H

#include "architecture.h"
#include "device.h"
#include "profile.h"

/* The time of a batch of `images` in ns. The device must support the precision. */
double rue_roofline_batch_ns(const struct rue_architecture *architecture, const struct rue_device *device,
                             enum rue_precision precision, uint64_t images);

/* Fills the points of a profile: powers of two, between which the roofline is nearly linear. */
void rue_roofline_fill(const struct rue_architecture *architecture, const struct rue_device *device,
                       enum rue_precision precision, struct rue_profile *out);

/* The largest batch whose weights and activations fit beside the driver's context; 0: none. */
uint64_t rue_roofline_largest_batch(const struct rue_architecture *architecture,
                                    const struct rue_device *device, enum rue_precision precision);

#endif
