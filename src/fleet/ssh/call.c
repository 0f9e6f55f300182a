#include "fleet/ssh/call.h"

#include <signal.h>
#include <string.h>
#include <sys/utsname.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/ed25519.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "states/settings/seal.h"
#include "fleet/ssh/channel.h"
#include "fleet/ssh/tree_files.h"
#include "fleet/ssh/reason.h"
#include "fleet/ssh/roster.h"
#include "fleet/ssh/script.h"
#include "fleet/ssh/settings.h"
#include "core/sys/chance.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "core/sys/pool.h"
#include "core/sys/process.h"

/* Beyond the time that ssh has to connect: a shell starts, a profile is read. */
#define LOGIN_NS (20 * CLOCK_SECOND)
/* Without progress, and for all files together. */
#define IDLE_NS     (60 * CLOCK_SECOND)
#define TRANSFER_NS (1800 * CLOCK_SECOND)
/* Beyond the time of the run: the machine ends it by itself, and says so. */
#define GRACE_NS (30 * CLOCK_SECOND)
/* After Ctrl-C: programs are killed there, and the answer says so. */
#define CANCEL_NS (10 * CLOCK_SECOND)
/* ssh ends after its answer, or is ended. */
#define END_NS (5 * CLOCK_SECOND)
/* The last words of one that has ended. */
#define WORDS_NS (200 * CLOCK_MS)
/* Lines that a profile prints before the first line of the script. */
#define NOISE_MAX    1000
#define NONCE_BYTES  16
#define MISTAKES_MAX ((size_t)1 << 20)

/* How far it has come; what an end means depends on it. */
enum stage { STAGE_LOGIN, STAGE_SHELL, STAGE_RUN, STAGE_DONE };

struct talk {
    struct arena *arena;
    const struct ssh_question *question;
    const struct ssh_machine *machine;
    const struct ssh_program *program; /* NULL: clean up */
    char nonce[HEX_SIZE(NONCE_BYTES)];
    struct process process;
    struct ssh_channel channel;
    enum stage stage;
    const char *refusal; /* what the script, or we, have said; NULL: nothing */
    struct str response;
};

/* --- the shell there -------------------------------------------------------------------- */

static int refuse_talk(struct talk *talk, const char *why, struct err *err)
{
    talk->refusal = why;
    return err_set(err, ERR_UNSUPPORTED, "refused");
}

/* The next line of the script. */
static int take_script_word(struct talk *talk, enum ssh_script_word *ret_word, struct str *ret_rest,
                            struct err *err)
{
    for (size_t i = 0; i < NOISE_MAX; i++) {
        struct str line;

        if (ssh_channel_line(&talk->channel, SSH_SCRIPT_LINE_MAX, talk->arena, &line, err) < 0)
            return -1;
        *ret_word = ssh_script_read(line, talk->nonce, ret_rest);
        if (*ret_word != SSH_SCRIPT_NOISE)
            talk->stage = STAGE_SHELL;
        if (*ret_word == SSH_SCRIPT_FAIL)
            return refuse_talk(
                talk, ssh_reason_find(talk->arena, talk->machine, *ret_rest, "no reason given"),
                err);
        if (*ret_word != SSH_SCRIPT_NOISE)
            return 0;
    }
    return err_set(err, ERR_LIMIT, "unexpected message received");
}

/* A zester that the roster names is for that machine, whatever it is. */
static int check_processor(struct talk *talk, struct str theirs, struct err *err)
{
    struct utsname here;
    const char *ours;

    if (talk->machine->program || uname(&here) < 0)
        return 0;
    ours = arena_printf(talk->arena, "%s %s", here.sysname, here.machine);
    if (str_eq_text(theirs, ours))
        return 0;
    return refuse_talk(talk,
                       arena_printf(talk->arena,
                                    "it is %s, and the zester of this machine is for %s: 'program' "
                                    "of the roster names one for it",
                                    ssh_reason_find(talk->arena, talk->machine, theirs, "unknown"),
                                    ours),
                       err);
}

