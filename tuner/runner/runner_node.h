/* A node of a farm: one rank of a launcher, which makes trials by itself. */
#ifndef RUE_RUNNER_NODE_H
#define RUE_RUNNER_NODE_H

#include "runner.h"

/* `state`: a struct rue_member (runner_members.h), borrowed. */
extern const struct rue_runner_ops rue_runner_node;

#endif
