/*
 * filter - the tables of filters, `value|name(...)`, one file for each kind.
 */
#ifndef LANGUAGE_JINJA_FILTERS_FILTER_H
#define LANGUAGE_JINJA_FILTERS_FILTER_H

#include "language/jinja/function.h"

extern const struct function filter_list_functions[];    /* sequences */
extern const struct function filter_pick_functions[];    /* map, select, sort and their kin */
extern const struct function filter_number_functions[];  /* numbers */
extern const struct function filter_text_functions[];    /* text */
extern const struct function filter_wrap_functions[];    /* wordwrap */
extern const struct function filter_markup_functions[];  /* HTML */
extern const struct function filter_link_functions[];    /* urlize */
extern const struct function filter_pretty_functions[];  /* pprint */
extern const struct function filter_time_functions[];    /* strftime */
extern const struct function filter_data_functions[];    /* JSON, YAML, encodings */
extern const struct function filter_set_functions[];     /* unions and the like */
extern const struct function filter_regex_functions[];   /* regular expressions */
extern const struct function filter_net_functions[];     /* addresses */
extern const struct function filter_hash_functions[];    /* digests */
extern const struct function filter_chance_functions[];  /* random */
extern const struct function filter_xml_functions[];     /* XML */
extern const struct function filter_combine_functions[]; /* choices, orders, pairs */
extern const struct function filter_compare_functions[]; /* questions, differences */
extern const struct function filter_key_functions[];     /* into maps by path */
extern const struct function filter_query_functions[];   /* JMESPath */
extern const struct function filter_table_functions[];   /* tables of other programs */

#endif
