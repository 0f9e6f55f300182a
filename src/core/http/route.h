/*
 * route - matches a request against a route.
 *
 * Pure. Memory: views into what was given. Threads: any.
 */
#ifndef CORE_HTTP_ROUTE_H
#define CORE_HTTP_ROUTE_H

#include <stdbool.h>

#include "core/base/str.h"

/* Segment by segment; "{...}" in the pattern matches any non-empty segment, which becomes the name.
 */
bool http_route_matches_path(const char *pattern, const char *path, struct str *ret_name);
/* A GET route also serves HEAD. */
bool http_route_matches_method(const char *wanted, const char *given);

#endif
