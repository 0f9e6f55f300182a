/*
 * dialect - the differences between Salt's state files and .zy files.
 *
 * The suffix of a file determines its dialect, and a state has that of the file that declared it
 * first; files of both dialects may include each other, and requisites work across. Each difference
 * is a member here, used in one place:
 *
 *                      .zy                             .sls
 *     order            levels; all of a level at       as written: requisites are moved ahead,
 *                      once, by `order` and name       neighbours that do not touch each other
 *                                                      run together (states/compile/written.h)
 *     unset `order`    0                               counts on, after small numbers
 *     listen           watch                           reacts at the end of the run
 *     unless: [a, b]   one yes holds the state back    only if all say yes
 *     retry: attempts  number of retries, 10 s     tries in all, 30 s
 *     unknown          a mistake                       a warning, once for each name
 *     parameters
 *     an unknown       a mistake: nothing runs         a warning, and the state fails in its turn
 *     module, value
 *     or target
 *     include cycle    a mistake                       each file once
 *     exclude of what  a mistake                       nothing to do
 *     is not there
 *     attributes       a mistake when they would do    a warning, and ignored
 *                      nothing
 *     an ID in two     one state, if they agree        a mistake
 *     files
 *     extend           adds to the state of that       replaces the function of the family;
 *                      function                        finds a state by its name, too
 *     a target of a    the states of that ID, else     all states of that ID or name; a file
 *     requisite        of that name; those of a file   with what it brought into the run
 *     a name twice in  a mistake                       counts once
 *     `names`
 *     guards           run in /                        run with cwd, env... of their state
 *     check_cmd        must succeed after a change     has the last word, also when nothing was
 *                                                      changed, and over a failure
 *
 * The YAML dialect depends on the same suffix (yaml_dialect_of). Modules see only whether their
 * state comes from Salt (state_run.salt).
 */
#ifndef STATES_COMPILE_DIALECT_H
#define STATES_COMPILE_DIALECT_H

#include <stdbool.h>
#include <stdint.h>

struct dialect {
    const char *name;        /* "zy", "sls" */
    bool written_order;      /* states run in the order of their files */
    bool listen_at_end;      /* listen does not watch */
    bool unless_all;         /* unless` holds back the state only if all say yes */
    bool attempts_total;     /* the first try counts */
    int64_t retry_interval;  /* seconds, when not given */
    bool ignores_parameters; /* unknown ones are warnings */
    bool ignores_cycles;     /* of includes */
    bool ignores_excludes;   /* of files and states that are not there */
    bool ignores_repeats;    /* of one name in `names` */
    bool unique_ids;         /* two files cannot declare one ID */
    bool extends_families;   /* extend replaces the function that a family has, and finds names */
    bool requires_all;  /* a requisite means every state with that ID or name; `sls` covers included
                           files */
    bool fails_late;    /* a mistake in one state is the failure of that state */
    bool check_decides; /* check_cmd runs after every state, and its result is that of the state */
    bool salt_attributes; /* fire_event, aggregate...: warned of and ignored */
};

extern const struct dialect dialect_zy, dialect_sls;

/* By the suffix of the path. */
const struct dialect *dialect_of(const char *path);

#endif
