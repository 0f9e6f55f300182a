/*
 * hosts - the text of /etc/hosts: addresses, each with names.
 *
 * What is not about the name in question stays byte for byte; a line that loses its
 * last name is removed. Addresses are compared by value, not by spelling.
 *
 * Views borrow. Threads: any.
 */
#ifndef CORE_EDIT_HOSTS_H
#define CORE_EDIT_HOSTS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"

struct buf;

/* What happens to the name at other addresses. */
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

/* IPv4 or IPv6, with a zone or without. */
bool hosts_is_address(struct str text);

/* The text in which the name is at each of the addresses. */
void hosts_set(struct str text, const struct hosts_want *want, struct buf *out);
/* The text in which the first line of an address has this comment, without the mark; no line of it:
 * as it is. */
void hosts_set_comment(struct str text, struct str address, struct str comment, struct buf *out);
/* The text in which an address has these names, in this order, and no others: in its first line,
 * and its other lines are removed. No names: it has no line at all. */
void hosts_only(struct str text, struct str address, const struct str *names, size_t n,
                struct buf *out);
/* The text in which it is at none of them; no addresses: nowhere. */
void hosts_remove(struct str text, const struct hosts_want *want, struct buf *out);

#endif
