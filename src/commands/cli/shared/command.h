/*
 * command - the commands of a program, as a table.
 *
 * The table is the dispatcher, the usage text, the shell completion and a part of
 * the manual. A command gets its options decoded and its operands counted; it
 * prints its result on stdout and its errors on stderr, and returns the exit
 * status of the process.
 */
#ifndef COMMANDS_CLI_SHARED_COMMAND_H
#define COMMANDS_CLI_SHARED_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/mem.h"
#include "core/data/params.h"

struct arena;
struct buf;
struct diags;
struct err;
struct fleet;

/* Exit statuses, as the manual numbers them. */
enum cli_status {
    CLI_OK = 0,
    CLI_ERROR = 1,  /* wrong usage or invalid input: nothing was done */
    CLI_FAILED = 2, /* done, but a part failed or the report could not be written */
    /* With --detailed-exitcode, as plans and runs of other programs have it: done, and something
     * has changed, or would change. Everything that went wrong is CLI_ERROR then. */
    CLI_CHANGED = 2,
};

struct cli {
    const struct program *program;
    const struct command *group; /* the one that `command` belongs to; or NULL */
    const struct command *command;
    struct param_strs rest; /* of a line without a command: the words after the first */
    struct arena *arena;    /* lives as long as the command */
    bool color;             /* stdout is a terminal and colour is not off, or it is on */
    const char *done;       /* what was done, in case the report cannot be written; or NULL */
    bool detailed;          /* --detailed-exitcode was given; the command has set it */
    bool changed;           /* for it: something has changed, or would change in a dry run */
    struct fleet *fleet;    /* the connection that `connect` opened; or NULL */
    void (*disconnect)(struct cli *cli); /* set with it; called after the command */
};

#define COMMAND_MANY (-1)

/* A command, or a group of commands (`zester ca init`): then `commands` is its table. A group that
 * has a `run` is also a command without operands (`zester-master token`, `... token list`). */
struct command {
    const char *name;
    const char *operands; /* "FILE", "[NAME]": for the usage line */
    const char *summary;  /* one line, lower case, no full stop */
    const char *details;  /* paragraphs for --help, or NULL */
    const char *examples; /* lines for --help, or NULL */
    const char *statuses; /* exit statuses, if they differ from those of the program; or NULL */
    const struct param *options;
    size_t args_size;
    int least, most; /* operands; COMMAND_MANY: any number */
    /* Refuses a line before the connection is opened. NULL: nothing to check. */
    int (*check)(struct cli *cli, const void *args, struct param_strs operands);
    /* Opens the connection that `run` needs, with the options at `connect_at` of its arguments
     * (FLEET_CONNECT). NULL: none. All three return the exit status. */
    int (*connect)(struct cli *cli, const void *options);
    size_t connect_at;
    int (*run)(struct cli *cli, const void *args, struct param_strs operands);
    void (*words)(struct buf *out); /* possible operands for completion, each after a blank; NULL */
    /* A command of the same program that lists the operands, for completion. Its output has a head,
     * then operands in the first column; lines that end with a colon are heads, too. NULL: none. */
    const char *lookup;
    /* Functions whose words are references of states, as a pattern of the shell: "a|b"; NULL: none.
     * And the command that lists references, each after "- ". */
    void (*ref_functions)(struct buf *out);
    const char *ref_lookup;
    const struct command *commands;
};

/* Words of other programs, and the command to write here instead. */
struct other_word {
    const char *group; /* "event"; NULL: the first word of the line */
    const char *theirs, *ours;
};

