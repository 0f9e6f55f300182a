/*
 * ssh_script - what a shell on a machine does before zester runs there, and how ssh is called.
 *
 * Enters a folder that only the user of that machine can write to (~/.cache/zester-ssh, else
 * /var/tmp/zester-ssh-UID), and looks for a zester with the right SHA-256 in it:
 *
 *     zester-ssh <nonce> need <system> <machine>     send it: so many bytes on standard input
 *     zester-ssh <nonce> have <system> <machine>     it runs now
 *     zester-ssh <nonce> clean                       the folder is removed
 *     zester-ssh <nonce> fail <words>
 *
 * The folder is checked once it is the current folder, so no name can lead elsewhere afterwards.
 * The nonce tells these lines from what a profile of the user prints. The script is one line
 * without single quotes and exclamation marks, so that every login shell passes it on.
 *
 * Pure. Memory: the arena. Threads: any.
 */
#ifndef FLEET_SSH_SCRIPT_H
#define FLEET_SSH_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"

struct arena;
struct ssh_machine;

/* The option of zester that makes it the far side; see commands/cli/fleet/ssh/node.h. */
#define SSH_SCRIPT_NODE "--ssh-node"
/* Of one line. */
#define SSH_SCRIPT_LINE_MAX 512

struct ssh_script {
    const char *nonce;  /* letters and digits */
    const char *sha256; /* of the program; NULL: remove what is there */
    size_t size;        /* of the program */
};

/* The words of the ssh program; ends with NULL. */
const char *const *ssh_script_argv(struct arena *arena, const struct ssh_machine *machine,
                                   const char *ssh, const struct ssh_script *script);

enum ssh_script_word {
    SSH_SCRIPT_NOISE, /* not a line of the script */
    SSH_SCRIPT_NEED,
    SSH_SCRIPT_HAVE,
    SSH_SCRIPT_CLEAN,
    SSH_SCRIPT_FAIL,
};

/* A line that came, without its line end. `ret_rest` is what follows the word. */
enum ssh_script_word ssh_script_read(struct str line, const char *nonce, struct str *ret_rest);

#endif
