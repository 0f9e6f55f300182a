#include "core/edit/hosts.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "core/base/buf.h"
#include "core/edit/lines.h"

#define ADDRESS_TEXT_MAX 64
#define ADDRESS_BYTES    16

struct address {
    int family; /* 0: no address */
    unsigned char bytes[ADDRESS_BYTES];
    struct str zone;
};

static struct address parse_hosts_address(struct str text)
{
    struct address address = { 0 };
    char plain[ADDRESS_TEXT_MAX];
    size_t n = str_find_char(text, '%', 0);

    if (n == STR_NONE)
        n = text.n;
    if (n >= sizeof(plain) || memchr(text.p, '\0', n))
        return address;
    address.zone = str_from_offset(text, n);
    memcpy(plain, text.p, n);
    plain[n] = '\0';
    if (inet_pton(AF_INET, plain, address.bytes) == 1)
        address.family = AF_INET;
    else if (inet_pton(AF_INET6, plain, address.bytes) == 1)
        address.family = AF_INET6;
    return address;
}

bool hosts_is_address(struct str text)
{
    return text.n > 0 && parse_hosts_address(text).family != 0;
}

static bool same_address(struct str a, struct str b)
{
    const struct address left = parse_hosts_address(a), right = parse_hosts_address(b);

    if (left.family == 0 || left.family != right.family)
        return str_eq(a, b);
    return memcmp(left.bytes, right.bytes, ADDRESS_BYTES) == 0 && str_eq(left.zone, right.zone);
}

/* --- lines ----------------------------------------------------------------------------- */

struct entry {
    struct str address;       /* empty: none */
    struct str names;         /* from the end of the address to the comment */
    struct str head, comment; /* the text before and after the names */
};

static struct entry split_hosts_line(struct str line)
{
    const size_t hash = str_find_char(line, '#', 0);
    const struct str content = str_slice(line, 0, hash == STR_NONE ? line.n : hash);
    struct entry entry = { .names = content };

    entry.address = lines_word(&entry.names);
    entry.head = str_slice(content, 0, content.n - entry.names.n);
    entry.comment = str_from_offset(line, content.n);
    return entry;
}

/* Host names ignore case. */
static bool is_same_hostname(struct str a, struct str b)
{
    return a.n == b.n && strncasecmp(a.p, b.p, a.n) == 0;
}

static bool has_hostname(struct str names, struct str name)
{
    struct str word;

    while ((word = lines_word(&names)).n > 0)
        if (is_same_hostname(word, name))
            return true;
    return false;
}

/* The line without the name; false when it was the last one. */
static bool add_without(struct buf *out, const struct line *line, struct str name)
{
    const struct entry entry = split_hosts_line(line->text);
    const size_t start = out->n;
    struct str rest = entry.names, before = rest, word;
    size_t left = 0;

    buf_add_str(out, entry.head);
    for (; (word = lines_word(&rest)).n > 0; before = rest)
        if (!is_same_hostname(word, name)) {
            left++;
            buf_add_str(out, str_slice(before, 0, before.n - rest.n));
        }
    if (left == 0) {
        buf_cut(out, start);
        return false;
    }
    buf_add_str(out, before); /* blanks before the comment */
    buf_add_str(out, entry.comment);
    buf_add_str(out, line->end);
    return true;
}

/* Cut trailing blanks, but no others. */
static struct str up_to_last_word(struct str names)
{
    struct str rest = names;
    size_t end = 0;

    while (lines_word(&rest).n > 0)
        end = names.n - rest.n;
    return str_slice(names, 0, end);
}

static void add_with(struct buf *out, const struct line *line, struct str name)
{
    const struct entry entry = split_hosts_line(line->text);
    const struct str names = up_to_last_word(entry.names);

    buf_add_str(out, entry.head);
    buf_add_str(out, names);
    buf_add_char(out, ' ');
    buf_add_str(out, name);
    buf_add_str(out, str_from_offset(entry.names, names.n));
    buf_add_str(out, entry.comment);
    buf_add_str(out, line->end);
}

/* --- edits ------------------------------------------------------------------------------ */

static size_t find_wanted_address(const struct hosts_want *want, struct str address)
{
    for (size_t i = 0; i < want->n; i++)
        if (same_address(want->addresses[i], address))
            return i;
    return STR_NONE;
}

/* Is the name at this address somewhere? */
static bool is_name_at_address(struct str text, struct str name, struct str address)
{
    struct line line;

    while (lines_next(&text, &line)) {
        const struct entry entry = split_hosts_line(line.text);

        if (entry.address.n > 0 && same_address(entry.address, address) &&
            has_hostname(entry.names, name))
            return true;
    }
    return false;
}

static bool has_address_line(struct str text, struct str address)
{
    struct line line;

    while (lines_next(&text, &line)) {
        const struct entry entry = split_hosts_line(line.text);

        if (entry.address.n > 0 && same_address(entry.address, address))
            return true;
    }
    return false;
}

static bool is_address_dropped(const struct hosts_want *want, struct str address)
{
    const int family = parse_hosts_address(address).family;

    if (want->others != HOSTS_FAMILY)
        return want->others == HOSTS_DROP;
    for (size_t i = 0; i < want->n; i++)
        if (parse_hosts_address(want->addresses[i]).family == family)
            return true;
    return false;
}

