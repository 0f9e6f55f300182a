/*
 * content - the wanted bytes of a file: given in the state, looked up, or from a source; rendered
 * if it is a template.
 *
 *     content_validate (when the state is read) -> content_get
 *
 * Memory: the arena of the run, or the tree. Threads: any.
 */
#ifndef STATES_MODULES_FILE_CONTENT_H
#define STATES_MODULES_FILE_CONTENT_H

#include <stdbool.h>

#include "core/base/str.h"
#include "core/data/params.h"
#include "states/state/module.h"

struct buf;
struct diags;
struct err;
struct state_run;
struct value;

/* The parameters; all zero: nothing given. */
struct content_args {
    const char *path;                        /* its purpose, for messages */
    struct str content;                      /* as it is */
    bool has_content;                        /* given, maybe empty */
    const struct value *contents;            /* text, or a list of lines; ends its last line */
    struct param_strs peel_settings, grains; /* paths of contents in settings and facts */
    const char *delimiter;                   /* between the parts of the paths; NULL: ':' or '.' */
    bool no_newline;                         /* do not end the last line */
    const struct value *source;              /* text, or a list: the first that exists */
    struct source_trust trust;               /* in the source */
    const struct value *template;            /* a truth, or "jinja" */
    const struct value *context, *defaults;
    const struct value *extra; /* a map: variables that defaults and context may hide; or NULL */
    bool streams;              /* the caller copies a large source that is not a template */
};

struct content {
    bool given;         /* content was given, else it is not managed */
    struct str text;    /* never a NULL view */
    const char *source; /* the source that was used; NULL: none */
    const char *hash;   /* from a list of sources; NULL: none */
    /* If the caller streams and the source is large: the content is in its file, and `text` is
     * empty. Otherwise `file` is NULL. */
    struct source_content large;
};

/* Report mistakes before anything runs. */
int content_validate(const struct content_args *args, const struct value *where,
                     struct diags *diags);

int content_get(struct state_run *run, const struct content_args *args, struct content *ret,
                struct err *err);

/* Should it be rendered? For callers that render by themselves. */
bool content_is_template(const struct value *template);
/* For texts that Salt renders by default: the parameter if given, else true in a Salt file. */
const struct value *content_choose_template(const struct state_run *run,
                                            const struct value *template);
/* Render with `extra`, `defaults` and `context` on top. */
int content_render(struct state_run *run, const struct content_args *args, const char *name,
                   struct str text, struct str *ret, struct err *err);

/* Append a scalar as it was written in its document: 1.10 stays 1.10. */
void content_add_scalar(struct buf *out, const struct value *v);

/* The permissions of a source; fails unless it is a file on this machine or in a tree on disk. */
int content_source_mode(struct state_run *run, const char *source, mode_t *ret_mode,
                        struct err *err);

/* How Salt checks signatures of sources. */
/* clang-format off */
#define CONTENT_SIGNATURES                                                                                \
    PARAM_REFUSED("source_hash_sig", "signatures are not checked; give a source_hash"),                   \
    PARAM_REFUSED("signed_by_any", "signatures are not checked; give a source_hash"),                     \
    PARAM_REFUSED("signed_by_all", "signatures are not checked; give a source_hash"),                     \
    PARAM_REFUSED("keyring", "signatures are not checked; give a source_hash"),                           \
    PARAM_REFUSED("gnupghome", "signatures are not checked; give a source_hash"),                         \
    PARAM_REFUSED("sig_backend", "signatures are not checked; give a source_hash", .default_text = "gpg")
/* clang-format on */

#endif
