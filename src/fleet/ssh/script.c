#include "fleet/ssh/script.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/vec.h"
#include "fleet/ssh/roster.h"

#define SECOND      INT64_C(1000000000)
#define SCRIPT_MAX  ((size_t)16 << 10)
#define SCRIPT_NAME "zester-ssh"

/* --- the script ------------------------------------------------------------------------- */

/* Enter the folder. `find` looks at the current folder itself: its owner and mode, whatever its
 * name leads to by now. */
static const char enter_text[] = "umask 077; "
                                 "say() { echo \"" SCRIPT_NAME " $n $*\"; }; "
                                 "stop() { say fail \"$*\"; exit 3; }; "
                                 "u=$(id -u) || stop cannot find out who I am; "
                                 "if [ -n \"$HOME\" ] && [ -d \"$HOME\" ] && [ -w \"$HOME\" ]; "
                                 "then d=$HOME/.cache/" SCRIPT_NAME "; mkdir -p \"$HOME/.cache\"; "
                                 "else d=/var/tmp/" SCRIPT_NAME "-$u; fi; ";

static const char make_text[] =
    "[ -d \"$d\" ] || mkdir -m 700 \"$d\" 2>/dev/null || [ -d \"$d\" ] || stop cannot make $d; ";

static const char check_text[] =
    "if [ -L \"$d\" ]; then stop \"$d is a link\"; fi; "
    "cd -P \"$d\" || stop \"cannot enter $d\"; "
    "[ -n \"$(find . -prune -type d -user \"$u\" -perm 0700)\" ] || "
    "stop \"$d must belong to the user who logs in, with mode 0700\"; ";

/* A copy that was cut short, or is another one, never gets the name. */
static const char copy_text[] =
    "sum() { set -- $(sha256sum < \"$1\"); echo \"$1\"; }; "
    "if [ -f \"$p\" ] && [ \"$(sum \"$p\")\" = \"$s\" ]; then chmod 700 \"$p\"; touch \"$p\"; else "
    "say need $(uname -sm); t=$p.$$; trap \"rm -f ./$t\" EXIT HUP INT TERM; "
    "head -c \"$b\" > \"$t\" || stop \"cannot write to $d\"; "
    "[ \"$(sum \"$t\")\" = \"$s\" ] || stop \"the program did not arrive whole in $d\"; "
    "chmod 700 \"$t\" && mv -f \"$t\" \"$p\" || stop \"cannot write to $d\"; "
    "trap - EXIT HUP INT TERM; fi; "
    "say have $(uname -sm); exec \"./$p\" " SSH_SCRIPT_NODE;

/* Undo data is elsewhere, and stays. */
static const char clean_text[] = "if [ -d \"$d\" ]; then ";
static const char remove_text[] =
    "rm -rf ./zester-* ./blobs ./run-* && cd / && rmdir \"$d\" || stop \"cannot remove $d\"; fi; "
    "say clean";

static void add_script(struct buf *out, const struct ssh_script *script)
{
    buf_printf(out, "n=%s; ", script->nonce);
    buf_add_text(out, enter_text);
    if (!script->sha256) {
        buf_add_text(out, clean_text);
        buf_add_text(out, check_text);
        buf_add_text(out, remove_text);
        return;
    }
    buf_add_text(out, make_text);
    buf_add_text(out, check_text);
    buf_printf(out, "s=%s; b=%zu; p=zester-$s; ", script->sha256, script->size);
    buf_add_text(out, copy_text);
}

static const char *make_command(struct arena *arena, const struct ssh_machine *machine,
                                const struct ssh_script *script)
{
    AUTO_BUF struct buf out = BUF_INIT(SCRIPT_MAX);

    buf_add_text(&out, "exec ");
    if (machine->sudo && machine->sudo_user)
        buf_printf(&out, "sudo -n -H -u %s -- ", machine->sudo_user);
    else if (machine->sudo)
        buf_add_text(&out, "sudo -n -H -- ");
    buf_add_text(&out, "/bin/sh -c '");
    add_script(&out, script);
    buf_add_text(&out, "'");
    return buf_copy(&out, arena).p;
}

/* --- words of ssh ------------------------------------------------------------------------ */

struct script_line {
    struct arena *arena;
    VEC(const char *) words;
};

static void add_ssh_word(struct script_line *line, const char *word)
{
    VEC_PUSH_IN(line->arena, &line->words, word);
}

static void add_ssh_option(struct script_line *line, const char *option)
{
    add_ssh_word(line, "-o");
    add_ssh_word(line, option);
}

static void add_ssh_pair(struct script_line *line, const char *option, const char *word)
{
    add_ssh_word(line, option);
    add_ssh_word(line, word);
}

/* The first value of an option counts: ours, those of the roster, then what the files of ssh say.
 */
const char *const *ssh_script_argv(struct arena *arena, const struct ssh_machine *machine,
                                   const char *ssh, const struct ssh_script *script)
{
    struct script_line line = { .arena = arena };

    add_ssh_word(&line, ssh);
    for (const char *const *fixed = ssh_roster_fixed; *fixed; fixed++)
        add_ssh_option(&line, *fixed);
    add_ssh_option(&line, arena_printf(arena, "ConnectTimeout=%lld",
                                       (long long)((machine->timeout + SECOND - 1) / SECOND)));
    for (size_t i = 0; i < machine->options.n; i++)
        add_ssh_option(&line, machine->options.p[i]);
    add_ssh_option(&line, "StrictHostKeyChecking=yes");
    if (machine->identity) {
        add_ssh_option(&line, "IdentitiesOnly=yes");
        add_ssh_pair(&line, "-i", machine->identity);
    }
    if (machine->user)
        add_ssh_pair(&line, "-l", machine->user);
    if (machine->port)
        add_ssh_pair(&line, "-p", arena_printf(arena, "%lld", (long long)machine->port));
    add_ssh_word(&line, "-T");
    add_ssh_word(&line, "--");
    add_ssh_word(&line, machine->host);
    add_ssh_word(&line, make_command(arena, machine, script));
    add_ssh_word(&line, NULL);
    return line.words.p;
}

/* --- answers ------------------------------------------------------------------------------ */

static const struct {
    const char *word;
    enum ssh_script_word kind;
} answers[] = {
    { "need", SSH_SCRIPT_NEED },
    { "have", SSH_SCRIPT_HAVE },
    { "clean", SSH_SCRIPT_CLEAN },
    { "fail", SSH_SCRIPT_FAIL },
};

enum ssh_script_word ssh_script_read(struct str line, const char *nonce, struct str *ret_rest)
{
    struct str rest = line, word;

    *ret_rest = (struct str){ "", 0 };
    if (!str_eq(str_cut(&rest, ' '), STR(SCRIPT_NAME)) || !rest.p ||
        !str_eq_text(str_cut(&rest, ' '), nonce) || !rest.p)
        return SSH_SCRIPT_NOISE;
    word = str_cut(&rest, ' ');
    for (size_t i = 0; i < ARRAY_LEN(answers); i++)
        if (str_eq_text(word, answers[i].word)) {
            if (rest.p)
                *ret_rest = rest;
            return answers[i].kind;
        }
    return SSH_SCRIPT_NOISE;
}
