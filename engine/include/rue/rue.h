/* librue: the loader for programs that embed it. Open a source, open a loader on it, start it, and borrow
 * batches:
 *
 *   rue_source_open -> rue_loader_open -> rue_loader_start -> rue_loader_next / rue_loader_release ... ->
 * rue_loader_close
 *
 * Build with: cc program.c $(pkg-config --cflags --libs rue). See examples/load_images.c. */
#ifndef RUE_H
#define RUE_H

#include "error.h"
#include "fetcher.h"
#include "loader.h"
#include "sampler.h"
#include "source.h"
#include "transform.h"

#endif
