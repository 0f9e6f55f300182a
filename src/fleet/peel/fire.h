/*
 * fire - events of states, from `fire_event` and event.send, kept on disk until they are stored.
 *
 *     salt/state_result/<jid>/<peel>/<tag>        data: { jid, ret: { name, result, ... } }
 *
 * The tag is the text of the attribute, or the ID of the state; invalid characters become '-'. Diff
 * and details are left out if the event is too long.
 *
 * Threads: the worker of the job.
 */
#ifndef FLEET_PEEL_FIRE_H
#define FLEET_PEEL_FIRE_H

struct arena;
struct err;
struct state_event;
struct state_host;
struct state_result;

/* For session_options; `fire_user` is the job. */
void fire(const struct state_host *host, const char *tag, const struct state_result *result);
/* The same: the event of event.send. Fails with ERR_INVALID for a bad tag. */
int fire_send(const struct state_host *host, struct arena *arena, struct state_event *event,
              struct err *err);

#endif
