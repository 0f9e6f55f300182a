/*
 * ssh_message - the protocol between the local zester and zester on a machine, through ssh.
 *
 *     there                                here
 *     HELLO    its facts            ->
 *                                   <-     REQUEST  what to do, settings of this machine, files
 *     WANT     which files it lacks ->
 *                                   <-     PIECE... their bytes, one file after the other
 *     ANSWER   an ExecResponse      ->
 *
 * Each is one frame (core/data/frame.h) whose version is the kind of the message. Neither side
 * trusts the sizes of the other. The end of standard input there, at any time, means: stop.
 *
 * Settings are rendered here, so a machine sees only its own. Flags of values are not sent: secrets
 * are listed separately.
 *
 * Pure. Memory: texts are borrowed. Threads: any.
 */
#ifndef FLEET_SSH_MESSAGE_H
#define FLEET_SSH_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/data/record.h"
#include "fleet/wire/exec.h"

struct arena;
struct err;

#define SSH_MESSAGE_VERSION 1

enum ssh_message {
    SSH_HELLO = 1,
    SSH_REQUEST,
    SSH_WANT,
    SSH_PIECE,
    SSH_ANSWER,
};

/* Bytes of each. */
#define SSH_HELLO_MAX   ((size_t)4 << 20)
#define SSH_REQUEST_MAX ((size_t)64 << 20)
#define SSH_PIECE_MAX   ((size_t)1 << 20)
#define SSH_ANSWER_MAX  ((size_t)32 << 20)

#define SSH_FILES_MAX 100000
#define SSH_FILE_MAX  (INT64_C(8) << 30)

struct ssh_hello {
    int32_t v;
    struct value facts; /* a map */
};
extern const struct record_type ssh_hello_type;

struct ssh_file {
    const char *path;   /* below the tree of states */
    const char *sha256; /* lower-case hexadecimal */
    int64_t size;
};

struct ssh_request {
    int32_t v;
    const char *peel;            /* its id, as on the wire */
    struct exec_request request; /* with its secret arguments */
    struct value facts;          /* override the machine's own facts; a map */
    struct value settings;       /* a map */
    struct param_strs secrets;   /* secret texts in the settings */
    bool has_tree;
    const char *data_dir; /* "": the default */
    struct {
        VEC(struct ssh_file) list;
    } files;
};
extern const struct record_type ssh_request_type;

/* Fails with ERR_INVALID for invalid or duplicate files. */
int ssh_request_check(const struct ssh_request *request, struct err *err);

/* One byte for each file of the request: SSH_WANT_YES or SSH_WANT_NO. */
#define SSH_WANT_YES 'y'
#define SSH_WANT_NO  'n'
int ssh_want_check(struct str want, size_t files, struct err *err);

#endif
