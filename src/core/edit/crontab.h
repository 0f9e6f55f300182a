/*
 * crontab - a user's crontab: entries, environment, comments.
 *
 * One of our entries follows a line with its label, and maybe comments:
 *
 *     # ZESTER_CRON_ID: backup
 *     # every night
 *     0 3 * * * /usr/local/bin/backup
 *
 * Salt's label (`# every night SALT_CRON_IDENTIFIER:backup`) is recognised, too, and
 * kept when its entry changes. Such a block is replaced and removed as a whole; all other lines
 * stay byte for byte. A disabled entry is kept after "#DISABLED#".
 *
 * Views borrow. Threads: any.
 */
#ifndef CORE_EDIT_CRONTAB_H
#define CORE_EDIT_CRONTAB_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"

struct buf;

#define CRONTAB_MARKER "ZESTER_CRON_ID:"

struct crontab_entry {
    struct str schedule; /* five fields, or "@reboot" and the like */
    struct str command;
    bool disabled;
};

/* The place of an entry. */
struct crontab_block {
    size_t at, size;    /* bytes of the text, with the end of the last line */
    bool marked;        /* it has a label */
    bool salts;         /* it has Salt's label */
    struct str label;   /* empty: none */
    struct str comment; /* lines between label and entry, as they are; empty: none */
    struct crontab_entry entry;
};

enum crontab_field {
    CRONTAB_MINUTE,
    CRONTAB_HOUR,
    CRONTAB_DAYMONTH,
    CRONTAB_MONTH,
    CRONTAB_DAYWEEK,
};
#define CRONTAB_FIELDS (CRONTAB_DAYWEEK + 1)

/* Is it a field of a schedule: "*", valid numbers and names, ranges, steps, lists? */
bool crontab_is_field(struct str text, enum crontab_field field);

/* False for anything else: comments, environment, blank lines. */
bool crontab_parse(struct str line, struct crontab_entry *ret_entry);

/* The next block from `from` on; false when there is none. */
bool crontab_next(struct str text, size_t from, struct crontab_block *ret_block);
/* The block with this label; else the first one without a label that runs this command, ignoring
 * blanks. An empty command finds labels only. */
bool crontab_find(struct str text, struct str label, struct str command,
                  struct crontab_block *ret_block);

/* The first line that sets a variable, without its end; a NULL view when there is none. */
struct str crontab_variable(struct str text, struct str name);
/* The text with `line` as the only one that sets the variable: in the place of the first one, else
 * before everything, since it applies to the lines after it. A NULL view: none. */
void crontab_set_variable(struct str text, struct str name, struct str line, struct buf *out);

/* The lines of a block. A comment may have several lines. */
void crontab_print(struct str label, struct str comment, const struct crontab_entry *entry,
                   struct buf *out);
/* The same with Salt's label. The comment has one line. */
void crontab_print_salts(struct str label, struct str comment, const struct crontab_entry *entry,
                         struct buf *out);
/* The text in which `lines` replace the block; NULL: at the end. */
void crontab_put(struct str text, const struct crontab_block *block, struct str lines,
                 struct buf *out);

#endif
