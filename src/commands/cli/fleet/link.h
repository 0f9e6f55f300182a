/*
 * fleet_link - how a command reaches the fleet: its options, its configuration, a connection with
 * the rights of an operator, and a loop that runs until there is an answer.
 *
 *     static const struct param options[] = { FLEET_OPTIONS(ARGS, fleet), { 0 } };
 *     const struct command command_x = { .options = options, FLEET_CONNECT(ARGS, fleet), ... };
 *     fleet_request(cli->fleet, &(struct nats_pub){ ... }, timeout, &reply, &err);
 *
 * Configuration: the file of --config, else that of ZESTER_CONFIG, which must be there; else
 * /etc/zester/master.yaml, else ~/.zester/config.yaml; none is required. Its block `master` has
 * urls, creds_file and tls_ca. Without that block it is the configuration of a master on this
 * machine, whose servers and folder of credentials are used. The address is that of --master, else
 * of NATS_URL, else of the file, else FLEET_URL_DEFAULT.
 *
 * Memory: fleet_close; what is returned is in the arena of fleet_open. Threads: one.
 */
#ifndef COMMANDS_CLI_FLEET_LINK_H
#define COMMANDS_CLI_FLEET_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"
#include "core/data/params.h"
#include "fleet/nats/js.h"
#include "fleet/wire/subject.h"

struct arena;
struct cli;
struct err;
struct loop;
struct nats_error;
struct nats_hub;
struct nats_pub;
struct table;
struct value_list;

#define FLEET_URL_DEFAULT     "tls://localhost:4222"
#define FLEET_URL_VARIABLE    "NATS_URL"
#define FLEET_CONFIG_VARIABLE "ZESTER_CONFIG"
#define FLEET_CONFIG          "/etc/zester/master.yaml"
#define FLEET_CONFIG_HOME     ".zester/config.yaml" /* below the home folder */
/* How long a command tries to connect. */
#define FLEET_CONNECT_NS (INT64_C(10) * 1000000000)

/* The exit status when a target means nobody. */
#define FLEET_NO_TARGET 5

enum fleet_format { FLEET_TEXT, FLEET_JSON, FLEET_YAML };

struct fleet_options {
    const char *config;
    struct param_strs masters;
    const char *creds, *nats_ca;
    int64_t timeout;  /* nanoseconds */
    bool has_timeout; /* it was given */
    enum fleet_format format;
};

/* clang-format off */
#define FLEET_OPTIONS(type, field) FLEET_OPTIONS_TIMED(type, field, FLEET_TIMEOUT)
#define FLEET_TIMEOUT "how long to wait for answers", .default_text = "60s"
/* For a command whose time means something else, or has another default. */
#define FLEET_OPTIONS_TIMED(type, field, ...) FLEET_LINK_OPTIONS(type, field, __VA_ARGS__), FLEET_FORMAT_OPTION(type, field, .aliases = NULL)
/* The part that both share. */
#define FLEET_LINK_OPTIONS(type, field, ...)                                                                                        \
    PARAM("config", STR, type, field.config, "the configuration ($" FLEET_CONFIG_VARIABLE ", else " FLEET_CONFIG ", else ~/" FLEET_CONFIG_HOME ")", .kind_text = "FILE"), \
    PARAM("master", STRS, type, field.masters, "servers of the bus, tls:// only; may be repeated", .kind_text = "URL"),           \
    PARAM("creds", STR, type, field.creds, "the operator's credentials", .kind_text = "FILE"),                                       \
    PARAM("nats-ca", STR, type, field.nats_ca, "the CA certificate of the bus", .kind_text = "FILE"),                                    \
    PARAM("timeout", DURATION, type, field.timeout, __VA_ARGS__, PARAM_GIVEN(type, field.has_timeout), PARAM_RANGE(1, INT64_MAX))
#define FLEET_FORMAT_OPTION(type, field, ...) PARAM("format", CHOICE, type, field.format, "output format", .choices = "text|json|yaml", .default_text = "text", __VA_ARGS__)
/* clang-format on */

