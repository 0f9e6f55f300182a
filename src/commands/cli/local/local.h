/*
 * local - the common parts of `zester --local`.
 *
 * command_local.c has the options, finds the function and runs states; words.c reads the words
 * after the function, module.c calls single modules, show.c has the functions that only show,
 * owed.c those of owed reactions, revert.c and runs.c those of recorded runs; print.c prints
 * results.
 */
#ifndef COMMANDS_CLI_LOCAL_LOCAL_H
#define COMMANDS_CLI_LOCAL_LOCAL_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/diag.h"
#include "commands/cli/shared/report/file.h"
#include "commands/cli/shared/report/text.h"
#include "states/compile/compile.h"
#include "core/data/params.h"
#include "core/data/value.h"
#include "states/local/session.h"
#include "core/sys/cancel.h"

struct buf;
struct plan_binding;
struct cli;
struct err;
struct module;
struct plan;
struct run_result;

/* Salt's forms of output; format.c maps them to ours. */
#define LOCAL_OUT_WORDS                                                                            \
    "text|json|yaml|dot|svg|nested|highstate|txt|pprint|raw|quiet|no_out|no_return|"               \
    "newline_values_only|overstatestage|progress|table|json_out|yaml_out|dson|key|virt_query"

#define LOCAL_OUTPUT_MAX ((size_t)1 << 30)

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_YAML, FORMAT_DOT, FORMAT_SVG };

/* Options of state.revert. */
struct local_revert_args {
    bool all, yes;
    const char *since, *to; /* NULL: not given */
};

struct local_args {
    struct session_options session;
    struct local_revert_args revert;
    int64_t timeout; /* nanoseconds; 0: none */
    int format;
    bool local, no_color, quiet, force, revert_on_failure, detailed;
    const char *log_level; /* what log.* shows; NULL: warnings and errors */
    const char *out;       /* one of LOCAL_OUT_WORDS; of report: its file; NULL: not given */
    struct report_detail_wish state_output;
    const char *plan; /* a file with the dry run that the run must match; NULL */
};

/* Everything that a function of this command works with. */
struct local {
    struct cli *cli;
    const struct local_args *args;
    struct session session;
    struct cancel cancel;
    struct diags diags;
    const char *function;
    enum report_detail detail; /* how much of each state a report shows */
    struct param_strs words;   /* after the function, without key=value */
    struct value given;        /* the key=value words as a map */
    struct compile_wish wish;  /* of functions of states: what to compile */
};

/* Options that do not depend on where states and settings come from: rows for a struct of `type`,
 * in which `at` names a member of its struct local_args. */
/* clang-format off */
#define LOCAL_RUN_OPTIONS(type, at) \
    PARAM("test",         BOOL,     type, at(session.test), "dry run: report what would change, change nothing"), \
    PARAM("plan",         STR,      type, at(plan), "apply only what this dry run planned: a file written by --test --format json", .kind_text = "FILE"), \
    PARAM("format",       CHOICE,   type, at(format), "output format; dot and svg are for state.graph", .choices = "text|json|yaml|dot|svg", .default_text = "text", .aliases = "output,o"), \
    PARAM("out",          STR,      type, at(out), "of report: its file (" REPORT_FILE_NAME "); else the format in the words of Salt", .kind_text = "FILE"), \
    PARAM("timeout",      DURATION, type, at(timeout), "end the run and everything it started after this time"), \
    PARAM("parallel",     INT,      type, at(session.parallel), "at most this many states at once", PARAM_RANGE(0, 4096)), \
    PARAM("undefined-ok", BOOL,     type, at(session.lenient), "a missing variable in a template is empty, not an error"), \
    PARAM("loose-params", BOOL,     type, at(session.loose), "an unknown parameter is a warning, not an error"), \
    PARAM("revert-on-failure", BOOL, type, at(revert_on_failure), "when a state fails, revert what the run has changed"), \
    PARAM("force",        BOOL,     type, at(force), "state.revert: also revert what others or later runs have changed since"), \
    PARAM("all",          BOOL,     type, at(revert.all), "state.revert: all runs of the reference, not the last one alone"), \
    PARAM("since",        STR,      type, at(revert.since), "state.revert: its runs since then: 2h, 2026-11-19, 2026-11-19T10:00:00Z", .kind_text = "TIME"), \
    PARAM("to",           STR,      type, at(revert.to), "state.revert: the runs after this one", .kind_text = "RUN-ID"), \
    PARAM("yes",          BOOL,     type, at(revert.yes), "state.revert: do not ask", .aliases = "y"), \
    COMMAND_DETAILED_OPTION(type, at(detailed)), \
    PARAM("no-color",     BOOL,     type, at(no_color), "no colour, even on a terminal"), \
    PARAM("quiet",        BOOL,     type, at(quiet), "no progress", .aliases = "q"), \
    PARAM("log-level",    STR,      type, at(log_level), "log level of log.* in templates: debug, info, warning, error or quiet (warning)", .kind_text = "LEVEL", .aliases = "l"), \
    REPORT_DETAIL_OPTION(type, at(state_output))