/* Add the name to the first line with an address. */
static void add_to_line(struct str text, struct str name, struct str address, struct buf *out)
{
    bool placed = false;
    struct line line;

    while (lines_next(&text, &line)) {
        const struct entry entry = split_hosts_line(line.text);

        if (!placed && entry.address.n > 0 && same_address(entry.address, address)) {
            placed = true;
            add_with(out, &line, name);
        } else {
            lines_add(out, line.text, line.end);
        }
    }
}

static void drop_hosts_names(struct str text, const struct hosts_want *want, bool wanted,
                             struct buf *out)
{
    struct line line;

    while (lines_next(&text, &line)) {
        const struct entry entry = split_hosts_line(line.text);
        const bool is_wanted = find_wanted_address(want, entry.address) != STR_NONE;
        const bool removes = wanted ? is_wanted || want->n == 0
                                    : !is_wanted && is_address_dropped(want, entry.address);

        if (entry.address.n > 0 && has_hostname(entry.names, want->name) && removes)
            (void)add_without(out, &line, want->name);
        else
            lines_add(out, line.text, line.end);
    }
}

void hosts_set(struct str text, const struct hosts_want *want, struct buf *out)
{
    AUTO_BUF struct buf now = BUF_INIT(out->max);
    const struct str end = lines_end_of(text);

    drop_hosts_names(text, want, false, &now);
    for (size_t i = 0; i < want->n; i++) {
        AUTO_BUF struct buf next = BUF_INIT(out->max);

        if (is_name_at_address(buf_view(&now), want->name, want->addresses[i]))
            continue;
        if (has_address_line(buf_view(&now), want->addresses[i])) {
            add_to_line(buf_view(&now), want->name, want->addresses[i], &next);
        } else {
            buf_add_str(&next, buf_view(&now));
            lines_finish(&next, end);
            buf_add_str(&next, want->addresses[i]);
            buf_add_char(&next, '\t');
            lines_add(&next, want->name, end);
        }
        buf_clear(&now);
        buf_add_str(&now, buf_view(&next));
        now.full |= next.full;
    }
    buf_add_str(out, buf_view(&now));
    out->full |= now.full;
}

void hosts_remove(struct str text, const struct hosts_want *want, struct buf *out)
{
    drop_hosts_names(text, want, true, out);
}

static void add_commented(struct buf *out, const struct line *line, struct str comment)
{
    const struct entry entry = split_hosts_line(line->text);

    if (entry.comment.n > 0 && str_eq(str_trim(str_from_offset(entry.comment, 1)), comment)) {
        lines_add(out, line->text, line->end);
        return;
    }
    buf_add_str(out, entry.head);
    buf_add_str(out, up_to_last_word(entry.names));
    if (comment.n > 0)
        buf_add_text(out, " # ");
    lines_add(out, comment, line->end);
}

void hosts_set_comment(struct str text, struct str address, struct str comment, struct buf *out)
{
    bool placed = false;
    struct line line;

    while (lines_next(&text, &line)) {
        const struct entry entry = split_hosts_line(line.text);

        if (placed || entry.address.n == 0 || !same_address(entry.address, address)) {
            lines_add(out, line.text, line.end);
            continue;
        }
        add_commented(out, &line, comment);
        placed = true;
    }
}

/* Are these the names of a line, in this order? */
static bool are_names(struct str text, const struct str *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!str_eq(lines_word(&text), names[i]))
            return false;
    return lines_word(&text).n == 0;
}

static void add_hostnames(struct buf *out, const struct str *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        buf_add_text(out, i > 0 ? " " : "");
        buf_add_str(out, names[i]);
    }
}

/* The line with other names; the text around them stays. */
static void add_renamed(struct buf *out, const struct line *line, const struct str *names, size_t n)
{
    const struct entry entry = split_hosts_line(line->text);
    const struct str old = up_to_last_word(entry.names);
    const size_t blanks = old.n - str_trim_left(old).n;

    buf_add_str(out, entry.head);
    buf_add_str(out, blanks > 0 ? str_slice(old, 0, blanks) : STR("\t"));
    add_hostnames(out, names, n);
    buf_add_str(out, str_from_offset(entry.names, old.n));
    buf_add_str(out, entry.comment);
    buf_add_str(out, line->end);
}

void hosts_only(struct str text, struct str address, const struct str *names, size_t n,
                struct buf *out)
{
    const struct str end = lines_end_of(text);
    bool placed = n == 0;
    struct line line;

    while (lines_next(&text, &line)) {
        const struct entry entry = split_hosts_line(line.text);

        if (entry.address.n == 0 || !same_address(entry.address, address)) {
            lines_add(out, line.text, line.end);
            continue;
        }
        if (!placed && are_names(entry.names, names, n))
            lines_add(out, line.text, line.end);
        else if (!placed)
            add_renamed(out, &line, names, n);
        placed = true;
    }
    if (placed)
        return;
    lines_finish(out, end);
    buf_add_str(out, address);
    buf_add_char(out, '\t');
    add_hostnames(out, names, n);
    buf_add_str(out, end);
}
