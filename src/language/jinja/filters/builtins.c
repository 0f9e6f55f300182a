#include "language/jinja/filters/builtins.h"

#include "language/jinja/filters/filter.h"
#include "language/jinja/filters/global.h"
#include "language/jinja/filters/test.h"
#include "language/jinja/methods/methods.h"

#define TABLES(...) ((const struct function *const[]){ __VA_ARGS__, NULL })

const struct builtins filter_builtins = {
    .filters = TABLES(filter_list_functions, filter_pick_functions, filter_number_functions,
                      filter_text_functions, filter_wrap_functions, filter_markup_functions,
                      filter_link_functions, filter_data_functions, filter_pretty_functions,
                      filter_set_functions, filter_time_functions, filter_regex_functions,
                      filter_net_functions, filter_hash_functions, filter_combine_functions,
                      filter_chance_functions, filter_xml_functions,
                      filter_compare_functions, filter_key_functions, filter_query_functions,
                      filter_table_functions),
    .tests = TABLES(test_functions),
    .globals = TABLES(global_functions),
    .methods = {
        [VALUE_BOOL] = TABLES(method_int),
        [VALUE_INT] = TABLES(method_int),
        [VALUE_DOUBLE] = TABLES(method_float),
        [VALUE_STR] = TABLES(method_str_search, method_str_split, method_str_shape,
                             method_str_class),
        [VALUE_BYTES] = TABLES(method_bytes),
        [VALUE_LIST] = TABLES(method_list),
        [VALUE_MAP] = TABLES(method_dict),
    },
    .tuple = TABLES(method_tuple),
};
