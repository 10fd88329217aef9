/* A model whose batches take the same time, however many images they hold. */
#ifndef RUE_MODEL_CONSTANT_H
#define RUE_MODEL_CONSTANT_H

#include "model.h"

/* Nothing is allocated, so this cannot fail. */
struct rue_model rue_model_constant(void);

#endif
