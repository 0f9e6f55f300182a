/*
 * parser - cuts the output of a NATS server into frames.
 *
 * The caller keeps received bytes and passes all that are not used yet:
 *
 *     nats_parser_init(&parser, payload_max);
 *     while (nats_parser_next(&parser, input, &frame, &used, err) == 0 && frame.kind)
 *         act on the frame, cut `used` bytes from the front of input
 *
 * A frame borrows from the input. When the input ends within a frame, the parser remembers its
 * position and how much is missing, so bytes are not scanned twice; `need` is the length that the
 * input must have for the next frame. Lines and payloads are bounded, and errors are permanent.
 *
 * Pure. Memory: none. Threads: one for each parser.
 */
#ifndef FLEET_NATS_PARSER_H
#define FLEET_NATS_PARSER_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"

struct err;

/* Bytes of INFO, which names all servers of a cluster; other lines are far shorter. */
#define NATS_LINE_MAX ((size_t)64 << 10)
/* The largest payload that a server allows without a warning. */
#define NATS_PAYLOAD_MAX ((size_t)8 << 20)

enum nats_frame_kind {
    NATS_FRAME_NONE, /* more input is needed */
    NATS_FRAME_MSG,
    NATS_FRAME_INFO,
    NATS_FRAME_PING,
    NATS_FRAME_PONG,
    NATS_FRAME_OK,
    NATS_FRAME_ERR,
};

struct nats_frame {
    enum nats_frame_kind kind;
    uint64_t sid;               /* MSG: of the subscription */
    struct str subject, reply;  /* MSG; reply may be empty */
    struct str header, payload; /* MSG; header may be empty */
    struct str text;            /* INFO: JSON; ERR: its text, without quotes */
};

struct nats_parser {
    size_t payload_max;
    size_t need;    /* bytes that the input must have; 0: any */
    size_t scanned; /* bytes without a line end */
};

void nats_parser_init(struct nats_parser *parser, size_t payload_max);
/* Sets a frame and the bytes it took; NATS_FRAME_NONE takes none. */
int nats_parser_next(struct nats_parser *parser, struct str input, struct nats_frame *ret_frame,
                     size_t *ret_used, struct err *err);

#endif
