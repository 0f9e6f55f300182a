/*
 * outcome - what the states of this family that only report an outcome have in common: a message.
 */
#ifndef STATES_MODULES_TEST_OUTCOME_H
#define STATES_MODULES_TEST_OUTCOME_H

#include "states/state/module.h"

struct outcome_args {
    const char *comment;
};

/* The parameters of one whose message is `text` by default. */
#define OUTCOME_PARAMS(text)                                                                       \
    {                                                                                              \
        PARAM("comment", STR, struct outcome_args, comment, "its message",                         \
              .default_text = (text)),                                                             \
            { 0 },                                                                                 \
    }

/* It differs, with the message. */
int outcome_differs(struct state_run *run, const void *args, struct err *err);
/* It fails with the message: to check or to apply. */
int outcome_fails(struct state_run *run, const void *args, struct err *err);

#endif
