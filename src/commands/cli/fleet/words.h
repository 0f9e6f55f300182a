/*
 * fleet_words - a function and the words after it, as a request for machines:
 *
 *     cmd.run 'uptime' timeout=5        id "ad-hoc", args {command: uptime, timeout: '5'}
 *     state.apply web test=True         id "web", args {state: web, test: 'True'}
 *
 * Memory: the arena of the command. Threads: one.
 */
#ifndef COMMANDS_CLI_FLEET_WORDS_H
#define COMMANDS_CLI_FLEET_WORDS_H

#include <stdint.h>

#include "core/data/params.h"
#include "core/data/value.h"

struct cli;

struct fleet_words {
    const char *function;
    const char *id;    /* the positional argument, or what stands for none */
    struct value args; /* a map */
};

/* Returns the exit status; mistakes are printed. */
int fleet_words_read(struct cli *cli, struct param_strs words, const char *function,
                     struct fleet_words *ret);
/* The required parameter of the module that the line lacks; NULL: none is missing, or this version
 * does not know the module. */
const struct param *fleet_words_missing(const struct fleet_words *words);
/* The default timeout of the function. */
int64_t fleet_words_timeout(const struct fleet_words *words, int64_t otherwise);
/* An option that is on: "test". */
void fleet_words_set(struct cli *cli, struct fleet_words *words, const char *option);
/* --detailed-exitcode, for functions that apply or revert states; `option` is one that gives no
 * results to wait for, or NULL. Returns the exit status. */
int fleet_words_detailed(struct cli *cli, const struct fleet_words *words, const char *option);
/* An option that is on, for functions that run several states of files; returns the exit status. */
int fleet_words_revert_on_failure(struct cli *cli, struct fleet_words *words);

#endif
