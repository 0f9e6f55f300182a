/*
 * scan - one scan of a machine: its files, and the facts found so far.
 *
 *     scan_open -> { facts_os(scan), ... } -> scan_close
 *
 * Paths are relative to the root ("etc/os-release"). With a root, links are followed
 * inside of it only. A file that is missing or unreadable reads as empty. Kernel files have no
 * size, so reading stops at the limit without an error.
 *
 * Memory: everything is in the arena. Threads: one.
 */
#ifndef STATES_FACTS_SCAN_H
#define STATES_FACTS_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "core/data/value.h"

struct err;

#define SCAN_LINE_MAX 4096

struct scan {
    struct arena *arena;
    const char *root; /* "" for this machine */
    int folder;
    const char *id; /* or NULL */
    struct value_map *facts;
};

int scan_open(struct scan *scan, struct arena *arena, const char *root, struct err *err);
void scan_close(struct scan *scan);

/* An open file, or -1. */
int scan_open_file(const struct scan *scan, const char *path, int flags);
/* The first `max` bytes; a NULL view when the file is missing. */
struct str scan_read(const struct scan *scan, const char *path, size_t max);
/* The first line, trimmed; a NULL view when it is empty or missing. */
struct str scan_line(const struct scan *scan, const char *path);
bool scan_exists(const struct scan *scan, const char *path);

/* The value of `key` in lines such as "MemTotal:  16 kB" or "ID=debian", trimmed and unquoted. A
 * NULL view when missing. */
struct str scan_field(const struct scan *scan, struct str text, const char *key, char separator);
/* The number at the start of the text; 0 when there is none. */
int64_t scan_number(struct str text);
/* The next word of `rest`; a NULL view at the end. */
struct str scan_word(struct str *rest);

/* Add a fact, or one of a nested map. Texts are copied; a NULL view adds nothing. */
void scan_add(const struct scan *scan, struct value_map *map, const char *key, struct value value);
void scan_add_text(const struct scan *scan, struct value_map *map, const char *key,
                   struct str text);
void scan_add_int(const struct scan *scan, struct value_map *map, const char *key, int64_t number);
/* A nested map, which is filled later. */
struct value_map *scan_add_map(const struct scan *scan, struct value_map *map, const char *key);
struct value_list *scan_add_list(const struct scan *scan, struct value_map *map, const char *key);
void scan_push_text(const struct scan *scan, struct value_list *list, struct str text);

/* The families; each adds to scan->facts. */
void facts_id(struct scan *scan);
void facts_os(struct scan *scan);
void facts_host(struct scan *scan);
void facts_hardware(struct scan *scan);
void facts_cpu(struct scan *scan);
void facts_memory(struct scan *scan);
void facts_network(struct scan *scan);
void facts_disk(struct scan *scan);
void facts_salt(struct scan *scan);

#endif
