/*
 * The grammar, one line each; fields are separated by blanks or tabs, words are in any case:
 *
 *     INFO {...}
 *     MSG <subject> <sid> [reply] <size>                 then size bytes and \r\n
 *     HMSG <subject> <sid> [reply] <header> <total>      then total bytes and \r\n
 *     PING   PONG   +OK   -ERR 'text'
 */
#include "fleet/nats/parser.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "core/base/err.h"
#include "core/base/mem.h"

#define FIELDS_MAX 5
/* Bytes of an unknown word in an error. */
#define SHOWN_MAX     32
#define LINE_END_SIZE 2

struct protocol_line {
    struct str fields[FIELDS_MAX];
    size_t count;
    size_t size; /* with its end */
};

typedef int frame_fn(struct nats_parser *parser, struct str input, const struct protocol_line *line,
                     struct nats_frame *ret, size_t *ret_used, struct err *err);

static bool is_protocol_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Cut into fields; one too many is counted, not kept. */
static void split_fields(struct str text, struct protocol_line *line)
{
    size_t at = 0;

    line->count = 0;
    while (at < text.n) {
        size_t begin;

        while (at < text.n && is_protocol_blank(text.p[at]))
            at++;
        begin = at;
        while (at < text.n && !is_protocol_blank(text.p[at]))
            at++;
        if (at == begin)
            break;
        if (line->count < FIELDS_MAX)
            line->fields[line->count] = (struct str){ text.p + begin, at - begin };
        line->count++;
    }
}

static int read_protocol_number(struct str text, uint64_t max, uint64_t *ret, const char *what,
                                struct err *err)
{
    uint64_t number = 0;

    if (text.n == 0 || text.n > 19)
        return err_set(err, ERR_INVALID, "protocol error: %s is not a number", what);
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return err_set(err, ERR_INVALID, "protocol error: %s is not a number", what);
        number = number * 10 + (uint64_t)(text.p[i] - '0');
    }
    if (number > max)
        return err_set(err, ERR_LIMIT, "%s of %llu bytes, limit is %llu", what,
                       (unsigned long long)number, (unsigned long long)max);
    *ret = number;
    return 0;
}

/* The payload after the line, once it is all there. */
static int read_payload(struct nats_parser *parser, struct str input,
                        const struct protocol_line *line, uint64_t header, uint64_t total,
                        struct nats_frame *ret, size_t *ret_used, struct err *err)
{
    size_t whole = line->size + (size_t)total + LINE_END_SIZE;
    const char *body = input.p + line->size;

    if (input.n < whole) {
        parser->need = whole;
        parser->scanned = 0; /* the line is read again, once */
        return 0;
    }
    if (body[total] != '\r' || body[total + 1] != '\n')
        return err_set(err, ERR_INVALID, "protocol error: a payload is longer than announced");
    ret->kind = NATS_FRAME_MSG;
    ret->header = (struct str){ body, (size_t)header };
    ret->payload = (struct str){ body + header, (size_t)(total - header) };
    *ret_used = whole;
    return 0;
}

static int read_msg(struct nats_parser *parser, struct str input, const struct protocol_line *line,
                    struct nats_frame *ret, size_t *ret_used, struct err *err)
{
    struct nats_frame frame = { .kind = NATS_FRAME_NONE };
    uint64_t total;

    if (line->count < 3 || line->count > 4)
        return err_set(err, ERR_INVALID, "protocol error: MSG with %zu fields", line->count);
    if (read_protocol_number(line->fields[1], INT64_MAX, &frame.sid, "subscription id", err) < 0 ||
        read_protocol_number(line->fields[line->count - 1], parser->payload_max, &total, "payload",
                             err) < 0)
        return -1;
    frame.subject = line->fields[0];
    frame.reply = line->count == 4 ? line->fields[2] : STR("");
    *ret = frame;
    return read_payload(parser, input, line, 0, total, ret, ret_used, err);
}

static int read_hmsg(struct nats_parser *parser, struct str input, const struct protocol_line *line,
                     struct nats_frame *ret, size_t *ret_used, struct err *err)
{
    struct nats_frame frame = { .kind = NATS_FRAME_NONE };
    uint64_t header, total;

