/*
 * asker - who sends a request: a token of the configuration, and the policy that counts for it.
 *
 * The policy of a token that names an operator is read from the bus for each request, as the gate
 * of operators does it. So what is changed with `zester operator set` counts at once, and the token
 * of an operator who was removed is refused. Streams are judged again when a policy changes, and
 * with each of their beats.
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

/* NULL: it is nobody's. */
const struct api_token *asker_find_token(const struct api *api, const struct api_digest *digest);

enum asker_outcome {
    ASKER_FOUND,
    ASKER_UNKNOWN, /* the operator was removed, is not there, or has no credentials that count */
    ASKER_LATER,   /* it cannot be known now */
};
/* `problem` is NULL with ASKER_FOUND, and `asker` with the others. */
typedef void asker_fn(void *self, enum asker_outcome outcome, const struct api_asker *asker,
                      const char *problem);
/* `fn` is called once, maybe at once; what it gets lives in the arena. */
void asker_find(struct api *api, struct arena *arena, const struct api_token *token, asker_fn *fn,
                void *self);

/* --- streams ---------------------------------------------------------------------------- */

/* Follow changes of policies, while the bus is there. */
int asker_watch_start(struct api *api, struct err *err);
void asker_watch_stop(struct api *api);
/* May whoever opened it still read it? If not, it ends: now or in a moment. False: it has. */
bool asker_check_stream(struct api_stream *stream);
/* The stream is gone. */
void asker_forget_stream(struct api_stream *stream);

#endif