struct program {
    const char *name, *summary, *details;
    const char *statuses;   /* "0 done; 1 an error": lines for --help */
    const char *error_word; /* what errors begin with; NULL: the program and its command */
    const struct command *commands;
    /* Options of commands that may also come before the command, as those of `fallback` may; NULL:
     * none. Each command that accepts them has them in its own table, too; those of
     * COMMAND_COLOR_OPTIONS are handled here. */
    const struct param *globals;
    /* Handles the command line when its word (an option such as "--local") is given; the first
     * operand is then a function, not a command. NULL: none. */
    const char *other_word;
    const struct command *other;
    /* Takes a line whose first operand is not a command and which names a function (family.name)
     * after it: "zester 'web*' test.ping". Its own name is "". NULL: none. */
    const struct command *fallback;       /* its `lookup` lists targets */
    const struct other_word *other_words; /* ends with a row without `theirs`; NULL: none */
    /* Called when the first operand is not a command; returns the exit status. NULL: the usual
     * error. */
    int (*unknown)(struct cli *cli, const char *word);
    const char *color_variable; /* says whether there is colour (color_is_wanted); NULL: none */
    int usage_status;           /* exit status of wrong usage; 0: CLI_ERROR */
    int unknown_status;         /* the same when the first word is not a command; 0: usage_status */
};

/* The whole main(): find the command, read the line, run it. Changes the order of `argv`. */
int command_main(const struct program *program, int argc, char **argv);

/* For programs that are daemons without a command: does the line have a command, if only a mistyped
 * one, or ask for the command table? A daemon has no operands. */
bool command_is_given(const struct program *program, int argc, char *const *argv);
/* Rows for `globals`: whether there is colour, whatever terminal and environment say. */
#define COMMAND_NO_COLOR    "no-color"
#define COMMAND_FORCE_COLOR "force-color"
#define COMMAND_COLOR_OPTIONS                                                                      \
    { .name = COMMAND_NO_COLOR, .kind = PARAM_BOOL, .doc = "no colour, even on a terminal" },      \
    {                                                                                              \
        .name = COMMAND_FORCE_COLOR, .kind = PARAM_BOOL,                                           \
        .doc = "colour, even in a pipe and with NO_COLOR"                                          \
    }
extern const struct param command_color_globals[];
/* For functions that change nothing that is counted. */
#define COMMAND_DETAILED_REFUSAL                                                                   \
    "--detailed-exitcode is for functions that apply or revert states, not for %s"
/* A row for commands that apply states: they set cli->detailed, and cli->changed with each result.
 */
#define COMMAND_DETAILED_OPTION(type, field)                                                       \
    PARAM("detailed-exitcode", BOOL, type, field,                                                  \
          "exit status 0: nothing changed; 2: changed, or would change with --test; 1: anything "  \
          "failed or did not answer")
/* Their exit status for words and options that they do not know. */
#define COMMAND_DAEMON_USAGE 2
/* The common option of such programs: --config FILE. */
extern const struct param command_daemon_globals[];

/* "zester render: <text>", or "Error: <text>", on stderr; all return CLI_ERROR. */
int cli_error(const struct cli *cli, const char *fmt, ...) PRINTF_LIKE(2, 3);
int cli_err(const struct cli *cli, const struct err *err);
/* The same, with a hint for users who need root. */
int cli_err_root(const struct cli *cli, const struct err *err);
int cli_diags(const struct cli *cli, const struct diags *diags);
/* Report wrong usage, and point to --help. */
int cli_usage(const struct cli *cli, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Options of other programs, in commands that apply states. */
#define COMMAND_FOREIGN_OPTIONS                                                                    \
    OPTION_FOREIGN("diff", BOOL, "a dry run shows the differences: '--test'"),                     \
        OPTION_FOREIGN("dry-run", BOOL, "did you mean '--test'?"),                                 \
        OPTION_FOREIGN("noop", BOOL, "did you mean '--test'?"),                                    \
        OPTION_FOREIGN("why-run", BOOL, "did you mean '--test'?"),                                 \
        OPTION_FOREIGN("become", BOOL,                                                             \
                       "zester runs as its caller, a peel as root; a state has 'runas'"),          \
        OPTION_FOREIGN("extra-vars", STR,                                                          \
                       "write settings after the function: pillar='{KEY: VALUE}'",                 \
                       .aliases = "e"),                                                            \
        OPTION_FOREIGN("tags", STR, "name a file of states, or an ID: state.sls_id ID REF")

#endif
