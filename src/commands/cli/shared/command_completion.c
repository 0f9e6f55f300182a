#include "commands/cli/shared/commands.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"

#define SCRIPT_MAX ((size_t)1 << 20)

/* "text|json" as words, each after a blank. */
static void add_choices(struct buf *out, const char *choices)
{
    struct str rest = str_from(choices);

    while (rest.p) {
        struct str word = str_cut(&rest, '|');

        buf_printf(out, " %.*s", STR_ARG(word));
    }
}

static void add_completed_options(struct buf *out, const struct param *options)
{
    for (const struct param *p = options; p && p->name; p++)
        if (!(p->flags & PARAM_HIDDEN))
            buf_printf(out, " --%s", p->name);
    buf_add_text(out, " --help");
}

/* "start|stop" are literal words, "FILE" and "[SERVICE...]" are placeholders. */
static bool is_list_of_words(const char *operands)
{
    for (const char *p = operands; *p; p++)
        if (*p != '|' && !islower((unsigned char)*p))
            return false;
    return operands[0] != '\0';
}

/* The pattern of a case: all names of an option. */
static void add_completed_names(struct buf *out, const struct param *option)
{
    struct str rest = option->aliases ? str_from(option->aliases) : (struct str){ NULL, 0 };

    buf_printf(out, "--%s", option->name);
    while (rest.p) {
        struct str alias = str_cut(&rest, ',');

        buf_printf(out, "|%s%.*s", alias.n == 1 ? "-" : "--", STR_ARG(alias));
    }
}

/* After an option with choices comes one of them. */
static void add_completed_values(struct buf *out, const struct param *options)
{
    for (const struct param *p = options; p && p->name; p++) {
        if (!p->choices || (p->flags & PARAM_HIDDEN))
            continue;
        buf_add_text(out, "            case $last in ");
        add_completed_names(out, p);
        buf_add_text(out, ") options= operands=\"");
        add_choices(out, p->choices);
        buf_add_text(out, "\" ;; esac\n");
    }
}

static void add_names_of(struct buf *out, const struct command *table)
{
    for (const struct command *c = table; c->name; c++)
        buf_printf(out, " %s", c->name);
}

/* Asked when it is needed: the program knows. Options of all commands say where. */
static void add_lookup(struct buf *out, const char *words)
{
    if (words)
        buf_printf(out,
                   " $(\"${COMP_WORDS[0]}\" \"${where[@]}\" %s 2>/dev/null </dev/null | "
                   "awk 'NR > 1 && !/:$/ { print $1 }')",
                   words);
}

/* After a function of states come references, from the tree that the line names. */
static void add_refs(struct buf *out, const struct command *command, int place)
{
    if (!command->ref_functions)
        return;
    buf_printf(out, "            case ${said[%d]} in ", place);
    command->ref_functions(out);
    buf_printf(out,
               ") operands=\"$(\"${COMP_WORDS[0]}\" \"${here[@]}\" %s 2>/dev/null </dev/null | "
               "awk '$1 == \"-\" { print $2 }')\" ;; esac\n",
               command->ref_lookup);
}

/* The case of a command; one of a group has both words. */
static void add_case(struct buf *out, const char *group, const struct command *command)
{
    const char *word = command->name;

    buf_printf(out, group ? "        '%s%s%s')\n" : "        %s%s%s)\n", group ? group : "",
               group ? " " : "", word);
    buf_add_text(out, "            options=\"");
    add_completed_options(out, command->options);
    buf_add_text(out, "\" operands=\"");
    if (command->words)
        command->words(out);
    else if (command->commands)
        add_names_of(out, command->commands);
    else if (is_list_of_words(command->operands))
        add_choices(out, command->operands);
    add_lookup(out, command->lookup);
    buf_add_text(out, "\"\n");
    add_refs(out, command, 0);
    add_completed_values(out, command->options);
    buf_add_text(out, "            ;;\n");
}

