/*
 * config_manual - the manual of orchestrator files, from the tables that parse them.
 *
 * A chapter is a section of the file with its keys, or a language topic without keys (expressions,
 * outputs). Its example is a complete file that loads.
 */
#ifndef KEPLER_CONFIG_CONFIG_MANUAL_H
#define KEPLER_CONFIG_CONFIG_MANUAL_H

#include <stdbool.h>

#include "core/base/str.h"

struct buf;
struct param;

struct config_chapter {
    const char *name;              /* "healthcheck" */
    const char *summary;           /* a few words */
    const char *where;             /* position in the file, or NULL */
    const struct param *params;    /* its keys, or NULL */
    const char *details;           /* paragraphs, with a new line at the end */
    void (*list)(struct buf *out); /* lines of a table after them, or NULL */
    const char *more;              /* paragraphs after that, or NULL */
    const char *example;           /* a file, or NULL */
};

/* In reading order; ends with a chapter without a name. */
extern const struct config_chapter config_chapters[];

/* Every chapter with a one-line summary. */
void config_manual_print_index(struct buf *out);
/* One chapter. False when no chapter has that name. */
bool config_manual_print(struct str name, struct buf *out);
/* The nearest name, or NULL. */
const char *config_manual_suggest(struct str name);
/* The whole reference as Markdown. */
void config_manual_print_markdown(struct buf *out);

#endif