static int bring_program(struct talk *talk, struct err *err)
{
    enum ssh_script_word word;
    struct str rest;

    if (take_script_word(talk, &word, &rest, err) < 0)
        return -1;
    talk->channel.idle = IDLE_NS;
    talk->channel.deadline = clock_after(clock_real(), TRANSFER_NS);
    if (word == SSH_SCRIPT_NEED) {
        if (check_processor(talk, rest, err) < 0 ||
            ssh_program_send(talk->program, &talk->channel, err) < 0 ||
            take_script_word(talk, &word, &rest, err) < 0)
            return -1;
    }
    return word == SSH_SCRIPT_HAVE ? 0 : err_set(err, ERR_INVALID, "unexpected message received");
}

/* --- settings ------------------------------------------------------------------------------ */

/* Those of this machine alone, from its facts, of which the id is ours. */
static int render_settings(struct talk *talk, const struct value *facts, struct value *ret,
                           struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(MISTAKES_MAX);
    struct diags diags = DIAGS_INIT(talk->arena);

    if (ssh_settings_render(talk->question->settings, talk->arena, talk->machine->name, facts, ret,
                            &diags) == 0)
        return 0;
    buf_add_text(&text, "its settings have mistakes:\n");
    diags_print(&diags, &text);
    return refuse_talk(talk, arena_str(talk->arena, str_trim_right(buf_view(&text))).p, err);
}

/* --- the run ------------------------------------------------------------------------------- */

static int take_facts(struct talk *talk, struct value *ret_facts, struct err *err)
{
    struct ssh_hello hello;
    struct str payload;

    if (ssh_channel_take(&talk->channel, SSH_HELLO, SSH_HELLO_MAX, talk->arena, &payload, err) <
            0 ||
        record_decode(talk->arena, &ssh_hello_type, 1, payload, &hello, err) < 0)
        return -1;
    *ret_facts = value_merge(talk->arena, &hello.facts, talk->machine->facts, VALUE_MERGE_REPLACE);
    return 0;
}

static int send_call_request(struct talk *talk, const struct value *facts, struct err *err)
{
    const struct ssh_tree *tree = talk->question->tree;
    AUTO_BUF struct buf bytes = BUF_INIT(SSH_REQUEST_MAX);
    struct ssh_request request = {
        .v = SSH_MESSAGE_VERSION,
        .peel = talk->machine->id,
        .request = *talk->question->request,
        .facts = *talk->machine->facts,
        .settings = value_map(value_map_new(talk->arena, 0)),
        .has_tree = tree != NULL,
        .data_dir = talk->machine->data_dir ? talk->machine->data_dir : "",
    };
    int rc;

    if (talk->question->settings && render_settings(talk, facts, &request.settings, err) < 0)
        return -1;
    request.secrets = seal_texts(talk->arena, &request.settings);
    if (tree) {
        request.files.list.p = tree->files.p;
        request.files.list.n = tree->files.n;
    }
    rc = record_encode(&bytes, &ssh_request_type, &request, err);
    if (rc == 0)
        rc = ssh_channel_send(&talk->channel, SSH_REQUEST, buf_view(&bytes), err);
    if (bytes.p)
        ed25519_wipe(bytes.p, bytes.n);
    return rc;
}

