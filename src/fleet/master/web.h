/*
 * web - what a master needs to talk to a web server that its configuration names.
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

#define WEB_TOKEN_MAX ((size_t)8 << 10) /* bytes of its file */

/* What is wrong with an address; NULL: nothing. http:// is for this machine, or `insecure`. */
const char *web_check_url(const char *url, bool insecure);

/* The first line of a file: a token that can be part of a header. */
int web_read_token(struct arena *arena, const char *path, struct str *ret_token, struct err *err);

#endif
