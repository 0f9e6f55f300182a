/*
 * yaml_print - a value tree as YAML that reads back as the same tree, in every dialect.
 *
 * The block style has two blanks for each level, texts of several lines as literal blocks, and
 * quotes only where a plain word would have another meaning. The flow style is one line, for use
 * inside other texts. Local tags are kept, bytes are !!binary and times !!timestamp, since not
 * every dialect knows a bare time. Secrets are printed: hiding them is up to the caller.
 *
 * Both append to a buffer whose maximum is the caller's.
 */
#ifndef CORE_DATA_YAML_PRINT_H
#define CORE_DATA_YAML_PRINT_H

struct buf;
struct err;
struct value;

/* Lines, each with its line end. Fails with ERR_UNSUPPORTED for an object or a time beyond year
 * 9999, with ERR_LIMIT for more than YAML_DEPTH_MAX levels or a full buffer; the buffer then holds
 * a part. */
int yaml_print(struct buf *out, const struct value *v, struct err *err);

/* One line, without an end. Fails alike. */
int yaml_print_flow(struct buf *out, const struct value *v, struct err *err);

#endif
