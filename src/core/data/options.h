/*
 * options - a command line into a struct, by a table like that of state parameters.
 *
 * `--name value`, `--name=value`, `-n value`, `-nvalue`; an alias of one letter is
 * the short form. Options may be anywhere; `--` ends them. A BOOL takes no
 * value (`--name=false` works). STRS may be repeated. The rest are the operands,
 * in order.
 *
 * Mistakes are diagnostics without a place: all of a line at once. An option of another program can
 * have a line as well, OPTION_FOREIGN, which names our own.
 */
#ifndef CORE_DATA_OPTIONS_H
#define CORE_DATA_OPTIONS_H

#include "core/data/params.h"
#include "core/data/value.h"

struct arena;
struct buf;
struct diags;

/* An option of another program: reported as unknown, with a hint. BOOL takes no value there, STR
 * takes one. */
#define OPTION_FOREIGN(key, word, hint, ...)                                                       \
    {                                                                                              \
        .name = (key), .kind = PARAM_##word, .flags = PARAM_UNSUPPORTED | PARAM_HIDDEN,            \
        .doc = (hint), __VA_ARGS__                                                                 \
    }

/* Read argv[0..argc) into `args`, which is all zero. */
int options_parse(struct arena *arena, const struct param *table, int argc, char *const *argv,
                  void *args, struct param_strs *ret_operands, struct diags *diags);

/* The same without decoding: the given options as a map, by their names in the table. */
int options_read(struct arena *arena, const struct param *table, int argc, char *const *argv,
                 struct value *ret_given, struct param_strs *ret_operands, struct diags *diags);

/* True when `word` occurs before `--`; the rest is not read: "--help". */
bool options_has(int argc, char *const *argv, const char *word);

/* True when an option of another program (OPTION_FOREIGN) occurs before `--`. */
bool options_has_foreign(const struct param *table, int argc, char *const *argv);

/* The index of the first word that is neither an option of `table` nor the value of one; argc when
 * there is none. */
int options_skip(const struct param *table, int argc, char *const *argv);

/* "  --states-dir, -s DIR   where state files are", one line each. */
void options_print(const struct param *table, struct buf *out);
/* The same as a list of maps: names ("--states-dir, -s"), value ("DIR", or "") and text. */
struct value options_describe(struct arena *arena, const struct param *table);

#endif
