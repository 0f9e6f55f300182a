/*
 * web - URLs and tokens of the web servers in a master's configuration.
 *
 * Memory: the arena. Threads: any.
 */
#ifndef FLEET_MASTER_WEB_H
#define FLEET_MASTER_WEB_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"

struct arena;
struct err;

#define WEB_TOKEN_MAX ((size_t)8 << 10) /* maximum size of its file */

/* Returns the problem of an address; NULL: none. http:// is allowed for this machine, or with
 * `insecure`. */
const char *web_check_url(const char *url, bool insecure);

/* Read the first line of a file: a token valid in a header. */
int web_read_token(struct arena *arena, const char *path, struct str *ret_token, struct err *err);

#endif