/* clang-format on */

/* For completion: functions of states, and modules, each after a blank. */
void local_add_functions(struct buf *out);
/* A function on this machine; `operands` begins with it. */
int local_run(struct cli *cli, const struct local_args *args, struct param_strs operands);

/* Let --out choose the format; a quiet one lets nothing reach standard output. Returns the exit
 * status. */
int local_choose_format(const struct cli *cli, struct local_args *args);

/* Let log.* write to standard error, from a level of Salt or of ours on. */
int local_open_log(const char *name, struct session_options *options, struct diags *diags);

/* Words and pairs; test= is applied at once. */
int local_read_words(struct local *local, struct param_strs operands);
/* The request of a state function: its words are references, and pairs are options. */
int local_read_wish(struct local *local);
/* The function takes no pairs: any pair is a mistake. */
int local_refuse_pairs(struct local *local);
/* Remove and return the first word, which is not a reference. NULL: none. */
const char *local_shift(struct local *local);

/* Compile the wish, and print its warnings. */
int local_compile(struct local *local, const struct plan **plan);
/* Read --plan: the run must match it. */
int local_bind(struct local *local, const struct plan *plan, struct plan_binding *ret);
/* Run it on this machine, with progress on a terminal; CLI_OK when there is a result. */
int local_run_plan(struct local *local, const struct plan *plan, struct run_result *result);
/* Nothing ran: report why, in the requested format. Returns the exit status. */
int local_refuse(struct local *local);
int local_refuse_err(struct local *local, const struct err *err);
/* If the report is lost, the message on stderr says what was done. Also for --detailed-exitcode. */
void local_set_done(struct local *local, const struct run_result *result);
/* The report of a run; the exit status says whether it succeeded. */
int local_print_result(struct local *local, const struct run_result *result);
bool local_wants_record(const struct local *local);
/* As YAML or JSON. */
int local_print(struct local *local, const struct value *v);
/* The result of a function: text as it is, anything else as data. */
int local_print_answer(struct local *local, const struct value *answer);
/* Functions that only templates have otherwise. */
bool local_has_template_function(const struct local *local, const struct module *module);
int local_call_template_function(struct local *local);

/* A state, and a function that is none. */
int local_apply_module(struct local *local, const struct module *module);
int local_call_module(struct local *local, const struct module *module);
int local_single(struct local *local);
int local_last(struct local *local);
int local_owed(struct local *local);
int local_waive(struct local *local);
int local_revert(struct local *local);
int local_runs(struct local *local);
int local_show(struct local *local);
int local_show_highstate(struct local *local);
int local_show_top(struct local *local);
int local_graph(struct local *local);
int local_check(struct local *local);
int local_sls_exists(struct local *local);
int local_id_exists(struct local *local);
int local_report(struct local *local);

#endif
