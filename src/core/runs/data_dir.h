/*
 * data_dir - the default data folder of zester on this machine.
 *
 * /var/lib/zester for root; for others $XDG_STATE_HOME/zester, else ~/.local/state/zester.
 */
#ifndef CORE_RUNS_DATA_DIR_H
#define CORE_RUNS_DATA_DIR_H

struct arena;

/* NULL: no home folder was found. */
const char *data_dir_find(struct arena *arena);

#endif
