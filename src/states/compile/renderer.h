/*
 * renderer - Jinja for state files and their templates.
 *
 * Every template has facts and settings (also as grains and pillar), where it is
 * (sls, slspath, tplfile, tpldir...), opts, saltenv, the functions facts_get,
 * pillar_get, grains_filter_by, user_info, cmd_has_exec, file_dirname, salt_call,
 * outputs and raise, and `salt`, by which every module with a function can be called:
 * salt['disk.usage']('/') or salt.disk.usage('/').
 *
 * Templates refer to others by path in the tree; "./x" and "../x" are relative to the rendered
 * file, salt:// and zester:// are allowed.
 *
 * outputs('cmd.run:build').stdout prints a mark, since the state has not run yet; the marks are
 * kept in the list `outputs`, see states/compile/output.h.
 *
 * Memory: heap. Threads: one at a time; each thread makes its own.
 */
#ifndef STATES_COMPILE_RENDERER_H
#define STATES_COMPILE_RENDERER_H

#include "core/base/str.h"

struct arena;
struct buf;
struct builtin_context;
struct diags;
struct output_list;
struct renderer;
struct state_host;
struct trace;
struct value;

/* `outputs` may be NULL: then outputs() is an error. Both are borrowed. */
struct renderer *renderer_new(struct state_host *host, struct output_list *outputs);
/* For a rendering inside another one, whose context is `outer`. */
struct renderer *renderer_new_inside(const struct builtin_context *outer);
/* Treat every template as a Salt template, whatever its name: for Salt's state files. */
void renderer_speak_salt(struct renderer *renderer);
void renderer_free(struct renderer *renderer);

/* Render a state file: `ref` is its reference, `path` its place in the tree. `trace` records
 * where the output comes from, and may be NULL. */
int renderer_run_state(struct renderer *renderer, const char *ref, const char *path,
                       struct str text, struct buf *out, struct trace *trace, struct diags *diags);

/* Render any text called `path`, with `extra` (a map, or NULL) on top of everything. */
int renderer_run(struct renderer *renderer, const char *path, struct str text,
                 const struct value *extra, struct buf *out, struct diags *diags);

#endif
