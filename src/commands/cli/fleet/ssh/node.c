#include "commands/cli/fleet/ssh/node.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "core/base/number.h"
#include "commands/cli/shared/command.h"
#include "commands/cli/shared/interrupt.h"
#include "states/facts/facts.h"
#include "states/local/perform.h"
#include "fleet/view/reply.h"
#include "states/local/session.h"
#include "states/settings/seal.h"
#include "fleet/ssh/channel.h"
#include "fleet/ssh/message.h"
#include "fleet/ssh/store.h"
#include "core/sys/cancel.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "core/sys/inherited.h"

/* Limit on the text of mistakes. */
#define ERROR_MAX ((size_t)1 << 20)
/* The other side sends without a pause. */
#define IDLE_NS (600 * CLOCK_SECOND)
/* Administrator tools, which the shell of a service may lack. */
#define MORE_PATH "/usr/local/sbin:/usr/sbin:/sbin"

struct ssh_node {
    struct arena arena;
    struct ssh_channel channel;
    struct ssh_store store;
    struct ssh_request request;
    const struct value *facts; /* of this machine */
    const char *states_dir;    /* NULL: none */
    struct cancel cancel;
    struct perform_answer answer;
    struct str message;
};

static int report_node_error(const char *text)
{
    (void)fprintf(stderr, "%s\n", text);
    return CLI_ERROR;
}

/* --- streams -------------------------------------------------------------------------- */

/* Nothing that a module or a library prints may get between messages. */
static int take_streams(struct ssh_node *node, struct err *err)
{
    const int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    AUTO_FD int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (in < 0 || out < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 ||
        dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return err_sys(err, errno, "standard streams");
    ssh_channel_init(&node->channel, in, out, -1);
    node->channel.idle = IDLE_NS;
    return 0;
}

/* Nothing more is expected: an end, or a byte, means stop. */
static void *watch_input(void *arg)
{
    struct ssh_node *node = arg;
    struct pollfd in = { .fd = node->channel.in, .events = POLLIN };

    while (poll(&in, 1, -1) < 0 && errno == EINTR)
        ;
    cancel_raise(&node->cancel);
    return NULL;
}

static int start_watch(struct ssh_node *node, struct err *err)
{
    pthread_t thread;
    const int failed = pthread_create(&thread, NULL, watch_input, node);

    if (failed)
        return err_sys(err, failed, "start a thread");
    (void)pthread_detach(thread); /* ends with the process */
    return 0;
}

/* --- the request ------------------------------------------------------------------------ */

static int say_hello(struct ssh_node *node, struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT(SSH_HELLO_MAX);
    struct diags diags = DIAGS_INIT(&node->arena);
    const struct facts_options about = { 0 };
    struct ssh_hello hello = { .v = SSH_MESSAGE_VERSION };

    if (facts_collect(&node->arena, &about, &node->facts, &diags) < 0)
        return diags_to_err(&diags, err);
    hello.facts = *node->facts;
    if (record_encode(&bytes, &ssh_hello_type, &hello, err) < 0)
        return -1;
    return ssh_channel_send(&node->channel, SSH_HELLO, buf_view(&bytes), err);
}

static int take_request(struct ssh_node *node, struct err *err)
{
    struct str payload;

    if (ssh_channel_take(&node->channel, SSH_REQUEST, SSH_REQUEST_MAX, &node->arena, &payload,
                         err) < 0 ||
        record_decode(&node->arena, &ssh_request_type, 1, payload, &node->request, err) < 0)
        return -1;
    return ssh_request_check(&node->request, err);
}

/* Files with the same content are one file. */
static void choose_tree_files(struct ssh_node *node, struct buf *want)
{
    struct map asked = MAP_INIT_IN(&node->arena);

    VEC_EACH (&node->request.files.list, file) {
        const bool lacks =
            !map_find(&asked, str_from(file->sha256)) && !ssh_store_has(&node->store, file);

        if (lacks)
            (void)map_set(&asked, str_from(file->sha256), file);
        buf_add_char(want, lacks ? SSH_WANT_YES : SSH_WANT_NO);
    }
}

static int take_files(struct ssh_node *node, struct err *err)
{
    AUTO_BUF struct buf want = BUF_INIT(SSH_FILES_MAX);

    choose_tree_files(node, &want);
    if (ssh_channel_send(&node->channel, SSH_WANT, buf_view(&want), err) < 0)
        return -1;
    for (size_t i = 0; i < want.n; i++)
        if (want.p[i] == SSH_WANT_YES &&
            ssh_store_receive(&node->store, &node->request.files.list.p[i], &node->channel, err) <
                0)
            return -1;
    return 0;
}

/* --- the run ---------------------------------------------------------------------------- */

static void fail_run(struct ssh_node *node, const char *why)
{
    node->answer = (struct perform_answer){ .error = arena_strdup(&node->arena, why) };
}

static void report_node_diags(struct ssh_node *node, const struct diags *diags)
{
    AUTO_BUF struct buf text = BUF_INIT(ERROR_MAX);

    diags_print(diags, &text);
    fail_run(node, arena_str(&node->arena, str_trim_right(buf_view(&text))).p);
}

static const char *describe_expiry(struct ssh_node *node)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    buf_add_text(&text, "canceled: not finished after ");
    number_print_duration(node->request.request.timeout, &text);
    return buf_copy(&text, &node->arena).p;
}