/* "ca|enroll" as a pattern of groups, whose next word belongs to the command. */
static void add_completed_groups(struct buf *out, const struct program *program)
{
    const char *before = "    case $command in ";

    for (const struct command *c = program->commands; c->name; c++)
        if (c->commands) {
            buf_printf(out, "%s%s", before, c->name);
            before = "|";
        }
    if (before[0] == '|')
        buf_add_text(out, ") ((${#said[@]} > 1)) && command=\"$command ${said[1]}\" ;; esac\n");
}

static void add_completed_commands(struct buf *out, const struct program *program,
                                   const char *between)
{
    const char *before = "";

    for (const struct command *c = program->commands; c->name; c++, before = between)
        buf_printf(out, "%s%s", before, c->name);
    if (program->other)
        buf_printf(out, "%s%s", before, program->other_word);
}

/* A line without a command: a target, then a function. */
static void add_fallback(struct buf *out, const struct program *program)
{
    if (!program->fallback)
        return;
    buf_add_text(out, "            case ${#said[@]} in 0) operands+=\"");
    add_lookup(out, program->fallback->lookup);
    buf_add_text(out, "\" ;; *) operands=\"");
    if (program->other && program->other->words)
        program->other->words(out);
    buf_add_text(out, "\" options=\"");
    add_completed_options(out, program->fallback->options);
    buf_add_text(out, "\" ;; esac\n");
    add_refs(out, program->fallback, 1);
    add_completed_values(out, program->fallback->options);
}

static bool is_name_in(const struct param *table, const char *name)
{
    for (const struct param *p = table; p && p->name; p++)
        if (strcmp(p->name, name) == 0)
            return true;
    return false;
}

/* Does it say where the program looks? Not how it prints. */
static bool is_where(const struct program *program, const struct param *option)
{
    return !option->choices && is_name_in(program->globals, option->name);
}

/* The options with a value as a pattern, then what is done with them: `list` is the array of the
 * script that they are kept in, NULL: none. */
static void add_valued(struct buf *out, const struct program *program, const struct param *options,
                       const char *list)
{
    const char *before = "            ";

    for (const struct param *p = options; p && p->name; p++) {
        if (p->kind == PARAM_BOOL || is_where(program, p) != (list && strcmp(list, "where") == 0) ||
            (list && p->choices))
            continue;
        buf_add_text(out, before);
        add_completed_names(out, p);
        before = "|";
    }
    if (before[0] == '|')
        buf_printf(out,
                   list ? ") at=$i; ((i++)); [[ ${COMP_WORDS[i]} != = ]] || ((i++)); ((i < "
                          "COMP_CWORD)) && %s+=(\"${COMP_WORDS[at]}\" \"${COMP_WORDS[i]}\") ;;\n"
                        : ") at=$i; ((i++)); [[ ${COMP_WORDS[i]} != = ]] || ((i++));%s ;;\n",
                   list ? list : "");
}

/* Sort the words before the cursor: operands, and options of all commands, which say where. Beyond
 * the cursor after that: the word is the value of an option. */
static void add_reading(struct buf *out, const struct program *program)
{
    buf_add_text(out, "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
                      "        case ${COMP_WORDS[i]} in\n");
    if (program->other)
        buf_printf(out, "            %s) command=%s ;;\n", program->other_word,
                   program->other_word);
    add_valued(out, program, program->globals, "where");
    add_valued(out, program, program->fallback ? program->fallback->options : program->globals,
               NULL);
    if (program->other)
        add_valued(out, program, program->other->options, "here");
    buf_add_text(out, "            -*) ;;\n"
                      "            *) said+=(\"${COMP_WORDS[i]}\") ;;\n"
                      "        esac\n"
                      "    done\n"
                      "    [[ $command ]] || case ${said[0]} in ");
    add_completed_commands(out, program, "|");
    buf_add_text(out, ") command=${said[0]} ;; esac\n");
}

/* One function. The command is the first operand; before it, complete commands, after it, its
 * options and operands. Files are offered where no word fits. */
