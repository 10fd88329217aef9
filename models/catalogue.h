/* The models that rue knows by name, and how a model is written on the command line:
 *
 *   none                     takes no time
 *   sleep:250ms/batch        sleeps 250 ms a batch
 *   sleep:1.5ms/image+2ms    sleeps 1.5 ms an image and 2 ms a batch
 *   resnet50                 torchvision's name: as on an NVIDIA RTX A5000, measured, or estimated where it
 *                            was not
 *   resnet50@h100            estimated by the roofline of a device (device.h), in fp32
 *   resnet50@h100:bf16       in another precision
 *   resnet50@host:2          computed on two of this machine's CPUs (model_host.h); all that the process may
 *                            use without a number
 *   resnet50@cuda:bf16       computed on the GPU at hand (cuda_profile.h), in no time that is known before
 *
 */
#ifndef RUE_CATALOGUE_H
#define RUE_CATALOGUE_H

#include "error.h"
#include "profile.h"

/* The models with a name, index 0..count-1. */
size_t rue_catalogue_count(void);
const char *rue_catalogue_name(size_t index);

/* The profile of the model that is written `spec`; its name is torchvision's where an alias was given, and
 * says the device and the precision where they are not the usual ones. RUE_USAGE with the nearest name for an
 * unknown one, and for a precision that the device lacks. */
rue_status rue_catalogue_find(const char *spec, struct rue_profile *out, rue_error *error) RUE_MUST_CHECK;

#endif
