#include "kepler/config/launch.h"

void launch_program_spec(const struct launch_program *program, struct process_spec *ret_spec)
{
    ret_spec->argv = program->argv;
    ret_spec->env = program->env;
    ret_spec->cwd = program->cwd;
    ret_spec->user = program->has_user ? &program->user : NULL;
    ret_spec->limits = program->limits;
    ret_spec->limit_count = program->limit_count;
    ret_spec->no_new_privs = program->no_new_privs;
}
