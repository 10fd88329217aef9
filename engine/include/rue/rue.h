/* librue loads batches of images in C programs: it reads files, decodes images and fills tensors in worker
 * threads. Call in this order:
 *
 *   rue_source_open, rue_loader_open,
 *   rue_loader_next and rue_loader_release for each batch,
 *   rue_loader_rewind for another epoch,
 *   rue_loader_close, rue_source_close
 *
 * Functions that can fail return a rue_status and describe the failure in a rue_error, which may be NULL.
 * Output arguments are valid only after RUE_OK. Every `close` accepts NULL. Names end in their unit: _ns,
 * _bytes.
 *
 * Build with: cc program.c $(pkg-config --cflags --libs rue). See examples/load_images.c. */
#ifndef RUE_H
#define RUE_H

#include "augmentation.h"
#include "error.h"
#include "fetcher.h"
#include "loader.h"
#include "sampler.h"
#include "source.h"
#include "transform.h"

#endif