static int send_files(struct talk *talk, struct err *err)
{
    const struct ssh_tree *tree = talk->question->tree;
    const size_t count = tree ? tree->files.n : 0;
    struct str want;

    if (ssh_channel_take(&talk->channel, SSH_WANT, SSH_FILES_MAX, talk->arena, &want, err) < 0 ||
        ssh_want_check(want, count, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (want.p[i] == SSH_WANT_YES &&
            ssh_tree_send(tree, &tree->files.p[i], &talk->channel, err) < 0)
            return -1;
    return 0;
}

/* A call that is canceled closes the input of the machine, which then stops, and answers still. */
static int take_call_answer(struct talk *talk, struct err *err)
{
    struct ssh_channel *channel = &talk->channel;
    int rc;

    talk->stage = STAGE_RUN;
    channel->idle = CLOCK_NEVER;
    channel->deadline = clock_after(clock_real(), talk->question->request->timeout + GRACE_NS);
    rc = ssh_channel_take(channel, SSH_ANSWER, SSH_ANSWER_MAX, talk->arena, &talk->response, err);
    if (rc < 0 && err->code == ERR_CANCELED) {
        fd_close(&talk->process.in);
        channel->cancel = NULL;
        channel->deadline = clock_after(clock_real(), CANCEL_NS);
        rc = ssh_channel_take(channel, SSH_ANSWER, SSH_ANSWER_MAX, talk->arena, &talk->response,
                              err);
        if (rc < 0)
            return refuse_talk(talk, "canceled; no report of what was done", err);
    }
    return rc;
}

static int talk_through(struct talk *talk, struct err *err)
{
    struct value facts;

    talk->channel.deadline = clock_after(clock_real(), talk->machine->timeout + LOGIN_NS);
    if (bring_program(talk, err) < 0 || take_facts(talk, &facts, err) < 0 ||
        send_call_request(talk, &facts, err) < 0 || send_files(talk, err) < 0 ||
        take_call_answer(talk, err) < 0)
        return -1;
    talk->stage = STAGE_DONE;
    return 0;
}

static int talk_clean(struct talk *talk, struct err *err)
{
    enum ssh_script_word word;
    struct str rest;

    talk->channel.deadline = clock_after(clock_real(), talk->machine->timeout + IDLE_NS);
    if (take_script_word(talk, &word, &rest, err) < 0)
        return -1;
    if (word != SSH_SCRIPT_CLEAN)
        return err_set(err, ERR_INVALID, "unexpected message received");
    talk->stage = STAGE_DONE;
    return 0;
}

/* --- ends ---------------------------------------------------------------------------------- */

/* The exit status of ssh itself, when it fails. */
#define SSH_FAILED 255

static const char *describe_loss(const struct talk *talk)
{
    switch (talk->stage) {
    case STAGE_LOGIN: return "ssh exited without a message";
    case STAGE_SHELL: return "the connection was lost before the run";
    case STAGE_RUN:
    case STAGE_DONE: break;
    }
    return "connection lost during the run; its result is unknown";
}

static const char *describe_call_end(struct talk *talk, bool is_lost)
{
    const char *otherwise =
        is_lost ? describe_loss(talk) : "remote zester exited without an answer";
    const char *words =
        ssh_reason_find(talk->arena, talk->machine, buf_view(&talk->channel.words), otherwise);

    if (talk->stage != STAGE_RUN || strcmp(words, otherwise) == 0)
        return words;
    return arena_printf(talk->arena, "%s (%s)", otherwise, words);
}

static void judge_call_end(struct talk *talk, const struct err *err, struct process_status status,
                           struct ssh_outcome *ret)
{
    const bool is_lost = status.code == SSH_FAILED || status.signo != 0;

    ret->end = SSH_CALL_FAILED;
    if (talk->refusal) {
        ret->why = talk->refusal;
    } else if (err->code == ERR_NOT_FOUND) {
        ret->end = is_lost ? SSH_CALL_UNREACHABLE : SSH_CALL_FAILED;
        ret->why = describe_call_end(talk, is_lost);
    } else if (err->code == ERR_TIMEOUT) {
        ret->end = SSH_CALL_UNREACHABLE;
        ret->why = arena_printf(talk->arena, "%s: %s",
                                talk->stage == STAGE_LOGIN   ? "login"
                                : talk->stage == STAGE_SHELL ? "before the run"
                                                             : "run",
                                err->text);
    } else {
        ret->why = arena_strdup(talk->arena, err->text);
    }
}

/* Its input is closed: it ends by itself, or is ended. */
static void end_ssh(struct talk *talk, bool is_over, struct process_status *ret_status)
{
    struct err ignored;

    *ret_status = (struct process_status){ .code = -1 };
    fd_close(&talk->process.in);
    if (!is_over ||
        process_wait(&talk->process, clock_after(clock_real(), END_NS), ret_status, &ignored) < 0) {
        (void)process_signal(&talk->process, SIGTERM, &ignored);
        if (process_wait(&talk->process, clock_after(clock_real(), END_NS), ret_status, &ignored) <
            0) {
            (void)process_signal(&talk->process, SIGKILL, &ignored);
            (void)process_wait(&talk->process, CLOCK_NEVER, ret_status, &ignored);
        }
    }
    ssh_channel_drain(&talk->channel, WORDS_NS);
}

static void hold_talk(struct talk *talk, int (*through)(struct talk *talk, struct err *err),
                      struct ssh_outcome *ret)
{
    struct process_status status;
    struct err err = { .code = ERR_NONE };
    int rc;

    ssh_channel_init(&talk->channel, talk->process.out, talk->process.in, talk->process.err);
    talk->channel.cancel = talk->question->cancel;
    pool_block_begin();
    rc = through(talk, &err);
    end_ssh(talk, rc == 0 || err.code == ERR_NOT_FOUND || err.code == ERR_UNSUPPORTED, &status);
    pool_block_end();
    if (rc < 0)
        judge_call_end(talk, &err, status, ret);
    ssh_channel_done(&talk->channel);
    process_done(&talk->process);
}

static void run_talk(struct talk *talk, int (*through)(struct talk *talk, struct err *err),
                     struct ssh_outcome *ret)
{
    const struct ssh_script script = { .nonce = talk->nonce,
                                       .sha256 = talk->program ? talk->program->sha256 : NULL,
                                       .size = talk->program ? talk->program->size : 0 };
    const struct process_stream pipe = { .kind = PROCESS_PIPE };
    const struct process_spec spec = {
        .argv = ssh_script_argv(talk->arena, talk->machine, talk->question->ssh, &script),
        .in = pipe,
        .out = pipe,
        .err = pipe,
        .group = PROCESS_GROUP_SESSION, /* Ctrl-C is for us */
        .parent_death = SIGTERM,
    };
    struct err err;

    if (process_start(&spec, &talk->process, &err) < 0) {
        ret->end = SSH_CALL_FAILED;
        ret->why = arena_strdup(talk->arena, err.text);
        return;
    }
    hold_talk(talk, through, ret);
}

static void make_call_nonce(char nonce[static HEX_SIZE(NONCE_BYTES)])
{
    unsigned char bytes[NONCE_BYTES];

    chance_bytes(bytes, sizeof(bytes));
    hex_write(bytes, sizeof(bytes), nonce);
}

void ssh_call_make(struct arena *arena, const struct ssh_question *question,
                   const struct ssh_machine *machine, const struct ssh_program *program,
                   struct ssh_outcome *ret)
{
    struct talk talk = {
        .arena = arena, .question = question, .machine = machine, .program = program
    };

    make_call_nonce(talk.nonce);
    *ret = (struct ssh_outcome){ .end = SSH_CALL_ANSWERED, .why = "" };
    run_talk(&talk, talk_through, ret);
    ret->response = talk.response;
}

void ssh_call_clean(struct arena *arena, const struct ssh_question *question,
                    const struct ssh_machine *machine, struct ssh_outcome *ret)
{
    struct talk talk = { .arena = arena, .question = question, .machine = machine };

    make_call_nonce(talk.nonce);
    *ret = (struct ssh_outcome){ .end = SSH_CALL_CLEANED, .why = "" };
    run_talk(&talk, talk_clean, ret);
}
