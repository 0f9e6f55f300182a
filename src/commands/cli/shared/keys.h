/*
 * keys - what a terminal sends, key by key.
 *
 *     while ((key = key_next(&bytes)) != KEY_NONE)
 *         ...
 *
 * Pure. Memory: none. Threads: any.
 */
#ifndef COMMANDS_CLI_SHARED_KEYS_H
#define COMMANDS_CLI_SHARED_KEYS_H

#include "core/base/str.h"

/* Keys above the bytes, which stand for themselves. */
enum key {
    KEY_NONE = -1,
    KEY_CTRL_C = 3,
    KEY_BACKSPACE = 8,
    KEY_CTRL_Z = 26,
    KEY_DELETE = 127,
    KEY_UP = 256,
    KEY_DOWN,
    KEY_PAGE_UP,
    KEY_PAGE_DOWN,
    KEY_HOME,
    KEY_END,
    KEY_ESCAPE,
    KEY_OTHER, /* a sequence that means nothing here */
};

/* Remove the first key from what a terminal sent. An unfinished sequence is the Escape key. */
int key_next(struct str *bytes);

#endif
