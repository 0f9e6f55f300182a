/*
 * admit - may a reaction decide about an enrollment, given the record as it is?
 *
 * Pure. Threads: any.
 */
#ifndef FLEET_REACTOR_ADMIT_H
#define FLEET_REACTOR_ADMIT_H

struct action_enroll;
struct enrollment;
struct reaction_run_answer;

enum admit_verdict {
    ADMIT_PROCEED,
    ADMIT_ANSWERED, /* nothing to do: `ret_answer` is duplicate or refused */
};

/* `record` is NULL when there is none of that id. */
enum admit_verdict admit_judge(const struct action_enroll *action, const struct enrollment *record,
                               struct reaction_run_answer *ret_answer);

#endif
