#include "core/sql/sqlite_api.h"

#include "core/base/library.h"
#include "core/base/mem.h"

/* Maximum memory of all queries of this process together. */
#define HEAP_MAX ((sqlite3_int64)256 << 20)

struct sqlite_api sqlite_api;

static bool prepare_sqlite(void)
{
    (void)sqlite_api.hard_heap_limit64(HEAP_MAX);
    return true;
}

static const struct library_symbol symbols[] = {
    { "sqlite3_bind_int64", &sqlite_api.bind_int64 },
    { "sqlite3_close_v2", &sqlite_api.close_v2 },
    { "sqlite3_column_value", &sqlite_api.column_value },
    { "sqlite3_create_module_v2", &sqlite_api.create_module_v2 },
    { "sqlite3_db_config", &sqlite_api.db_config },
    { "sqlite3_declare_vtab", &sqlite_api.declare_vtab },
    { "sqlite3_errmsg", &sqlite_api.errmsg },
    { "sqlite3_exec", &sqlite_api.exec },
    { "sqlite3_finalize", &sqlite_api.finalize },
    { "sqlite3_free", &sqlite_api.free },
    { "sqlite3_hard_heap_limit64", &sqlite_api.hard_heap_limit64 },
    { "sqlite3_limit", &sqlite_api.limit },
    { "sqlite3_malloc64", &sqlite_api.malloc64 },
    { "sqlite3_mprintf", &sqlite_api.mprintf },
    { "sqlite3_open_v2", &sqlite_api.open_v2 },
    { "sqlite3_prepare_v2", &sqlite_api.prepare_v2 },
    { "sqlite3_progress_handler", &sqlite_api.progress_handler },
    { "sqlite3_reset", &sqlite_api.reset },
    { "sqlite3_result_double", &sqlite_api.result_double },
    { "sqlite3_result_int64", &sqlite_api.result_int64 },
    { "sqlite3_result_pointer", &sqlite_api.result_pointer },
    { "sqlite3_result_text64", &sqlite_api.result_text64 },
    { "sqlite3_set_authorizer", &sqlite_api.set_authorizer },
    { "sqlite3_step", &sqlite_api.step },
    { "sqlite3_value_bytes", &sqlite_api.value_bytes },
    { "sqlite3_value_int64", &sqlite_api.value_int64 },
    { "sqlite3_value_pointer", &sqlite_api.value_pointer },
    { "sqlite3_value_text", &sqlite_api.value_text },
    { "sqlite3_value_type", &sqlite_api.value_type },
    { "sqlite3_vtab_collation", &sqlite_api.vtab_collation },
    { "sqlite3_vtab_in", &sqlite_api.vtab_in },
    { "sqlite3_vtab_in_first", &sqlite_api.vtab_in_first },
    { "sqlite3_vtab_in_next", &sqlite_api.vtab_in_next },
};
static struct library library = { SQLITE_API_LIBRARY, symbols, ARRAY_LEN(symbols), prepare_sqlite,
                                  0 };

bool sqlite_api_load(void)
{
    return library_get(&library);
}