static void print_bash(const struct program *program, struct buf *out)
{
    buf_printf(out,
               "# bash completion of %s; load with: source <(%s completion bash)\n"
               "_%s() {\n"
               "    local word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD-1]}\n"
               "    local i at command= options= operands= said=() where=() here=()\n"
               "    [[ $last != = ]] || last=${COMP_WORDS[COMP_CWORD-2]}\n",
               program->name, program->name, program->name);
    add_reading(out, program);
    add_completed_groups(out, program);
    buf_add_text(out, "    case $command in\n"
                      "        '')\n"
                      "            options=\"--help --version ");
    buf_printf(out, "%s\" operands=\"", program->other ? program->other_word : "");
    add_completed_commands(out, program, " ");
    buf_add_text(out, "\"\n");
    add_fallback(out, program);
    buf_add_text(out, "            ;;\n");
    for (const struct command *c = program->commands; c->name; c++) {
        add_case(out, NULL, c);
        for (const struct command *sub = c->commands; sub && sub->name; sub++)
            add_case(out, c->name, sub);
    }
    if (program->other)
        add_case(out, NULL, program->other);
    buf_printf(out,
               "    esac\n"
               "    ((i > COMP_CWORD)) && [[ $options ]] && operands=\n"
               "    case $word in\n"
               "        -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
               "        *)\n"
               "            COMPREPLY=($(compgen -W \"$operands\" -- \"$word\"))\n"
               "            ((${#COMPREPLY[@]})) || COMPREPLY=($(compgen -f -- \"$word\"))\n"
               "            ;;\n"
               "    esac\n"
               "}\n"
               "complete -o filenames -F _%s %s\n",
               program->name, program->name);
}

/* zsh reads bash completions once bashcompinit is loaded. In a folder of functions, the script
 * is run by the first completion, and has to answer it too. */
static void print_zsh(const struct program *program, struct buf *out)
{
    buf_printf(out, "#compdef %s\nautoload -U +X bashcompinit && bashcompinit\n", program->name);
    print_bash(program, out);
    buf_printf(out, "[ \"${funcstack[1]}\" != _%s ] || _bash_complete -o filenames -F _%s\n",
               program->name, program->name);
}

/* In single quotes of fish, where a backslash keeps its meaning before these two. */
static void print_quoted(struct str text, struct buf *out)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\'' || text.p[i] == '\\')
            buf_add_char(out, '\\');
        buf_add_char(out, text.p[i]);
    }
}

/* fish asks the function of bash, which Debian always has: words and their order are known in one
 * place. */
static void print_fish(const struct program *program, struct buf *out)
{
    AUTO_BUF struct buf script = BUF_INIT(SCRIPT_MAX);

    print_bash(program, &script);
    buf_printf(&script,
               "COMP_WORDS=(\"$@\") COMP_CWORD=$(($# - 1))\n"
               "_%s\n"
               "printf '%%s\\n' \"${COMPREPLY[@]}\"\n",
               program->name);
    buf_printf(out,
               "# fish completion of %s; load with: %s completion fish | source\n"
               "function __complete_%s\n"
               "    set -l words (commandline -opc)\n"
               "    set -l word (commandline -ct)\n"
               "    bash -c '",
               program->name, program->name, program->name);
    print_quoted(buf_view(&script), out);
    buf_printf(out,
               "' bash $words \"$word\"\n"
               "end\n"
               "complete -c %s -f -a '(__complete_%s)'\n",
               program->name, program->name);
}

static int run_completion(struct cli *cli, const void *args, struct param_strs operands)
{
    AUTO_BUF struct buf out = BUF_INIT(SCRIPT_MAX);

    (void)args;
    if (strcmp(operands.p[0], "bash") == 0)
        print_bash(cli->program, &out);
    else if (strcmp(operands.p[0], "zsh") == 0)
        print_zsh(cli->program, &out);
    else if (strcmp(operands.p[0], "fish") == 0)
        print_fish(cli->program, &out);
    else
        return cli_usage(cli, "no completion for the shell '%s' (only bash, zsh and fish)",
                         operands.p[0]);
    (void)fputs(buf_text(&out), stdout);
    return CLI_OK;
}

const struct command command_completion = {
    .name = "completion",
    .operands = "bash|zsh|fish",
    .summary = "print the completion script of a shell",
    .examples = "  source <(zester completion bash)\n"
                "  zester completion fish | source\n",
    .least = 1,
    .most = 1,
    .run = run_completion,
};