/* The message is made while the session lives, which has the values. */
static void make_node_message(struct ssh_node *node)
{
    const struct reply_head head = { node->request.peel, &node->request.request, SSH_ANSWER_MAX };

    if (interrupt_timed_out() && (!node->answer.success || node->answer.error)) {
        node->answer.success = false;
        node->answer.error = describe_expiry(node);
    }
    node->message = reply_response(&node->arena, &head, &node->answer);
}

static enum session_need find_need(const struct ssh_node *node, const char *function)
{
    const enum perform_class class = perform_class(function);

    if (!node->states_dir)
        return SESSION_TREELESS;
    return class == PERFORM_STATES || class == PERFORM_SHOW ? SESSION_TREE : SESSION_NOTHING;
}

static void run_session(struct ssh_node *node, const struct perform_request *request,
                        const struct session_options *options)
{
    struct diags diags = DIAGS_INIT(&node->arena);
    struct session session;

    if (session_init(&session, options, find_need(node, request->function), &diags) < 0)
        report_node_diags(node, &diags);
    else
        perform(&session, request, NULL, &node->answer);
    make_node_message(node);
    session_done(&session);
}

static void run_request(struct ssh_node *node)
{
    const struct exec_request *asked = &node->request.request;
    struct value facts =
        value_merge(&node->arena, node->facts, &node->request.facts, VALUE_MERGE_REPLACE);
    struct value settings = value_copy(&node->arena, &node->request.settings);
    struct perform_request request = { .function = asked->module,
                                       .id = asked->id,
                                       .by =
                                           arena_printf(&node->arena, "operator %s", asked->user) };
    const struct session_options options = {
        .states_dir = node->states_dir,
        .data_dir = node->request.data_dir[0] ? node->request.data_dir : NULL,
        .id = value_get_text(&facts, "id"),
        .facts = &facts,
        .environment = facts_environment(&facts),
        .settings = &settings,
        .cancel = &node->cancel,
    };
    struct err err;

    seal_restore(&settings, &node->request.secrets);
    if (exec_lay_secrets(&node->arena, &asked->args, &asked->secret_args, &request.args, &err) <
        0) {
        fail_run(node, err.text);
        make_node_message(node);
        return;
    }
    run_session(node, &request, &options);
}

/* A tree that is not there is the mistake of functions that need it. */
static int lay_tree(struct ssh_node *node, struct err *err)
{
    if (!node->request.has_tree)
        return 0;
    return ssh_store_lay(&node->store, &node->request, &node->states_dir, err);
}

static void remove_node_folder(void)
{
    const char *home = getenv("HOME");

    if ((!home || chdir(home) < 0) && chdir("/") < 0)
        (void)report_node_error("cannot leave the folder of zester");
}

/* Nothing of this run is left when the answer goes out. */
static int serve_request(struct ssh_node *node, struct err *err)
{
    if (say_hello(node, err) < 0 || take_request(node, err) < 0 || take_files(node, err) < 0 ||
        lay_tree(node, err) < 0 || start_watch(node, err) < 0)
        return -1;
    remove_node_folder();
    interrupt_watch(&node->cancel, node->request.request.timeout);
    fd_limit_raise();
    run_request(node);
    interrupt_forget();
    ssh_store_close(&node->store);
    node->channel.cancel = NULL; /* a run that was canceled is answered, too */
    return ssh_channel_send(&node->channel, SSH_ANSWER, node->message, err);
}

static void extend_path(struct arena *arena)
{
    const char *path = getenv("PATH");

    if (path && !strstr(path, "/sbin"))
        (void)setenv("PATH", arena_printf(arena, "%s:" MORE_PATH, path), 1);
}

int ssh_node_main(void)
{
    struct ssh_node node = { .arena = ARENA_INIT };
    struct err err;

    inherited_reset(INHERITED_COMMAND);
    extend_path(&node.arena);
    if (cancel_init(&node.cancel, &err) < 0 || take_streams(&node, &err) < 0)
        return report_node_error(err.text);
    interrupt_watch(&node.cancel, 0); /* also: a closed pipe is an error of the write */
    node.channel.cancel = &node.cancel;
    if (ssh_store_open(&node.arena, &node.store, &err) < 0)
        return report_node_error(err.text);
    if (serve_request(&node, &err) < 0) {
        ssh_store_close(&node.store);
        (void)report_node_error(err.text);
        _exit(CLI_ERROR); /* a thread still waits for input */
    }
    _exit(CLI_OK);
}
