/*
 * content - the bytes that a state wants in a file: written in it, looked up, or
 * from a source; rendered when it is a template.
 *
 *     content_validate (when the state is read) -> content_get
 *
 * Memory: the arena of the run, or the tree. Threads: any.
 */
#ifndef MODULES_FILE_CONTENT_H
#define MODULES_FILE_CONTENT_H

#include <stdbool.h>

#include "base/str.h"
#include "data/params.h"
#include "state/module.h"

struct buf;
struct diags;
struct err;
struct state_run;
struct value;

/* The parameters; all zero says nothing. */
struct content_args {
    const char *path;             /* what it is for, in messages */
    struct str content;           /* as it is */
    bool has_content;             /* given, maybe empty */
    const struct value *contents; /* text, or a list of lines; ends its last line */
    const char *pillar, *grains;  /* paths to such contents in settings and facts */
    const char *delimiter;        /* between the parts of the paths; NULL: ':' or '.' */
    bool no_newline;              /* contents do not end their last line */
    const struct value *source;   /* text, or a list: the first that is there */
    struct source_trust trust;    /* in the source */
    const struct value *template; /* a truth, or "jinja" */
    const struct value *context, *defaults;
    const struct value *extra; /* a map: variables that defaults and context may hide; or NULL */
};

struct content {
    bool given;         /* something was said; else there is no wish about the content */
    struct str text;    /* never a NULL view */
    const char *source; /* the one that was taken; NULL: none */
};

/* Mistakes that can be seen before anything runs. */
int content_validate(const struct content_args *args, const struct value *where,
                     struct diags *diags);

int content_get(struct state_run *run, const struct content_args *args, struct content *ret,
                struct err *err);

/* Is a template wanted? For those who render themselves. */
bool content_is_template(const struct value *template);
/* Render with `extra`, `defaults` and `context` on top. */
int content_render(struct state_run *run, const struct content_args *args, const char *name,
                   struct str text, struct str *ret, struct err *err);

/* Append a scalar, in the words of its document: 1.10 stays 1.10. */
void content_add_scalar(struct buf *out, const struct value *v);

/* The permissions of a source; fails when it is no file of this machine or of a tree on disk. */
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
