#include "cli/commands.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"

#define SCRIPT_MAX ((size_t)1 << 20)

static void add_options(struct buf *out, const struct param *options)
{
    for (const struct param *p = options; p && p->name; p++)
        if (!(p->flags & PARAM_HIDDEN))
            buf_printf(out, " --%s", p->name);
    buf_add_text(out, " --help");
}

static void add_cases(struct buf *out, const struct program *program)
{
    for (const struct command *c = program->commands; c->name; c++) {
        buf_printf(out, "        %s) words=\"", c->name);
        add_options(out, c->options);
        buf_add_text(out, "\" ;;\n");
    }
    if (program->other) {
        buf_printf(out, "        %s) words=\"", program->other_word);
        add_options(out, program->other->options);
        buf_add_text(out, "\" functions=\"");
        if (program->other_words)
            program->other_words(out);
        buf_add_text(out, "\" ;;\n");
    }
}

/* One function; files are offered when a word does not begin with a dash. */
static void print_bash(const struct program *program, struct buf *out)
{
    buf_printf(out,
               "# bash completion of %s; load with: source <(%s completion bash)\n"
               "_%s() {\n"
               "    local word=${COMP_WORDS[COMP_CWORD]} words= functions=\n"
               "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
               "        words=\"--help --version%s%s",
               program->name, program->name, program->name, program->other ? " " : "",
               program->other ? program->other_word : "");
    for (const struct command *c = program->commands; c->name; c++)
        buf_printf(out, " %s", c->name);
    buf_add_text(out, "\"\n"
                      "        COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
                      "        return\n"
                      "    fi\n"
                      "    case ${COMP_WORDS[1]} in\n");
    add_cases(out, program);
    buf_printf(out,
               "    esac\n"
               "    case $word in\n"
               "        -*) COMPREPLY=($(compgen -W \"$words\" -- \"$word\")) ;;\n"
               "        *) COMPREPLY=($(compgen -f -W \"$functions\" -- \"$word\")) ;;\n"
               "    esac\n"
               "}\n"
               "complete -o filenames -F _%s %s\n",
               program->name, program->name);
}

/* zsh reads bash completions once it is told to. */
static void print_zsh(const struct program *program, struct buf *out)
{
    buf_printf(out, "#compdef %s\nautoload -U +X bashcompinit && bashcompinit\n", program->name);
    print_bash(program, out);
}

static int run(struct cli *cli, const void *args, struct param_strs operands)
{
    AUTO_BUF struct buf out = BUF_INIT(SCRIPT_MAX);

    (void)args;
    if (strcmp(operands.p[0], "bash") == 0)
        print_bash(cli->program, &out);
    else if (strcmp(operands.p[0], "zsh") == 0)
        print_zsh(cli->program, &out);
    else
        return cli_usage(cli, "no completion for the shell '%s': there is bash and zsh",
                         operands.p[0]);
    (void)fputs(buf_text(&out), stdout);
    return CLI_OK;
}

const struct command command_completion = {
    .name = "completion",
    .operands = "bash|zsh",
    .summary = "print the completion script of a shell",
    .examples = "  source <(zester completion bash)\n",
    .least = 1,
    .most = 1,
    .run = run,
};
