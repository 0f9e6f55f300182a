#include "language/lua/pattern.h"

#include <ctype.h>
#include <string.h>

#include "core/base/err.h"

/* --- reading -------------------------------------------------------------------- */

struct reader {
    struct str text;
    size_t at;
    struct pattern *pattern;
    uint8_t open[PATTERN_CAPTURES_MAX]; /* captures that are not closed yet, innermost last */
    size_t open_count;
    bool closed[PATTERN_CAPTURES_MAX];
    struct err *err;
};

size_t pattern_items_max(struct str text)
{
    return text.n + 1;
}

bool pattern_is_plain(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] && strchr("^$*+?.([%-", text.p[i]))
            return false;
    return true;
}

static int refuse_pattern(struct reader *r, const char *why)
{
    return err_set(r->err, ERR_INVALID, "malformed pattern (%s)", why);
}

static bool has_pattern_byte(const struct reader *r)
{
    return r->at < r->text.n;
}

static uint8_t peek_pattern_byte(const struct reader *r)
{
    return (uint8_t)r->text.p[r->at];
}

static void set_add(uint64_t set[4], unsigned c)
{
    set[c >> 6] |= UINT64_C(1) << (c & 63);
}

static bool set_has(const uint64_t set[4], uint8_t c)
{
    return (set[c >> 6] >> (c & 63)) & 1;
}

/* Add the bytes of %a and its like; false when the letter is not a class. */
static bool set_add_class(uint64_t set[4], uint8_t letter)
{
    static const struct {
        char letter;
        int (*is)(int c);
    } classes[] = {
        { 'a', isalpha }, { 'c', iscntrl }, { 'd', isdigit }, { 'g', isgraph }, { 'l', islower },
        { 'p', ispunct }, { 's', isspace }, { 'u', isupper }, { 'w', isalnum }, { 'x', isxdigit },
    };

    for (size_t i = 0; i < ARRAY_LEN(classes); i++) {
        bool inverse = letter == (uint8_t)(classes[i].letter - 'a' + 'A');

        if (letter != (uint8_t)classes[i].letter && !inverse)
            continue;
        for (unsigned c = 0; c < 256; c++)
            if ((classes[i].is((int)c) != 0) != inverse)
                set_add(set, c);
        return true;
    }
    return false;
}

/* After the %: a class, or the byte itself. */
static int read_pattern_escape(struct reader *r, uint64_t set[4])
{
    if (!has_pattern_byte(r))
        return refuse_pattern(r, "ends with '%'");
    if (!set_add_class(set, peek_pattern_byte(r)))
        set_add(set, peek_pattern_byte(r));
    r->at++;
    return 0;
}

/* The ] that ends the set at `at`. A ] at the front, or after a %, is a byte of the set. */
static size_t find_set_end(const struct reader *r, size_t at)
{
    do {
        if (at >= r->text.n)
            return STR_NONE;
        if (r->text.p[at++] == '%')
            at++;
    } while (at >= r->text.n || r->text.p[at] != ']');
    return at;
}

static void set_add_range(uint64_t set[4], unsigned first, unsigned last)
{
    for (unsigned c = first; c <= last; c++)
        set_add(set, c);
}

/* After the [. */
static int read_pattern_set(struct reader *r, uint64_t set[4])
{
    bool inverse = has_pattern_byte(r) && peek_pattern_byte(r) == '^';
    size_t end;

    r->at += inverse;
    end = find_set_end(r, r->at);
    if (end == STR_NONE)
        return refuse_pattern(r, "missing ']'");
    while (r->at < end) {
        uint8_t c = peek_pattern_byte(r);

        r->at++;
        if (c == '%') {
            (void)read_pattern_escape(r, set); /* more follows: the end is further on */
        } else if (r->at + 1 < end && peek_pattern_byte(r) == '-') {
            set_add_range(set, c, (uint8_t)r->text.p[r->at + 1]);
            r->at += 2;
        } else {
            set_add(set, c);
        }
    }
    r->at = end + 1;
    for (size_t i = 0; inverse && i < 4; i++)
        set[i] = ~set[i];
    return 0;
}

static int read_open(struct reader *r, struct pattern_item *item)
{
    struct pattern *p = r->pattern;

    if (p->captures == PATTERN_CAPTURES_MAX)
        return err_set(r->err, ERR_LIMIT, "too many captures (limit %d)", PATTERN_CAPTURES_MAX);
    item->capture = (uint8_t)p->captures++;
    item->kind = PATTERN_OPEN;
    if (has_pattern_byte(r) && peek_pattern_byte(r) == ')') {
        r->at++;
        item->kind = PATTERN_POSITION;
        r->closed[item->capture] = true;
        return 0;
    }
    r->open[r->open_count++] = item->capture;
    return 0;
}

static int read_close(struct reader *r, struct pattern_item *item)
{
    if (r->open_count == 0)
        return err_set(r->err, ERR_INVALID, "invalid pattern capture");
    item->kind = PATTERN_CLOSE;
    item->capture = r->open[--r->open_count];
    r->closed[item->capture] = true;
    return 0;
}

