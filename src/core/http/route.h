/*
 * route - does a request go to a route?
 *
 * Pure. Memory: views into what was given. Threads: any.
 */
#ifndef CORE_HTTP_ROUTE_H
#define CORE_HTTP_ROUTE_H

#include <stdbool.h>

#include "core/base/str.h"

/* Segment by segment; "{...}" in the pattern is any segment that is not empty, and the name. */
bool http_route_matches_path(const char *pattern, const char *path, struct str *ret_name);
/* A route of GET serves HEAD. */
bool http_route_matches_method(const char *wanted, const char *given);

#endif
