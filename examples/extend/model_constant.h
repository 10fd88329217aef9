/* A model that needs the same time for every batch, whatever its size. */
#ifndef RUE_MODEL_CONSTANT_H
#define RUE_MODEL_CONSTANT_H

#include "model.h"

/* Cannot fail: it allocates nothing. */
struct rue_model rue_model_constant(void);

#endif
