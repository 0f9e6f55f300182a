/*
 * sqlite_api - SQLite, loaded on first use, so that programs start fast.
 *
 * Only the types and numbers of its header are used; the functions come from this table, filled
 * by dlopen. For the other files of this folder.
 *
 * Threads: any.
 */
#ifndef CORE_SQL_SQLITE_API_H
#define CORE_SQL_SQLITE_API_H

#include <sqlite3.h>
#include <stdbool.h>

#define SQLITE_API_LIBRARY "libsqlite3.so.0"

struct sqlite_api {
    int (*bind_int64)(sqlite3_stmt *stmt, int index, sqlite3_int64 i);
    int (*close_v2)(sqlite3 *db);
    sqlite3_value *(*column_value)(sqlite3_stmt *stmt, int column);
    int (*create_module_v2)(sqlite3 *db, const char *name, const sqlite3_module *module, void *self,
                            void (*destroy)(void *));
    int (*db_config)(sqlite3 *db, int option, ...);
    int (*declare_vtab)(sqlite3 *db, const char *sql);
    const char *(*errmsg)(sqlite3 *db);
    int (*exec)(sqlite3 *db, const char *sql, int (*row)(void *, int, char **, char **), void *self,
                char **reterr_text);
    int (*finalize)(sqlite3_stmt *stmt);
    void (*free)(void *p);
    sqlite3_int64 (*hard_heap_limit64)(sqlite3_int64 bytes);
    int (*limit)(sqlite3 *db, int id, int value);
    void *(*malloc64)(sqlite3_uint64 size);
    char *(*mprintf)(const char *fmt, ...);
    int (*open_v2)(const char *name, sqlite3 **ret_db, int flags, const char *vfs);
    int (*prepare_v2)(sqlite3 *db, const char *sql, int size, sqlite3_stmt **ret_stmt,
                      const char **ret_tail);
    void (*progress_handler)(sqlite3 *db, int operations, int (*fn)(void *), void *self);
    int (*reset)(sqlite3_stmt *stmt);
    void (*result_double)(sqlite3_context *context, double d);
    void (*result_int64)(sqlite3_context *context, sqlite3_int64 i);
    void (*result_pointer)(sqlite3_context *context, void *p, const char *type,
                           void (*destroy)(void *));
    void (*result_text64)(sqlite3_context *context, const char *text, sqlite3_uint64 size,
                          void (*destroy)(void *), unsigned char encoding);
    int (*set_authorizer)(sqlite3 *db,
                          int (*fn)(void *, int, const char *, const char *, const char *,
                                    const char *),
                          void *self);
    int (*step)(sqlite3_stmt *stmt);
    int (*value_bytes)(sqlite3_value *v);
    sqlite3_int64 (*value_int64)(sqlite3_value *v);
    void *(*value_pointer)(sqlite3_value *v, const char *type);
    const unsigned char *(*value_text)(sqlite3_value *v);
    int (*value_type)(sqlite3_value *v);
    const char *(*vtab_collation)(sqlite3_index_info *info, int constraint);
    int (*vtab_in)(sqlite3_index_info *info, int constraint, int handle);
    int (*vtab_in_first)(sqlite3_value *list, sqlite3_value **ret_v);
    int (*vtab_in_next)(sqlite3_value *list, sqlite3_value **ret_v);
};

extern struct sqlite_api sqlite_api;

/* False: it is not installed, or older than 3.38. */
bool sqlite_api_load(void);

#endif
