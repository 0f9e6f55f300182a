/*
 * api_manual - what the API can do, from its table of routes: a page for people, and OpenAPI for
 * programs.
 *
 * The page is whole: no script, no image, no style from elsewhere.
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
/* What the page may load: its own style alone. For the header Content-Security-Policy. */
const char *api_manual_policy(struct arena *arena);

#endif
