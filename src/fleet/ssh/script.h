/*
 * ssh_script - the shell script that starts zester on a machine, and the ssh command line.
 *
 * Enters a folder that only that user can write to (~/.cache/zester-ssh, else
 * /var/tmp/zester-ssh-UID), and looks for a zester with the right SHA-256 in it:
 *
 *     zester-ssh <nonce> need <system> <machine>     send it: so many bytes on standard input
 *     zester-ssh <nonce> have <system> <machine>     it runs now
 *     zester-ssh <nonce> clean                       the folder is removed
 *     zester-ssh <nonce> fail <words>
 *
 * The folder is checked once it is the current folder, so no name can lead elsewhere afterwards.
 * The nonce distinguishes these lines from output of the user's profile. The script is one line
 * without single quotes and exclamation marks, so every login shell passes it on.
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

/* zester's option for the remote side; see commands/cli/fleet/ssh/node.h. */
#define SSH_SCRIPT_NODE "--ssh-node"
/* Bytes of one line. */
#define SSH_SCRIPT_LINE_MAX 512

struct ssh_script {
    const char *nonce;  /* letters and digits */
    const char *sha256; /* of the program; NULL: remove the folder */
    size_t size;        /* of the program */
};

/* The arguments of ssh; ends with NULL. */
const char *const *ssh_script_argv(struct arena *arena, const struct ssh_machine *machine,
                                   const char *ssh, const struct ssh_script *script);

enum ssh_script_word {
    SSH_SCRIPT_NOISE, /* not a line of the script */
    SSH_SCRIPT_NEED,
    SSH_SCRIPT_HAVE,
    SSH_SCRIPT_CLEAN,
    SSH_SCRIPT_FAIL,
};

/* Parses a line without its newline. `ret_rest` follows the word. */
enum ssh_script_word ssh_script_read(struct str line, const char *nonce, struct str *ret_rest);

#endif
