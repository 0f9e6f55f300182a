/*
 * output_store - outputs on disk, so that they outlive the daemon.
 *
 *     <folder>/<service>/hooks/<phase>/<step>.json    of a hook step
 *     <folder>/<service>/process.json                 of the process
 *     <folder>/<service>/outputs.json                 both and the declared ones
 *
 * Each file is a map of texts and is replaced as a whole. Threads: the loop's.
 */
#ifndef KEPLER_SUPERVISE_OUTPUT_STORE_H
#define KEPLER_SUPERVISE_OUTPUT_STORE_H

#include "kepler/config/hook_phase.h"

struct arena;
struct err;
struct value;

/* Maximum size of a file. */
#define OUTPUT_STORE_FILE_MAX ((size_t)64 << 20)

int output_store_put_step(const char *folder, const char *service, enum hook_phase phase,
                          const char *step, const struct value *values, struct err *err);
int output_store_put_process(const char *folder, const char *service, const struct value *values,
                             struct err *err);
int output_store_put(const char *folder, const char *service, const struct value *values,
                     struct err *err);

/* `ret_outputs` is the content of outputs.json, `ret_hooks` a map PHASE -> "outputs" -> STEP ->
 * values; empty maps when there are none. */
int output_store_load(struct arena *arena, const char *folder, const char *service,
                      struct value *ret_outputs, struct value *ret_hooks, struct err *err);

/* Removes all outputs of a service. */
int output_store_clear(const char *folder, const char *service, struct err *err);

#endif