/* The same as a table, for options before the command. */
extern const struct param fleet_globals[];

/* Parameters of a connection. */
struct fleet_target {
    const char *file; /* the configuration; NULL: none */
    const char *urls, *creds, *auth_dir;
    const char *ca;          /* NULL: see fleet/bus/link.h */
    const char *enroll_addr; /* where this machine's master enrolls; NULL: there is none */
};
int fleet_find(struct arena *arena, const struct fleet_options *options,
               struct fleet_target *ret_target, struct err *err);

struct fleet {
    struct arena *arena;
    struct loop *loop;
    struct nats_hub *hub;
    struct nats_js js; /* and the connection */
    /* The credentials are those of an operator with this name, who asks masters for everything;
     * NULL: admin.creds. */
    const char *operator_name;
};

/* Connects. Fails when no server can be reached, or does not accept the credentials, and points to
 * the doctor then. */
int fleet_open(struct arena *arena, const struct fleet_options *options, struct fleet **ret_fleet,
               struct err *err);
/* The same, to what fleet_find found and without that advice. */
int fleet_connect(struct arena *arena, const struct fleet_target *target, struct fleet **ret_fleet,
                  struct err *err);
/* A row of a command that runs with a connection in cli->fleet. The dispatcher closes it after
 * `run`: state that a pending request may call back with is in the arena, not on the stack. */
#define FLEET_CONNECT(type, field) .connect = fleet_attach, .connect_at = offsetof(type, field)
/* The same from within a command that must do something else first: opens cli->fleet if it is not
 * open. Reports errors, and returns the exit status. */
int fleet_attach(struct cli *cli, const void *options);
/* NULL is allowed. Pending requests call back as canceled. */
void fleet_close(struct fleet *fleet);

/* Run the loop until `done` is true. Fails with ERR_TIMEOUT. */
int fleet_wait(struct fleet *fleet, const bool *done, int64_t timeout, struct err *err);
/* End what waits now, and never wait again: for callbacks of the loop. */
void fleet_stop(struct fleet *fleet);
/* It was stopped, or the connection is lost for good: nothing more can come. */
bool fleet_is_over(struct fleet *fleet);

/* Add the proof that this operator asks (fleet/bus/request_signature.h), for a message that expects
 * an answer. */
int fleet_sign(struct fleet *fleet, struct nats_pub *pub, struct err *err);
/* One signed request and its answer. ERR_NOT_FOUND: no listener. ERR_UNSUPPORTED: this operator may
 * not, and the text says why. */
int fleet_request(struct fleet *fleet, const struct nats_pub *pub, int64_t timeout,
                  struct str *ret_reply, struct err *err);

/* Tell all masters something that has no answer, and wait until the server has it, or until a
 * master has allowed it. */
int fleet_tell(struct fleet *fleet, const struct nats_pub *pub, int64_t timeout, struct err *err);
/* Fails with ERR_UNSUPPORTED for an operator with a name: only admin.creds may do `what`. */
int fleet_require_admin(const struct fleet *fleet, const char *what, struct err *err);
/* The errors of an operator with a name whom nobody answers. */
#define FLEET_NO_MASTER "no master is running, and named operators depend on one"
#define FLEET_SILENT                                                                               \
    "no answer from a master, and named operators depend on one: is a master running? 'zester "    \
    "doctor' checks them"

/* One question to the master that publishes trees. Connects if need be, asks and reports what went
 * wrong; returns the exit status. */
int fleet_ask_publisher(struct cli *cli, const struct fleet_options *options,
                        enum subject_kind subject, struct str payload, int64_t timeout,
                        struct str *ret_reply);

/* The current user: from the system, else $USER, else "unknown". */
const char *fleet_user(struct arena *arena);

/* A result as JSON or YAML on standard output. Returns the exit status. */
int fleet_print(struct cli *cli, enum fleet_format format, const struct value *result);

#endif
