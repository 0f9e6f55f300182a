/*
 * subject - names of NATS: tokens with dots between, and patterns of them.
 *
 * A token is any bytes but blanks, control characters and dots, and is not empty. In a
 * pattern the token '*' stands for one token, and '>' at the end for one or more. All
 * functions are pure. Threads: any.
 */
#ifndef FLEET_NATS_SUBJECT_H
#define FLEET_NATS_SUBJECT_H

#include <stdbool.h>

#include "core/base/str.h"

/* Longer ones are refused: the server's own limit for a line is 4096. */
#define NATS_SUBJECT_MAX 2048

/* What a message can be published to: tokens, no wildcards. */
bool nats_subject_is_plain(struct str subject);
/* What can be subscribed to: tokens, wildcards as whole tokens only. */
bool nats_subject_is_pattern(struct str subject);
/* One token, no wildcard: names of streams, consumers, buckets and queues. */
bool nats_subject_is_token(struct str token);

bool nats_subject_match(struct str pattern, struct str subject);
/* The token with this number, from 0; a NULL view when there are fewer. */
struct str nats_subject_token(struct str subject, size_t number);

#endif