static int read_back(struct reader *r, struct pattern_item *item)
{
    unsigned number = peek_pattern_byte(r) - (unsigned)'1';

    if (peek_pattern_byte(r) == '0' || number >= r->pattern->captures || !r->closed[number])
        return err_set(r->err, ERR_INVALID, "invalid capture index %%%c in pattern",
                       peek_pattern_byte(r));
    r->at++;
    item->kind = PATTERN_BACK;
    item->capture = (uint8_t)number;
    return 0;
}

static int read_balance(struct reader *r, struct pattern_item *item)
{
    if (r->at + 1 >= r->text.n)
        return refuse_pattern(r, "missing arguments to '%b'");
    item->kind = PATTERN_BALANCE;
    item->c = peek_pattern_byte(r);
    item->d = (uint8_t)r->text.p[r->at + 1];
    r->at += 2;
    return 0;
}

static int read_frontier(struct reader *r, struct pattern_item *item)
{
    if (!has_pattern_byte(r) || peek_pattern_byte(r) != '[')
        return refuse_pattern(r, "missing '[' after '%f'");
    r->at++;
    item->kind = PATTERN_FRONTIER;
    return read_pattern_set(r, item->set);
}

/* The suffix of a single character class. */
static void read_repeat(struct reader *r, struct pattern_item *item)
{
    if (!has_pattern_byte(r))
        return;
    switch (peek_pattern_byte(r)) {
    case '?': item->repeat = PATTERN_MAYBE; break;
    case '*': item->repeat = PATTERN_GREEDY; break;
    case '-': item->repeat = PATTERN_LAZY; break;
    case '+':
        item->repeat = PATTERN_GREEDY;
        item->at_least_one = true;
        break;
    default: return;
    }
    r->at++;
}

/* After a % outside of a set. */
static int read_percent(struct reader *r, struct pattern_item *item)
{
    if (has_pattern_byte(r) && peek_pattern_byte(r) == 'b') {
        r->at++;
        return read_balance(r, item);
    }
    if (has_pattern_byte(r) && peek_pattern_byte(r) == 'f') {
        r->at++;
        return read_frontier(r, item);
    }
    if (has_pattern_byte(r) && isdigit(peek_pattern_byte(r)))
        return read_back(r, item);
    item->kind = PATTERN_SET;
    if (read_pattern_escape(r, item->set) < 0)
        return -1;
    read_repeat(r, item);
    return 0;
}

static int read_pattern_item(struct reader *r, struct pattern_item *item)
{
    uint8_t c = peek_pattern_byte(r);

    r->at++;
    switch (c) {
    case '(': return read_open(r, item);
    case ')': return read_close(r, item);
    case '%': return read_percent(r, item);
    case '[':
        item->kind = PATTERN_SET;
        if (read_pattern_set(r, item->set) < 0)
            return -1;
        break;
    case '.': item->kind = PATTERN_ANY; break;
    case '$':
        if (!has_pattern_byte(r)) {
            item->kind = PATTERN_END;
            return 0;
        }
        item->c = c;
        break;
    default: item->c = c;
    }
    read_repeat(r, item);
    return 0;
}

int pattern_parse(struct str text, bool anchors, struct pattern_item *items, struct pattern *ret,
                  struct err *err)
{
    struct pattern pattern = { .items = items };
    struct reader r = { .text = text, .pattern = &pattern, .err = err };

    if (text.n > PATTERN_TEXT_MAX)
        return err_set(err, ERR_LIMIT, "the pattern is longer than %zu KiB",
                       PATTERN_TEXT_MAX >> 10);
    if (anchors && has_pattern_byte(&r) && peek_pattern_byte(&r) == '^') {
        pattern.anchored = true;
        r.at++;
    }
    while (has_pattern_byte(&r)) {
        struct pattern_item *item = &items[pattern.count++];

        *item = (struct pattern_item){ 0 };
        if (read_pattern_item(&r, item) < 0)
            return -1;
    }
    if (r.open_count > 0)
        return err_set(err, ERR_INVALID, "unfinished capture");
    *ret = pattern;
    return 0;
}

/* --- matching --------------------------------------------------------------------- */

/* Steps are taken from the budget in portions of this many. */
#define PORTION 1000

struct matcher {
    struct pattern *pattern;
    struct str text;
    struct pattern_match *match;
    pattern_spend_fn *spend;
    void *user;
    size_t steps;
    bool stopped;
};

static bool spend_steps(struct matcher *m, size_t n)
{
    m->steps += n;
    if (m->steps >= PORTION) {
        m->stopped = m->stopped || !m->spend(m->user, m->steps);
        m->steps = 0;
    }
    return !m->stopped;
}

static bool is_single(const struct matcher *m, const struct pattern_item *item, size_t at)
{
    uint8_t c;

    if (at >= m->text.n)
        return false;
    c = (uint8_t)m->text.p[at];
    switch (item->kind) {
    case PATTERN_CHAR: return c == item->c;
    case PATTERN_ANY: return true;
    default: return set_has(item->set, c);
    }
}

