/*
 * subject - NATS subjects: tokens with dots between, and patterns of them.
 *
 * A token is not empty, and has no blanks, control characters or dots. In a pattern the token '*'
 * matches one token, and '>' at the end one or more. Pure. Threads: any.
 */
#ifndef FLEET_NATS_SUBJECT_H
#define FLEET_NATS_SUBJECT_H

#include <stdbool.h>

#include "core/base/str.h"

/* Longer subjects are refused: the server's limit for a line is 4096. */
#define NATS_SUBJECT_MAX 2048

/* Valid for publishing: tokens, no wildcards. */
bool nats_subject_is_plain(struct str subject);
/* Valid for subscribing: tokens, and wildcards as whole tokens. */
bool nats_subject_is_pattern(struct str subject);
/* One token, no wildcard: names of streams, consumers, buckets and queues. */
bool nats_subject_is_token(struct str token);

bool nats_subject_match(struct str pattern, struct str subject);
/* The token with this number, from 0; a NULL view: fewer tokens. */
struct str nats_subject_token(struct str subject, size_t number);

#endif
