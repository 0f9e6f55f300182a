/*
 * contest - states that change one file at the same time.
 *
 * States of a level run at once. Two that write lines into a file get along; when one of
 * them decides about the whole file (MODULE_WHOLE), what is in it afterwards is luck, and
 * each run changes it again. Salt keeps the order of the file there; here nothing does,
 * so it is told as a warning.
 *
 * Threads: one at a time.
 */
#ifndef COMPILE_CONTEST_H
#define COMPILE_CONTEST_H

struct diags;
struct plan;

/* Of an arranged plan. */
void contest_tell(const struct plan *plan, struct diags *warnings);

#endif
