/*
 * asker - identifies the caller: a token of the configuration, and its policy.
 *
 * A token may name an operator, whose policy is then read from the bus for each request, as the
 * operator proxy does. So `zester operator set` takes effect immediately, and the token of a
 * removed operator is refused. Streams are checked again when a policy changes, and at each beat.
 *
 *     asker_find_token(api, digest) -> asker_find(api, arena, token, fn, self)
 *
 * Threads: the loop's.
 */
#ifndef FLEET_MASTER_API_ASKER_H
#define FLEET_MASTER_API_ASKER_H

#include "fleet/master/api/access.h"
#include "fleet/master/api/token.h"

struct api;
struct api_stream;
struct arena;

/* Returns NULL for an unknown token. */
const struct api_token *asker_find_token(const struct api *api, const struct api_digest *digest);

enum asker_outcome {
    ASKER_FOUND,
    ASKER_UNKNOWN, /* the operator does not exist, was removed, or has no valid credentials */
    ASKER_LATER,   /* cannot be decided now */
};
/* `problem` is NULL with ASKER_FOUND, and `asker` with the others. */
typedef void asker_fn(void *self, enum asker_outcome outcome, const struct api_asker *asker,
                      const char *problem);
/* `fn` is called once, maybe at once; what it gets lives in the arena. */
void asker_find(struct api *api, struct arena *arena, const struct api_token *token, asker_fn *fn,
                void *self);

/* --- streams ---------------------------------------------------------------------------- */

/* Follow policy changes while the bus is connected. */
int asker_watch_start(struct api *api, struct err *err);
void asker_watch_stop(struct api *api);
/* May its owner still read it? If not, the stream ends, now or soon; false: it has ended. */
bool asker_check_stream(struct api_stream *stream);
/* The stream is gone. */
void asker_forget_stream(struct api_stream *stream);

#endif
