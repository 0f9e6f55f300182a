/*
 * api_manual - describes the API from its table of routes: an HTML page, and OpenAPI for programs.
 *
 * The page is self-contained: no scripts, images or external styles.
 *
 * Pure. Memory: the arena. Threads: any.
 */
#ifndef FLEET_MASTER_API_MANUAL_H
#define FLEET_MASTER_API_MANUAL_H

#include "core/data/value.h"
#include "fleet/master/api/route.h"

struct arena;
struct buf;

/* OpenAPI 3.0. */
struct value api_manual_openapi(struct arena *arena, const struct api_route *routes);

/* HTML. */
void api_manual_page(const struct api_route *routes, struct buf *out);
/* Content-Security-Policy of the page: only its own style. */
const char *api_manual_policy(struct arena *arena);

#endif
