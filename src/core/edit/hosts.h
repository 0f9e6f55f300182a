/*
 * hosts - the text of /etc/hosts: addresses, each with names.
 *
 * Everything else stays byte for byte; a line that loses its last name is removed. Addresses are
 * compared by value, not by spelling.
 *
 * Views borrow. Threads: any.
 */
#ifndef CORE_EDIT_HOSTS_H
#define CORE_EDIT_HOSTS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"

struct buf;

/* The fate of the name at other addresses. */
enum hosts_others {
    HOSTS_FAMILY, /* removed from those of the same family: IPv4 or IPv6 */
    HOSTS_KEEP,   /* kept */
    HOSTS_DROP,   /* removed from all of them */
};

struct hosts_want {
    struct str name;
    const struct str *addresses;
    size_t n;
    enum hosts_others others;
};

/* An IPv4 or IPv6 address, with a zone or without. */
bool hosts_is_address(struct str text);

/* The text with the name at each of the addresses. */
void hosts_set(struct str text, const struct hosts_want *want, struct buf *out);
/* The text with this comment (without the mark) in the first line of an address; unchanged when
 * there is no such line. */
void hosts_set_comment(struct str text, struct str address, struct str comment, struct buf *out);
/* The text with exactly these names, in this order, at an address: in its first line; its other
 * lines are removed. No names: no line. */
void hosts_only(struct str text, struct str address, const struct str *names, size_t n,
                struct buf *out);
/* The text without the name at these addresses; no addresses: at any. */
void hosts_remove(struct str text, const struct hosts_want *want, struct buf *out);

#endif
