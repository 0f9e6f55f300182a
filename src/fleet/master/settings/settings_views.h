/*
 * settings_views - shows operators the settings of a peel; the publishing master answers.
 *
 * Memory: lives in its owner's struct. Threads: the loop's.
 */
#ifndef FLEET_MASTER_SETTINGS_SETTINGS_VIEWS_H
#define FLEET_MASTER_SETTINGS_SETTINGS_VIEWS_H

struct err;
struct lease;
struct master;
struct nats_sub;
struct sealed_secrets;

struct settings_views {
    struct master *master;
    const struct lease *lease;
    struct sealed_secrets *sealed_secrets;
    struct nats_sub *sub; /* NULL: not started */
};

int settings_views_start(struct settings_views *views, struct err *err);
/* Before the sealed secrets are freed. Not started is fine. */
void settings_views_stop(struct settings_views *views);

#endif
