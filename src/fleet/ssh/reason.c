#include "fleet/ssh/reason.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/mem.h"
#include "fleet/ssh/roster.h"

/* Libraries that the program needs; packages.txt has the same names. */
#define PACKAGES "libyaml-0-2 libjansson4 libsodium23 libpcre2-8-0"

/* The first that is found counts. */
static const struct {
    const char *words, *hint;
} hints[] = {
    { "REMOTE HOST IDENTIFICATION HAS CHANGED",
      "its host key is not the one that is known here: ask why, and remove the old one with "
      "'ssh-keygen -R' only then" },
    { "Host key verification failed",
      "its host key is not known here: log in once with ssh and compare the fingerprint, or add "
      "the key to ~/.ssh/known_hosts" },
    { "Permission denied (",
      "no key is accepted: 'identity' of the roster names one, 'ssh-copy-id' adds it there" },
    { "sudo: ", "sudo must work without a password and a terminal: NOPASSWD in sudoers, or log in "
                "as root" },
    { "error while loading shared libraries",
      "install what zester needs there: apt install " PACKAGES },
    { "version `GLIBC_", "its C library is older than the one that this zester was built for: "
                         "'program' of the roster names a zester for it" },
    { "Exec format error", "this zester is for another processor: 'program' of the roster names "
                           "one for that machine" },
    { "cannot execute binary file", "this zester is for another processor: 'program' of the roster "
                                    "names one for that machine" },
    { "Permission denied", "is the file system mounted with 'noexec'?" },
    { "Could not resolve hostname", "'host' of the roster is its name or address" },
    { "Connection refused", "is its ssh server running, on this port?" },
};

static const char *find_ssh_hint(struct str words)
{
    for (size_t i = 0; i < ARRAY_LEN(hints); i++)
        if (str_find(words, str_from(hints[i].words), 0) != STR_NONE)
            return hints[i].hint;
    return NULL;
}

/* The last lines as one, and nothing that a terminal would obey. */
static void add_plain_words(struct buf *out, struct str words)
{
    bool gap = false;

    if (words.n > SSH_REASON_MAX)
        words = str_from_offset(words, words.n - SSH_REASON_MAX);
    for (size_t i = 0; i < words.n; i++) {
        const unsigned char c = (unsigned char)words.p[i];

        if (c == '\n' || c == '\r' || c == '\t' || c == ' ') {
            gap = out->n > 0;
            continue;
        }
        if (gap)
            buf_add_char(out, ' ');
        gap = false;
        buf_add_char(out, c > ' ' && c < 0x7f ? (char)c : '?');
    }
}

const char *ssh_reason_find(struct arena *arena, const struct ssh_machine *machine,
                            struct str words, const char *otherwise)
{
    AUTO_BUF struct buf out = BUF_INIT(4 * SSH_REASON_MAX);
    const char *hint = find_ssh_hint(words);

    add_plain_words(&out, words);
    if (out.n == 0)
        buf_add_text(&out, otherwise);
    if (hint)
        buf_printf(&out, " (%s: %s)", machine->host, hint);
    return buf_copy(&out, arena).p;
}
