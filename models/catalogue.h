/* The models that rue knows by name, and how a model is written on the command line:
 *
 *   none                     needs no time
 *   sleep:250ms/batch        sleeps 250 ms per batch
 *   sleep:1.5ms/image+2ms    sleeps 1.5 ms per image and 2 ms per batch
 *   resnet50                 torchvision's name: sleeps as long as an NVIDIA RTX A5000 takes (measured or
 *                            estimated)
 *   resnet50@h100            sleeps as the roofline of a device estimates (device.h), in fp32
 *   resnet50@h100:bf16       the same in another precision
 *   resnet50@host:2          computes on two of this machine's CPUs (model_host.h); without a number on all
 *                            usable CPUs
 *   resnet50@cuda:bf16       computes on this machine's GPU (cuda_profile.h) */
#ifndef RUE_CATALOGUE_H
#define RUE_CATALOGUE_H

#include "error.h"
#include "profile.h"

/* The names of all models, index 0 to count - 1. */
size_t rue_catalogue_count(void);
const char *rue_catalogue_name(size_t index);

/* Sets `out` to the profile of `spec`. Its name is torchvision's, also for an alias, with device and
 * precision unless they are the default. RUE_USAGE: a name is unknown (the message has the most similar one),
 * or the device does not support the precision. */
rue_status rue_catalogue_find(const char *spec, struct rue_profile *out, rue_error *error) RUE_MUST_CHECK;

#endif