    if (line->count < 4 || line->count > 5)
        return err_set(err, ERR_INVALID, "protocol error: HMSG with %zu fields", line->count);
    if (read_protocol_number(line->fields[1], INT64_MAX, &frame.sid, "subscription id", err) < 0 ||
        read_protocol_number(line->fields[line->count - 1], parser->payload_max, &total, "payload",
                             err) < 0)
        return -1;
    if (read_protocol_number(line->fields[line->count - 2], total, &header, "header", err) < 0)
        return -1;
    frame.subject = line->fields[0];
    frame.reply = line->count == 5 ? line->fields[2] : STR("");
    *ret = frame;
    return read_payload(parser, input, line, header, total, ret, ret_used, err);
}

static const struct word {
    struct str name;
    enum nats_frame_kind kind;
    frame_fn *read; /* NULL: the line is all */
} words[] = {
    { { "MSG", 3 }, NATS_FRAME_MSG, read_msg }, { { "HMSG", 4 }, NATS_FRAME_MSG, read_hmsg },
    { { "PING", 4 }, NATS_FRAME_PING, NULL },   { { "PONG", 4 }, NATS_FRAME_PONG, NULL },
    { { "+OK", 3 }, NATS_FRAME_OK, NULL },      { { "-ERR", 4 }, NATS_FRAME_ERR, NULL },
    { { "INFO", 4 }, NATS_FRAME_INFO, NULL },
};

static const struct word *find_protocol_word(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (words[i].name.n == name.n && strncasecmp(words[i].name.p, name.p, name.n) == 0)
            return &words[i];
    return NULL;
}

static struct str strip_error_quotes(struct str text)
{
    if (text.n >= 2 && text.p[0] == '\'' && text.p[text.n - 1] == '\'')
        return str_slice(text, 1, text.n - 2);
    return text;
}

static int refuse_protocol_word(struct str name, struct err *err)
{
    char shown[SHOWN_MAX + 1];
    size_t n = name.n < SHOWN_MAX ? name.n : SHOWN_MAX;

    for (size_t i = 0; i < n; i++)
        shown[i] = name.p[i] > ' ' && name.p[i] < 0x7f ? name.p[i] : '?';
    shown[n] = '\0';
    return err_set(err, ERR_INVALID, "protocol error: unknown operation '%s'", shown);
}

static int read_protocol_line(struct nats_parser *parser, struct str input, struct str text,
                              size_t size, struct nats_frame *ret, size_t *ret_used,
                              struct err *err)
{
    struct str name = text, rest;
    const struct word *word;
    struct protocol_line line = { .size = size };

    name.n = 0;
    while (name.n < text.n && !is_protocol_blank(text.p[name.n]))
        name.n++;
    rest = str_from_offset(text, name.n);
    word = find_protocol_word(name);
    if (!word)
        return refuse_protocol_word(name, err);
    if (word->read) {
        split_fields(rest, &line);
        return word->read(parser, input, &line, ret, ret_used, err);
    }
    *ret = (struct nats_frame){ .kind = word->kind, .text = strip_error_quotes(str_trim(rest)) };
    *ret_used = size;
    return 0;
}

void nats_parser_init(struct nats_parser *parser, size_t payload_max)
{
    *parser = (struct nats_parser){ .payload_max = payload_max };
}

int nats_parser_next(struct nats_parser *parser, struct str input, struct nats_frame *ret_frame,
                     size_t *ret_used, struct err *err)
{
    const char *end;
    struct str text;

    ret_frame->kind = NATS_FRAME_NONE;
    *ret_used = 0;
    if (input.n == 0 || input.n < parser->need)
        return 0;
    parser->need = 0;
    end = input.n > parser->scanned
              ? memchr(input.p + parser->scanned, '\n', input.n - parser->scanned)
              : NULL;
    if (!end && input.n <= NATS_LINE_MAX) {
        parser->scanned = input.n;
        return 0;
    }
    if (!end || (size_t)(end - input.p) > NATS_LINE_MAX)
        return err_set(err, ERR_LIMIT, "protocol error: a line is longer than %zu bytes",
                       NATS_LINE_MAX);
    parser->scanned = 0;
    text = (struct str){ input.p, (size_t)(end - input.p) };
    if (text.n > 0 && text.p[text.n - 1] == '\r')
        text.n--;
    return read_protocol_line(parser, input, text, (size_t)(end - input.p) + 1, ret_frame, ret_used,
                              err);
}
