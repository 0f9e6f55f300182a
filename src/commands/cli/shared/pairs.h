/*
 * pairs - words of a command line of the form key=value, as a map of texts.
 */
#ifndef COMMANDS_CLI_SHARED_PAIRS_H
#define COMMANDS_CLI_SHARED_PAIRS_H

struct arena;
struct err;
struct param_strs;
struct value;

/* Null for no words. The last of equal keys wins. Fails with ERR_INVALID for a word without a key
 * or without '='. */
int pairs_read(struct arena *arena, const struct param_strs *words, struct value *ret_map,
               struct err *err);

#endif
