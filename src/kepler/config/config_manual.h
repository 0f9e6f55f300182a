/*
 * config_manual - what people read about orchestrator files, from the tables they are read by.
 *
 * A chapter is a section of the file, with its keys, or a part of the language that
 * has none (expressions, outputs). Its example is a whole file that loads.
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
    const char *where;             /* its place in the file, or NULL */
    const struct param *params;    /* its keys, or NULL */
    const char *details;           /* paragraphs, with a new line at the end */
    void (*list)(struct buf *out); /* lines of a table after them, or NULL */
    const char *more;              /* paragraphs after that, or NULL */
    const char *example;           /* a file, or NULL */
};

/* In the order in which they are best read; ends with a chapter without a name. */
extern const struct config_chapter config_chapters[];

/* Every chapter with its one line. */
void config_manual_print_index(struct buf *out);
/* One chapter. False when there is none of that name. */
bool config_manual_print(struct str name, struct buf *out);
/* The nearest name, or NULL. */
const char *config_manual_suggest(struct str name);
/* The whole reference as Markdown. */
void config_manual_print_markdown(struct buf *out);

#endif