/* The number of matches in a row at `at`. */
static size_t run_length(struct matcher *m, const struct pattern_item *item, size_t at)
{
    size_t n = 0;

    while (is_single(m, item, at + n) && spend_steps(m, 1))
        n++;
    return n;
}

static bool pass_balance(struct matcher *m, const struct pattern_item *item, size_t *at)
{
    size_t depth = 1;

    if (*at >= m->text.n || (uint8_t)m->text.p[*at] != item->c)
        return false;
    for (size_t i = *at + 1; i < m->text.n && spend_steps(m, 1); i++) {
        uint8_t c = (uint8_t)m->text.p[i];

        if (c == item->d) {
            if (--depth == 0) {
                *at = i + 1;
                return true;
            }
        } else if (c == item->c) {
            depth++;
        }
    }
    return false;
}

static bool pass_frontier(const struct matcher *m, const struct pattern_item *item, size_t at)
{
    uint8_t before = at > 0 ? (uint8_t)m->text.p[at - 1] : 0;
    uint8_t here = at < m->text.n ? (uint8_t)m->text.p[at] : 0;

    return !set_has(item->set, before) && set_has(item->set, here);
}

static bool pass_back(struct matcher *m, const struct pattern_item *item, size_t *at)
{
    const struct pattern_capture *capture = &m->match->captures[item->capture];
    size_t n = capture->is_position ? 0 : capture->n;

    if (n > m->text.n - *at || !spend_steps(m, n / 16))
        return false;
    if (memcmp(m->text.p + capture->from, m->text.p + *at, n) != 0)
        return false;
    *at += n;
    return true;
}

/* Items that match in one way or not at all. */
static bool pass_fixed(struct matcher *m, const struct pattern_item *item, size_t *at)
{
    struct pattern_capture *capture = &m->match->captures[item->capture];

    switch (item->kind) {
    case PATTERN_OPEN: *capture = (struct pattern_capture){ *at, 0, false }; return true;
    case PATTERN_CLOSE: capture->n = *at - capture->from; return true;
    case PATTERN_POSITION: *capture = (struct pattern_capture){ *at, 0, true }; return true;
    case PATTERN_BALANCE: return pass_balance(m, item, at);
    case PATTERN_FRONTIER: return pass_frontier(m, item, *at);
    case PATTERN_BACK: return pass_back(m, item, at);
    case PATTERN_END: return *at == m->text.n;
    default:
        if (!is_single(m, item, *at))
            return false;
        (*at)++;
        return true;
    }
}

/* Pass an item for the first time; its other matches stay as a choice in the item. */
static bool enter_item(struct matcher *m, struct pattern_item *item, size_t *at)
{
    size_t n;

    item->from = item->now = *at;
    switch (item->repeat) {
    case PATTERN_MAYBE: *at += is_single(m, item, *at); break;
    case PATTERN_GREEDY:
        n = run_length(m, item, *at);
        if (item->at_least_one) {
            if (n == 0)
                return false;
            item->from++; /* the least it may shrink to */
        }
        *at = item->now + n;
        break;
    case PATTERN_LAZY: break;
    default: return pass_fixed(m, item, at);
    }
    item->now = *at;
    return true;
}

/* Pass an item in its next best way. */
static bool retry_pattern_item(const struct matcher *m, struct pattern_item *item, size_t *at)
{
    switch (item->repeat) {
    case PATTERN_MAYBE:
    case PATTERN_GREEDY:
        if (item->now == item->from)
            return false;
        item->now--;
        break;
    case PATTERN_LAZY:
        if (!is_single(m, item, item->now))
            return false;
        item->now++;
        break;
    default: return false;
    }
    *at = item->now;
    return true;
}

/* Match all items with the first at `from`. */
static bool match_pattern_at(struct matcher *m, size_t from)
{
    struct pattern *p = m->pattern;
    size_t at = from, i = 0;

    while (i < p->count) {
        if (!spend_steps(m, 1))
            return false;
        if (enter_item(m, &p->items[i], &at)) {
            i++;
            continue;
        }
        for (;;) { /* back to the newest choice that has another way */
            if (i == 0 || !spend_steps(m, 1))
                return false;
            i--;
            if (retry_pattern_item(m, &p->items[i], &at))
                break;
        }
        i++;
    }
    m->match->from = from;
    m->match->end = at;
    return true;
}

enum pattern_result pattern_match(struct pattern *pattern, struct str text, size_t from,
                                  pattern_spend_fn *spend, void *user, struct pattern_match *ret)
{
    struct matcher m = {
        .pattern = pattern, .text = text, .match = ret, .spend = spend, .user = user
    };
    bool matched = false;

    for (; from <= text.n && !matched && !m.stopped; from++) {
        matched = match_pattern_at(&m, from);
        if (pattern->anchored)
            break;
    }
    if (m.stopped || !spend(user, m.steps))
        return PATTERN_STOPPED;
    return matched ? PATTERN_MATCHED : PATTERN_NO_MATCH;
}
